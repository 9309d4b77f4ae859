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
from shoal.queries.kernels.compiled import Array, add_block, entry, fused, load_block, part

COLUMNS = 4
"""Most columns this way of assigning is used for."""


class Keys(NamedTuple):
    """Centres as the loop wants them, padded to multiples of four: a key is base + points . x."""

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
    padded = -(-k // 4) * 4
    points, base = np.zeros((padded, COLUMNS)), np.full(padded, np.inf)
    points[:k, :d] = centres * (-2 * _cells(k) * STEPS)
    base[:k] = (centres * centres).sum(axis=1) * _cells(k) + np.arange(k)
    return Keys(points, base, float(_cells(k)))


@fused  # whole numbers below 2^53: no rounding, fused or not
def _least(block: Array, points: Array, base: Array, keys: Array) -> int:
    """Find each row's least key; return which side of the buffer holds it."""
    x0, x1, x2, x3 = block[0], block[1], block[2], block[3]
    for i in range(block.shape[1]):
        keys[0, i] = np.inf
    side = 0
    for j in range(0, points.shape[0], 4):
        old = keys[side]
        side = 1 - side
        new = keys[side]
        b0, b1, b2, b3 = base[j], base[j + 1], base[j + 2], base[j + 3]
        p0, p1, p2, p3 = points[j], points[j + 1], points[j + 2], points[j + 3]
        p00, p01, p02, p03 = p0[0], p0[1], p0[2], p0[3]
        p10, p11, p12, p13 = p1[0], p1[1], p1[2], p1[3]
        p20, p21, p22, p23 = p2[0], p2[1], p2[2], p2[3]
        p30, p31, p32, p33 = p3[0], p3[1], p3[2], p3[3]
        for i in range(block.shape[1]):
            y0, y1, y2, y3 = x0[i], x1[i], x2[i], x3[i]
            v0 = b0 + p00 * y0 + p01 * y1 + p02 * y2 + p03 * y3
            v1 = b1 + p10 * y0 + p11 * y1 + p12 * y2 + p13 * y3
            v2 = b2 + p20 * y0 + p21 * y1 + p22 * y2 + p23 * y3
            v3 = b3 + p30 * y0 + p31 * y1 + p32 * y2 + p33 * y3
            new[i] = min(old[i], min(min(v0, v1), min(v2, v3)))
    return side


@part
def _labels(keys: Array, cells: float, labels: Array) -> None:
    """Take the labels out of the keys; dividing by a power of two is exact."""
    share = 1.0 / cells
    for i in range(keys.shape[0]):
        labels[i] = np.int32(keys[i] - np.floor(keys[i] * share) * cells)


@entry("f4[:,:] f8[:,:] f8[:] f8 F8[:,:] F8[:,:] I4[:] F8[:,:,:] I4[:]")
def nearest_of_few(
    columns: Array, points: Array, base: Array, cells: float,
    block: Array, keys: Array, labels: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign exactly; arguments are as those of `shoal.queries.kernels.compiled.nearest`."""
    n, rows = columns.shape[1], block.shape[1]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        side = _least(block, points, base, keys)
        _labels(keys[side], cells, labels)
        if kept.size:
            for i in range(m):
                kept[start + i] = labels[i]
        if totals.size:
            add_block(block, columns.shape[0], labels, m, totals)
