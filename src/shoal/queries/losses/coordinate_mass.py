"""Few columns of many: which ones a cell's rows fill.

For tables whose rows are mostly at one public point, such as zero counts of words: Balcan et al. 2017,
algorithm 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array, Integers, Labels, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels
from shoal.queries.losses.cluster_cost import WIDTH
from shoal.queries.partitions.cells import Partition


@dataclass(frozen=True, eq=False)
class CoordinateMass:
    """How little a cell's rows lie to one side of the origin along a column: the less, the greater the loss.

    Candidates are the columns that are not taken, upwards, and then downwards unless no row can lie there.
    The sum over rows of x - o is the largest in absolute value for the candidate of least loss. A row adds
    2 - (x - o), or 2 + (x - o) downwards, as a share of the most that this can be, in WIDTH steps, rounded
    down: it is never negative, as x and o are in [-1, 1].

    Parameters
    ----------
    partition : Partition
        Public cells.
    origin : ndarray of shape (n_columns,)
        A public point of [-1, 1]^d where most values of most rows are; rounded to the lattice.
    taken : ndarray of int64, shape (n_cells, n_taken)
        Columns that may not be chosen any more, different ones for each cell.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Grid
    >>> mass = CoordinateMass(Grid.whole(3), np.full(3, -1.0), np.array([[0]]))
    >>> rows = Chunk(np.array([[1.0, 1.0], [-1.0, -1.0], [-1.0, 0.5]], dtype=np.float32))
    >>> mass.exact_cell_losses(rows, None) / WIDTH
    array([[2.  , 1.25]])
    >>> mass.column_of(np.array([1]))
    array([2])
    """

    partition: Partition
    origin: Array
    taken: Integers

    def __post_init__(self) -> None:
        origin, taken = np.asarray(self.origin, dtype=np.float64), np.asarray(self.taken, dtype=np.int64)
        if origin.ndim != 1 or not origin.size or not np.isfinite(origin).all():
            raise InvalidInput(f"an origin of shape {origin.shape}; a finite point is wanted")
        object.__setattr__(self, "origin", to_steps(origin) / STEPS)
        object.__setattr__(self, "taken", taken)
        d = len(origin)
        different = taken.ndim == 2 and bool((np.diff(np.sort(taken, axis=1), axis=1) > 0).all())
        if not different or len(taken) != self.partition.n_cells or taken.shape[1] >= d:
            raise InvalidInput(
                f"taken columns of shape {taken.shape}; fewer than {d} different ones are wanted "
                f"for each of {self.partition.n_cells} cells"
            )
        if taken.size and not 0 <= int(taken.min()) <= int(taken.max()) < d:
            raise InvalidInput(f"taken columns must be from 0 to {d - 1}")

    @property
    def n_cells(self) -> int:
        """How many choices are to be made."""
        return self.partition.n_cells

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        return len(self.origin)

    @property
    def n_candidates(self) -> int:
        """The columns that are left, twice where rows can lie on both sides."""
        return (self.n_columns - int(self.taken.shape[1])) * (1 if self.one_sided else 2)

    @property
    def one_sided(self) -> bool:
        """Whether no row can lie below the origin."""
        return bool((self.origin == -1.0).all())

    def column_of(self, chosen: Integers) -> Integers:
        """Return the column of the chosen candidate of every cell."""
        return self._left()[np.arange(self.n_cells), chosen] % self.n_columns

    def exact_cell_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the loss of every candidate over the rows of its cell."""
        labels = self.partition.assign(chunk.columns, metric)
        steps = (chunk.columns * np.float32(STEPS)).astype(np.int32)
        steps -= to_steps(self.origin).astype(np.int32)[:, np.newaxis]
        # A step of the lattice is one of WIDTH, so shifting by a bit or two gives 0 to WIDTH.
        if self.one_sided:
            sides = [(2 * WIDTH - steps) >> 1]
        else:
            sides = [(2 * WIDTH - steps) >> 2, (2 * WIDTH + steps) >> 2]
        totals = [self._total(side, labels, chunk.weights) for side in sides]
        return np.take_along_axis(np.concatenate(totals, axis=1), self._left(), axis=1)

    def _total(self, losses: Labels, labels: Labels, weights: Labels | None) -> Integers:
        if weights is not None:
            losses = (losses.astype(np.int64) * weights // STEPS).astype(np.int32)
        return kernels.accumulate(losses, labels, self.n_cells)

    def _left(self) -> Integers:
        """Return the candidates of every cell as numbers: a column upwards, n_columns more downwards."""
        d = self.n_columns
        free = np.ones((self.n_cells, d), dtype=np.bool_)
        np.put_along_axis(free, self.taken, False, axis=1)
        columns = np.nonzero(free)[1].reshape(self.n_cells, -1)
        return columns if self.one_sided else np.concatenate([columns, columns + d], axis=1)

    def describe(self) -> str:
        """Say the loss in a few words."""
        left = self.n_columns - self.taken.shape[1]
        return f"mass in one of {left} columns a cell, {self.partition.describe()}"
