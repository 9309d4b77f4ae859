"""Discrete L-infinity (K-norm) noise: the shape of a box, in which one row's change lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from shoal._typing import Array, Integers
from shoal.mechanisms import Entropy, check_linf, linf_noise, linf_variance
from shoal.queries.laws.block import LawBlock, on_steps, wide_and_ratio
from shoal.queries.laws.laplace import design_laplace
from shoal.queries.statistics.aggregates import RowChange

# Below this rate the lattice is fine enough for the continuous law; above, sums over the lattice are short.
FINE_RATE = 1e-4


@dataclass(frozen=True)
class Linf(LawBlock):
    """Integer vectors z of probability proportional to exp(-rate max |z_i|)."""

    def check(self) -> None:
        """Refuse what the sampler would refuse."""
        check_linf(self.parameter, self.n)

    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw exact integer noise for every cell."""
        return linf_noise(entropy, self.parameter, cells, self.n)

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate."""
        return (linf_variance(self.parameter, self.n),) * self.n

    def row_loss(self, change: RowChange, first: int, *, difference: bool = False) -> Fraction:
        """Return the rate times the largest change of a coordinate."""
        return self.parameter * change.width

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"discrete L-infinity(rate={self.parameter}, n={self.n})"

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the tail of R (U - r V): R of the Gamma law of shape n + 1, U and V uniform on [-1, 1]."""
        wide, ratio = wide_and_ratio(sd, other_sd)
        return box_tail(x / wide * math.sqrt((self.n + 1) * (self.n + 2) / 3), ratio, self.n)

    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability of integer noise vectors.

        Examples
        --------
        >>> Linf(Fraction(1, 2), 2).log_pmf(np.array([[0, 0], [1, -4]]))
        array([-0., -2.])
        """
        return np.asarray(-float(self.parameter) * np.abs(points).max(axis=1))

    def uniforms(self, noise: Array, rng: np.random.Generator) -> Array:
        """Transform the largest entry first, then every entry given it.

        Given the largest entry r, the vector is uniform on the surface of the cube: with n entries to go and
        r not yet attained, there are (2r+1)^n - (2r-1)^n ways to go on.
        """
        m, z, r = self.n, noise, np.abs(noise).max(axis=1)
        columns = [on_steps(self._radius_cdf(r - 1), self._radius_cdf(r), rng)]
        side = 2 * r + 1
        shrink = np.log1p(-2 / np.maximum(side, 3))  # log of (2r-1)/(2r+1); r = 0 is set right below
        attained = np.zeros(len(r), dtype=np.bool_)
        for i in range(m):
            place = rng.random(len(r))
            ways = -np.expm1((m - i) * shrink)
            edge = 1 / (side * ways)
            inner = -np.expm1((m - i - 1) * shrink) / (side * ways)
            at_edge = np.abs(z[:, i]) == r
            u = edge + (z[:, i] + r - 1 + place) * inner
            u = np.where(at_edge, np.where(z[:, i] < 0, place * edge, 1 - edge + place * edge), u)
            u = np.where(attained, (z[:, i] + r + place) / side, u)
            columns.append(np.where(r == 0, place, u))
            attained |= at_edge
        return np.stack(columns, axis=1)

    def _radius_cdf(self, r: Array) -> Array:
        rate, m = float(self.parameter), self.n
        if rate < FINE_RATE:
            return np.where(r < 0, 0.0, special.gammainc(m, rate * np.maximum(r + 0.5, 0.0)))
        reach = math.ceil((m + 60 + 12 * math.sqrt(m)) / rate)
        s = np.arange(reach + 1, dtype=np.float64)
        # The shell of largest entry s has (2s+1)^m - (2s-1)^m points.
        log_shell = m * np.log(2 * s + 1)
        log_shell[1:] += np.log(-np.expm1(m * np.log1p(-2 / (2 * s[1:] + 1))))
        weights = log_shell - rate * s
        table = np.cumsum(np.exp(weights - weights.max()))
        return np.concatenate([[0.0], table / table[-1]])[np.clip(r + 1, 0, reach + 1).astype(np.int64)]

    def sharpness(self, noise: Array) -> Array:
        """Compare the mean of the largest entries with that of the law."""
        spread = np.abs(noise).max(axis=1, keepdims=True) * float(self.parameter) / self.n
        return np.asarray(1.0 / np.maximum(spread.mean(axis=0), 1e-300))

    @property
    def sharpness_weights(self) -> tuple[float, ...]:
        """One number for all coordinates: the largest."""
        return (float(self.parameter),)


def box_tail(x: Array, ratio: Array, m: int) -> Array:
    """Return the tail of R (U - r V), the vector having m entries.

    U - r V, both uniform on [-1, 1], exceeds t with probability 1 - t up to t = 1 - r and then
    (1 + r - t)^2 / (4 r). Averaged over R, powers of t = x/R lower the shape of the Gamma law.
    """

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


def design_linf(change: RowChange, e: Fraction, bits: int) -> tuple[LawBlock, ...]:
    """Give the whole vector noise of the shape of its box; a count alone is Laplace."""
    if not change.n_values:
        return design_laplace(change, e, bits)
    return (Linf(e / change.width, change.dimension),)
