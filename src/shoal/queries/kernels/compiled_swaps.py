"""Losses of all swaps of one centre for one candidate, in one pass; see `shoal.queries.kernels.compiled`."""

from __future__ import annotations

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, part

ROWS = 512
"""Rows a block: the buffers of a block stay in the first level of cache."""


@part
def _losses(
    block: Array, rows: int, point: Array, metric: Array, scale: float, most: float, part_of: Array,
    squared: int, distance: Array, out: Array,
) -> None:  # fmt: skip
    """Write each row's clipped loss to one point, column by column in order as the reference does."""
    for i in range(rows):
        distance[i] = 0.0
    for c in range(point.shape[0]):
        values, at, weight = block[c], point[c], metric[c]
        for i in range(rows):
            step = values[i] - at
            distance[i] = distance[i] + weight * (step * step)
    if not squared:
        for i in range(rows):
            distance[i] = np.sqrt(distance[i])
    if part_of.shape[0] == 0:
        for i in range(rows):
            out[i] = np.int32(min(distance[i] * scale, most))
    else:
        for i in range(rows):
            loss = np.int64(min(distance[i] * scale, most)) * np.int64(part_of[i])
            out[i] = np.int32(loss // np.int64(STEPS))


@part
def _add(
    rows: int, lost: Array, first: Array, second: Array, nearest: Array, j: int, shared: Array, extra: Array
) -> None:
    """Add what a candidate costs where another centre leaves, and what more where the nearest one does."""
    total = np.int64(0)
    for i in range(rows):
        total += np.int64(min(first[i], lost[i]))
    shared[j] += total
    for i in range(rows):
        more = min(second[i], lost[i]) - min(first[i], lost[i])
        extra[np.uint64(np.uint32(nearest[i])), j] += np.int64(more)


@entry("f4[:,:] f8[:,:] f8[:,:] f8[:] f8 i8 i4[:] i8 F8[:,:] F8[:] I4[:,:] I8[:] I8[:,:]")
def swap_costs(
    columns: Array, centres: Array, candidates: Array, metric: Array, scale: float, width: int, shares: Array,
    squared: int, block: Array, distance: Array, work: Array, shared: Array, extra: Array,
) -> None:  # fmt: skip
    """Add to `shared` (m,) each row's loss to its nearest centre or a candidate, and to `extra` (k, m) what
    more it loses if its nearest centre leaves: the loss of a swap is the sum of the two.

    `block` is (d, 512), `distance` (512,) and `work` (4, 512).
    """  # noqa: D205
    d, n = columns.shape
    first, second, nearest, lost = work[0], work[1], work[2], work[3]
    clip = np.float64(width)
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        for c in range(d):
            for i in range(rows):
                block[c, i] = np.float64(columns[c, start + i])
        part_of = shares[start : start + rows] if shares.shape[0] else shares
        for i in range(rows):
            # Without any centre a row would lose the most it can.
            share = np.int64(STEPS) if shares.shape[0] == 0 else np.int64(part_of[i])
            most = np.int32(width * share // np.int64(STEPS))
            first[i], second[i], nearest[i] = most, most, np.int32(0)
        for k in range(centres.shape[0]):
            _losses(block, rows, centres[k], metric, scale, clip, part_of, squared, distance, lost)
            for i in range(rows):
                if lost[i] < first[i]:
                    second[i], first[i], nearest[i] = first[i], lost[i], np.int32(k)
                elif lost[i] < second[i]:
                    second[i] = lost[i]
        for j in range(candidates.shape[0]):
            _losses(block, rows, candidates[j], metric, scale, clip, part_of, squared, distance, lost)
            _add(rows, lost, first, second, nearest, j, shared, extra)
