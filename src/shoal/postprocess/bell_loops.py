"""Passes over noisy boxes and bells: compiled, or by NumPy twins that give the same bits.

They see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal.postprocess.lloyd_loops import running_sum

Loop: TypeAlias = Callable[..., None]

TINY = 1e-12
"""Fewer rows than this are none."""
ASTRAY = 0.5
"""Rows stray from the model by this part of it, beyond their own scatter: groups are bells only roughly."""
GROUP = 8
"""Boxes that follow each other and are passed over at once where a bell puts nothing into any of them."""
# More than parts of a law are rounded by: no box gets more than what a group of boxes is said to get.
_ROUNDED = 1e-15


@cache
def one_pass() -> Loop:
    """Return the pass over boxes: expected and denoised counts, and the moments of every bell's rows.

    ``(kinds, groups, counts, variances, sure, begin, end, rows, inside, away, scatter, means, spreads, final,
    expected, denoised, places, gains, mass, first, second) -> None``: the sides of boxes are `kinds` (n, d)
    of a few, and those around every group of boxes are `groups`. A bell may reach the boxes from `begin` to
    `end`. By bell and side, `inside` is the part of its rows there, `away` their mean and `scatter` their
    mean square, from its middle and in its spreads. Places and gains are those of the `final` pass alone.
    """

    def work(*arguments: Any) -> int:
        kinds, _, _, _, _, begin, end, *_ = arguments
        return 8 * int((end - begin).sum()) * int(kinds.shape[1])

    return compiled(_pass_loop, _pass_numpy, work)


def _pass_loop(  # type: ignore[no-untyped-def]
    kinds, groups, z, v, sure, begin, end, rows, inside, away, scatter, means, spreads, final,
    expected, counts, places, gains, mass, first, second,
):  # fmt: skip
    k, d = means.shape
    expected[:] = 0.0
    if final:
        places[:] = 0.0
    most = 1
    for j in range(k):
        most += end[j] - begin[j]
    boxes, put, ends = np.empty(most, np.uint32), np.empty(most), np.empty(k, np.int64)
    held = 0
    for j in range(k):  # what the bells put into every box
        for group in range(begin[j] // GROUP, (end[j] + GROUP - 1) // GROUP):
            p = rows[j]
            for a in range(d):
                p *= inside[j, groups[group, a]] + _ROUNDED
            if p <= TINY:
                continue
            for i in range(max(begin[j], group * GROUP), min(end[j], group * GROUP + GROUP)):
                p = rows[j]
                for a in range(d):
                    p *= inside[j, kinds[i, a]]
                boxes[held] = i  # to write it down in vain takes less time than to guess whether it counts
                put[held] = p
                held += 1 if p > TINY else 0
        ends[j] = held
        for which in range(ends[j - 1] if j else 0, held):
            expected[boxes[which]] += put[which]
    for i in range(len(z)):
        m = expected[i]
        t = m + (ASTRAY * m) ** 2
        if sure[i]:
            t = max(t, (z[i] - m) ** 2 - v[i])
        n = m + (z[i] - m) * t / (t + v[i])
        counts[i] = max(n, 0.0)
    one = 0
    for j in range(k):  # what of the counts is whose
        mass[j] = 0.0
        gains[j] = 0.0
        first[j] = 0.0
        second[j] = 0.0
        for which in range(one, ends[j]):
            i, p = boxes[which], put[which]
            part = p / expected[i]
            g = counts[i] * part
            mass[j] += g
            for a in range(d):
                kind = kinds[i, a]
                first[j, a] += g * away[j, kind]
                second[j, a] += g * scatter[j, kind]
            if final:
                r = z[i] - expected[i]
                gains[j] += (abs(r + p) - abs(r)) * np.sqrt(2.0 / v[i])
                for a in range(d):
                    places[i, a] += part * (means[j, a] + spreads[j, a] * away[j, kinds[i, a]])
        one = ends[j]


def _pass_numpy(  # type: ignore[no-untyped-def]
    kinds, _groups, z, v, sure, begin, end, rows, inside, away, scatter, means, spreads, final,
    expected, counts, places, gains, mass, first, second,
):  # fmt: skip
    k, d = means.shape
    expected[:] = 0.0
    gains[:] = 0.0
    if final:
        places[:] = 0.0
    put = []
    for j in range(k):
        boxes = np.arange(begin[j], end[j])
        p = rows[j] * inside[j, kinds[boxes, 0]]
        for a in range(1, d):
            p = p * inside[j, kinds[boxes, a]]
        held = p > TINY
        put.append((boxes[held], p[held]))
        expected[boxes[held]] += p[held]
    stray = expected + (ASTRAY * expected) ** 2
    stray = np.where(sure, np.maximum(stray, (z - expected) ** 2 - v), stray)
    counts[:] = np.maximum(expected + (z - expected) * stray / (stray + v), 0.0)
    for j, (boxes, p) in enumerate(put):
        part = p / expected[boxes]
        g = counts[boxes] * part
        mass[j] = running_sum(g)
        for a in range(d):
            kind = kinds[boxes, a]
            first[j, a] = running_sum(g * away[j, kind])
            second[j, a] = running_sum(g * scatter[j, kind])
            if final:
                places[boxes, a] += part * (means[j, a] + spreads[j, a] * away[j, kind])
        if final:
            r = z[boxes] - expected[boxes]
            gains[j] = running_sum((np.abs(r + p) - np.abs(r)) * np.sqrt(2.0 / v[boxes]))
