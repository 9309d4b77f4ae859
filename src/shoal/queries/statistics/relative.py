"""Offsets measured in radii of their own: each cell and each column says how far its rows are followed.

A narrow cluster, or a narrow column of one, then has little to hide and gets little noise. A row's offset
from its cell's anchor is divided by the radii and cut to the unit box or ball, so one lemma covers all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels
from shoal.queries.kernels import relative as relative_kernels
from shoal.queries.partitions.cells import Partition
from shoal.queries.statistics.aggregates import RowChange, check_anchors, exact_weighted

_LEAST = 16
"""Steps of the least radius: finer ones would leave the lattice."""
# Rows at a time, so that what is made on the way stays small.
_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class Relative:
    """The row minus its cell's public anchor, over the cell's public radii, cut to the unit box or ball.

    Sums are in units of the radii.

    Parameters
    ----------
    anchors : ndarray of shape (n_cells, n_columns)
        A public point of [-1, 1]^d for each cell; rounded to the lattice.
    radii : ndarray of shape (n_cells, n_columns)
        How far offsets reach; rounded to the lattice. At least 2^-16, and at most the widest offset: 2 in a
        box, 2 sqrt(n_columns) in a ball.
    body : {"box", "ball"}
        Cut every coordinate to [-1, 1], or the whole offset to the unit ball.
    reaches : ndarray of shape (n_cells,), optional
        Ask also for the sum of squared distances to the anchor, each cut at the squared reach and divided by
        it: one more coordinate per cell.
    """

    anchors: npt.NDArray[np.float64]
    radii: npt.NDArray[np.float64]
    body: Literal["box", "ball"] = "box"
    reaches: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        anchors = to_steps(np.asarray(self.anchors, dtype=np.float64)) / STEPS
        longest = np.ceil(2 * STEPS * np.sqrt(anchors.shape[1]))
        most = longest if self.body == "ball" else 2 * STEPS
        radii = np.clip(np.rint(np.asarray(self.radii, dtype=np.float64) * STEPS), _LEAST, most) / STEPS
        if anchors.shape != radii.shape:
            raise InvalidInput(f"anchors of shape {anchors.shape} need radii alike; got {radii.shape}")
        object.__setattr__(self, "anchors", anchors)
        object.__setattr__(self, "radii", radii)
        if self.reaches is not None:
            reaches = np.clip(np.rint(np.asarray(self.reaches) * STEPS), _LEAST, longest) / STEPS
            if reaches.shape != anchors.shape[:1]:
                raise InvalidInput(f"one reach for each of {len(anchors)} cells is wanted")
            object.__setattr__(self, "reaches", reaches)

    origin: ClassVar = None  # sums are in radii

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse anchors that are not one for each cell."""
        check_anchors(self.anchors, n_cells, n_columns)

    @property
    def unit(self) -> float:
        """Sums are in units of the radii."""
        return 1.0

    def change(self, n_columns: int) -> RowChange:
        """Return the unit box or ball, in lattice steps."""
        extras = ("count",) if self.reaches is None else ("count", "cost")
        return RowChange(STEPS, n_columns, ball=self.body == "ball", extras=extras)

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the cut offsets, and the costs if they are asked for."""
        labels, n_cells = partition.assign(chunk.columns, metric), partition.n_cells
        anchors, radii = to_steps(self.anchors), np.rint(self.radii * STEPS).astype(np.int64)
        values = relative_kernels.relative(chunk.columns, labels, anchors, radii, self.body == "ball")
        totals = exact_weighted(values, labels, n_cells, STEPS, chunk.weights)
        if self.reaches is None:
            return totals
        reaches = np.rint(self.reaches * STEPS).astype(np.int64)
        costs = relative_kernels.relative_cost(chunk.columns, labels, anchors, reaches, metric)[np.newaxis, :]
        extra = exact_weighted(costs, labels, n_cells, STEPS, chunk.weights)[:, :1]
        return np.column_stack([totals, extra])

    def describe(self) -> str:
        """Say the statistic in a few words."""
        costs = "" if self.reaches is None else " and clipped costs"
        return f"sums of offsets in radii of their cells, cut to a {self.body}, and counts{costs}"


@dataclass(frozen=True, eq=False)
class Shells:
    """Rows by their distance from the nearest public centre, in radii of that centre.

    Parameters
    ----------
    centres : ndarray of shape (n_centres, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    radii : ndarray of shape (n_centres, n_columns)
        As of :class:`Relative`.
    body : {"box", "ball"}
        Whether a distance is the largest coordinate of the relative offset, or its length.
    edges : tuple of float
        Rising distances from 2^-10 to 16, or in a ball to 16 sqrt(n_columns), as every column is followed to
        16; a row at an edge lies inside it.
    """

    centres: npt.NDArray[np.float64]
    radii: npt.NDArray[np.float64]
    body: Literal["box", "ball"]
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        like = Relative(self.centres, self.radii, self.body)
        object.__setattr__(self, "centres", like.anchors)
        object.__setattr__(self, "radii", like.radii)
        most = relative_kernels.FARTHEST * (like.anchors.shape[1] ** 0.5 if self.body == "ball" else 1.0)
        if not self.edges or not all(2**-10 <= a < b <= most for a, b in pairwise((2**-10, *self.edges))):
            raise InvalidInput(f"edges must rise from above 2**-10 to at most {most:g}; got {self.edges}")

    @property
    def n_cells(self) -> int:
        """One more than the edges."""
        return len(self.edges) + 1

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the shell of each row."""
        centres, radii = to_steps(self.centres), np.rint(self.radii * STEPS).astype(np.int64)
        # Whole numbers, so that a row's shell does not depend on rounding.
        edges = np.array([int(edge * STEPS) ** 2 for edge in self.edges], dtype=np.int64)
        shells = np.empty(columns.shape[1], dtype=np.int32)
        for start in range(0, len(shells), _ROWS):  # what is made on the way stays small
            block = columns[:, start : start + _ROWS]
            labels = kernels.assign(block, centres, metric)
            squares = relative_kernels.relative_reach(block, labels, centres, radii, self.body == "ball")
            shells[start : start + _ROWS] = np.searchsorted(edges, squares, side="left")
        return shells

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"{self.n_cells} shells around {len(self.centres)} public centres"
