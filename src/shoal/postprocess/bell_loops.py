"""Passes over noisy boxes and bells, compiled where numba is present; their NumPy twins add in another order.

They see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal.postprocess.lloyd_loops import compiled

Loop: TypeAlias = Callable[..., None]

TINY = 1e-12
"""Fewer rows than this are none."""
ASTRAY = 0.5
"""Rows stray from the model by this part of it, beyond their own scatter: groups are bells only roughly."""
ENDS = 3.0
"""A weight ends at three widths of its bell, where it has fallen to 1 %."""


@cache
def one_pass() -> Loop:
    """Return the pass over boxes: expected and denoised counts, and the moments of every bell's rows."""
    return compiled(_pass_loop, _pass_numpy)


@cache
def weighed_sums() -> Loop:
    """Return the pass that sums counts, and the variances of their noise, around every box."""
    return compiled(_sums_loop, _sums_numpy)


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
        gains[j] = ((np.abs(r + p) - np.abs(r)) * np.sqrt(2.0 / v[boxes])).sum()
        part = p / expected[boxes]
        g = counts[boxes] * part
        mass[j] = g.sum()
        for a in range(d):
            lo, hi = low[boxes, a], high[boxes, a]
            away = (density[a, j, lo] - density[a, j, hi]) / inside[a]
            first[j, a] = (g * away).sum()
            second[j, a] = (g * (1.0 + (at[a, j, lo] - at[a, j, hi]) / inside[a])).sum()
            places[boxes, a] += part * (means[j, a] + spreads[j, a] * away)


def _sums_loop(  # type: ignore[no-untyped-def]
    middles, sides, levels, others, counts, variances, of_level, strips, starts, span, width,
    values, noise, fourth,
):  # fmt: skip
    n, d = middles.shape
    most = (ENDS * width) ** 2
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
                t0 = ((middles[i, 0] - strips[s]) / sides[i, 0]) ** 2
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
                        t += ((middles[i, a] - others[j, a]) / sides[i, a]) ** 2
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
    n = len(middles)
    most = (ENDS * width) ** 2
    for i in range(n):
        reach = ENDS * width * sides[i, 0]
        for level in range(max(levels[i] - span, 0), min(levels[i] + span, len(of_level) - 2) + 1):
            mine = slice(of_level[level], of_level[level + 1])
            ends = np.searchsorted(strips[mine], (middles[i, 0] - reach, middles[i, 0] + reach))
            near = slice(starts[mine.start + ends[0]], starts[min(mine.start + ends[1] + 1, mine.stop)])
            t = (((middles[i] - others[near]) / sides[i]) ** 2).sum(axis=1)
            says = t <= most
            w = np.exp(-0.5 * t[says] / (width * width))
            spread = w * w * variances[near][says]
            values[i] += w @ counts[near][says]
            noise[i] += spread.sum()
            fourth[i] += spread @ spread
