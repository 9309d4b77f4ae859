"""What is summed in a cell: row statistics with a declared body that one row's change lies in.

A statistic turns a row into integers: `d` values, then a count, then perhaps a cost. All are scaled to one
common width W, so that one row changes each by at most W and a single lemma covers every kind:
adding a row to a cell changes the integer vector (values, W * count, cost) by a vector of the body
`RowChange(width=W, ...)`, and changes no other cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Columns, Integers, Labels, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels
from shoal.queries.partitions.cells import Partition, Voronoi


@dataclass(frozen=True)
class RowChange:
    """The body that one row's change lies in.

    Parameters
    ----------
    width : int
        Half width W of every coordinate, in integer steps.
    n_values : int
        Coordinates of the statistic itself.
    ball : bool
        Whether the values lie in the L2 ball of radius W, not only in the box.
    extras : tuple of str
        Further coordinates of half width W: the count, a cost.
    weighted : bool
        Whether rows have weights, so that a row replaced in its cell may change the count.
    reach : int, optional
        The most that the absolute values add up to, where that is less than the box or ball says.
    """

    width: int
    n_values: int
    ball: bool = False
    extras: tuple[str, ...] = ("count",)
    weighted: bool = False
    reach: int | None = None

    @property
    def l1(self) -> int:
        """The most that the absolute values add up to: d W in the box, sqrt(d) W in the ball, rounded up."""
        square = self.n_values * self.width**2
        most = math.isqrt(max(square - 1, 0)) + min(square, 1) if self.ball else self.n_values * self.width
        return most if self.reach is None else min(most, self.reach)

    @property
    def dimension(self) -> int:
        """All coordinates."""
        return self.n_values + len(self.extras)


@dataclass(frozen=True)
class Box:
    """Clip every coordinate to [-radius, radius], in units of the half width of the domain."""

    radius: float

    def __post_init__(self) -> None:
        if not 1 / STEPS <= self.radius <= 2:
            raise InvalidInput(f"a box of radius {self.radius} is not between {1 / STEPS:g} and 2")


@dataclass(frozen=True)
class Ball:
    """Project to the L2 ball of this radius, in units of the half width of the domain."""

    radius: float

    def __post_init__(self) -> None:
        if not 1 / STEPS <= self.radius < 1024:  # 2^30 steps: the kernels' integers
            raise InvalidInput(f"a ball of radius {self.radius} is not between {1 / STEPS:g} and 1024")


def exact_weighted(
    values: npt.NDArray[np.int32],
    labels: Labels,
    n_cells: int,
    width: int,
    weights: npt.NDArray[np.int32] | None,
) -> Integers:
    """Sum values and counts per cell. A weight only shrinks a contribution, so it stays in the body."""
    if weights is None:
        return np.column_stack(
            [kernels.accumulate(values, labels, n_cells), kernels.count(labels, n_cells) * width]
        )
    shares = weights.astype(np.int64)
    # Toward zero, so that rounding never leaves the body.
    wide = values.astype(np.int64) * shares
    shrunk = np.sign(wide) * (np.abs(wide) // STEPS)
    counts = (width * shares) // STEPS
    both = np.vstack([shrunk, counts[np.newaxis, :]]).astype(np.int32)
    return kernels.accumulate(both, labels, n_cells)


def exact_count(partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
    """Count the rows of every cell, or sum their weights."""
    labels = partition.assign(chunk.columns, metric)
    if chunk.weights is None:
        return kernels.count(labels, partition.n_cells)
    return kernels.accumulate(chunk.weights[np.newaxis, :], labels, partition.n_cells)[:, 0]


def check_anchors(anchors: Array, n_cells: int, n_columns: int) -> None:
    """Refuse public points that are not one for each cell."""
    if anchors.shape != (n_cells, n_columns):
        raise InvalidInput(
            f"anchors have shape {anchors.shape}; one point of {n_columns} columns for each of {n_cells} "
            "cells is wanted"
        )


class RowStat(Protocol):
    """A typed public value: what each row contributes to its cell."""

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse public points or columns of its own that do not fit the cells or the table."""
        ...

    @property
    def origin(self) -> Array | float | None:
        """The points that rows are measured from, one per cell; None where sums are not those of rows."""
        ...

    def change(self, n_columns: int) -> RowChange:
        """Return the body one row's contribution lies in."""
        ...

    @property
    def unit(self) -> float:
        """The size of W integer steps, in scaled units of the domain."""
        ...

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Return the exact integer totals of a chunk, one line per cell, one column per coordinate."""
        ...

    def describe(self) -> str:
        """Say the statistic in a few words."""
        ...


@dataclass(frozen=True)
class Value:
    """The row itself: per cell the sum of its scaled coordinates, and the count."""

    origin: ClassVar = 0.0

    @property
    def unit(self) -> float:
        """The half width of the domain."""
        return 1.0

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse nothing: it fits any cells."""

    def change(self, n_columns: int) -> RowChange:
        """Return a box: rows are clipped to the domain."""
        return RowChange(STEPS, n_columns)

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the lattice values of every cell."""
        if isinstance(partition, Voronoi) and chunk.weights is None:
            sums, counts = kernels.assign_sums(chunk.columns, partition.steps, metric)
            return np.column_stack([sums, counts * STEPS])
        labels = partition.assign(chunk.columns, metric)
        steps = np.empty(chunk.columns.shape, dtype=np.int32)
        np.multiply(chunk.columns, np.float32(STEPS), out=steps, casting="unsafe")  # whole numbers: exact
        return exact_weighted(steps, labels, partition.n_cells, STEPS, chunk.weights)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return "sums of rows and counts"


@dataclass(frozen=True, eq=False)
class Offset:
    """The row minus its cell's public anchor, clipped: less to hide, so less noise.

    Parameters
    ----------
    anchors : ndarray of shape (n_cells, n_columns)
        A public point of [-1, 1]^d for each cell; rounded to the lattice.
    shape : Box or Ball
        How far an offset may reach.
    """

    anchors: npt.NDArray[np.float64]
    shape: Box | Ball

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchors", to_steps(np.asarray(self.anchors, dtype=np.float64)) / STEPS)

    def check(self, n_cells: int, n_columns: int) -> None:
        """Refuse anchors that are not one for each cell."""
        check_anchors(self.anchors, n_cells, n_columns)

    @property
    def origin(self) -> Array:
        """The anchors."""
        return self.anchors

    @property
    def radius_steps(self) -> int:
        """The radius in lattice steps, rounded down."""
        return int(self.shape.radius * STEPS)

    @property
    def width(self) -> int:
        """Integer steps of the statistic: the lattice's own, but at most 2^20."""
        return min(self.radius_steps, STEPS)

    @property
    def unit(self) -> float:
        """The radius as it is on the lattice."""
        return self.radius_steps / STEPS

    def change(self, n_columns: int) -> RowChange:
        """Return a box or a ball of the declared radius."""
        return RowChange(self.width, n_columns, ball=isinstance(self.shape, Ball))

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum the clipped offsets of every cell."""
        labels = partition.assign(chunk.columns, metric)
        values = self.exact_offsets(chunk.columns, labels)
        return exact_weighted(values, labels, partition.n_cells, self.width, chunk.weights)

    def exact_costs(self, columns: Columns, labels: Labels) -> npt.NDArray[np.int32]:
        """Return 2 min(|offset|, radius)^2 / radius^2 - 1 of each row, in steps of the width."""
        return kernels.offset_cost(columns, labels, *self._how())

    def exact_offsets(self, columns: Columns, labels: Labels) -> npt.NDArray[np.int32]:
        """Return the clipped offset of each row."""
        return kernels.offsets(columns, labels, *self._how())

    def _how(self) -> tuple[npt.NDArray[np.int64], int, int, bool]:
        return to_steps(self.anchors), self.radius_steps, self.width, isinstance(self.shape, Ball)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        kind = "ball" if isinstance(self.shape, Ball) else "box"
        return f"sums of offsets clipped to a {kind} of {self.shape.radius:.4g} and counts"


@dataclass(frozen=True, eq=False)
class WithCost:
    """An offset and, beside it, how far the row lies from the anchor: one more coordinate per cell."""

    of: Offset

    def check(self, n_cells: int, n_columns: int) -> None:
        """As of the offset."""
        self.of.check(n_cells, n_columns)

    @property
    def origin(self) -> Array:
        """As of the offset."""
        return self.of.origin

    @property
    def unit(self) -> float:
        """As of the offset."""
        return self.of.unit

    def change(self, n_columns: int) -> RowChange:
        """Return the offset's body with one coordinate more."""
        inner = self.of.change(n_columns)
        return RowChange(inner.width, inner.n_values, inner.ball, ("count", "cost"))

    def exact_totals(self, partition: Partition, chunk: Chunk, metric: Metric) -> Integers:
        """Sum offsets, counts and costs of every cell."""
        labels, n_cells = partition.assign(chunk.columns, metric), partition.n_cells
        values = self.of.exact_offsets(chunk.columns, labels)
        costs = self.of.exact_costs(chunk.columns, labels)[np.newaxis, :]
        totals = exact_weighted(values, labels, n_cells, self.of.width, chunk.weights)
        extra = exact_weighted(costs, labels, n_cells, self.of.width, chunk.weights)[:, :1]
        return np.column_stack([totals, extra])

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return self.of.describe() + " and clipped costs"
