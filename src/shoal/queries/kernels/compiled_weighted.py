"""Assignment by weighted distance, compiled on first use; see `shoal.queries.kernels.compiled`."""

from __future__ import annotations

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, keep_block, load_block, part


@part
def _distance(block: Array, point: Array, metric: Array, distance: Array) -> None:
    for i in range(distance.shape[0]):
        distance[i] = 0
    for c in range(point.shape[0]):
        values, at, weight = block[c], np.float64(point[c]) / np.float64(STEPS), metric[c]
        for i in range(distance.shape[0]):
            step = np.float64(values[i]) - at
            distance[i] = distance[i] + weight * (step * step)


@entry("f4[:,:] i8[:,:] f8[:] F4[:,:] F8[:,:] I4[:,:] I4[:,:,:] I8[:,:] I4[:]")
def weighted(
    columns: Array, centres: Array, metric: Array,
    block: Array, distances: Array, labels: Array, recent: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign by weighted distance, added up column by column in float64; otherwise as `nearest`.

    These sums are rounded, so their order is part of the result: every row goes through the same
    operations in the same order wherever it lies, and its label is a function of the row alone. A running
    minimum is read from one buffer and written to another: in place, it compiles to slow masked stores.
    """
    n, rows = columns.shape[1], block.shape[1]
    distance = distances[2]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        side = 0
        for i in range(rows):
            distances[0, i] = np.inf
            labels[0, i] = 0
        for j in range(centres.shape[0]):
            _distance(block, centres[j], metric, distance)
            who = np.int32(j)
            best, label = distances[side], labels[side]
            side = 1 - side
            new_best, new_label = distances[side], labels[side]
            for i in range(rows):
                new_label[i] = who if distance[i] < best[i] else label[i]
                new_best[i] = min(distance[i], best[i])
        keep_block(block, columns.shape[0], labels[side], start, m, kept, recent, totals)
