"""Public ways to cut the domain into cells. Every row falls in exactly one, by a rule about itself alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Labels, Metric
from shoal.domain import STEPS, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels

MOST_CELLS = 2**62
"""Grids of more cells have no 64-bit keys."""


class Partition(Protocol):
    """A frozen, picklable, data-free value that gives every row one cell."""

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        ...

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the cell of each row of a chunk."""
        ...

    def describe(self) -> str:
        """Say the partition in a few words."""
        ...


@runtime_checkable
class Keyed(Partition, Protocol):
    """A partition of more cells than can be held, told apart by 64-bit keys."""

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        ...

    def keys(self, columns: Columns) -> npt.NDArray[np.int64]:
        """Return the cell of each row of a chunk."""
        ...


@dataclass(frozen=True, eq=False)
class Voronoi:
    """Each row to its exact nearest centre, ties to the lowest index.

    Parameters
    ----------
    centres : ndarray of shape (n_cells, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.

    Examples
    --------
    >>> cells = Voronoi(np.array([[-0.5], [0.5]]))
    >>> cells.assign(np.array([[-1.0, 0.0, 1.0]], dtype=np.float32), None)
    array([0, 0, 1], dtype=int32)
    """

    centres: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        steps = to_steps(np.asarray(self.centres, dtype=np.float64))
        object.__setattr__(self, "centres", steps / STEPS)

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """The centres in lattice steps."""
        return to_steps(self.centres)

    @property
    def n_cells(self) -> int:
        """The number of centres."""
        return len(self.centres)

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the index of each row's nearest centre."""
        return kernels.assign(columns, self.steps, metric)

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"nearest of {self.n_cells} public centres"


@dataclass(frozen=True)
class Grid:
    """Equal boxes over the domain.

    Parameters
    ----------
    shape : tuple of int
        Cells along each column. The upper border belongs to the last cell.

    Examples
    --------
    >>> Grid((2, 2)).assign(np.array([[-1.0, 0.0, 1.0], [-1.0, -0.5, 1.0]], dtype=np.float32), None)
    array([0, 2, 3], dtype=int32)
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(m < 1 for m in self.shape):
            raise InvalidInput(
                f"a grid of shape {self.shape} has an empty side; use at least 1 cell per column"
            )
        # A side of 2^31 times a coordinate of 2^21 steps stays in 64 bits, and so does a key.
        if self.n_cells > MOST_CELLS or max(self.shape, default=1) > 2**31:
            raise InvalidInput(
                f"a grid of shape {self.shape} has {self.n_cells} cells; at most 2**62 are wanted, and at "
                "most 2**31 per side"
            )

    @classmethod
    def whole(cls, n_columns: int) -> Grid:
        """Return the whole domain as one cell: its histogram is a count of rows."""
        return cls((1,) * n_columns)

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        return len(self.shape)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002 - same for all partitions
        """Return the flat index (first column slowest) of each row's box."""
        if self.n_cells >= 2**31:
            raise InvalidInput(f"{self.n_cells} cells are too many to label one by one; use `keys`")
        return self.keys(columns).astype(np.int32)

    def keys(self, columns: Columns) -> npt.NDArray[np.int64]:
        """Return the flat index of each row's box, for grids of any size.

        Examples
        --------
        >>> Grid((2**30, 2**30)).keys(np.array([[-1.0, 1.0], [-1.0, 1.0]], dtype=np.float32))
        array([                  0, 1152921504606846975])
        """
        cells = np.zeros(columns.shape[1], dtype=np.int64)
        for values, m in zip(columns, self.shape, strict=True):
            if m == 1:
                continue
            # Integer arithmetic: the cell of a row on a border never depends on rounding.
            steps = (values * np.float32(STEPS)).astype(np.int64) + STEPS
            cells *= m
            cells += np.minimum(steps * m // (2 * STEPS), m - 1)
        return cells

    def places(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the place of boxes along each column, one line per column.

        Examples
        --------
        >>> Grid((2, 3)).places(np.array([0, 4]))
        array([[0, 1],
               [0, 1]])
        """
        places = np.empty((len(self.shape), len(keys)), dtype=np.int64)
        rest = keys
        for j in reversed(range(len(self.shape))):
            rest, places[j] = np.divmod(rest, self.shape[j])
        return places

    def centres_of(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the middle of some boxes.

        Examples
        --------
        >>> Grid((2, 2)).centres_of(np.array([1, 2]))
        array([[-0.5,  0.5],
               [ 0.5, -0.5]])
        """
        return np.asarray((2 * self.places(keys).T + 1) / np.array(self.shape) - 1)

    def centres(self) -> npt.NDArray[np.float64]:
        """Return the middle of every box, in the order of the labels."""
        return self.centres_of(np.arange(self.n_cells))

    def describe(self) -> str:
        """Say the partition in a few words."""
        return "all rows" if self.n_cells == 1 else f"grid of {'x'.join(map(str, self.shape))} boxes"


@dataclass(frozen=True)
class Marginal:
    """Equal intervals along one column, whatever the others are.

    Parameters
    ----------
    column : int
        Which column.
    cells : int
        How many intervals.

    Examples
    --------
    >>> Marginal(1, 4).assign(np.array([[0.9, 0.9], [-1.0, 1.0]], dtype=np.float32), None)
    array([0, 3], dtype=int32)
    """

    column: int
    cells: int

    @property
    def n_cells(self) -> int:
        """The number of intervals."""
        return self.cells

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the interval of each row."""
        return Grid((self.cells,)).assign(columns[self.column : self.column + 1], metric)

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"{self.cells} intervals of column {self.column}"


def check_dense(partition: Partition) -> None:
    """Refuse a partition whose cells cannot all be held."""
    if partition.n_cells >= 2**31:
        raise InvalidInput(
            f"{partition.n_cells} cells cannot all be held: ask for a sparse histogram, or use a coarser grid"
        )
