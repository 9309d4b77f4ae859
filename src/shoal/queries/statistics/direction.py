"""Which way a row lies from its cell's anchor: a row statistic of length one, whatever the bounds are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries.partitions.cells import Partition
from shoal.queries.statistics.aggregates import RowChange, check_anchors, exact_weighted


@dataclass(frozen=True, eq=False)
class Direction:
    """The unit vector from the cell's public anchor to the row: what pulls at a median.

    It points in the coordinates that distance is measured in, so that its length is 1 whatever the bounds
    are; within the core it is shorter in proportion, so that a row at the anchor does not pull.

    Parameters
    ----------
    anchors : ndarray of shape (n_cells, n_columns)
        A public point of [-1, 1]^d for each cell; rounded to the lattice.
    core : float
        From which distance on a row pulls with all its strength.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Voronoi
    >>> stat = Direction(np.zeros((1, 2)), core=0.5)
    >>> rows = Chunk(np.array([[0.8, 0.0], [0.6, -0.25]], dtype=np.float32))
    >>> (stat.exact_totals(Voronoi(np.zeros((1, 2))), rows, None) / STEPS).round(3)
    array([[0.8, 0.1, 2. ]])
    """

    anchors: npt.NDArray[np.float64]
    core: float

    def __post_init__(self) -> None:
        if not 1 / STEPS <= self.core < np.inf:
            raise InvalidInput(f"a core of {self.core} is not at least {1 / STEPS:g}")
        object.__setattr__(self, "anchors", to_steps(np.asarray(self.anchors, dtype=np.float64)) / STEPS)

    origin: ClassVar = None

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse anchors that are not one for each cell."""
        check_anchors(self.anchors, n_cells, n_columns)

    @property
    def unit(self) -> float:
        """A length of one."""
        return 1.0

    def change(self, n_columns: int) -> RowChange:
        """Return a ball: no row pulls with more than one."""
        return RowChange(STEPS, n_columns, ball=True)

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the directions of every cell."""
        labels = partition.assign(chunk.columns, metric)
        values = self.exact_directions(chunk.columns, labels, metric)
        return exact_weighted(values, labels, partition.n_cells, STEPS, chunk.weights)

    def exact_directions(self, columns: Columns, labels: Labels, metric: Metric) -> npt.NDArray[np.int32]:
        """Return the direction of each row, in steps, rounded toward zero.

        A length is off by at most d + 3 roundings. It is cut by more than that, so that the squares of the
        result never add up to more than STEPS^2.
        """
        d = len(columns)
        weights = np.ones(d) if metric is None else metric
        # One operation after the other, in the order of the columns: a row's result is its own.
        pulls = columns.astype(np.float64) - self.anchors[labels].T
        squares = np.zeros(columns.shape[1])
        for pull, weight in zip(pulls, weights, strict=True):
            pull *= np.sqrt(weight)
            squares += pull * pull
        cut = 1.0 - (d + 16) * 2.0**-52
        scale = STEPS * cut / np.maximum(np.sqrt(squares), self.core)
        return np.trunc(pulls * scale).astype(np.int32)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return f"sums of directions with a core of {self.core:.4g} and counts"
