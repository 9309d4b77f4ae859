"""k-means on released points whose weights may be negative.

Noisy counts are signed, and their negative parts cancel the positive ones on average: throwing them away
would move every centre towards empty space. But negative weights break Lloyd's promise that the cost falls,
so every start keeps its best iterate, judged by the signed cost, which is unbiased for the true one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from shoal._typing import Array
from shoal.errors import InvalidInput
from shoal.postprocess.evidence import Noisy, lower_bound
from shoal.postprocess.grid_loops import grid_sweep
from shoal.postprocess.lloyd_loops import Nearest, Sweep, nearest, sweep
from shoal.postprocess.packing import pack
from shoal.postprocess.search_loops import enter, leave, seed, two_nearest

T = TypeVar("T")

# Standard deviations that a weight must pass before a start may be drawn there: of Laplace noise 7 % does.
# Starts are tried and judged by their cost, so that a false one costs time alone.
STANDING = math.sqrt(2)
# Lloyd stops when no centre moves by more than this, in units of the half width of the domain.
_STILL = 1e-4
# Rounds of Lloyd after which starts and swaps are compared, and how many starts are followed to their end.
_TRIAL, _FINALISTS = 8, 3
# Distances of points to centres that swaps which promise nothing may cost in all: about a tenth of a second.
_POLISH_WORK = 10**8
# Fewer than this are clustered sooner than threads are started.
_FEW_POINTS = 4096


@dataclass(frozen=True, eq=False)
class WeightedClustering:
    """Centres of released points.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Centres, in the box [-1, 1]^d.
    masses : ndarray of shape (k,)
        Weight of the points nearest to each.
    cost : float
        Weighted sum of squared distances.
    """

    centres: Array
    masses: Array
    cost: float


def weighted_kmeans(
    points: Array,
    weights: Array,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 8,
    max_iter: int = 50,
    least_mass: float = 0.0,
    weight_sd: float = 0.0,
    n_swaps: int | None = None,
    column_scale: Array | None = None,
    published: bool = False,
    shape: tuple[int, ...] | None = None,
) -> WeightedClustering:
    """Find centres of weighted points: some starts, swaps of single centres, then Lloyd.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Released points of [-1, 1]^d.
    weights : ndarray of shape (n,)
        Their weights; they may be negative.
    n_clusters : int
        How many centres.
    rng : numpy Generator
        Public randomness.
    n_starts : int
        Starts: half by sphere packing, half by greedy k-means++ on the weights that stand out of the noise.
        All are followed for a few rounds, and the best of them to their end.
    max_iter : int
        Most rounds of Lloyd a start.
    least_mass : float
        A centre with less weight than this stays where it is.
    weight_sd : float
        Standard deviation of a weight's noise; k-means++ looks at what weights have above `STANDING` of it.
    n_swaps : int, optional
        Single centres moved elsewhere on trial, after the starts; twice the centres, and at least 30, if not
        given.
    column_scale : ndarray of shape (d,), optional
        What columns are multiplied by before distances are taken.
    published : bool
        Search as Su et al. do (5.1): every start by sphere packing, each followed to its end, and no swaps.
    shape : tuple of int, optional
        Where the points are the middles of all cells of a grid, the first column slowest: how many cells it
        has along each column. The same is found, several times as fast.

    Returns
    -------
    WeightedClustering
        The best by cost.

    Examples
    --------
    >>> points = np.array([[-0.5], [-0.4], [0.5], [0.6]])
    >>> found = weighted_kmeans(points, np.array([1.0, 1.0, 3.0, 1.0]), 2, np.random.default_rng(0))
    >>> np.sort(found.centres, axis=0).round(3)
    array([[-0.45 ],
           [ 0.525]])
    """
    if n_clusters < 1 or n_starts < 1:
        raise InvalidInput(f"{n_clusters} centres from {n_starts} starts: at least 1 of each is wanted")
    d = points.shape[1]
    reach = np.ones(d) if column_scale is None else column_scale
    columns = np.ascontiguousarray((points * reach).T)
    mass = np.ascontiguousarray(weights, dtype=np.float64)
    standing = np.maximum(lower_bound(Noisy.of(mass, weight_sd), STANDING), 0.0)
    seeds = rng.spawn(n_starts)
    by_grid = None if shape is None else grid_sweep(columns, shape)

    def start(i: int) -> Array:
        # Packing knows nothing of the weights, so it also serves where none stands out.
        if published or i % 2 == 0 or not standing.any():
            return pack(n_clusters, d, seeds[i], always=published) * reach
        return greedy_plus_plus(columns, standing, n_clusters, seeds[i])

    def run(centres: Array, rounds: int = max_iter, known: Nearest | None = None) -> WeightedClustering:
        rounds, step = min(rounds, max_iter), by_grid or sweep(known)
        return lloyd(columns, mass, centres, max_iter=rounds, least_mass=least_mass, reach=reach, step=step)

    tried = _in_threads(
        lambda i: run(start(i), max_iter if published else _TRIAL), range(n_starts), len(mass)
    )
    tried.sort(key=lambda found: found.cost)
    if n_clusters > 1 and standing.any() and not published:
        swaps = max(30, 2 * n_clusters) if n_swaps is None else n_swaps
        tried[0] = _swap(tried[0], columns, mass, standing, run, rng, swaps)
    finished = _in_threads(lambda found: run(found.centres), tried[:_FINALISTS], len(mass))
    best = min(finished, key=lambda found: found.cost)
    return replace(best, centres=best.centres / np.where(reach > 0, reach, 1.0))


def lloyd(
    columns: Array,
    weights: Array,
    centres: Array,
    *,
    max_iter: int,
    least_mass: float,
    reach: Array | float = 1.0,
    step: Sweep | None = None,
) -> WeightedClustering:
    """Run Lloyd from given centres and return the best iterate.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Points, one line per column.
    weights : ndarray of shape (n,)
        Weights of either sign.
    centres : ndarray of shape (k, d)
        Where to start.
    max_iter : int
        Most rounds.
    least_mass : float
        A centre with less weight than this stays where it is.
    reach : float or ndarray of shape (d,)
        Half the width of the box that centres are kept in.
    step : callable, optional
        The pass over the points, where there is a faster one than `lloyd_loops.sweep`, or one that
        remembers them.
    """
    step = step or sweep()
    sums, masses = np.empty_like(centres), np.empty(len(centres))
    best: WeightedClustering | None = None
    for _ in range(max_iter + 1):
        cost = step(columns, weights, centres, sums, masses)
        if best is None or cost < best.cost:
            best = WeightedClustering(centres, masses.copy(), cost)
        heavy = masses > max(least_mass, 1e-12)
        moved = np.where(
            heavy[:, np.newaxis],
            np.clip(sums / np.where(heavy, masses, 1.0)[:, np.newaxis], -reach, reach),
            centres,
        )
        if np.abs(moved - centres).max() < _STILL:
            break
        centres = moved
    assert best is not None
    return best


def plus_plus(columns: Array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Choose starting centres among points, far ones first (k-means++), by non-negative weights.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        Points, one line per column.
    weights : ndarray of shape (n,)
        Not negative, not all zero.
    n_clusters : int
        How many.
    rng : numpy Generator
        Public randomness.
    """
    lower = nearest()
    distances = np.full(len(weights), np.inf)
    chance, chosen = weights, []
    for _ in range(n_clusters):
        total = np.cumsum(chance)
        pick = int(np.searchsorted(total, rng.uniform(0, total[-1]), side="right"))
        chosen.append(min(pick, len(weights) - 1))
        lower(columns, np.ascontiguousarray(columns[:, chosen[-1]]), distances)
        chance = weights * distances
        if not chance.any():  # fewer different points than centres
            chance = weights
    return np.ascontiguousarray(columns[:, chosen].T)


