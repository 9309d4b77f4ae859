"""Columns whose bounds are not known yet: cells are sorted by sign and power of two.

The buckets are public and cover every number, so a noisy histogram over them finds the magnitude of a
column without anything having been read off the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.domain.lattice import STEPS, as_doubles

# Powers of two told apart; anything smaller or larger falls in the outermost bucket of its sign.
_LOWEST, _HIGHEST = -64, 63
_POWERS = _HIGHEST - _LOWEST + 1
BUCKETS = 2 * _POWERS + 2
"""Negative powers from large to small, zero, positive powers from small to large, and missing cells."""
ZERO, _MISSING = _POWERS, BUCKETS - 1
POWER_OF_ONE = -_LOWEST
"""How many buckets beyond that of the smallest numbers the one of [1, 2) is."""


def bucket(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Return the bucket of each cell.

    Examples
    --------
    >>> [edges(int(b)) for b in bucket(np.array([-74.0, 0.0, 1.0, 3.0]))]
    [(-128.0, -64.0), (0.0, 0.0), (1.0, 2.0), (2.0, 4.0)]
    """
    exact = as_doubles(values)
    finite = np.isfinite(exact)
    safe = np.where(finite, exact, 0.0)
    # frexp gives |x| = m 2^e with m in [1/2, 1): the power is e - 1, exactly.
    power = np.clip(np.frexp(np.abs(safe))[1] - 1, _LOWEST, _HIGHEST).astype(np.int64) - _LOWEST
    found = np.where(safe > 0, ZERO + 1 + power, ZERO - 1 - power)
    return np.where(finite, np.where(safe == 0, ZERO, found), _MISSING)


def edges(index: int) -> tuple[float, float]:
    """Return the range of a bucket; the missing cells have none.

    Examples
    --------
    >>> edges(BUCKETS - 1)
    (0.0, 0.0)
    """
    if index in (ZERO, _MISSING):
        return 0.0, 0.0
    power = abs(index - ZERO) - 1 + _LOWEST
    low, high = 2.0**power, 2.0 ** (power + 1)
    return (low, high) if index > ZERO else (-high, -low)


def encode_bucket(values: npt.NDArray[np.generic], out: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Put each cell in the middle of its bucket's share of [-1, 1]; return which were missing.

    A grid of `BUCKETS` cells along the column then counts the buckets.
    """
    index = bucket(values)
    middle = (2 * index + 1) * STEPS // BUCKETS - STEPS
    out[:] = middle / STEPS
    return np.asarray(index == _MISSING)
