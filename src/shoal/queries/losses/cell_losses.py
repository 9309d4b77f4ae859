"""What the candidates of each cell are chosen by. A row has a say in its own cell only.

As in `cluster_cost.py`, one row raises the loss of each candidate of its cell by a whole number from 0 to
WIDTH. It raises none of any other cell, so that choices in all cells together cost what one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal._typing import Array, Integers, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels
from shoal.queries.losses.cluster_cost import WIDTH
from shoal.queries.partitions.cells import Partition


class CellLoss(Protocol):
    """A frozen, data-free value: candidates for every cell, and what each row has against its own cell's."""

    @property
    def n_cells(self) -> int:
        """How many choices are to be made."""
        ...

    @property
    def n_candidates(self) -> int:
        """How many there are to choose from in a cell."""
        ...

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        ...

    def exact_cell_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the exact losses of a chunk, one line per cell, one column per candidate."""
        ...

    def describe(self) -> str:
        """Say the loss in a few words."""
        ...


@dataclass(frozen=True, eq=False)
class OffsetCost:
    """What it costs the rows of a cell to have a candidate for their centre, and not the cell's anchor.

    A row x adds |x - y|^2 - |x - a|^2 to the loss of candidate y of its cell with anchor a, clipped to
    [-H, H], in WIDTH steps of 2 H, rounded down. The nearer the candidates are to the anchor, the smaller is
    H, and the finer the choice: see :meth:`reach`.

    Parameters
    ----------
    partition : Partition
        Public cells.
    anchors : ndarray of shape (n_cells, n_columns)
        A public point of [-1, 1]^d for each cell; rounded to the lattice.
    candidates : ndarray of shape (n_cells, n_candidates, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    radius : float
        How far from the anchor a row is listened to in full.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Voronoi
    >>> one = Voronoi(np.zeros((1, 1)))
    >>> cost = OffsetCost(one, np.zeros((1, 1)), np.array([[[0.0], [0.5], [-0.5]]]), radius=1.0)
    >>> cost.reach(None)
    array([1.25])
    >>> (cost.exact_cell_losses(Chunk(np.array([[1.0, 0.75]], dtype=np.float32)), None) / WIDTH).round(2)
    array([[1. , 0.5, 1.9]])
    """

    partition: Partition
    anchors: Array
    candidates: Array
    radius: float

    def __post_init__(self) -> None:
        anchors = np.asarray(self.anchors, dtype=np.float64)
        points = np.asarray(self.candidates, dtype=np.float64)
        cells = self.partition.n_cells
        shaped = points.ndim == 3 and points.size and anchors.shape == (cells, points.shape[-1])
        finite = np.isfinite(points).all() and np.isfinite(anchors).all()
        if not shaped or len(points) != cells or not finite:
            raise InvalidInput(
                f"anchors of shape {anchors.shape} and candidates of shape {points.shape} for {cells} cells; "
                "finite points of shape (cells, columns) and (cells, candidates, columns) are wanted"
            )
        if not 0 < self.radius < np.inf:
            raise InvalidInput(f"radius is {self.radius}; a finite one above 0 is wanted")
        object.__setattr__(self, "anchors", to_steps(anchors) / STEPS)
        object.__setattr__(self, "candidates", to_steps(points) / STEPS)

    @property
    def n_cells(self) -> int:
        """How many choices are to be made."""
        return len(self.candidates)

    @property
    def n_candidates(self) -> int:
        """How many there are to choose from in a cell."""
        return int(self.candidates.shape[1])

    @property
    def n_columns(self) -> int:
        """The columns of a candidate."""
        return int(self.candidates.shape[2])

    def reach(self, metric: Metric) -> Array:
        """Return H of every cell: a row within the radius of the anchor is not clipped.

        With p the largest distance of a candidate from the anchor, |x - y|^2 - |x - a|^2 is at most
        p (2 |x - a| + p) in magnitude, and at most p times twice the diameter of the domain.
        """
        weights = np.ones(self.n_columns) if metric is None else metric
        gaps = (self.candidates - self.anchors[:, np.newaxis, :]) ** 2 @ weights
        furthest = np.sqrt(gaps.max(axis=1))
        diameter = 2 * float(np.sqrt(weights.sum()))
        # Candidates that all are the anchor cost the same; any H will do.
        return np.asarray(
            np.maximum(furthest * np.minimum(2 * diameter, 2 * self.radius + furthest), 1 / STEPS**2)
        )

    def exact_cell_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the loss of every candidate over the rows of its cell."""
        labels = self.partition.assign(chunk.columns, metric)
        scales = WIDTH / (2 * self.reach(metric))
        points, anchors = to_steps(self.candidates), to_steps(self.anchors)
        return kernels.cell_costs(
            chunk.columns, labels, points, anchors, metric, scales, WIDTH, chunk.weights
        )

    def describe(self) -> str:
        """Say the loss in a few words."""
        return f"cost of {self.n_candidates} public candidates a cell, {self.partition.describe()}"
