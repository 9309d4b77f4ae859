"""Are groups clear? Whether a centre could be better placed elsewhere, judged on released places alone."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array
from shoal.postprocess.search_loops import two_nearest


def clearness(places: Array, variances: Array, weights: Array, centres: Array) -> float:
    """Return what the least needed centre saves, over the most that one more could save anywhere.

    Above one, groups are found: a centre that is moved elsewhere costs more than it saves there, and to know
    the places better would not change that. A group that was missed makes it small, as two centres then share
    another one.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Where rows are, in the units of distance.
    variances : ndarray of shape (n, d)
        Of rows around their place.
    weights : ndarray of shape (n,)
        How many; none is negative.
    centres : ndarray of shape (k, d)
        At least two.

    Examples
    --------
    >>> places, variances, weights = np.array([[-0.5], [0.5], [0.6]]), np.full((3, 1), 0.01), np.ones(3)
    >>> round(clearness(places, variances, weights, np.array([[-0.5], [0.55]])), 1)
    44.1
    >>> round(clearness(places, variances, weights, np.array([[-0.5], [0.5], [0.6]])), 1)
    1.0
    """
    n, k = len(places), len(centres)
    nearest, first, second = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    two_nearest()(np.ascontiguousarray(places.T), np.ascontiguousarray(centres), nearest, first, second)
    saved = np.bincount(nearest, weights * (second - first), k)
    away = places - centres[nearest]
    # One more centre saves at most the variance along one direction, the largest eigenvalue; and that is at
    # most the largest sum of a line of the covariances (Gershgorin), which is the same on every machine.
    lines = np.zeros((places.shape[1], k))
    for i, line in enumerate(lines):
        for j in range(len(lines)):
            own = variances[:, i] if i == j else 0.0
            line += np.abs(np.bincount(nearest, weights * (away[:, i] * away[:, j] + own), k))
    return float(saved.min()) / max(float(lines.max()), 1e-300)
