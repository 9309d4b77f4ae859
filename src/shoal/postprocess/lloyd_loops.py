"""One pass of weighted Lloyd over released points: compiled, or by a NumPy twin that gives the same bits.

These see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math": the same operations in the same order.
Twins add in that order too, by `running_sum` and `bincount`, where `sum` and `@` would choose their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array

Sweep: TypeAlias = Callable[[Array, Array, Array, Array, Array], float]


def running_sum(values: Array) -> float:
    """Add up one after the other, as a loop does.

    Examples
    --------
    >>> running_sum(np.array([1e16, 1.0, -1e16]))
    0.0
    """
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


def squared_distances(points: Array, place: Array) -> Array:
    """Return squared distances of points, of shape (d, n), to a place, column after column."""
    squares = np.zeros(points.shape[1])
    for values, at in zip(points, place, strict=True):
        step = values - at
        squares += step * step
    return squares


@cache
def sweep() -> Sweep:
    """Return the pass ``(points, weights, centres, sums, masses) -> cost``.

    Points are (d, n), one line per column. Fills `sums` (k, d) and `masses` (k,) with the weighted sums and
    weights of each centre's nearest points, and returns the weighted sum of squared distances.
    """
    return compiled(_sweep_loop, _sweep_numpy, lambda points, _, centres, *__: points.size * len(centres))


@cache
def nearest() -> Callable[[Array, Array, Array], None]:
    """Return the pass ``(points, centre, distances) -> None`` that lowers distances to a new centre's."""
    return compiled(_nearest_loop, _nearest_numpy, lambda points, *_: int(points.size))


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
    best, labels = np.full(points.shape[1], np.inf), np.zeros(points.shape[1], dtype=np.int64)
    for j, centre in enumerate(centres):
        distance = squared_distances(points, centre)
        labels[distance < best] = j
        np.minimum(distance, best, out=best)
    masses[:] = np.bincount(labels, weights, len(centres))
    for c, values in enumerate(points):
        sums[:, c] = np.bincount(labels, weights * values, len(centres))
    return running_sum(weights * best)


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
    np.minimum(distances, squared_distances(points, centre), out=distances)
