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
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal._typing import Array

# Quantiles are tabulated along the slope and interpolated: off by less than one part in ten thousand.
_SLOPES = 65


class TailLaw(Protocol):
    """A law of noise, as far as intervals ask for it; hashable."""

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the probability that a weighted sum of two noise coordinates exceeds x in magnitude."""
        ...

    def __hash__(self) -> int: ...


def reach(law: TailLaw, sd: npt.ArrayLike, other_sd: npt.ArrayLike, level: float = 0.95) -> Array:
    """Return how far the sum of two noise coordinates reaches with the given probability.

    Parameters
    ----------
    law : TailLaw
        Of the noise.
    sd, other_sd : array-like
        Standard deviations of the two terms, weights included: of a value, and of a count beside it.
    level : float
        The probability of staying within.
    """
    sd, other_sd = np.broadcast_arrays(np.asarray(sd, np.float64), np.asarray(other_sd, np.float64))
    total = np.hypot(sd, other_sd)
    # Chebyshev: nothing with this variance reaches further.
    low, high = np.zeros_like(total), total / math.sqrt(1 - level)
    for _ in range(45):
        middle = (low + high) / 2
        beyond = law.tail(middle, sd, other_sd) > 1 - level
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


@lru_cache(maxsize=32)
def _table(law: TailLaw, sum_sd: float, count_sd: float, radius: float, level: float) -> tuple[Array, Array]:
    """Return slopes from 0 to the radius, and how far the noise of S - slope n reaches at each."""
    slopes = np.linspace(0.0, radius, _SLOPES)
    return slopes, reach(law, sum_sd, slopes * count_sd, level)


def ratio_interval(
    sums: Array,
    counts: Array,
    sum_sd: float,
    count_sd: float,
    law: TailLaw,
    *,
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
    law : TailLaw
        Of the noise.
    radius : float
        How far a row may lie from 0.
    level : float
        The probability of holding the true mean.
    """
    slopes, table = _table(law, sum_sd, count_sd, radius, level)
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
