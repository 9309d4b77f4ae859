"""What a law of noise is: integer noise for some coordinates of a cell, and all that follows from its law.

One file in this folder is one law. It says how noise is drawn, how wide it is, what it costs where one row
changes a total, how far it reaches (for intervals), and how it is tested. `noise.py` knows laws by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.statistics.aggregates import RowChange

# Below this ratio of two spreads the smaller one does not show.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class LawBlock(ABC):
    """Coordinates that share one law.

    Parameters
    ----------
    parameter : Fraction
        A rate, or a sigma.
    n : int
        How many coordinates.
    """

    parameter: Fraction
    n: int

    pure: ClassVar[bool] = True
    """Whether its loss is an epsilon, not a rho."""

    @abstractmethod
    def check(self) -> None:
        """Refuse what the sampler would refuse, before anything is charged for it."""

    def fits(self) -> bool:
        """Say whether the sampler can draw it."""
        try:
            self.check()
        except InvalidInput:
            return False
        return True

    @abstractmethod
    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw exact integer noise for every cell, one line each."""

    @classmethod
    def draw_each(cls, entropy: Entropy, parameters: Sequence[Fraction], which: Integers) -> Integers:
        """Draw one number for every entry of `which`, of the parameter that it points to."""
        raise NotImplementedError(f"{cls.__name__} noise is not drawn with many parameters at once")

    @property
    @abstractmethod
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate, in integer steps."""

    @abstractmethod
    def row_loss(self, change: RowChange, first: int, *, difference: bool = False) -> Fraction:
        """Return what one row's change loses in these coordinates.

        Parameters
        ----------
        change : RowChange
            The body that it lies in.
        first : int
            The first coordinate of this block.
        difference : bool
            Whether a row is exchanged for another in its cell; pure laws charge two rows for that.
        """

    @abstractmethod
    def describe(self) -> str:
        """Name the law with its parameters."""

    @abstractmethod
    def tail(self, x: Array, sd: Array, other_sd: Array) -> Array:
        """Return the probability that a weighted sum of two coordinates is larger than x in magnitude.

        Parameters
        ----------
        x : ndarray
            Thresholds, not negative.
        sd, other_sd : ndarray
            Standard deviations of the two terms, weights included: of a value, and of a count.
        """

    @property
    def standard(self) -> Self:
        """The same law at a parameter of 1: its tails are the same in units of its deviation."""
        return replace(self, parameter=Fraction(1))

    # What the audit asks.

    @abstractmethod
    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability, up to a constant, of integer noise vectors."""

    def most_lost(self, shifts: Integers) -> Array:
        """Return the largest log ratio over all outputs of a pure law and the same law shifted.

        Pure laws fall off fastest from their peak.
        """
        return self.log_pmf(np.zeros_like(shifts)) - self.log_pmf(shifts)

    @abstractmethod
    def uniforms(self, noise: Array, rng: np.random.Generator) -> Array:
        """Return what are independent uniform numbers if the noise has this law, one line per draw."""

    @abstractmethod
    def sharpness(self, noise: Array) -> Array:
        """Return how much smaller noise is than its law says, number by number: 1 if it is not."""

    @property
    @abstractmethod
    def sharpness_weights(self) -> tuple[float, ...]:
        """What each of these numbers weighs in the loss."""


def wide_and_ratio(sd: Array, other_sd: Array) -> tuple[Array, Array]:
    """Return the larger of two spreads, and the smaller as a part of it."""
    wide, narrow = np.maximum(sd, other_sd), np.minimum(sd, other_sd)
    return wide, np.where(narrow > NEGLIGIBLE * wide, narrow / wide, 0.0)


def on_steps(low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Draw the place on a step of a distribution function: then values of a lattice become uniform."""
    return np.asarray(low + rng.random(low.shape) * (high - low))


def floats(values: npt.ArrayLike) -> Array:
    """Return an array of doubles."""
    return np.asarray(values, dtype=np.float64)
