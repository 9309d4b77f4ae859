"""Losses of candidates, added up over the rows of a chunk; see `shoal.queries.kernels.compiled`."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, part

ROWS = 512
"""Rows a block: the buffers of a block stay in the first level of cache."""


@part
def _first_square(values: Array, point: float, weight: float, out: Array) -> None:
    for i in range(values.shape[0]):
        step = values[i] - point
        out[i] = weight * (step * step)


@part
def _add_square(values: Array, point: float, weight: float, so_far: Array) -> None:
    for i in range(values.shape[0]):
        step = values[i] - point
        so_far[i] = so_far[i] + weight * (step * step)


@part
def _lesser(found: Array, best: Array, out: Array) -> None:
    for i in range(found.shape[0]):
        out[i] = min(found[i], best[i])


@part
def _root(values: Array) -> None:
    for i in range(values.shape[0]):
        values[i] = np.sqrt(values[i])


@part
def _total(best: Array, scale: float, most: float, shares: Array) -> np.int64:
    total = np.int64(0)
    if shares.shape[0] == 0:
        for i in range(best.shape[0]):
            total += np.int64(np.int32(min(best[i] * scale, most)))
    else:
        for i in range(best.shape[0]):
            total += np.int64(min(best[i] * scale, most)) * np.int64(shares[i]) // np.int64(STEPS)
    return total


@entry("f4[:,:] f8[:,:,:] f8[:] f8 i8 i4[:] i8 F8[:,:] F8[:,:] I8[:]")
def set_costs(
    columns: Array,
    sets: Array,
    metric: Array,
    scale: float,
    width: int,
    shares: Array,
    squared: int,
    block: Array,
    buffers: Array,
    totals: Array,
) -> None:
    """Add to `totals` (m,) each row's scaled squared distance to the nearest centre of each set (m, k, d).

    Columns are added in order, each product rounded by itself, so a row's loss depends on that row alone.
    Without a metric nothing is rounded in up to 2,048 columns: squares are multiples of 2^-40 and add up to
    less than 2^13. `block` is (d, 512), `buffers` (3, 512).
    """
    d, n = columns.shape
    m, k = sets.shape[0], sets.shape[1]
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        for c in range(d):
            for i in range(rows):
                block[c, i] = np.float64(columns[c, start + i])
        part_of = shares[start : start + rows] if shares.shape[0] else shares
        for s in range(m):
            best, found, spare = buffers[0, :rows], buffers[1, :rows], buffers[2, :rows]
            for j in range(k):
                into = best if j == 0 else found
                _first_square(block[0, :rows], sets[s, j, 0], metric[0], into)
                for c in range(1, d):
                    _add_square(block[c, :rows], sets[s, j, c], metric[c], into)
                if j:
                    _lesser(found, best, spare)
                    best, spare = spare, best
            if not squared:
                _root(best)
            totals[s] += _total(best, scale, np.float64(width), part_of)


@part
def _add_gaps(value: float, points: Array, weight: float, so_far: Array) -> None:
    for j in range(points.shape[0]):
        step = value - points[j]
        so_far[j] = so_far[j] + weight * (step * step)


@part
def _add_losses(
    away: Array, from_anchor: float, scale: float, half: float, most: float, share: Any, totals: Array
) -> None:
    for j in range(away.shape[0]):
        loss = np.int64(min(max((away[j] - from_anchor) * scale + half, 0.0), most))
        totals[j] += loss * share // np.int64(STEPS)


@entry("f4[:,:] i4[:] f8[:,:,:] f8[:,:] f8[:] f8[:] i8 i4[:] F8[:] I8[:,:]")
def cell_costs(
    columns: Array,
    labels: Array,
    candidates: Array,
    anchors: Array,
    metric: Array,
    scales: Array,
    width: int,
    shares: Array,
    away: Array,
    totals: Array,
) -> None:
    """Add to `totals` (n_cells, m) what each row has against the candidates (n_cells, d, m) of its cell.

    Squares are added column by column, as in `set_costs`. `away` is (m,).
    """
    d, n = columns.shape
    m, most, half = candidates.shape[2], np.float64(width), np.float64(width) / 2
    for i in range(n):
        cell = np.uint64(np.uint32(labels[i]))
        from_anchor = 0.0
        for j in range(m):
            away[j] = 0.0
        for c in range(d):
            value = np.float64(columns[c, i])
            step = value - anchors[cell, c]
            from_anchor = from_anchor + metric[c] * (step * step)
            _add_gaps(value, candidates[cell, c], metric[c], away)
        share = np.int64(shares[i]) if shares.shape[0] else np.int64(STEPS)
        _add_losses(away, from_anchor, scales[cell], half, most, share, totals[cell])
