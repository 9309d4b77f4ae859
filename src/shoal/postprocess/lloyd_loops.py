"""One pass of weighted Lloyd over released points: compiled, or by a NumPy twin that gives the same bits.

These see released values only, so nothing private hangs on their last bit. But a release is replayed to
verify it, perhaps on another machine, so there is no "fast math": the same operations in the same order.
Twins add in that order too, by `running_sum` and `bincount`, where `sum` and `@` would choose their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array, Integers

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


def sweep(known: Nearest | None = None) -> Sweep:
    """Return the pass ``(points, weights, centres, sums, masses) -> cost``.

    Points are (d, n), one line per column. Fills `sums` (k, d) and `masses` (k,) with the weighted sums and
    weights of each centre's nearest points, and returns the weighted sum of squared distances.

    It remembers whose every point was: if it is called again with the same points, only centres that moved
    and the points of those are looked at anew. So every search has one of its own.

    Parameters
    ----------
    known : Nearest, optional
        What it remembers at first.
    """
    last = known

    def step(points: Array, weights: Array, centres: Array, sums: Array, masses: Array) -> float:
        nonlocal last
        if last is None:
            n, moved = points.shape[1], np.arange(len(centres))
            labels, squares = np.zeros(n, dtype=np.int64), np.zeros(n)
        else:
            moved = np.flatnonzero((centres != last.centres).any(axis=1))
            labels, squares = last.labels, last.squares
        cost = _moved()(points, weights, centres, sums, masses, labels, squares, moved)
        last = Nearest(centres.copy(), labels, squares)
        return cost

    return step


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest centre of every point.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        All centres.
    labels : ndarray of int64, shape (n,)
        Which is the nearest, the first of equals.
    squares : ndarray of shape (n,)
        How far it is, squared.
    """

    centres: Array
    labels: Integers
    squares: Array

    def copy(self) -> Nearest:
        """Return one that a pass may write to."""
        return Nearest(self.centres, self.labels.copy(), self.squares.copy())


@cache
def _moved() -> Callable[..., float]:
    """Return the pass with what it remembers: ``(..., labels, squares, moved) -> cost``.

    Labels and squared distances are those of the centres before; `moved` says which are not where they were.
    """
    return compiled(_sweep_loop, _sweep_numpy, lambda points, _, centres, *__: points.size * len(centres))


@cache
def nearest() -> Callable[[Array, Array, Array], None]:
    """Return the pass ``(points, centre, distances) -> None`` that lowers distances to a new centre's."""
    return compiled(_nearest_loop, _nearest_numpy, lambda points, *_: int(points.size))


# Points at a time: their distances to all centres in turn stay in the first cache (8 kilobytes).
_BLOCK = 512


def _sweep_loop(  # type: ignore[no-untyped-def]
    points, weights, centres, sums, masses, labels, squares, moved
):
    # Rows lie in the processor's lanes: every inner loop runs over a block of points of one column.
    d, n = points.shape
    k = centres.shape[0]
    best, label = np.empty((2, _BLOCK)), np.empty((2, _BLOCK), np.int64)
    distance, some = np.empty(_BLOCK), np.empty((d, _BLOCK))
    which, gone = np.empty(_BLOCK + 1, np.int64), np.zeros(k, np.int64)
    for j in moved:
        gone[j] = 1
    sums[:] = 0.0
    masses[:] = 0.0
    cost = 0.0
    for start in range(0, n, _BLOCK):
        m = min(_BLOCK, n - start)
        squared, whose = squares[start : start + m], labels[start : start + m]
        lost = 0  # points whose centre has moved: all centres are looked at
        for i in range(m):
            which[lost] = i
            lost += gone[whose[i]]
        if lost * k + m * len(moved) >= m * k:
            lost = m
            for i in range(m):
                which[i] = i
        # Read from one buffer, write to the other: updating in place compiles to slow masked stores.
        side = 0
        if lost < m:  # the centres of the others are where they were: it or one that moved is the nearest
            for i in range(m):
                best[0, i] = squared[i]
                label[0, i] = whose[i]
            for j in moved:
                for i in range(m):
                    distance[i] = 0.0
                for c in range(d):
                    at = centres[j, c]
                    values = points[c, start : start + m]
                    for i in range(m):
                        step = values[i] - at
                        distance[i] += step * step
                old, old_label = best[side], label[side]
                side = 1 - side
                new, new_label = best[side], label[side]
                for i in range(m):
                    first = min(j, old_label[i])
                    other = first if distance[i] == old[i] else old_label[i]
                    new_label[i] = j if distance[i] < old[i] else other
                    new[i] = min(distance[i], old[i])
            for i in range(m):
                squared[i] = best[side, i]
                whose[i] = label[side, i]
        side = 0
        for c in range(d):
            values, into = points[c, start : start + m], some[c]
            for i in range(lost):
                into[i] = values[which[i]]
        for i in range(lost):
            best[0, i] = np.inf
            label[0, i] = 0
        for j in range(k):
            for i in range(lost):
                distance[i] = 0.0
            for c in range(d):
                at = centres[j, c]
                values = some[c]
                for i in range(lost):
                    step = values[i] - at
                    distance[i] += step * step
            old, old_label = best[side], label[side]
            side = 1 - side
            new, new_label = best[side], label[side]
            for i in range(lost):
                new_label[i] = j if distance[i] < old[i] else old_label[i]
                new[i] = min(distance[i], old[i])
        for i in range(lost):
            squared[which[i]] = best[side, i]
            whose[which[i]] = label[side, i]
        for i in range(m):
            weight = weights[start + i]
            j = whose[i]
            masses[j] += weight
            cost += weight * squared[i]
            for c in range(d):
                sums[j, c] += weight * points[c, start + i]
    return cost


def _sweep_numpy(  # type: ignore[no-untyped-def]
    points, weights, centres, sums, masses, labels, squares, _moved
):
    squares[:], labels[:] = np.inf, 0
    for j, centre in enumerate(centres):
        distance = squared_distances(points, centre)
        labels[distance < squares] = j
        np.minimum(distance, squares, out=squares)
    masses[:] = np.bincount(labels, weights, len(centres))
    for c, values in enumerate(points):
        sums[:, c] = np.bincount(labels, weights * values, len(centres))
    return running_sum(weights * squares)


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
