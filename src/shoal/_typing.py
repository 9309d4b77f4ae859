"""The arrays that signatures speak of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]

Columns: TypeAlias = npt.NDArray[np.float32]
"""Rows on the lattice, a line per column: shape (n_columns, n_rows)."""
Labels: TypeAlias = npt.NDArray[np.int32]
"""The cell of each row."""
Metric: TypeAlias = npt.NDArray[np.float64] | None
"""Weights of the columns in the squared distance; None where all are one."""
