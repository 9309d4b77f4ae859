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
    if not dispatch.compiles():
        return reference.assign(columns, centres, metric)
    labels = np.empty(columns.shape[1], dtype=np.int32)
    _sweep(columns, centres, metric, labels, np.empty((0, 0, 0)))
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
    if not dispatch.compiles():
        return reference.assign_sums(columns, centres, metric)
    k, d = centres.shape
    totals = np.zeros((d // 4 + 1, k, 4))
    _sweep(columns, centres, metric, np.empty(0, dtype=np.int32), totals)
    # Every total is an exact multiple of 2^-20 below 2^33: so is its integer.
    flat = totals.transpose(1, 0, 2).reshape(k, -1)
    return (flat[:, :d] * STEPS).astype(np.int64), flat[:, d].astype(np.int64)


def _sweep(columns: Columns, centres: Integers, metric: Array | None, kept: Labels, totals: Array) -> None:
    """Assign a chunk; fill `kept` with labels and `totals` with sums and counts, each unless empty."""
    k, d = centres.shape
    rows = _block_rows(d, k)
    few = metric is None and d <= 4 and dispatch.compiled_loops("compiled_few").suits(k, d)
    block = np.zeros((d // 4 * 4 + 4, rows), dtype=np.float64 if few else np.float32)
    block[d] = 1  # a column of ones: its sum is the count
    labels = np.empty((2, rows), dtype=np.int32)
    if few:
        loops = dispatch.compiled_loops("compiled_few")
        loops.nearest_of_few(
            columns, *loops.prepare(centres), block, np.empty((2, rows)), labels[0], totals, kept
        )
    elif metric is None:
        loops = dispatch.compiled_loops("compiled")
        points, half, norms, gap = loops.prepare(centres)
        scores = np.empty((len(points), rows), dtype=np.float32)
        two, row = np.empty((4, rows), dtype=np.float32), np.empty(d, dtype=np.int64)
        loops.nearest(
            columns, centres, norms, points, half, gap, block, scores, two, labels, row, totals, kept
        )
    else:
        dispatch.compiled_loops("compiled").weighted(
            columns, centres, metric, block, np.empty((3, rows)), labels, totals, kept
        )


def _block_rows(d: int, k: int) -> int:
    """Return how many rows to hold at a time: their d values and k scores should stay in 384 kB of cache."""
    return min(512, max(256, 98_304 // (d + k + 8) // 32 * 32))
