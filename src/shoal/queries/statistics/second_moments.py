"""Second moments as row statistics: squares of single columns, and products of all pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers, Metric
from shoal.domain import STEPS, Chunk
from shoal.queries import kernels
from shoal.queries.partitions.cells import Partition
from shoal.queries.statistics.aggregates import Offset, RowChange, exact_weighted

# Numbers held at a time while products are summed.
_HELD = 2**23


@dataclass(frozen=True)
class Squares:
    """The row itself and 2 x^2 - 1 of each of its columns, which lies in [-1, 1] as x does."""

    origin: ClassVar = None

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse nothing: it fits any cells."""

    @property
    def unit(self) -> float:
        """The half width of the domain; of squares, its square."""
        return 1.0

    def change(self, n_columns: int) -> RowChange:
        """Return a box of twice the columns: rows are clipped to the domain."""
        return RowChange(STEPS, 2 * n_columns)

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum lattice values and their squares in every cell."""
        labels = partition.assign(chunk.columns, metric)
        steps = (chunk.columns * np.float32(STEPS)).astype(np.int64)
        both = np.vstack([steps, 2 * steps * steps // STEPS - STEPS]).astype(np.int32)
        return exact_weighted(both, labels, partition.n_cells, STEPS, chunk.weights)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return "sums of rows and squares and counts"


@dataclass(frozen=True, eq=False)
class Outer:
    """Products of all pairs of columns of an offset that is clipped to a ball: a second-moment matrix.

    With u the clipped offset in whole steps, |u|_2 <= W, a row contributes trunc(u_i u_j / W) for i <= j. The
    squares of these add up to at most (sum of u_i^2)^2 / W^2 <= W^2: the upper triangle lies in the ball of
    radius W, whatever the number of columns. Their absolute values add up to at most
    ((sum of |u_i|)^2 + sum of u_i^2) / 2W <= (d + 1) W / 2, since sum of |u_i| <= sqrt(d) W.

    Parameters
    ----------
    of : Offset
        With a ball for its shape.
    """

    of: Offset

    origin: ClassVar = None

    def check(self, n_cells: int, n_columns: int) -> None:
        """As of the offset."""
        self.of.check(n_cells, n_columns)

    @property
    def unit(self) -> float:
        """The radius squared."""
        return self.of.unit**2

    def change(self, n_columns: int) -> RowChange:
        """Return a ball of as many values as there are pairs, a column with itself among them."""
        inner = self.of.change(n_columns)
        n_pairs = n_columns * (n_columns + 1) // 2
        if not inner.ball:  # clipped to a box, a product is within the box too, and that is all
            return RowChange(inner.width, n_pairs)
        return RowChange(inner.width, n_pairs, ball=True, reach=-(-(n_columns + 1) * inner.width // 2))

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the products of every cell: the upper triangle, row by row."""
        labels = partition.assign(chunk.columns, metric)
        values = self.of.exact_offsets(chunk.columns, labels)
        n_pairs = self.change(len(values)).n_values
        totals = np.zeros((partition.n_cells, n_pairs + 1), dtype=np.int64)
        rows = max(1, _HELD // n_pairs)
        for start in range(0, values.shape[1], rows):
            part = slice(start, start + rows)
            totals += exact_weighted(
                kernels.products(values[:, part], self.of.width),
                labels[part],
                partition.n_cells,
                self.of.width,
                None if chunk.weights is None else chunk.weights[part],
            )
        return totals

    def describe(self) -> str:
        """Say the statistic in a few words."""
        kind = "ball" if self.change(1).ball else "box"
        return f"products of offsets clipped to a {kind} of {self.of.shape.radius:.4g} and counts"


def symmetric(values: npt.NDArray[np.float64], n_columns: int) -> npt.NDArray[np.float64]:
    """Return the matrix whose upper triangle, row by row, is given: what sums of `Outer` are.

    Examples
    --------
    >>> symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix = np.zeros((n_columns, n_columns))
    upper = np.triu_indices(n_columns)
    matrix[upper] = values
    return matrix + np.triu(matrix, 1).T
