"""Offsets in radii of their cells, keys and cells of trees, compiled on first use, as in `compiled.py`."""

from __future__ import annotations

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, part

_ONE = np.float32(STEPS)
_UNIT = np.float64(STEPS)


@part
def _in_radii(value: float, anchor: int, radius: int, most: int) -> np.int64:
    """Return the offset in 2^-20 of the radius, toward zero; float64 divides exactly, see `offsets`."""
    away = np.int64(np.int32(value * _ONE)) - anchor
    size = min(np.int64(np.float64(abs(away)) * _UNIT / np.float64(radius)), np.int64(most))
    return size if away >= 0 else -size


@entry("f4[:,:] i4[:] i8[:,:] i8[:,:] i8 i8 I4[:,:]")
def relative(
    columns: Array, labels: Array, anchors: Array, radii: Array, most: int, ball: int, out: Array
) -> None:
    """Fill `out` (d, n) with offsets cut to the unit box or ball; see `reference_relative`."""
    d, n = columns.shape
    for i in range(n):
        cell = labels[i]
        squares = np.int64(0)
        for c in range(d):
            step = _in_radii(columns[c, i], anchors[cell, c], radii[cell, c], most)
            out[c, i] = step
            squares += step * step
        if ball and squares > np.int64(STEPS) * np.int64(STEPS):
            scale = _UNIT / np.sqrt(np.float64(squares)) * (1.0 - 2.0**-50)
            for c in range(d):
                out[c, i] = np.int32(np.float64(out[c, i]) * scale)


@entry("f4[:,:] i4[:] i8[:,:] i8[:,:] i8 i8 I8[:]")
def relative_reach(
    columns: Array, labels: Array, anchors: Array, radii: Array, most: int, ball: int, out: Array
) -> None:
    """Fill `out` (n,) with squared sizes of offsets; see `reference_relative`."""
    d, n = columns.shape
    for i in range(n):
        cell = labels[i]
        total = np.int64(0)
        for c in range(d):
            step = _in_radii(columns[c, i], anchors[cell, c], radii[cell, c], most)
            total = np.int64(total + step * step if ball else max(total, step * step))
        out[i] = total


@entry("f4[:,:] i4[:] i8[:,:] i8[:] f8[:] I4[:]")
def relative_cost(
    columns: Array, labels: Array, anchors: Array, reaches: Array, metric: Array, out: Array
) -> None:
    """Fill `out` (n,) with costs between -2^20 and 2^20; see `reference_relative`."""
    d, n = columns.shape
    for i in range(n):
        cell = labels[i]
        squares = 0.0
        for c in range(d):
            away = np.float64(columns[c, i]) - np.float64(anchors[cell, c]) / _UNIT
            squares += metric[c] * (away * away)
        reach = np.float64(reaches[cell]) / _UNIT
        out[i] = np.int32(np.int64(min(squares / (reach * reach), 1.0) * (2.0 * _UNIT)) - np.int64(STEPS))


@entry("f4[:,:] i8[:] i8[:] I8[:]")
def tree_keys(columns: Array, axes: Array, shifts: Array, out: Array) -> None:
    """Fill `out` (n,) with one bit a level: the bit of the level's column that its shift points to."""
    n, last = columns.shape[1], np.int64(2 * STEPS - 1)
    for i in range(n):
        key = np.int64(0)
        for level in range(axes.shape[0]):
            steps = min(np.int64(np.int32(columns[axes[level], i] * _ONE)) + np.int64(STEPS), last)
            key = (key << 1) | ((steps >> shifts[level]) & 1)
        out[i] = key


@entry("i8[:] i8[:] i8[:] i8[:] i8[:] i4[:] I8[:]")
def node_cells(
    keys: Array, starts: Array, ends: Array, shifts: Array, offsets: Array, weights: Array, out: Array
) -> None:
    """Add every row, or its weight, to its cell of `out`; see `relative.node_cells`."""
    weighted = weights.shape[0] > 0
    for i in range(keys.shape[0]):
        low, high = (
            0,
            starts.shape[0],
        )  # starts below `low` are at most the key, those from `high` on above it
        while low < high:
            middle = (low + high) >> 1
            if starts[middle] <= keys[i]:
                low = middle + 1
            else:
                high = middle
        if low > 0 and keys[i] < ends[low - 1]:
            cell = offsets[low - 1] + ((keys[i] - starts[low - 1]) >> shifts[low - 1])
            out[cell] += np.int64(weights[i]) if weighted else np.int64(1)
