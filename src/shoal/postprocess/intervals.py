"""Intervals from noisy sums and counts whose noise law is public. Nothing is assumed about the rows.

Let S = S* + z and n = n* + y be a noisy sum and count with true values S* and n*. The mean c* = S*/n* then
satisfies S - c* n = z - c* y exactly, and the law of the right-hand side is public for every c*. So

    { c : |S - c n| <= the 95 % quantile of |z - c y| }

holds c* with probability 95 % whatever the rows are (Fieller 1954, with the noise's own law in place of the
normal one). To first order this is S/n plus or minus the quantile over n.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from shoal._typing import Array

Law: TypeAlias = Literal["linf", "laplace", "gaussian", "cylinder"]

# Quantiles are tabulated along the slope and interpolated: off by less than one part in ten thousand.
_SLOPES = 65
# Below this ratio of the two spreads the smaller one does not show.
_NEGLIGIBLE = 1e-6
# Normal scores of the radius that the tail of a cylinder is averaged over: right to one part in a thousand.
_SCORES = np.linspace(-6.0, 6.0, 65)


def tail(
    law: Law,
    x: npt.ArrayLike,
    sd: npt.ArrayLike,
    other_sd: npt.ArrayLike,
    dimension: int = 2,
    extras: int = 1,
) -> Array:
    """Return the probability that a weighted sum of two noise coordinates is larger than x in magnitude.

    Parameters
    ----------
    law : {"linf", "laplace", "gaussian", "cylinder"}
        Laplace and Gaussian coordinates are independent; those of the other laws share one radius.
    x : array-like
        Thresholds, not negative.
    sd, other_sd : array-like
        Standard deviations of the two terms, weights included. In a cylinder the first is a value of the ball
        and the other stands beside it.
    dimension : int
        All coordinates of the L-infinity law or the cylinder, these two among them.
    extras : int
        Coordinates of the cylinder that stand beside its ball.

    Examples
    --------
    >>> tail("gaussian", 1.96, 0.6, 0.8).round(3)
    np.float64(0.05)
    >>> tail("laplace", 2.0, np.sqrt(2), 0.0).round(6) == np.exp(-2).round(6)
    np.True_
    """
    x, sd, other_sd = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (x, sd, other_sd)))
    if law == "cylinder" and sd.any():
        return _cylinder_tail(x, sd, other_sd, dimension, dimension - extras)
    wide, narrow = np.maximum(sd, other_sd), np.minimum(sd, other_sd)
    if law == "gaussian":
        return np.asarray(special.erfc(x / np.hypot(wide, narrow) / math.sqrt(2)))
    ratio = np.where(narrow > _NEGLIGIBLE * wide, narrow / wide, 0.0)
    if law == "laplace":
        return _laplace_tail(x / wide * math.sqrt(2), ratio)
    # An entry is R times a uniform one of [-1, 1], with R of the Gamma law of shape m + 1; so is one beside
    # the ball of a cylinder.
    return _linf_tail(x / wide * math.sqrt((dimension + 1) * (dimension + 2) / 3), ratio, dimension)


def _laplace_tail(x: Array, ratio: Array) -> Array:
    # Two independent Laplace variables of scales 1 and r: partial fractions of 1/((1+t^2)(1+r^2 t^2)).
    same = ratio > 1 - 1e-5
    square = np.where(same, 0.0, ratio) ** 2
    with np.errstate(divide="ignore", over="ignore"):
        small = np.where(ratio > 0, np.exp(-x / np.where(ratio > 0, ratio, 1.0)), 0.0)
    apart = (np.exp(-x) - square * small) / (1 - square)
    return np.where(same, (1 + x / 2) * np.exp(-x), apart)


def _linf_tail(x: Array, ratio: Array, m: int) -> Array:
    # U - r V, both uniform on [-1, 1], exceeds t with probability 1 - t up to t = 1 - r and then
    # (1 + r - t)^2 / (4 r). Averaged over R, powers of t = x/R lower the shape of the Gamma law.
    def above(y: Array) -> tuple[Array, Array, Array]:
        shapes = (m + 1, m, m - 1) if m > 1 else (m + 1, m, m)
        whole, inverse, square = (special.gammaincc(shape, y) for shape in shapes)
        return whole, x * inverse / m, x**2 * square / (m * max(m - 1, 1))

    flat = np.maximum(1 - ratio, 1e-9)
    inner, outer = above(x / flat), above(x / (1 + ratio))
    ring = [o - i for o, i in zip(outer, inner, strict=True)]
    slope = np.where(ratio > 0, 4 * ratio, 1.0)
    edge = ((1 + ratio) ** 2 * ring[0] - 2 * (1 + ratio) * ring[1] + ring[2]) / slope
    return np.asarray(inner[0] - inner[1] + np.where(ratio > 0, edge, 0.0))


def _cylinder_tail(x: Array, sd: Array, other_sd: Array, m: int, d: int) -> Array:
    # R times (a B - c V): R of the Gamma law of shape m + 1, B a coordinate of the unit d-ball, V uniform.
    spread = math.sqrt((m + 1) * (m + 2))
    a, c = sd * math.sqrt(d + 2) / spread, other_sd * math.sqrt(3) / spread
    a, c = np.maximum(a, _NEGLIGIBLE * c), np.maximum(c, _NEGLIGIBLE * a)
    radius = special.gammaincinv(m + 1, special.ndtr(_SCORES))
    far, a, c = x[..., np.newaxis] / radius, a[..., np.newaxis], c[..., np.newaxis]
    # Averaged over V, the chance that B > (far + c V) / a is a difference of the means of max(B - y, 0).
    one_side = (_beyond((far - c) / a, d) - _beyond((far + c) / a, d)) * a / (2 * c)
    return np.asarray(2 * np.average(one_side, axis=-1, weights=np.exp(-(_SCORES**2) / 2)))


def _beyond(y: Array, d: int) -> Array:
    """Return the mean of max(B - y, 0), where B has a density proportional to (1 - b^2)^((d - 1)/2)."""
    inside, half = np.clip(y, -1.0, 1.0), (d + 1) / 2
    log_scale = special.betaln(half, 0.5)
    with np.errstate(divide="ignore"):
        top = np.exp(half * np.log1p(-(inside**2)) - log_scale) / (d + 1)
    within = top - inside * special.betaincc(half, half, (1 + inside) / 2)
    return np.asarray(np.where(y < -1.0, -y, within))


def reach(
    law: Law,
    sd: npt.ArrayLike,
    other_sd: npt.ArrayLike,
    level: float = 0.95,
    dimension: int = 2,
    extras: int = 1,
) -> Array:
    """Return how far the sum of two noise coordinates reaches with the given probability.

    Parameters
    ----------
    law, sd, other_sd, dimension, extras
        As for :func:`tail`.
    level : float
        The probability of staying within.

    Examples
    --------
    >>> reach("gaussian", 1.0, 0.0).round(2), reach("laplace", 1.0, 0.0).round(2)
    (np.float64(1.96), np.float64(2.12))
    """
    sd, other_sd = np.broadcast_arrays(np.asarray(sd, np.float64), np.asarray(other_sd, np.float64))
    total = np.hypot(sd, other_sd)
    # Chebyshev: nothing with this variance reaches further.
    low, high = np.zeros_like(total), total / math.sqrt(1 - level)
    for _ in range(45):
        middle = (low + high) / 2
        beyond = tail(law, middle, sd, other_sd, dimension, extras) > 1 - level
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


@lru_cache(maxsize=32)
def _table(
    law: Law, sum_sd: float, count_sd: float, dimension: int, extras: int, radius: float, level: float
) -> tuple[Array, Array]:
    """Return slopes from 0 to the radius, and how far the noise of S - slope n reaches at each."""
    slopes = np.linspace(0.0, radius, _SLOPES)
    return slopes, reach(law, sum_sd, slopes * count_sd, level, dimension, extras)


def ratio_interval(
    sums: Array,
    counts: Array,
    sum_sd: float,
    count_sd: float,
    law: Law,
    *,
    dimension: int,
    extras: int = 1,
    radius: float = 1.0,
    level: float = 0.95,
) -> tuple[Array, Array]:
    """Return intervals for the means of cells, within [-radius, radius].

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums.
    counts : ndarray of shape (n_cells,)
        Noisy counts, well above their noise.
    sum_sd, count_sd : float
        Standard deviations of their noise.
    law : {"linf", "laplace", "gaussian", "cylinder"}
        Law of the noise.
    dimension : int
        All coordinates of a cell's noise.
    extras : int
        Those of a cylinder that stand beside its ball.
    radius : float
        How far a row may lie from 0.
    level : float
        The probability of holding the true mean.

    Examples
    --------
    >>> low, high = ratio_interval(
    ...     np.array([[50.0]]), np.array([100.0]), 3.0, 4.0, "gaussian", dimension=2
    ... )
    >>> low.round(2), high.round(2)
    (array([[0.43]]), array([[0.57]]))
    """
    slopes, table = _table(law, sum_sd, count_sd, dimension, extras, radius, level)
    n = counts[:, np.newaxis]

    def end(side: int) -> Array:
        # The far end solves side (c n - S) = quantile(|c|); it lies inside, or the radius is the end.
        low, high = np.full_like(sums, -radius), np.full_like(sums, radius)
        for _ in range(40):
            middle = (low + high) / 2
            inside = side * (middle * n - sums) <= np.interp(np.abs(middle), slopes, table)
            inward = inside if side > 0 else ~inside
            low, high = np.where(inward, middle, low), np.where(inward, high, middle)
        return high if side > 0 else low

    return end(-1), end(+1)
