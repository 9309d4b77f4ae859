"""Nock, Canyasse, Boreli, Nielsen 2016: k-variates++, seeding by draws from densities around far points."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array
from shoal.postprocess.lloyd_loops import nearest


def k_variates(
    points: Array,
    weights: Array,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    half: Array,
    column_scale: Array | None = None,
) -> Array:
    """Choose centres: a point by weight times squared distance to those before, then a place around it.

    As published the points are rows and the density around them is Laplace noise, which does not hide a row
    that is far from all others (docs/proofs/k_variates.md). Here the points are released cells, and the
    density is uniform over the cell.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Middles of released cells, in [-1, 1]^d.
    weights : ndarray of shape (n,)
        Their noisy counts; negative ones count as none.
    n_clusters : int
        How many centres.
    rng : numpy Generator
        Public randomness.
    half : ndarray of shape (d,)
        Half the width of a cell in every column.
    column_scale : ndarray of shape (d,), optional
        What columns are multiplied by to measure distance.

    Examples
    --------
    >>> points, weights = np.array([[-0.75], [0.25], [0.75]]), np.array([5.0, -1.0, 5.0])
    >>> found = k_variates(points, weights, 2, np.random.default_rng(0), half=np.array([0.25]))
    >>> bool(found.min() < -0.5 < 0.5 < found.max())
    True
    """
    reach = np.ones(points.shape[1]) if column_scale is None else column_scale
    columns = np.ascontiguousarray((points * reach).T)
    mass = np.maximum(weights, 0.0)
    if not mass.any():  # nothing stands out: any cell is as good
        mass = np.ones(len(points))
    distances, chance = np.full(len(mass), np.inf), mass
    centres = np.empty((n_clusters, points.shape[1]))
    lower = nearest()
    for i in range(n_clusters):
        total = np.cumsum(chance)
        pick = int(np.searchsorted(total, rng.uniform(0, total[-1]), side="right"))
        at = points[min(pick, len(mass) - 1)]
        centres[i] = np.clip(at + rng.uniform(-1.0, 1.0, len(at)) * half, -1.0, 1.0)
        lower(columns, np.ascontiguousarray(centres[i] * reach), distances)
        chance = mass * distances
        if not chance.any():
            chance = mass
    return centres
