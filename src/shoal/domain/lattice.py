"""The lattice: every coordinate becomes an integer number of steps of 2^-20 of the half width.

Sums of integers do not depend on their order, so the same table gives the same exact sums whatever the
chunks and threads; sensitivities are exact; and integer noise leaves no floating-point trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

STEPS = 2**20
"""Steps from the centre of the domain to its edge; float32 holds all their multiples exactly."""

# Rows converted at a time: small enough that the float64 copies stay in the processor's cache.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows on the lattice, column by column: what sources hand to the gate.

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


def encode(
    values: npt.NDArray[np.generic], lower: float, upper: float, out: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    """Clip, centre, scale and round one column; missing cells go to the centre.

    Parameters
    ----------
    values : ndarray
        The column, any real type. NaN and infinite cells are missing.
    lower, upper : float
        Public bounds.
    out : ndarray of float32
        Receives multiples of 2^-20 in [-1, 1].

    Returns
    -------
    ndarray of bool
        Which cells were missing.

    Examples
    --------
    >>> out = np.empty(4, dtype=np.float32)
    >>> missing = encode(np.array([0.0, 15.0, 7.5, np.nan]), 0.0, 10.0, out)
    >>> out
    array([-1. ,  1. ,  0.5,  0. ], dtype=float32)
    """
    missing = np.empty(len(values), dtype=np.bool_)
    with np.errstate(all="ignore"):  # a warning about a cell would tell of it
        for start in range(0, len(values), _BLOCK):
            block = slice(start, start + _BLOCK)
            missing[block] = _encode_block(values[block], lower, upper, out[block])
    return missing


def as_doubles(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return cells as doubles, in silence: numpy would warn of a long double that is too large for one."""
    with np.errstate(all="ignore"):
        return np.asarray(values, dtype=np.float64)


def _encode_block(
    values: npt.NDArray[np.generic], lower: float, upper: float, out: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    cells = np.asarray(values, dtype=np.float64)
    missing = ~np.isfinite(cells)
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    if half == 0.0:
        out[:] = 0.0
        return missing
    # Clip before subtracting: a huge cell would overflow.
    scaled = np.clip(cells, lower, upper)
    scaled -= middle
    scaled /= half
    np.clip(scaled, -1.0, 1.0, out=scaled)
    scaled *= STEPS
    np.rint(scaled, out=scaled)
    scaled /= STEPS
    scaled[missing] = 0.0  # to the centre
    out[:] = scaled
    return missing


def decode(
    points: npt.NDArray[np.float64], lower: npt.ArrayLike, upper: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Map points of [-1, 1]^d back to the table's own units.

    Examples
    --------
    >>> decode(np.array([[-1.0, 0.0], [1.0, 0.5]]), [0.0, -4.0], [10.0, 4.0])
    array([[ 0.,  0.],
           [10.,  2.]])
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    result = (low / 2 + high / 2) + points * (high / 2 - low / 2)
    return np.asarray(np.clip(result, low, high))


def to_steps(points: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Round public points of [-1, 1]^d to lattice steps.

    Examples
    --------
    >>> to_steps(np.array([[-1.0, 0.25]]))
    array([[-1048576,   262144]])
    """
    return np.rint(np.clip(points, -1.0, 1.0) * STEPS).astype(np.int64)
