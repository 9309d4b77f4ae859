"""One pass of weighted Lloyd over all cells of a grid, which is far less work than over as many points.

A grid is a product: its cells are all pairs of a place in the first few columns and one in the others. So a
squared distance is the sum of two that are known for every place beforehand, d times as cheap as its own sum;
and what a centre's cells weigh is added up by either place, from which its sums and its cost follow. As in
`lloyd_loops`, there is no "fast math", and a NumPy twin gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array, Integers
from shoal.postprocess.lloyd_loops import Sweep, running_sum, squared_distances

Pairs: TypeAlias = Callable[[Array, Array, Array, Array, Array, Array], float]

# Cells at a time, as in `lloyd_loops.py`.
_BLOCK = 512


def grid_sweep(columns: Array, shape: tuple[int, ...]) -> Sweep:
    """Return `lloyd_loops.sweep` for the cells of a grid.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Middles of all cells, the first column slowest, one line per column.
    shape : tuple of int
        How many cells there are along each column.

    Examples
    --------
    >>> cells = np.array([[-0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, 0.5]])
    >>> sums, masses = np.empty((2, 2)), np.empty(2)
    >>> pass_over = grid_sweep(cells, (2, 2))
    >>> pass_over(cells, np.array([1.0, 1.0, 2.0, 4.0]), np.array([[-0.5, 0.0], [0.5, 0.0]]), sums, masses)
    2.0
    >>> masses.tolist(), sums.tolist()
    ([2.0, 6.0], [[-1.0, 0.0], [3.0, 1.0]])
    """
    cut = _middle(shape)
    inner_size = math.prod(shape[cut:])
    outer = np.ascontiguousarray(columns[:cut, ::inner_size])
    inner = np.ascontiguousarray(columns[cut:, :inner_size])

    def step(_: Array, weights: Array, centres: Array, sums: Array, masses: Array) -> float:
        return _pairs()(outer, inner, weights, centres, sums, masses)

    return step


def _middle(shape: tuple[int, ...]) -> int:
    """Return after which column to part them, so that there are about as many places before as behind.

    Examples
    --------
    >>> _middle((4, 4, 4, 4)), _middle((100, 2, 2)), _middle((7,))
    (2, 1, 0)
    """
    return min(range(len(shape)), key=lambda cut: math.prod(shape[:cut]) + math.prod(shape[cut:]))


@cache
def _pairs() -> Pairs:
    return compiled(
        _pairs_loop, _pairs_numpy, lambda _, __, weights, centres, *___: len(weights) * len(centres)
    )


def _pairs_loop(
    outer: Array, inner: Array, weights: Array, centres: Array, sums: Array, masses: Array
) -> float:
    before, n_outer = outer.shape
    behind, n_inner = inner.shape
    k = centres.shape[0]
    near, far = np.empty(k), np.empty((k, n_inner))
    by_outer, by_inner = np.zeros(k), np.zeros((k, n_inner))
    best = np.empty((2, _BLOCK))
    label = np.empty((2, _BLOCK), np.int32)
    sums[:] = 0.0
    masses[:] = 0.0
    cost = 0.0
    for j in range(k):
        for i in range(n_inner):
            far[j, i] = 0.0
        for c in range(behind):
            at = centres[j, before + c]
            for i in range(n_inner):
                step = inner[c, i] - at
                far[j, i] += step * step
    for o in range(n_outer):
        for j in range(k):
            near[j] = 0.0
            for c in range(before):
                step = outer[c, o] - centres[j, c]
                near[j] += step * step
        for start in range(0, n_inner, _BLOCK):
            m = min(_BLOCK, n_inner - start)
            side = 0
            for i in range(m):
                best[0, i] = np.inf
                label[0, i] = 0
            for j in range(k):
                # Read from one buffer, write to the other, as in `lloyd_loops.py`.
                old, old_label = best[side], label[side]
                side = 1 - side
                new, new_label = best[side], label[side]
                who, from_here = np.int32(j), near[j]
                rest = far[j, start : start + m]
                for i in range(m):
                    distance = from_here + rest[i]
                    new_label[i] = who if distance < old[i] else old_label[i]
                    new[i] = min(distance, old[i])
            first = o * n_inner + start
            for i in range(m):
                weight = weights[first + i]
                j = label[side, i]
                by_outer[j] += weight
                by_inner[j, start + i] += weight
        for j in range(k):
            weight = by_outer[j]
            by_outer[j] = 0.0
            masses[j] += weight
            cost += weight * near[j]
            for c in range(before):
                sums[j, c] += weight * outer[c, o]
    for j in range(k):
        for i in range(n_inner):
            weight = by_inner[j, i]
            cost += weight * far[j, i]
            for c in range(behind):
                sums[j, before + c] += weight * inner[c, i]
    return cost


def _pairs_numpy(
    outer: Array, inner: Array, weights: Array, centres: Array, sums: Array, masses: Array
) -> float:
    (before, n_outer), n_inner, k = outer.shape, inner.shape[1], len(centres)
    near = np.array([squared_distances(outer, centre[:before]) for centre in centres])
    far = np.array([squared_distances(inner, centre[before:]) for centre in centres])
    best, labels = np.full((n_outer, n_inner), np.inf), np.zeros((n_outer, n_inner), dtype=np.int64)
    for j in range(k):
        distance = near[j][:, np.newaxis] + far[j]
        labels[distance < best] = j
        np.minimum(distance, best, out=best)
    by_outer = _added_up(labels + k * np.arange(n_outer)[:, np.newaxis], weights, (n_outer, k))
    by_inner = _added_up(labels * n_inner + np.arange(n_inner), weights, (k, n_inner))
    for j in range(k):
        masses[j] = running_sum(by_outer[:, j])
        sums[j, :before] = [running_sum(by_outer[:, j] * places) for places in outer]
        sums[j, before:] = [running_sum(by_inner[j] * places) for places in inner]
    return running_sum(np.concatenate([(by_outer * near.T).ravel(), (by_inner * far).ravel()]))


def _added_up(places: Integers, weights: Array, shape: tuple[int, int]) -> Array:
    return np.asarray(np.bincount(places.ravel(), weights, math.prod(shape)).reshape(shape), np.float64)
