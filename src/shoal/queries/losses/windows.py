"""Small boxes that hold many rows: how small they can be, which one it is, and what lies inside.

The count of the fullest box is not a sum over rows; the counts that it is the largest of are. Every loss says
how far one row can move it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers, Metric
from shoal.domain import STEPS, Chunk, Unit
from shoal.errors import InvalidInput
from shoal.queries.losses.cluster_cost import WIDTH
from shoal.queries.partitions.region import Region

MOST_WINDOWS = 2**16
"""The most boxes of one size that are chosen from."""


class HeldLoss(ABC):
    """Base class of losses of rows that are held: they follow from totals that add up over rows."""

    monotone: ClassVar[bool]
    """Whether what is counted only grows with rows, and a loss moves no further than it either way. Then a
    removal and an addition cancel, and a row replaced moves every loss as little as a row added."""

    def counted(self, unit: Unit) -> Unit:
        """Return the unit to charge for."""
        return replace(unit, neighbours="add-remove") if self.monotone else unit

    @property
    @abstractmethod
    def n_candidates(self) -> int:
        """How many there are to choose from."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The columns of the table it is for."""

    @abstractmethod
    def exact_counts(self, chunk: Chunk) -> Integers:
        """Return the exact totals, which add up over rows, that the losses follow from."""

    @abstractmethod
    def losses_of(self, exact_totals: Integers) -> Integers:
        """Return the exact loss of every candidate, from the totals of all rows."""

    def exact_losses(self, chunk: Chunk, metric: Metric) -> Integers:  # noqa: ARG002 - as other losses
        """Return the exact loss of every candidate, of all rows."""
        return self.losses_of(self.exact_counts(chunk))

    @abstractmethod
    def describe(self) -> str:
        """Say the loss in a few words."""


