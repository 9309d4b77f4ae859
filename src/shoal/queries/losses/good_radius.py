"""GoodRadius of Nissim, Stemmer and Vadhan: how large a ball must be to hold a number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal._typing import Integers
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.queries.losses.cluster_cost import WIDTH
from shoal.queries.losses.windows import HeldLoss, count_cells, summed


@dataclass(frozen=True)
class GoodRadius(HeldLoss):
    """Nissim, Stemmer, Vadhan 2016, in one or two columns: the radius of a ball that holds t rows.

    B_r(x) is the number of rows within r cells of x in every column, at most t; L(r) the mean of the t
    largest B_r over rows, with zeros for rows that are missing. In whole numbers l(r) = t L(r), the quality
    is min(t^2 - l(predecessor of r), l(r) - t^2 + slack t). One row raises l by 0 to 2 t - 1: t - 1 others
    among the t largest by one each, and itself by at most t. So the quality moves by at most 2 t - 1 either
    way, two candidates come apart by at most 4 t - 2, and dividing by that many makes it WIDTH.

    Parameters
    ----------
    cells : int
        Cells a column that rows are moved to.
    radii : tuple of int
        Rising radii, in cells.
    target : int
        The rows t.
    slack : int
        How many rows fewer will do: the promise of the published choice.
    columns : int
        One or two.
    """

    cells: int
    radii: tuple[int, ...]
    target: int
    slack: int
    columns: int = 2

    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.columns not in (1, 2) or not 1 <= self.cells**self.columns <= 2**24:
            raise InvalidInput(f"{self.cells} cells in {self.columns} columns: one or two columns are wanted")
        if self.target < 1 or not self.radii or list(self.radii) != sorted({*self.radii, abs(self.radii[0])}):
            raise InvalidInput(
                f"a target of {self.target} rows and radii {self.radii}: rising ones are wanted"
            )

    @property
    def n_candidates(self) -> int:
        """How many radii."""
        return len(self.radii)

    @property
    def n_columns(self) -> int:
        """The columns of the table."""
        return self.columns

    def exact_counts(self, chunk: Chunk) -> Integers:
        """Count the rows of every cell."""
        return count_cells(chunk, self.cells).ravel()

    def sums_of(self, exact_totals: Integers) -> list[int]:
        """Return t L(r) for every radius, by a summed-area table."""
        shape, t = (self.cells,) * self.columns, self.target
        table = summed(exact_totals.reshape(shape))
        full = np.flatnonzero(exact_totals)
        places, counts = np.unravel_index(full, shape), exact_totals[full]
        found: list[int] = []
        for r in self.radii:
            if found and found[-1] == t * t:  # full balls stay full
                found.append(t * t)
                continue
            low = [np.maximum(p - r, 0) for p in places]
            high = [np.minimum(p + r + 1, self.cells) for p in places]
            if self.columns == 1:
                balls = table[high[0]] - table[low[0]]
            else:
                balls = table[high[0], high[1]] - table[low[0], high[1]]
                balls += table[low[0], low[1]] - table[high[0], low[1]]
            found.append(_largest(np.minimum(balls, t), counts, t))
        return found

    def losses_of(self, exact_totals: Integers) -> Integers:
        """Return how far the quality of each radius is below the best there can be."""
        t, sums = self.target, self.sums_of(exact_totals)
        most = t * t + self.slack * t
        before = [0, *sums[:-1]]
        quality = [min(t * t - p, s - t * t + self.slack * t) for p, s in zip(before, sums, strict=True)]
        # Python's integers: the products leave 64 bits. Rounding down moves a change by less than one step,
        # so two candidates may come apart by less than two more: WIDTH - 2 leaves room for them.
        return np.array([(most - q) * (WIDTH - 2) // (4 * t - 2) for q in quality], dtype=np.int64)

    def describe(self) -> str:
        """Say the loss in a few words."""
        return f"balls of {self.n_candidates} radii against {self.target} rows"


def _largest(values: Integers, counts: Integers, t: int) -> int:
    """Return the sum of the t largest values, each as often as its count."""
    often = np.bincount(values, counts, t + 1).astype(np.int64)[::-1]
    reach = np.cumsum(often)
    taken = np.clip(t - (reach - often), 0, often)
    return int(taken @ np.arange(t, -1, -1))