def greedy_plus_plus(columns: Array, weights: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Choose starting centres as `plus_plus` does, each the best of a few draws.

    Parameters are those of :func:`plus_plus`.
    """
    centres = np.empty((n_clusters, len(columns)))
    seed()(columns, weights, rng.random((n_clusters, 2 + int(math.log(n_clusters)))), centres)
    return centres


def _swap(
    best: WeightedClustering,
    columns: Array,
    mass: Array,
    standing: Array,
    run: Callable[[Array, int, Nearest], WeightedClustering],
    rng: np.random.Generator,
    n_swaps: int,
) -> WeightedClustering:
    """Move one centre to where cost is high, the one that is missed least, and keep what is cheaper.

    What a swap changes is known at once from each point's two nearest centres. Where it promises nothing, a
    few rounds of Lloyd may still make it pay: as many swaps are tried as the work allows.
    """
    k, n = len(best.centres), len(mass)
    labels, first, second = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    sums, loss = np.empty(len(columns)), np.empty(k)
    lowest, highest = columns.min(axis=1), columns.max(axis=1)
    polish = _POLISH_WORK // (_TRIAL * n * k)
    two_nearest()(columns, best.centres, labels, first, second)
    for draw in rng.random(n_swaps):
        total = np.cumsum(standing * first)
        if not total[-1] > 0:
            return best
        pick = min(int(np.searchsorted(total, draw * total[-1], side="right")), n - 1)
        place = np.ascontiguousarray(columns[:, pick])
        won = enter()(columns, mass, place, first, sums)
        if won > 0:  # the middle of what it would win is a better guess than the point itself
            place = np.clip(sums / won, lowest, highest)
        gain = leave()(columns, mass, place, labels, first, second, loss)
        worst = int(loss.argmin())
        if loss[worst] >= gain:
            if polish <= 0:
                continue
            polish -= 1
        trial = best.centres.copy()
        trial[worst] = place
        found = run(trial, _TRIAL, Nearest(best.centres, labels, first).copy())
        if found.cost < best.cost:
            best = found
            two_nearest()(columns, best.centres, labels, first, second)
    return best


def _in_threads(
    task: Callable[[T], WeightedClustering], items: Sequence[T], n_points: int
) -> list[WeightedClustering]:
    if n_points < _FEW_POINTS:
        return list(map(task, items))
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(items))) as pool:
        return list(pool.map(task, items))
