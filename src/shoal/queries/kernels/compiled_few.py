"""Assignment of rows of few columns, compiled on first use; see `shoal.queries.kernels.compiled`.

With few columns and centres the exact distance takes so few of float64's 53 bits that the label fits in
beside it. Scaled by a power of two K >= k, distance and label are one whole number,

    key(x, j) = K (|p_j|^2 - 2 x.p_j) + j,

and the least key is the nearest centre, ties to the lowest index: one minimum, and nothing left to settle.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.domain import STEPS
from shoal.queries.kernels import lanes
from shoal.queries.kernels.compiled import Array, entry, keep_block, load_block, part

COLUMNS = 4
"""Most columns this way of assigning is used for."""


class Keys(NamedTuple):
    """Centres as the loop wants them, of four columns: a key is base + points . x."""

    points: npt.NDArray[np.float64]
    base: npt.NDArray[np.float64]
    cells: float


def suits(k: int, d: int) -> bool:
    """Say whether every key fits: |key| <= K 3 d 2^40 + K, and so does every part of its sum."""
    return d <= COLUMNS and 3 * d * _cells(k) < 2**13


def _cells(k: int) -> int:
    return 1 << (k - 1).bit_length()


def prepare(centres: npt.NDArray[np.int64]) -> Keys:
    """Return the coefficients of each centre's key."""
    k, d = centres.shape
    return _prepare(centres.tobytes(), k, d)


@lru_cache(maxsize=2)  # all chunks of one pass ask for the same
def _prepare(steps: bytes, k: int, d: int) -> Keys:
    centres = np.frombuffer(steps, dtype=np.int64).reshape(k, d)
    points = np.zeros((k, COLUMNS))
    points[:, :d] = centres * (-2 * _cells(k) * STEPS)
    base = (centres * centres).sum(axis=1) * _cells(k) + np.arange(k)
    return Keys(points, base.astype(np.float64), float(_cells(k)))


@part
def _least(block: Array, m: int, points: Array, base: Array, keys: Array) -> None:
    """Find each row's least key: whole numbers below 2^53, so no sum is rounded."""
    x0, x1, x2, x3 = block[0], block[1], block[2], block[3]
    for at in range(0, m, 8):
        y0, y1, y2, y3 = (
            lanes.load_8_wide(x0, at),
            lanes.load_8_wide(x1, at),
            lanes.load_8_wide(x2, at),
            lanes.load_8_wide(x3, at),
        )
        least = lanes.fill(y0, np.inf)
        for j in range(points.shape[0]):
            p = points[j]
            key = lanes.times_plus(y1, p[1], lanes.times_plus(y0, p[0], lanes.fill(y0, base[j])))
            least = lanes.low(least, lanes.times_plus(y3, p[3], lanes.times_plus(y2, p[2], key)))
        lanes.store(keys, at, least)


@part
def _least_of_two(block: Array, m: int, points: Array, base: Array, keys: Array) -> None:
    """Find each row's least key where rows have one or two columns."""
    x0, x1 = block[0], block[1]
    for at in range(0, m, 16):
        y0, y1 = lanes.load_16_wide(x0, at), lanes.load_16_wide(x1, at)
        least = lanes.fill(y0, np.inf)
        for j in range(points.shape[0]):
            key = lanes.times_plus(y0, points[j, 0], lanes.fill(y0, base[j]))
            least = lanes.low(least, lanes.times_plus(y1, points[j, 1], key))
        lanes.store(keys, at, least)


@part
def _labels(keys: Array, m: int, cells: float, labels: Array) -> None:
    """Take the labels out of the keys; dividing by a power of two is exact."""
    share = 1.0 / cells
    for i in range(m):
        labels[i] = np.int32(keys[i] - np.floor(keys[i] * share) * cells)


@entry("f4[:,:] f8[:,:] f8[:] f8 F4[:,:] F8[:] I4[:] I4[:,:,:] I8[:,:] I4[:]")
def nearest_of_few(
    columns: Array, points: Array, base: Array, cells: float,
    block: Array, keys: Array, labels: Array, recent: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign exactly; arguments are as those of `shoal.queries.kernels.compiled.nearest`."""
    n, rows = columns.shape[1], block.shape[1]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        if columns.shape[0] <= 2:
            _least_of_two(block, m, points, base, keys)
        else:
            _least(block, m, points, base, keys)
        _labels(keys, m, cells, labels)
        keep_block(block, columns.shape[0], labels, start, m, kept, recent, totals)
