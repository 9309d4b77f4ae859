"""Discrete Gaussian noise: for budgets with delta, where squares add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy import special

from shoal._typing import Array, Integers
from shoal.domain import Unit
from shoal.mechanisms import (
    Entropy,
    check_gaussian,
    discrete_gaussian,
    discrete_gaussian_each,
    gaussian_log_pmf,
    gaussian_variance,
)
from shoal.queries.laws.block import LawBlock, on_steps
from shoal.queries.statistics.aggregates import RowChange

# Above this sigma the lattice is fine enough for the continuous law; below, sums over the lattice are short.
FINE_SIGMA = 1e4


@dataclass(frozen=True)
class Gaussian(LawBlock):
    """Independent integers z of probability proportional to exp(-z^2 / (2 sigma^2))."""

    pure: ClassVar[bool] = False

    def check(self) -> None:
        """Refuse what the sampler would refuse."""
        check_gaussian(self.parameter)

    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw exact integer noise for every cell."""
        return discrete_gaussian(entropy, self.parameter, cells * self.n).reshape(cells, self.n)

    @classmethod
    def draw_each(cls, entropy: Entropy, parameters: Sequence[Fraction], which: Integers) -> Integers:
        """Draw one number for every entry of `which`, of the parameter that it points to."""
        return discrete_gaussian_each(entropy, parameters, which)

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate."""
        return (gaussian_variance(self.parameter),) * self.n

    def row_loss(self, change: RowChange, first: int, *, difference: bool = False) -> Fraction:
        """Return half the squared change over sigma.

        Two values of one body differ by at most twice its radius; two counts of one row only by their
        weights.
        """
        if first < change.n_values:
            square = Fraction(change.width**2 * (1 if change.ball else self.n)) * (4 if difference else 1)
        else:
            is_count = change.extras[first - change.n_values] == "count"
            apart = (int(change.weighted) if is_count else 4) if difference else 1
            square = Fraction(change.width**2 * apart)
        return square / (2 * self.parameter**2)

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"discrete Gaussian(sigma={self.parameter}, n={self.n})"

    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the tail of a normal variable: a sum of two is one."""
        wide, narrow = np.maximum(sd, other_sd), np.minimum(sd, other_sd)
        return np.asarray(special.erfc(x / np.hypot(wide, narrow) / math.sqrt(2)))

    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability of integer noise vectors."""
        return np.asarray(gaussian_log_pmf(points, self.parameter).sum(axis=1))

    def uniforms(self, noise: Array, rng: np.random.Generator) -> Array:
        """Transform every coordinate."""
        return on_steps(self._cdf(noise - 1), self._cdf(noise), rng)

    def _cdf(self, z: Array) -> Array:
        s = float(self.parameter)
        if s > FINE_SIGMA:
            return np.asarray(special.ndtr((z + 0.5) / s))
        reach = math.ceil(40 * s)
        steps = np.arange(-reach, reach + 1)
        table = np.cumsum(np.exp(-((steps / s) ** 2) / 2))
        return np.concatenate([[0.0], table / table[-1]])[
            np.clip(z + reach + 1, 0, 2 * reach + 1).astype(np.int64)
        ]

    def sharpness(self, noise: Array) -> Array:
        """Compare the mean square with that of the law, coordinate by coordinate."""
        spread = noise**2 / self.variances[0]
        return np.asarray(1.0 / np.maximum(spread.mean(axis=0), 1e-300))

    @property
    def sharpness_weights(self) -> tuple[float, ...]:
        """A coordinate loses in proportion to 1 / sigma^2."""
        return (1 / float(self.parameter) ** 2,) * self.n


def gaussian_loss(blocks: tuple[LawBlock, ...], change: RowChange, unit: Unit) -> Fraction:
    """Return the rho of adding this noise to a statistic with this change.

    A replaced row changes one cell by a difference of two values, or two cells by one each, whichever is
    worse.
    """
    starts = np.cumsum([0, *(block.n for block in blocks)])

    def of_row(*, difference: bool) -> Fraction:
        parts = zip(blocks, starts, strict=False)
        return sum((b.row_loss(change, int(at), difference=difference) for b, at in parts), Fraction(0))

    one_row = of_row(difference=False)
    if unit.replace:
        one_row = max(2 * one_row, of_row(difference=True))
    return one_row * unit.max_rows**2


def design_gaussian(change: RowChange, rho: Fraction, unit: Unit) -> tuple[LawBlock, ...]:
    """Choose the least sigma that costs at most rho; a cost beside the values has noise of its own."""

    # sigma enters the loss as 1/sigma^2: scale up from the loss at sigma = W.
    def with_sigma(sigma: Fraction) -> tuple[LawBlock, ...]:
        return tuple(Gaussian(sigma * s, n) for s, n in _shape(change))

    at_width = gaussian_loss(with_sigma(Fraction(change.width)), change, unit)
    square = at_width * change.width**2 / rho
    bits = max(0, 22 - math.isqrt(math.ceil(square)).bit_length())
    sigma = Fraction(_ceil_sqrt(math.ceil(square * 4**bits)), 2**bits)
    return with_sigma(sigma)


def _shape(change: RowChange) -> list[tuple[int, int]]:
    # A cost has half the reach of a count in its own units, so it may have twice the noise.
    extras = [(2 if name == "cost" else 1, 1) for name in change.extras]
    return ([(1, change.n_values)] if change.n_values else []) + extras


def _ceil_sqrt(value: int) -> int:
    root = math.isqrt(value)
    return root if root * root == value else root + 1
