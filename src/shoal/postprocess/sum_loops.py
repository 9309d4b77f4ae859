"""The pass that sums noisy counts around every box: compiled, or by a NumPy twin that gives the same bits.

Boxes are halves of halves, so distances between middles of boxes about as large are whole eighths of a side:
squares are whole numbers, small enough to be exact in single precision, and a weight is read off a table.
What is near a box is nearly what is near the boxes beside it, so that is found once for a run of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array, Booleans, Integers

SumsLoop: TypeAlias = Callable[..., None]

STEPS = 8
"""Distances are counted in so many parts of a side: middles of boxes within two levels lie that finely."""
RUN = 16
"""The most boxes of a run: as many as a box mostly has cells in more than three columns."""
# Boxes at a time: their distances and weights stay in the first cache.
_BLOCK = 512
# Pairs of boxes that the twin holds at a time: some ten megabytes.
_PAIRS = 2**17


@cache
def weighed_sums() -> SumsLoop:
    """Return the pass that sums counts, and the variances of their noise, around every box.

    ``(middles, sides, levels, runs, others, counts, variances, of_level, strips, starts, span, bell, values,
    noise, fourth) -> None``: boxes come in runs that begin at `runs`, of one level and close together. Others
    are (d, m), one line per column; those of a level lie in strips of one first coordinate, and in a strip
    they are sorted by the second. `bell` has the weight at every squared distance, in squared parts of a
    side, and ends with 0.
    """
    return compiled(
        _sums_loop, _sums_numpy, lambda middles, _, __, ___, others, *____: middles.size * others.shape[1]
    )


def _sums_loop(  # type: ignore[no-untyped-def]
    middles, sides, levels, runs, others, counts, variances, of_level, strips, starts, span, bell,
    values, noise, fourth,
):  # fmt: skip
    d, n = others.shape
    beyond, nothing = np.float32(len(bell) - 1), np.float32(0.0)
    reach = math.sqrt(len(bell) - 1)
    near, gaps = np.empty((d, n), np.float32), np.empty(n, np.float32)
    count, variance = np.empty(n), np.empty(n)
    away, index, weight = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.int32), np.empty(_BLOCK)
    within, low, high = np.empty((d, RUN), np.float32), np.empty(d, np.float32), np.empty(d, np.float32)
    unit, which = np.empty(d), np.empty(n + 1, np.uint32)
    for r in range(len(runs) - 1):
        head, after = runs[r], runs[r + 1]
        for a in range(d):
            unit[a] = sides[head, a] / STEPS
            low[a] = nothing
            high[a] = nothing
            for i in range(head, after):
                x = np.float32(math.floor((middles[i, a] - middles[head, a]) / unit[a] + 0.5))
                within[a, i - head] = x
                low[a] = min(low[a], x)
                high[a] = max(high[a], x)
        m = 0  # others that are near some box of the run
        for level in range(max(levels[head] - span, 0), min(levels[head] + span, len(of_level) - 2) + 1):
            s, last = of_level[level], of_level[level + 1]
            # By hand, here and below: to compile NumPy's search takes seconds.
            wanted, top = middles[head, 0] + (low[0] - reach) * unit[0], last
            while s < top:
                middle = (s + top) // 2
                if strips[middle] < wanted:
                    s = middle + 1
                else:
                    top = middle
            while s < last and strips[s] <= middles[head, 0] + (high[0] + reach) * unit[0]:
                begin, end = starts[s], starts[s + 1]
                if d > 1:
                    x0 = (strips[s] - middles[head, 0]) / unit[0]
                    gap0 = max(max(low[0] - x0, x0 - high[0]), 0.0)
                    side = math.sqrt(max(beyond - gap0 * gap0, 0.0)) + 1.0
                    wanted, top = middles[head, 1] + (low[1] - side) * unit[1], end
                    while begin < top:
                        middle = (begin + top) // 2
                        if others[1, middle] < wanted:
                            begin = middle + 1
                        else:
                            top = middle
                    wanted, top, end = middles[head, 1] + (high[1] + side) * unit[1], end, begin
                    while end < top:
                        middle = (end + top) // 2
                        if others[1, middle] <= wanted:
                            end = middle + 1
                        else:
                            top = middle
                s += 1
                many, found = end - begin, m
                for j in range(many):
                    gaps[j] = nothing
                for a in range(d):
                    at, inverse, lowest, highest = middles[head, a], 1.0 / unit[a], low[a], high[a]
                    column, steps = others[a, begin:end], near[a, found : found + many]
                    for j in range(many):
                        x = np.float32(math.floor((column[j] - at) * inverse + 0.5))
                        steps[j] = x
                        gap = max(max(lowest - x, x - highest), nothing)
                        gaps[j] += gap * gap
                kept = 0
                for j in range(many):
                    which[kept] = j
                    kept += 1 if gaps[j] < beyond else 0
                for a in range(d):
                    steps = near[a, found : found + many]
                    for j in range(kept):
                        steps[j] = steps[which[j]]
                for j in range(kept):
                    count[found + j] = counts[begin + which[j]]
                    variance[found + j] = variances[begin + which[j]]
                m = found + kept
        for start in range(0, m, _BLOCK):
            many = min(_BLOCK, m - start)
            heavy, noisy = count[start : start + many], variance[start : start + many]
            for i in range(after - head):
                for j in range(many):
                    away[j] = nothing
                for a in range(d):
                    x, steps = within[a, i], near[a, start : start + many]
                    for j in range(many):
                        step = steps[j] - x
                        away[j] += step * step
                for j in range(many):
                    index[j] = np.int32(away[j] if away[j] < beyond else beyond)
                for j in range(many):
                    weight[j] = bell[np.uint32(index[j])]
                value, square, square2 = values[head + i], noise[head + i], fourth[head + i]
                for j in range(many):
                    spread = weight[j] * weight[j] * noisy[j]
                    value += weight[j] * heavy[j]
                    square += spread
                    square2 += spread * spread
                values[head + i] = value
                noise[head + i] = square
                fourth[head + i] = square2


def _sums_numpy(  # type: ignore[no-untyped-def]
    middles, sides, levels, _runs, others, counts, variances, of_level, strips, starts, span, bell,
    values, noise, fourth,
):  # fmt: skip
    if not len(counts):
        return
    level_of = np.repeat(np.arange(len(of_level) - 1), np.diff(of_level))
    step = max(1, _PAIRS // len(counts))
    for start in range(0, len(middles), step):
        some = slice(start, start + step)
        at, unit = middles[some], sides[some] / STEPS
        near = np.abs(level_of - levels[some, np.newaxis]) <= span
        near &= np.abs(strips - at[:, :1]) <= math.sqrt(len(bell)) * unit[:, :1]
        i, j, away = _pairs(near, at, unit, others, starts, len(bell) - 1)
        weights = bell[away]
        spread = weights * weights * variances[j]
        values[some] += np.bincount(i, weights * counts[j], len(at))
        noise[some] += np.bincount(i, spread, len(at))
        fourth[some] += np.bincount(i, spread * spread, len(at))


def _pairs(
    near: Booleans, at: Array, unit: Array, others: Array, starts: Integers, beyond: int
) -> tuple[Integers, Integers, Integers]:
    """Return which box the loop would add which others to, in its order, and how far they are, squared.

    Strips that are `near` by their levels and first coordinates, of shape (boxes, strips), are looked at.
    """
    box, strip = np.nonzero(near)
    lengths = np.diff(starts)[strip]
    i = np.repeat(box, lengths)
    j = np.arange(len(i)) + np.repeat(starts[:-1][strip] - (np.cumsum(lengths) - lengths), lengths)
    away = np.zeros(len(i))
    for a, column in enumerate(others):
        away += np.rint((column[j] - at[i, a]) / unit[i, a]) ** 2
    held = away < beyond
    return i[held], j[held], away[held].astype(np.int64)