@dataclass(frozen=True)
class Windows:
    """Overlapping boxes of one size: a region cut in equal parts, two of which side by side are a window.

    Whatever is at most one part wide lies in a window as a whole.

    Parameters
    ----------
    region : Region
        What is cut.
    axes : tuple of int
        Which columns are cut; windows are as wide as the region in the others.
    parts : int
        Parts a column.
    cells : int
        Cells a column of a grid that rows are moved to first, or 0; with them, windows of one or two columns
        can be counted from a summed-area table.

    Examples
    --------
    >>> windows = Windows(Region.whole(2), (0, 1), 4)
    >>> windows.n, windows.at(4).lower, windows.at(4).upper
    (9, (-524287, -524287), (524288, 524288))
    """

    region: Region
    axes: tuple[int, ...]
    parts: int
    cells: int = 0

    def __post_init__(self) -> None:
        d = len(self.region.lower)
        if not self.axes or len(set(self.axes)) != len(self.axes) or not set(self.axes) <= set(range(d)):
            raise InvalidInput(f"columns {self.axes} of {d} cannot be cut")
        if self.parts < 1 or self.parts ** len(self.axes) > MOST_WINDOWS:
            raise InvalidInput(f"{self.parts} parts in {len(self.axes)} columns are not 1 to {MOST_WINDOWS}")
        if self.cells < 0 or (self.cells and len(self.axes) != d):
            raise InvalidInput("cells need windows over all columns")

    @property
    def side(self) -> int:
        """Windows along one column."""
        return max(1, self.parts - 1)

    @property
    def n(self) -> int:
        """How many windows there are."""
        return int(self.side ** len(self.axes))

    def at(self, index: int) -> Region:
        """Return a window."""
        lower, upper = list(self.region.lower), list(self.region.upper)
        for axis in reversed(self.axes):
            index, place = divmod(index, self.side)
            low, width = self.region.lower[axis], self.region.upper[axis] - self.region.lower[axis] + 1
            # The first value of part j is the least v with (v - low) parts >= j width. Where parts are finer
            # than the lattice a window may have no value; it is then given the one at its end.
            first = low - (-place * width // self.parts)
            last = low - (-min(place + 2, self.parts) * width // self.parts) - 1
            lower[axis], upper[axis] = min(first, low + width - 1), max(min(first, low + width - 1), last)
        return Region(tuple(lower), tuple(upper))

    def exact_counts(self, chunk: Chunk, table: Integers | None = None) -> Integers:
        """Return how many rows are in each window, flat, the first column slowest.

        Parameters
        ----------
        chunk : Chunk
            All rows.
        table : ndarray of int64, optional
            Their summed-area table over `cells`, where there is one; the result is the same.
        """
        counts = self._from_rows(chunk) if table is None else self._from_table(table)
        if self.parts > 1:
            for axis in range(counts.ndim):
                first, second = (
                    (slice(None),) * axis + (slice(-1),),
                    (slice(None),) * axis + (slice(1, None),),
                )
                counts = counts[first] + counts[second]
        return np.asarray(counts.ravel())

    def _from_rows(self, chunk: Chunk) -> Integers:
        inside = np.ones(chunk.n_rows, dtype=np.bool_)
        keys = np.zeros(chunk.n_rows, dtype=np.int64)
        for axis in sorted({*self.axes, *self.region.narrow}):
            steps = self._steps(chunk.columns[axis])
            if axis not in self.axes:
                inside &= (steps >= self.region.lower[axis]) & (steps <= self.region.upper[axis])
                continue
            part = self.region.strides(axis, self.parts, steps)
            inside &= (part >= 0) & (part < self.parts)
            keys = keys * self.parts + part
        shape = (self.parts,) * len(self.axes)
        weights = None if chunk.counts is None else chunk.counts[inside]
        found = np.bincount(keys[inside], weights, math.prod(shape))
        return found.astype(np.int64).reshape(shape)

    def _steps(self, values: npt.NDArray[np.float32]) -> Integers:
        steps = (values * np.float32(STEPS)).astype(np.int64)
        return _middles(self.cells)[cell_of(steps, self.cells)] if self.cells else steps

    def _from_table(self, table: Integers) -> Integers:
        middles = _middles(self.cells)
        for axis in range(table.ndim):
            part = self.region.strides(axis, self.parts, middles)
            ends = np.searchsorted(part, np.arange(self.parts + 1))
            table = np.diff(table.take(ends, axis=axis), axis=axis)
        return table


def cell_of(steps: Integers, cells: int) -> Integers:
    """Return in which of equal cells of a column values lie."""
    return np.minimum((steps + STEPS) * cells // (2 * STEPS), cells - 1)


def _middles(cells: int) -> Integers:
    return (2 * np.arange(cells) + 1) * STEPS // cells - STEPS


def summed_area(chunk: Chunk, cells: int) -> Integers:
    """Return at (i, j) how many rows lie in the first i and j cells, for one or two columns.

    Examples
    --------
    >>> summed_area(Chunk(np.array([[-1.0, 0.9, 1.0]], dtype=np.float32)), 4)
    array([0, 1, 1, 1, 3])
    """
    return summed(count_cells(chunk, cells))


def count_cells(chunk: Chunk, cells: int) -> Integers:
    """Return how many rows lie in each of equal cells of every column."""
    keys = np.zeros(chunk.n_rows, dtype=np.int64)
    for values in chunk.columns:
        keys = keys * cells + cell_of((values * np.float32(STEPS)).astype(np.int64), cells)
    shape = (cells,) * len(chunk.columns)
    return np.bincount(keys, chunk.counts, math.prod(shape)).astype(np.int64).reshape(shape)


def summed(counts: Integers) -> Integers:
    """Return at (i, j) the sum of the first i and j counts."""
    table = np.zeros(tuple(m + 1 for m in counts.shape), dtype=np.int64)
    table[(slice(1, None),) * counts.ndim] = counts
    for axis in range(counts.ndim):
        np.cumsum(table, axis=axis, out=table)
    return table


@dataclass(frozen=True)
class WindowSize(HeldLoss):
    """How small windows can be and still hold a number of rows: by the fullest window of each size.

    One row changes the count of the fullest window by 0 or 1, always upwards when it is added: so its
    distance from the target moves by at most 1 either way, and two candidates come apart by at most 2. A step
    of WIDTH/2 a row makes that WIDTH.

    Parameters
    ----------
    sizes : tuple of Windows
        What is chosen from.
    target : int
        How many rows the fullest window should hold.
    """

    sizes: tuple[Windows, ...]
    target: int

    monotone: ClassVar[bool] = True

    @property
    def n_candidates(self) -> int:
        """How many sizes."""
        return len(self.sizes)

    @property
    def n_columns(self) -> int:
        """The columns of the table."""
        return len(self.sizes[0].region.lower)

    def exact_counts(self, chunk: Chunk) -> Integers:
        """Count the rows of every window of every size."""
        tables = {
            n: summed_area(chunk, n) for n in {w.cells for w in self.sizes} if n and self.n_columns <= 2
        }
        return np.concatenate([w.exact_counts(chunk, tables.get(w.cells)) for w in self.sizes])

    def losses_of(self, exact_totals: Integers) -> Integers:
        """Return how far each size's fullest window is from the target."""
        starts = np.cumsum([0, *(w.n for w in self.sizes[:-1])])
        fullest: Integers = np.maximum.reduceat(exact_totals, starts)
        return np.asarray(np.abs(fullest - self.target) * (WIDTH // 2))

    def describe(self) -> str:
        """Say the loss in a few words."""
        return f"fullest window of {self.n_candidates} sizes against {self.target} rows"


@dataclass(frozen=True)
class BoxCount(HeldLoss):
    """Which window holds most rows: a row raises the loss of every window that it is not in by WIDTH.

    Parameters
    ----------
    windows : Windows
        What is chosen from.
    """

    windows: Windows

    monotone: ClassVar[bool] = False

    @property
    def n_candidates(self) -> int:
        """How many windows."""
        return self.windows.n

    @property
    def n_columns(self) -> int:
        """The columns of the table."""
        return len(self.windows.region.lower)

    def exact_counts(self, chunk: Chunk) -> Integers:
        """Count the rows that are not in each window."""
        rows = chunk.n_rows if chunk.counts is None else int(chunk.counts.sum())
        return rows - self.windows.exact_counts(chunk)

    def losses_of(self, exact_totals: Integers) -> Integers:
        """Return the rows that are not in each window, in steps of WIDTH."""
        return np.asarray(exact_totals * WIDTH)

    def describe(self) -> str:
        """Say the loss in a few words."""
        return f"rows in {self.windows.n} windows"
