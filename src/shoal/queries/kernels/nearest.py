"""Which centre is nearest to each row, and the sums of their rows in one sweep."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array, Columns, Integers, Labels
from shoal.domain import STEPS
from shoal.queries.kernels import dispatch, reference


def assign(columns: Columns, centres: Integers, metric: Array | None = None) -> Labels:
    """Label each row with its exact nearest centre, ties to the lowest index.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
        A chunk of lattice values.
    centres : ndarray of int64, shape (k, d)
        Lattice steps in [-2^20, 2^20].
    metric : ndarray of float64, shape (d,), optional
        Positive weight of each column's squared difference. Weighted distances are rounded, by the same
        operations in the same order for every row.

    Returns
    -------
    ndarray of int32, shape (n,)

    Examples
    --------
    >>> assign(np.array([[-1.0, 0.0, 0.5]], dtype=np.float32), np.array([[-(2**20)], [2**20]]))
    array([0, 0, 1], dtype=int32)
    """
    columns, centres, metric = (
        dispatch.table(columns),
        dispatch.points(centres, columns),
        dispatch.weights(metric, columns),
    )
    if not dispatch.pays(columns.size * len(centres)):
        return reference.assign(columns, centres, metric)
    labels = np.empty(columns.shape[1], dtype=np.int32)
    _sweep(columns, centres, metric, labels, np.empty((0, 0), dtype=np.int64))
    return labels


def assign_sums(
    columns: Columns, centres: Integers, metric: Array | None = None
) -> tuple[Integers, Integers]:
    """Assign as `assign` does and add up the rows of each centre, without keeping labels.

    Returns
    -------
    sums : ndarray of int64, shape (k, d)
        In lattice steps.
    counts : ndarray of int64, shape (k,)
    """
    columns, centres, metric = (
        dispatch.table(columns),
        dispatch.points(centres, columns),
        dispatch.weights(metric, columns),
    )
    if not dispatch.pays(columns.size * (len(centres) + 4)):
        return reference.assign_sums(columns, centres, metric)
    k, d = centres.shape
    width = dispatch.compiled_loops("compiled").WIDTH
    totals = np.zeros((d // width + 1, (k + 1) * width), dtype=np.int64)
    _sweep(columns, centres, metric, np.empty(0, dtype=np.int32), totals)
    by_cell = totals.reshape(-1, k + 1, width).transpose(1, 0, 2).reshape(k + 1, -1)[:k]
    return np.ascontiguousarray(by_cell[:, :d]), np.ascontiguousarray(by_cell[:, d])


def _sweep(columns: Columns, centres: Integers, metric: Array | None, kept: Labels, totals: Integers) -> None:
    """Assign a chunk; fill `kept` with labels and `totals` with sums and counts, each unless empty."""
    loops, (k, d) = dispatch.compiled_loops("compiled"), centres.shape
    rows = _block_rows(d)
    block = np.zeros(((d // loops.WIDTH + 1) * loops.WIDTH, rows), dtype=np.float32)
    block[d] = 1 / STEPS  # a column of single steps: its sum is the count
    recent = np.zeros((len(totals), loops.COPIES, totals.shape[1]), dtype=np.int32)
    labels = np.empty((2, rows), dtype=np.int32)
    few = dispatch.compiled_loops("compiled_few")
    if metric is not None:
        distances = np.empty((3, rows))
        dispatch.compiled_loops("compiled_weighted").weighted(
            columns, centres, metric, block, distances, labels, recent, totals, kept
        )
    elif few.suits(k, d):
        few.nearest_of_few(
            columns, *few.prepare(centres), block, np.empty(rows), labels[0], recent, totals, kept
        )
    else:
        points, half, norms, gap = loops.prepare(centres)
        scores, row = np.empty((len(points), loops.ROWS), dtype=np.float32), np.empty(d, dtype=np.int64)
        loops.nearest(
            columns, centres, norms, points, half, gap, block, scores, labels[0], row, recent, totals, kept
        )
    totals += recent.sum(axis=1, dtype=np.int64)


def _block_rows(d: int) -> int:
    """Return how many rows to hold at a time: they should stay in 256 kB of cache.

    An odd number of times 32: columns a power of two apart would push each other out of the first cache.
    """
    return min(15, max(3, 2**11 // (d + 8) - 1 | 1)) * 32
