"""A piece of a table on the lattice: what sources hand to the gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, column by column.

    Parameters
    ----------
    columns : ndarray of float32, shape (n_columns, n)
        Multiples of 2^-20 in [-1, 1]; one row of the array per column of the table.
    weights : ndarray of int32, shape (n,), optional
        Row weights, in steps of 2^-20 of the public maximum; all at the maximum if not given.
    counts : ndarray of int64, shape (n,), optional
        How many equal rows each stands for; one if not given.
    """

    columns: npt.NDArray[np.float32]
    weights: npt.NDArray[np.int32] | None = None
    counts: npt.NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Different rows in this chunk: exact, so only the gate and the sources may ask."""
        return int(self.columns.shape[1])
