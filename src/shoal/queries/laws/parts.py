"""The noise of parts: every node has a law of its own, and all are drawn at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.accounting.budget import Currency
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import NoiseLaw

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class PartsLaw:
    """Integer noise for the counts of nodes; cells are independent.

    Parameters
    ----------
    laws : tuple of NoiseLaw
        The different ones, each of one coordinate, all of one kind.
    which : ndarray of int64
        The law of each node.
    """

    laws: tuple[NoiseLaw, ...]
    which: Integers

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        return self.laws[0].currency

    @property
    def sd(self) -> Array:
        """Standard deviation of the counts of each node, in integer steps."""
        return np.array([float(law.sd[0]) for law in self.laws])[self.which]

    def added(self, exact_totals: Integers, sizes: Integers, entropy: Entropy) -> Array:
        """Add noise to exact totals, one line per cell; `sizes` says how many are each node's."""
        blocks = [law.blocks[0] for law in self.laws]
        rates = [block.parameter for block in blocks]
        noise = type(blocks[0]).draw_each(entropy, rates, np.repeat(self.which, sizes))
        return np.asarray(exact_totals + noise[:, np.newaxis], dtype=np.float64)

    def split(self, lines: npt.NDArray[T], sizes: Integers) -> list[tuple[NoiseLaw, npt.NDArray[T]]]:
        """Return every law with the lines of its own cells."""
        of_cell = np.repeat(self.which, sizes)
        order = np.argsort(of_cell, kind="stable")
        ends = np.cumsum(np.bincount(of_cell, minlength=len(self.laws)))
        return list(zip(self.laws, np.split(lines[order], ends[:-1]), strict=True))

    def describe(self) -> str:
        """Name the laws: all are between the first and the last."""
        ends = self.laws[0].describe(), self.laws[-1].describe()
        return ends[0] if len(self.laws) == 1 else f"{ends[0]} to {ends[1]}, {len(self.laws)} laws"
