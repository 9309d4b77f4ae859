"""One pass of weighted Lloyd over released points, compiled where numba is present.

These see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math": the same operations in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from shoal._typing import Array

Sweep: TypeAlias = Callable[[Array, Array, Array, Array, Array], float]
Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop, plain: Loop) -> Loop:
    """Return a loop compiled, or its NumPy twin where numba is absent."""
    if os.environ.get("SHOAL_NO_NUMBA") == "1" or find_spec("numba") is None:
        return plain
    import numba

    return cast(Loop, numba.njit(nogil=True, cache=True)(loop))


@cache
def sweep() -> Sweep:
    """Return the pass ``(points, weights, centres, sums, masses) -> cost``.

    Points are (d, n), one line per column. Fills `sums` (k, d) and `masses` (k,) with the weighted sums and
    weights of each centre's nearest points, and returns the weighted sum of squared distances.
    """
    return compiled(_sweep_loop, _sweep_numpy)


@cache
def nearest() -> Callable[[Array, Array, Array], None]:
    """Return the pass ``(points, centre, distances) -> None`` that lowers distances to a new centre's."""
    return compiled(_nearest_loop, _nearest_numpy)


# Points at a time: their distances to all centres in turn stay in the first cache (8 kilobytes).
_BLOCK = 512


def _sweep_loop(points: Array, weights: Array, centres: Array, sums: Array, masses: Array) -> float:
    # Rows lie in the processor's lanes: every inner loop runs over a block of points of one column.
    d, n = points.shape
    k = centres.shape[0]
    best = np.empty((2, _BLOCK))
    label = np.empty((2, _BLOCK), np.int32)
    distance = np.empty(_BLOCK)
    sums[:] = 0.0
    masses[:] = 0.0
    cost = 0.0
    for start in range(0, n, _BLOCK):
        m = min(_BLOCK, n - start)
        side = 0
        for i in range(m):
            best[0, i] = np.inf
            label[0, i] = 0
        for j in range(k):
            for i in range(m):
                distance[i] = 0.0
            for c in range(d):
                at = centres[j, c]
                values = points[c, start : start + m]
                for i in range(m):
                    step = values[i] - at
                    distance[i] += step * step
            # Read from one buffer, write to the other: updating in place compiles to slow masked stores.
            old, old_label = best[side], label[side]
            side = 1 - side
            new, new_label = best[side], label[side]
            who = np.int32(j)
            for i in range(m):
                new_label[i] = who if distance[i] < old[i] else old_label[i]
                new[i] = min(distance[i], old[i])
        for i in range(m):
            weight = weights[start + i]
            j = label[side, i]
            masses[j] += weight
            cost += weight * best[side, i]
            for c in range(d):
                sums[j, c] += weight * points[c, start + i]
    return cost


def _sweep_numpy(points: Array, weights: Array, centres: Array, sums: Array, masses: Array) -> float:
    squares = ((points[np.newaxis, :, :] - centres[:, :, np.newaxis]) ** 2).sum(axis=1)
    labels = squares.argmin(axis=0)
    masses[:] = np.bincount(labels, weights, len(centres))
    for c, values in enumerate(points):
        sums[:, c] = np.bincount(labels, weights * values, len(centres))
    return float((weights * squares.min(axis=0)).sum())


def _nearest_loop(points: Array, centre: Array, distances: Array) -> None:
    d, n = points.shape
    step_sums = np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        m = min(_BLOCK, n - start)
        for i in range(m):
            step_sums[i] = 0.0
        for c in range(d):
            at = centre[c]
            values = points[c, start : start + m]
            for i in range(m):
                step = values[i] - at
                step_sums[i] += step * step
        for i in range(m):
            distances[start + i] = min(distances[start + i], step_sums[i])


def _nearest_numpy(points: Array, centre: Array, distances: Array) -> None:
    np.minimum(distances, ((points - centre[:, np.newaxis]) ** 2).sum(axis=0), out=distances)
