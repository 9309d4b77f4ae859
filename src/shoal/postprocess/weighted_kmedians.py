"""k-medians on released points: centres of least weighted distance, not squared.

Far points pull at a median with no more than their weight, and so does noise in empty space. Weights must not
be negative: a point that pushes has no median.
"""

from __future__ import annotations

import numpy as np

from shoal._typing import Array, Integers
from shoal.errors import InvalidInput
from shoal.postprocess.packing import pack
from shoal.postprocess.weighted_kmeans import WeightedClustering

# A round stops when no centre moves by more than this, in units of the half width of the domain.
_STILL = 1e-4


def weighted_kmedians(
    points: Array,
    weights: Array,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 10,
    max_iter: int = 50,
    n_swaps: int = 10,
    grain: float = 0.0,
    start: Array | None = None,
    column_scale: Array | None = None,
) -> WeightedClustering:
    """Find medians of weighted points: starts far from each other, Weiszfeld's steps, then swaps.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Released points of [-1, 1]^d.
    weights : ndarray of shape (n,)
        Their weights; those that are not above 0 are left out.
    n_clusters : int
        How many centres.
    rng : numpy Generator
        Public randomness.
    n_starts : int
        Starts by D-sampling: a point is drawn by its weight times its distance to those before.
    max_iter : int
        Most steps of a start.
    n_swaps : int
        Single centres moved elsewhere on trial, after the starts.
    grain : float
        Root mean squared distance of what a point stands for from it: that of rows of a cell from its middle.
        Distances are taken as if from there, or medians would snap to the middles of heavy cells.
    start : ndarray of shape (n_clusters, d), optional
        One more place to start from.
    column_scale : ndarray of shape (d,), optional
        What columns are multiplied by before distances are taken.

    Returns
    -------
    WeightedClustering
        The best; its cost is the weighted sum of distances.

    Examples
    --------
    >>> points = np.array([[-0.5], [-0.4], [0.9], [0.5], [0.6]])
    >>> found = weighted_kmedians(points, np.array([1.0, 3, 1, 5, 1]), 2, np.random.default_rng(0))
    >>> np.sort(found.centres, axis=0).round(2)
    array([[-0.4],
           [ 0.5]])
    """
    if n_clusters < 1 or n_starts < 1:
        raise InvalidInput(f"{n_clusters} centres from {n_starts} starts: at least 1 of each is wanted")
    d = points.shape[1]
    reach = np.ones(d) if column_scale is None else column_scale
    heavy = weights > 0
    if not heavy.any():
        return WeightedClustering(pack(n_clusters, d, rng), np.zeros(n_clusters), 0.0)
    at, mass = points[heavy] * reach, np.asarray(weights[heavy], dtype=np.float64)
    starts = [spread(at, mass, n_clusters, rng) for _ in range(n_starts)]
    if start is not None:
        starts.append(start * reach)
    grain = max(grain, _STILL)
    found = [_descend(at, mass, centres, max_iter, grain) for centres in starts]
    best = min(found, key=lambda found: found.cost)
    for _ in range(n_swaps if n_clusters > 1 else 0):
        centres = best.centres.copy()
        far = mass * _distances(at, centres, 0.0).min(axis=0)
        centres[rng.integers(n_clusters)] = at[_draw(far if far.any() else mass, rng)]
        swapped = _descend(at, mass, centres, max_iter, grain)
        best = min(best, swapped, key=lambda found: found.cost)
    return WeightedClustering(best.centres / np.where(reach > 0, reach, 1.0), best.masses, best.cost)


def _descend(
    points: Array, weights: Array, centres: Array, max_iter: int, grain: float
) -> WeightedClustering:
    """Take Weiszfeld's steps: to the mean of a centre's points, each by its weight over its distance."""
    best: WeightedClustering | None = None
    for _ in range(max_iter + 1):
        distances = _distances(points, centres, grain)
        labels = distances.argmin(axis=0)
        near = distances[labels, np.arange(len(points))]
        masses = np.bincount(labels, weights, len(centres)).astype(np.float64)
        # Not a product of matrices, whose last bits depend on the machine: a release is run again elsewhere.
        cost = float((weights * near).sum())
        if best is None or cost < best.cost:
            best = WeightedClustering(centres, masses, cost)
        pulls = weights / near
        total = np.bincount(labels, pulls, len(centres))
        sums = np.stack([np.bincount(labels, pulls * x, len(centres)) for x in points.T], axis=1)
        held = total > 0
        moved = np.where(held[:, np.newaxis], sums / np.where(held, total, 1.0)[:, np.newaxis], centres)
        if np.abs(moved - centres).max() < _STILL:
            break
        centres = moved
    assert best is not None
    return best


def spread(points: Array, weights: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw points by D-sampling: each by its weight times its distance to those drawn before.

    Parameters
    ----------
    points : ndarray of shape (n_points, d)
        In coordinates in which distance is Euclidean.
    weights : ndarray of shape (n_points,)
        Not negative, not all zero.
    n : int
        How many.
    rng : numpy Generator
        Public randomness.
    """
    chosen = [_draw(weights, rng)]
    near = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < n:
        chance = weights * near
        chosen.append(_draw(chance if chance.any() else weights, rng))
        near = np.minimum(near, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return points[chosen]


def _draw(chances: Array, rng: np.random.Generator) -> int:
    total = np.cumsum(chances)
    return min(int(np.searchsorted(total, rng.uniform(0, total[-1]), side="right")), len(chances) - 1)


def nearest_centres(points: Array, centres: Array) -> Integers:
    """Return the nearest centre of every point, in coordinates in which distance is Euclidean."""
    return np.asarray(_distances(points, centres, 0.0).argmin(axis=0))


def _distances(points: Array, centres: Array, grain: float) -> Array:
    squares = np.full((len(centres), len(points)), grain**2)
    for values, at in zip(points.T, centres.T, strict=True):
        squares += (values - at[:, np.newaxis]) ** 2
    return np.asarray(np.sqrt(squares))
