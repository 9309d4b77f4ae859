"""Cells within cells: each of a few public centres has seeds of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Labels, Metric
from shoal.domain import STEPS, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels


@dataclass(frozen=True, eq=False)
class SubCells:
    """Each row to its nearest centre, then to the nearest of that centre's own seeds, unless it lies far out.

    Centre i has the cells i (m + 1) to i (m + 1) + m: one for each of its m seeds, the last for the rows that
    lie further than the radius from the centre in some column.

    Parameters
    ----------
    centres : ndarray of shape (n_centres, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    seeds : ndarray of shape (n_centres, n_seeds, n_columns)
        Public points for each centre; rounded to the lattice.
    radius : float
        Half width of the box around a centre in which its seeds are asked, in half widths of the domain.

    Examples
    --------
    >>> cells = SubCells(np.array([[0.0]]), np.array([[[-0.25], [0.25]]]), radius=0.5)
    >>> cells.assign(np.array([[-0.9, -0.5, 0.1, 0.5]], dtype=np.float32), None)
    array([2, 0, 1, 1], dtype=int32)
    """

    centres: npt.NDArray[np.float64]
    seeds: npt.NDArray[np.float64]
    radius: float

    def __post_init__(self) -> None:
        centres, seeds = (to_steps(np.asarray(p, dtype=np.float64)) for p in (self.centres, self.seeds))
        if seeds.ndim != 3 or not seeds.size or centres.shape != (len(seeds), seeds.shape[2]):
            raise InvalidInput(
                f"centres of shape {centres.shape} and seeds of shape {seeds.shape}; "
                "(centres, columns) and (centres, seeds, columns) are wanted"
            )
        object.__setattr__(self, "centres", centres / STEPS)
        object.__setattr__(self, "seeds", seeds / STEPS)

    @property
    def n_cells(self) -> int:
        """One for each seed, and one more for each centre."""
        return len(self.seeds) * (int(self.seeds.shape[1]) + 1)

    @property
    def anchors(self) -> npt.NDArray[np.float64]:
        """The point that each cell is around: its seed, or the centre."""
        points = np.concatenate([self.seeds, self.centres[:, np.newaxis, :]], axis=1)
        return points.reshape(-1, self.centres.shape[1])

    def assign(self, columns: Columns, metric: Metric) -> Labels:
        """Return the cell of each row."""
        centres, seeds = to_steps(self.centres), to_steps(self.seeds)
        m, radius = seeds.shape[1], int(self.radius * STEPS)
        owners = kernels.assign(columns, centres, metric)
        labels = np.empty_like(owners)
        steps = (columns * np.float32(STEPS)).astype(np.int64)
        for i in range(len(centres)):
            own = np.flatnonzero(owners == i)
            far = (np.abs(steps[:, own] - centres[i][:, np.newaxis]) > radius).any(axis=0)
            inner = kernels.assign(np.ascontiguousarray(columns[:, own]), seeds[i], metric)
            labels[own] = i * (m + 1) + np.where(far, m, inner)
        return labels

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"{self.seeds.shape[1]} public seeds around each of {len(self.seeds)} public centres"
