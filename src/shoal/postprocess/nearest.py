"""Which public centre is nearest to a released point, and what the points of each add up to."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array, Integers
from shoal.postprocess.search_loops import two_nearest


def nearest_centre(points: Array, centres: Array) -> Integers:
    """Return the index of the centre nearest to each released point.

    Examples
    --------
    >>> nearest_centre(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    found, n = np.empty(len(points), dtype=np.int64), len(points)
    two_nearest()(np.ascontiguousarray(points.T), centres, found, np.empty(n), np.empty(n))
    return found


def group_sums(groups: Integers, values: Array, n_groups: int) -> Array:
    """Return the sums of the lines of each group.

    Examples
    --------
    >>> group_sums(np.array([1, 0, 1]), np.array([[1.0], [2.0], [3.0]]), 2)
    array([[2.],
           [4.]])
    """
    sums = np.zeros((n_groups, values.shape[1]))
    for c, column in enumerate(values.T):
        sums[:, c] = np.bincount(groups, column, n_groups)
    return sums
