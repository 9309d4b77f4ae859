"""Passes over noisy boxes and bells: compiled, or by NumPy twins that give the same bits.

They see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array, Booleans, Integers
from shoal.postprocess.lloyd_loops import running_sum

Loop: TypeAlias = Callable[..., None]

TINY = 1e-12
"""Fewer rows than this are none."""
ASTRAY = 0.5
"""Rows stray from the model by this part of it, beyond their own scatter: groups are bells only roughly."""
ENDS = 3.0
"""A weight ends at three widths of its bell, where it has fallen to 1 %."""
# Pairs of boxes that the twin holds at a time: some ten megabytes.
_PAIRS = 2**17


@cache
def one_pass() -> Loop:
    """Return the pass over boxes: expected and denoised counts, and the moments of every bell's rows."""

    def work(*arguments: Any) -> int:
        _, low, _, _, _, _, begin, end, *_ = arguments
        return 16 * int((end - begin).sum()) * int(low.shape[1])

    return compiled(_pass_loop, _pass_numpy, work)


@cache
def weighed_sums() -> Loop:
    """Return the pass that sums counts, and the variances of their noise, around every box."""
    return compiled(_sums_loop, _sums_numpy, lambda middles, _, __, others, *___: middles.size * len(others))


def _pass_loop(  # type: ignore[no-untyped-def]
    order, low, high, z, v, sure, begin, end, below, density, at, rows,
    means, spreads, expected, counts, places, gains, mass, first, second,
):  # fmt: skip
    k, d = means.shape
    expected[:] = 0.0
    places[:] = 0.0
    for j in range(k):  # what the bells put into every box
        for i in order[begin[j] : end[j]]:
            p = rows[j]
            for a in range(d):
                p *= below[a, j, high[i, a]] - below[a, j, low[i, a]]
                if p <= TINY:  # it only falls
                    break
            if p > TINY:
                expected[i] += p
    for i in range(len(z)):
        m = expected[i]
        t = m + (ASTRAY * m) ** 2
        if sure[i]:
            t = max(t, (z[i] - m) ** 2 - v[i])
        n = m + (z[i] - m) * t / (t + v[i])
        counts[i] = max(n, 0.0)
    for j in range(k):  # what of the counts is whose
        mass[j] = 0.0
        gains[j] = 0.0
        first[j] = 0.0
        second[j] = 0.0
        for i in order[begin[j] : end[j]]:
            p = rows[j]
            for a in range(d):
                p *= below[a, j, high[i, a]] - below[a, j, low[i, a]]
                if p <= TINY:
                    break
            if p <= TINY:
                continue
            r = z[i] - expected[i]
            gains[j] += (abs(r + p) - abs(r)) * np.sqrt(2.0 / v[i])
            part = p / expected[i]
            g = counts[i] * part
            mass[j] += g
            for a in range(d):
                lo, hi = low[i, a], high[i, a]
                inside = below[a, j, hi] - below[a, j, lo]
                away = (density[a, j, lo] - density[a, j, hi]) / inside
                first[j, a] += g * away
                second[j, a] += g * (1.0 + (at[a, j, lo] - at[a, j, hi]) / inside)
                places[i, a] += part * (means[j, a] + spreads[j, a] * away)


def _pass_numpy(  # type: ignore[no-untyped-def]
    order, low, high, z, v, sure, begin, end, below, density, at, rows,
    means, spreads, expected, counts, places, gains, mass, first, second,
):  # fmt: skip
    k, d = means.shape
    expected[:] = 0.0
    places[:] = 0.0
    put = []
    for j in range(k):
        boxes = order[begin[j] : end[j]]
        inside = np.array([below[a, j, high[boxes, a]] - below[a, j, low[boxes, a]] for a in range(d)])
        p = rows[j] * inside[0]
        for one in inside[1:]:
            p = p * one
        held = p > TINY
        put.append((boxes[held], p[held], inside[:, held]))
        expected[boxes[held]] += p[held]
    stray = expected + (ASTRAY * expected) ** 2
    stray = np.where(sure, np.maximum(stray, (z - expected) ** 2 - v), stray)
    counts[:] = np.maximum(expected + (z - expected) * stray / (stray + v), 0.0)
    for j, (boxes, p, inside) in enumerate(put):
        r = z[boxes] - expected[boxes]
        gains[j] = running_sum((np.abs(r + p) - np.abs(r)) * np.sqrt(2.0 / v[boxes]))
        part = p / expected[boxes]
        g = counts[boxes] * part
        mass[j] = running_sum(g)
        for a in range(d):
            lo, hi = low[boxes, a], high[boxes, a]
            away = (density[a, j, lo] - density[a, j, hi]) / inside[a]
            first[j, a] = running_sum(g * away)
            second[j, a] = running_sum(g * (1.0 + (at[a, j, lo] - at[a, j, hi]) / inside[a]))
            places[boxes, a] += part * (means[j, a] + spreads[j, a] * away)


