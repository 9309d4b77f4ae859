"""What is summed in a cell: row statistics with a declared body that one row's change lies in.

A statistic turns a row into integers: `d` values, then a count, then perhaps a cost. All are scaled to one
common width W, so that one row changes each by at most W and a single lemma covers every kind:
adding a row to a cell changes the integer vector (values, W * count, cost) by a vector of the body
`Change(width=W, ...)`, and changes no other cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.domain import STEPS, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels
from shoal.queries.partitions import Columns, Labels, Metric, Partition, Voronoi

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Change:
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
    """

    width: int
    n_values: int
    ball: bool = False
    extras: tuple[str, ...] = ("count",)

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
        if not 1 / STEPS <= self.radius < math.inf:
            raise InvalidInput(f"a ball of radius {self.radius} is not at least {1 / STEPS:g} and finite")


class RowStat(Protocol):
    """A typed public value: what each row contributes to its cell."""

    def change(self, n_columns: int) -> Change:
        """Return the body one row's contribution lies in."""
        ...

    @property
    def unit(self) -> float:
        """The size of W integer steps, in scaled units of the domain."""
        ...

    def exact_totals(self, partition: Partition, columns: Columns, metric: Metric) -> Integers:
        """Return the exact integer totals of a chunk, one row a cell, one column a coordinate."""
        ...

    def describe(self) -> str:
        """Say the statistic in a few words."""
        ...


@dataclass(frozen=True)
class Value:
    """The row itself: per cell the sum of its scaled coordinates, and the count."""

    @property
    def unit(self) -> float:
        """The half width of the domain."""
        return 1.0

    def change(self, n_columns: int) -> Change:
        """Return a box: rows are clipped to the domain."""
        return Change(STEPS, n_columns)

    def exact_totals(self, partition: Partition, columns: Columns, metric: Metric) -> Integers:
        """Sum the lattice values of every cell."""
        if isinstance(partition, Voronoi):
            sums, counts = kernels.assign_sums(columns, partition.steps, metric)
        else:
            labels = partition.assign(columns, metric)
            steps = (columns * np.float32(STEPS)).astype(np.int32)
            sums = kernels.accumulate(steps, labels, partition.n_cells)
            counts = kernels.count(labels, partition.n_cells)
        return np.column_stack([sums, counts * STEPS])

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

    def change(self, n_columns: int) -> Change:
        """Return a box or a ball of the declared radius."""
        return Change(self.width, n_columns, ball=isinstance(self.shape, Ball))

    def exact_totals(self, partition: Partition, columns: Columns, metric: Metric) -> Integers:
        """Sum the clipped offsets of every cell."""
        return self.exact_sums(columns, partition.assign(columns, metric), partition.n_cells)

    def exact_sums(self, columns: Columns, labels: Labels, n_cells: int) -> Integers:
        """Sum the clipped offsets of rows whose cells are known."""
        values = kernels.offsets(columns, labels, *self._how())
        sums = kernels.accumulate(values, labels, n_cells)
        return np.column_stack([sums, kernels.count(labels, n_cells) * self.width])

    def exact_costs(self, columns: Columns, labels: Labels, n_cells: int) -> Integers:
        """Sum 2 min(|offset|, radius)^2 / radius^2 - 1, in steps of the width."""
        costs = kernels.offset_cost(columns, labels, *self._how())
        return kernels.accumulate(costs[np.newaxis, :], labels, n_cells)

    def _how(self) -> tuple[npt.NDArray[np.int64], int, int, bool]:
        return to_steps(self.anchors), self.radius_steps, self.width, isinstance(self.shape, Ball)

    def describe(self) -> str:
        """Say the statistic in a few words."""
        kind = "ball" if isinstance(self.shape, Ball) else "box"
        return f"sums of offsets clipped to a {kind} of {self.shape.radius:.4g} and counts"


@dataclass(frozen=True, eq=False)
class WithCost:
    """An offset and, beside it, how far the row lies from the anchor: one more coordinate a cell."""

    of: Offset

    @property
    def unit(self) -> float:
        """As of the offset."""
        return self.of.unit

    def change(self, n_columns: int) -> Change:
        """Return the offset's body with one coordinate more."""
        inner = self.of.change(n_columns)
        return Change(inner.width, inner.n_values, inner.ball, ("count", "cost"))

    def exact_totals(self, partition: Partition, columns: Columns, metric: Metric) -> Integers:
        """Sum offsets, counts and costs of every cell."""
        labels, n_cells = partition.assign(columns, metric), partition.n_cells
        return np.column_stack(
            [self.of.exact_sums(columns, labels, n_cells), self.of.exact_costs(columns, labels, n_cells)]
        )

    def describe(self) -> str:
        """Say the statistic in a few words."""
        return self.of.describe() + " and clipped costs"
