"""Loops of the search for centres of released points: compiled, or by NumPy twins that give the same bits.

Points are (d, n), one line per column, so that every inner loop runs over a block of points of one column. As
in `lloyd_loops`, there is no "fast math": a release is replayed to verify it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array, Integers
from shoal.postprocess.lloyd_loops import running_sum, squared_distances

Seed: TypeAlias = Callable[[Array, Array, Array, Array], None]
TwoNearest: TypeAlias = Callable[[Array, Array, Integers, Array, Array], None]
Enter: TypeAlias = Callable[[Array, Array, Array, Array, Array], float]
Leave: TypeAlias = Callable[[Array, Array, Array, Integers, Array, Array, Array], float]

# Points at a time, as in `lloyd_loops.py`.
_BLOCK = 512


@cache
def seed() -> Seed:
    """Return greedy k-means++: ``(points, weights, uniforms, centres) -> None``.

    `uniforms` is (k, tries): `tries` candidates are drawn for every centre by weight times squared distance
    to those before, and the one that lowers the cost most is taken. Weights are not negative, not all zero.
    """
    return compiled(_seed_loop, _seed_numpy, lambda points, _, uniforms, *__: points.size * uniforms.size)


@cache
def two_nearest() -> TwoNearest:
    """Return ``(points, centres, labels, first, second) -> None``: the nearest centre, and two distances."""
    return compiled(
        _two_nearest_loop, _two_nearest_numpy, lambda points, centres, *_: points.size * len(centres)
    )


@cache
def enter() -> Enter:
    """Return ``(points, weights, place, first, sums) -> mass``: what a new centre at a place would win."""
    return compiled(_enter_loop, _enter_numpy, lambda points, *_: int(points.size))


@cache
def leave() -> Leave:
    """Return ``(points, weights, place, labels, first, second, loss) -> gain``.

    The gain of a new centre at a place, and in `loss` (k,) what it costs beside to take each old one away:
    its points go to the new centre or to their second nearest. All k swaps are judged in one pass.
    """
    return compiled(_leave_loop, _leave_numpy, lambda points, *_: int(points.size))


def _seed_loop(points: Array, weights: Array, uniforms: Array, centres: Array) -> None:
    # Loops where NumPy has a word: each word takes up to a second to compile.
    d, n = points.shape
    k, tries = uniforms.shape
    distances, total = np.empty(n), np.empty(n)
    kept, new = np.empty(n), np.empty(n)
    costs = np.empty(_BLOCK)  # side by side: one running sum would wait for itself
    for i in range(n):
        distances[i] = np.inf
    for j in range(k):
        mass = 0.0
        for i in range(n):
            mass += weights[i] * distances[i] if j > 0 else weights[i]
            total[i] = mass
        if not mass > 0:  # fewer different points than centres
            for i in range(n):
                mass += weights[i]
                total[i] = mass
        least, chosen = np.inf, 0
        for t in range(tries if j > 0 else 1):
            # The first whose running sum is above what was drawn, or the last.
            wanted, pick, high = uniforms[j, t] * mass, 0, n - 1
            while pick < high:
                middle = (pick + high) // 2
                if total[middle] > wanted:
                    high = middle
                else:
                    pick = middle + 1
            for i in range(_BLOCK):
                costs[i] = 0.0
            for start in range(0, n, _BLOCK):
                m = min(_BLOCK, n - start)
                part = new[start : start + m]
                before, heavy = distances[start : start + m], weights[start : start + m]
                for i in range(m):
                    part[i] = 0.0
                for c in range(d):
                    at = points[c, pick]
                    values = points[c, start : start + m]
                    for i in range(m):
                        step = values[i] - at
                        part[i] += step * step
                for i in range(m):
                    part[i] = min(part[i], before[i])
                    costs[i] += heavy[i] * part[i]
            cost = 0.0
            for i in range(_BLOCK):
                cost += costs[i]
            if cost < least:
                least, chosen = cost, pick
                kept, new = new, kept
        for c in range(d):
            centres[j, c] = points[c, chosen]
        for i in range(n):
            distances[i] = kept[i]


def _seed_numpy(points: Array, weights: Array, uniforms: Array, centres: Array) -> None:
    distances = np.full(points.shape[1], np.inf)
    for j, draws in enumerate(uniforms):
        total = np.cumsum(weights * distances if j > 0 else weights)
        if not total[-1] > 0:
            total = np.cumsum(weights)
        drawn = draws if j > 0 else draws[:1]
        picks = np.minimum(np.searchsorted(total, drawn * total[-1], side="right"), len(weights) - 1)
        tried = [np.minimum(squared_distances(points, points[:, pick]), distances) for pick in picks]
        best = int(np.argmin([_side_by_side(weights * new) for new in tried]))
        centres[j], distances = points[:, picks[best]], tried[best]


def _side_by_side(costs: Array) -> float:
    """Add up as the loop does: blocks onto each other, and then what has come together."""
    sums = np.zeros(_BLOCK)
    for start in range(0, len(costs), _BLOCK):
        part = costs[start : start + _BLOCK]
        sums[: len(part)] += part
    return running_sum(sums)


def _two_nearest_loop(points: Array, centres: Array, labels: Integers, first: Array, second: Array) -> None:
    d, n = points.shape
    k = centres.shape[0]
    distance = np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        m = min(_BLOCK, n - start)
        one, two = first[start : start + m], second[start : start + m]
        who = labels[start : start + m]
        for i in range(m):
            one[i] = np.inf
            two[i] = np.inf
            who[i] = 0
        for j in range(k):
            for i in range(m):
                distance[i] = 0.0
            for c in range(d):
                at = centres[j, c]
                values = points[c, start : start + m]
                for i in range(m):
                    step = values[i] - at
                    distance[i] += step * step
            for i in range(m):
                two[i] = min(two[i], max(one[i], distance[i]))
                who[i] = j if distance[i] < one[i] else who[i]
                one[i] = min(one[i], distance[i])


def _two_nearest_numpy(points: Array, centres: Array, labels: Integers, first: Array, second: Array) -> None:
    first[:], second[:], labels[:] = np.inf, np.inf, 0
    for j, centre in enumerate(centres):
        distance = squared_distances(points, centre)
        np.minimum(second, np.maximum(first, distance), out=second)
        labels[distance < first] = j
        np.minimum(first, distance, out=first)


def _enter_loop(points: Array, weights: Array, place: Array, first: Array, sums: Array) -> float:
    d, n = points.shape
    sums[:] = 0.0
    mass = 0.0
    for i in range(n):
        distance = 0.0
        for c in range(d):
            step = points[c, i] - place[c]
            distance += step * step
        if distance < first[i]:
            mass += weights[i]
            for c in range(d):
                sums[c] += weights[i] * points[c, i]
    return mass


def _enter_numpy(points: Array, weights: Array, place: Array, first: Array, sums: Array) -> float:
    won = squared_distances(points, place) < first
    for c, values in enumerate(points):
        sums[c] = running_sum((weights * values)[won])
    return running_sum(weights[won])


def _leave_loop(
    points: Array, weights: Array, place: Array, labels: Integers, first: Array, second: Array, loss: Array
) -> float:
    d, n = points.shape
    loss[:] = 0.0
    gain = 0.0
    for i in range(n):
        distance = 0.0
        for c in range(d):
            step = points[c, i] - place[c]
            distance += step * step
        if distance < first[i]:
            gain += weights[i] * (first[i] - distance)
        else:
            loss[labels[i]] += weights[i] * (min(second[i], distance) - first[i])
    return gain


def _leave_numpy(
    points: Array, weights: Array, place: Array, labels: Integers, first: Array, second: Array, loss: Array
) -> float:
    distance = squared_distances(points, place)
    won = distance < first
    lost = np.where(won, 0.0, weights * (np.minimum(second, distance) - first))
    loss[:] = np.bincount(labels, lost, len(loss))
    return running_sum((weights * (first - distance))[won])