def _sums_loop(  # type: ignore[no-untyped-def]
    middles, sides, levels, others, counts, variances, of_level, strips, starts, span, width,
    values, noise, fourth,
):  # fmt: skip
    n, d = middles.shape
    most = (ENDS * width) ** 2
    inverse = 1.0 / sides  # to multiply takes a fraction of the time
    for i in range(n):
        lowest = max(levels[i] - span, 0)
        for level in range(lowest, min(levels[i] + span, len(of_level) - 2) + 1):
            # Boxes of a level lie in strips of one first coordinate, sorted by the second.
            first, last = of_level[level], of_level[level + 1]
            reach = ENDS * width * sides[i, 0]
            # By hand, here and below: to compile NumPy's search takes seconds.
            wanted, high = middles[i, 0] - reach, last
            while first < high:
                middle = (first + high) // 2
                if strips[middle] < wanted:
                    first = middle + 1
                else:
                    high = middle
            for s in range(first, last):
                t0 = ((middles[i, 0] - strips[s]) * inverse[i, 0]) ** 2
                if strips[s] > middles[i, 0] + reach:
                    break
                begin, end = starts[s], starts[s + 1]
                if d > 1:
                    side = sides[i, 1] * (math.sqrt(max(most - t0, 0.0)) + TINY)
                    wanted, high = middles[i, 1] - side, end
                    while begin < high:
                        middle = (begin + high) // 2
                        if others[middle, 1] < wanted:
                            begin = middle + 1
                        else:
                            high = middle
                for j in range(begin, end):
                    if d > 1 and others[j, 1] > middles[i, 1] + side:
                        break
                    t = t0
                    for a in range(1, d):
                        t += ((middles[i, a] - others[j, a]) * inverse[i, a]) ** 2
                        if t > most:
                            break
                    if t <= most:
                        w = math.exp(-0.5 * t / (width * width))
                        values[i] += w * counts[j]
                        noise[i] += w * w * variances[j]
                        fourth[i] += (w * w * variances[j]) ** 2


def _sums_numpy(  # type: ignore[no-untyped-def]
    middles, sides, levels, others, counts, variances, of_level, strips, starts, span, width,
    values, noise, fourth,
):  # fmt: skip
    if not len(others):
        return
    level_of = np.repeat(np.arange(len(of_level) - 1), np.diff(of_level))
    step = max(1, _PAIRS // len(others))
    for start in range(0, len(middles), step):
        some = slice(start, start + step)
        at, side = middles[some], sides[some]
        near = np.abs(level_of - levels[some, np.newaxis]) <= span
        i, j, t = _pairs(near, at, side, others, strips, starts, width)
        # One at a time: NumPy's own exponential differs from the compiler's in last bits.
        w = np.fromiter(map(math.exp, (-0.5 * t / (width * width)).tolist()), np.float64, len(t))
        spread = w * w * variances[j]
        values[some] += np.bincount(i, w * counts[j], len(at))
        noise[some] += np.bincount(i, spread, len(at))
        fourth[some] += np.bincount(i, spread**2, len(at))


def _pairs(
    near: Booleans, at: Array, side: Array, others: Array, strips: Array, starts: Integers, width: float
) -> tuple[Integers, Integers, Array]:
    """Return which box the loop would add which others to, in its order, and how far they are, squared.

    Strips that are `near` by their levels, of shape (boxes, strips), may be too far away.
    """
    most, reach, inverse = (ENDS * width) ** 2, ENDS * width * side[:, :1], 1.0 / side
    near &= (strips >= at[:, :1] - reach) & (strips <= at[:, :1] + reach)
    box, strip = np.nonzero(near)
    lengths = np.diff(starts)[strip]
    i, s = np.repeat(box, lengths), np.repeat(strip, lengths)
    j = np.arange(len(i)) + np.repeat(starts[:-1][strip] - (np.cumsum(lengths) - lengths), lengths)
    t = ((at[i, 0] - strips[s]) * inverse[i, 0]) ** 2
    held = np.ones(len(t), dtype=np.bool_)
    if at.shape[1] > 1:
        reach = side[i, 1] * (np.sqrt(np.maximum(most - t, 0.0)) + TINY)
        held = (others[j, 1] >= at[i, 1] - reach) & (others[j, 1] <= at[i, 1] + reach)
    for a in range(1, at.shape[1]):
        t = t + ((at[i, a] - others[j, a]) * inverse[i, a]) ** 2
    held &= t <= most
    return i[held], j[held], t[held]
