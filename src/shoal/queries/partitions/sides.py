"""Where the cells of one column lie against its bounds."""

from __future__ import annotations

from dataclasses import dataclass

from shoal._typing import Columns, Labels, Metric
from shoal.domain.side import SIDES
from shoal.queries.partitions.cells import Grid


@dataclass(frozen=True)
class Sides:
    """Rows by where their cell of one column lies: missing, below, within or above the bounds.

    To be asked of a curator whose rows say that: :meth:`shoal.queries.Curator.sides`.

    Parameters
    ----------
    column : int
        Which column.
    """

    column: int

    @property
    def n_cells(self) -> int:
        """The number of sides."""
        return len(SIDES)

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the side of each row."""
        return Grid((self.n_cells,)).assign(columns[self.column : self.column + 1], metric)

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"column {self.column} {', '.join(SIDES[:-1])} or {SIDES[-1]} its bounds"
