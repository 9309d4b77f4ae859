"""The sums of a few columns of many: those that each cell picked (Balcan et al. 2017, algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal._typing import Integers, Metric
from shoal.domain import STEPS, Chunk
from shoal.errors import InvalidInput
from shoal.queries.partitions.cells import Partition
from shoal.queries.statistics.aggregates import RowChange, exact_weighted


@dataclass(frozen=True, eq=False)
class Picked:
    """The row in a few columns of its cell's own: less to hide than in all.

    Parameters
    ----------
    columns : ndarray of int64, shape (n_cells, n_picked)
        Different columns for each cell.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Grid
    >>> rows = Chunk(np.array([[-1.0, 1.0], [0.5, 0.25], [0.0, 1.0]], dtype=np.float32))
    >>> Picked(np.array([[2], [1]])).exact_totals(Grid((2, 1, 1)), rows, None) / STEPS
    array([[0.  , 1.  ],
           [0.25, 1.  ]])
    """

    columns: Integers

    def __post_init__(self) -> None:
        columns = np.asarray(self.columns, dtype=np.int64)
        if columns.ndim != 2 or not columns.size or int(columns.min()) < 0:
            raise InvalidInput(f"columns of shape {columns.shape}; at least one for each cell is wanted")
        object.__setattr__(self, "columns", columns)

    @property
    def unit(self) -> float:
        """The half width of the domain."""
        return 1.0

    origin: ClassVar = None

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse columns that are not picked for each cell, or not there."""
        if len(self.columns) != n_cells:
            raise InvalidInput(f"columns are picked for {len(self.columns)} cells; there are {n_cells}")
        if int(self.columns.max()) >= n_columns:
            raise InvalidInput(f"column {int(self.columns.max())} is picked; the table has {n_columns}")

    def change(self, n_columns: int) -> RowChange:  # noqa: ARG002 - as many for any table
        """Return a box in the picked columns."""
        return RowChange(STEPS, int(self.columns.shape[1]))

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the picked lattice values of every cell."""
        labels = partition.assign(chunk.columns, metric)
        values = np.take_along_axis(chunk.columns, self.columns[labels].T, axis=0)
        steps = (values * np.float32(STEPS)).astype(np.int32)
        return exact_weighted(steps, labels, partition.n_cells, STEPS, chunk.weights)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return f"sums of rows in {self.columns.shape[1]} columns a cell and counts"
