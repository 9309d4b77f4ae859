"""A tree of parallel cuts: every level sorts the rows of a cell by where they lie along one direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels, Metric
from shoal.errors import InvalidInput
from shoal.queries import kernels

NO_CUT = 2**63 - 1
"""Fills the lines of cells that have fewer cuts than others: no row lies beyond it."""

LARGEST = 2**32
"""Most that the coefficients of a direction may add up to: float64 then holds every sum exactly."""


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Slabs between parallel hyperplanes, level by level; each level cuts the cells of the one before.

    A row's place along a direction is the sum of its lattice steps times whole coefficients: an exact
    integer in any order of summation. So its cell is a function of that row alone.

    Parameters
    ----------
    directions : ndarray of int64, shape (n_levels, n_columns)
        Whole coefficients of each level's direction; their absolute values add up to at most 2^32.
    cuts : tuple of int64 ndarrays of shape (n_cells_before, most_cuts)
        For each level the places at which each cell is cut, not falling, filled up with `NO_CUT`. A row at a
        cut is beyond it. A cell without cuts stays whole.

    Examples
    --------
    >>> tree = Hyperplanes(np.array([[1, 0], [0, 1]]), (np.array([[0]]), np.array([[NO_CUT], [2**19]])))
    >>> tree.n_cells
    3
    >>> tree.assign(np.array([[-0.5, 0.5, 0.5], [0.9, 0.9, 0.1]], dtype=np.float32), None)
    array([0, 2, 1], dtype=int32)
    """

    directions: npt.NDArray[np.int64]
    cuts: tuple[npt.NDArray[np.int64], ...]

    def __post_init__(self) -> None:
        directions = np.ascontiguousarray(self.directions, dtype=np.int64)
        if directions.ndim != 2 or len(directions) != len(self.cuts) or not directions.shape[1]:
            raise InvalidInput(
                f"directions of shape {directions.shape} for {len(self.cuts)} levels of cuts: one per level, "
                "of at least 1 column, is wanted"
            )
        # In Python's integers: sums of large coefficients must not wrap round.
        if any(sum(map(abs, line)) > LARGEST for line in directions.tolist()):
            raise InvalidInput(f"coefficients of a direction add up to more than {LARGEST}; scale them down")
        object.__setattr__(self, "directions", directions)
        object.__setattr__(self, "cuts", tuple(np.ascontiguousarray(c, dtype=np.int64) for c in self.cuts))
        cells = 1
        for level, cuts in enumerate(self.cuts):
            if cuts.ndim != 2 or len(cuts) != cells or (cuts[:, 1:] < cuts[:, :-1]).any():
                raise InvalidInput(
                    f"cuts of level {level} have shape {cuts.shape}; a line that does not fall is wanted for "
                    f"each of {cells} cells"
                )
            cells += int((cuts < NO_CUT).sum())

    @cached_property
    def n_cells(self) -> int:
        """The number of cells after the last level."""
        return 1 + sum(int((cuts < NO_CUT).sum()) for cuts in self.cuts)

    @cached_property
    def _firsts(self) -> tuple[Integers, ...]:
        """The first new cell of every old one, level by level."""
        new = [(cuts < NO_CUT).sum(axis=1) + 1 for cuts in self.cuts]
        return tuple(np.cumsum(number) - number for number in new)

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002 - same for all partitions
        """Return the cell of each row: cells in the order of those before, slabs from low to high."""
        if len(columns) != self.directions.shape[1]:
            raise InvalidInput(f"directions of {self.directions.shape[1]} columns for {len(columns)}")
        labels = np.zeros(columns.shape[1], dtype=np.int32)
        for direction, cuts, firsts in zip(self.directions, self.cuts, self._firsts, strict=True):
            labels = kernels.cut(columns, labels, direction, cuts, firsts)
        return labels

    def below(self, direction: Integers, cuts: Integers) -> Hyperplanes:
        """Return the tree with one level more.

        Parameters
        ----------
        direction : ndarray of int64, shape (n_columns,)
            Whole coefficients.
        cuts : ndarray of int64, shape (n_cells, most_cuts)
            Where each cell is cut.
        """
        return Hyperplanes(np.vstack([self.directions, direction]), (*self.cuts, cuts))

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"tree of {self.n_cells} cells by {len(self.cuts)} directions"
