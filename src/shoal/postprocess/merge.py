"""Merging released centres until k are left."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array, Integers
from shoal.postprocess.agglomerate import Linkage, agglomerate
from shoal.postprocess.weighted_kmeans import weighted_kmeans

Merge: TypeAlias = Literal["published", "ward", "kmeans"]

# What a centre without rows weighs, beside the least that counts.
_NOTHING = 1e-9


def merge_weights(sizes: Array, least: float, how: Merge) -> Array:
    """Return what centres weigh in a merge.

    A negative size would push the merged centre away, and two that add up to nothing have no mean. As
    published (repaired), sizes below `least` count as this much; otherwise next to nothing, so that a
    centre which found no rows is merged first and pulls nobody.

    Examples
    --------
    >>> merge_weights(np.array([-3.0, 50.0]), 10.0, "published")
    array([10., 50.])
    """
    floor = least if how == "published" else _NOTHING * least
    return np.where(sizes >= least, sizes, floor)


def merge(
    centres: Array,
    weights: Array,
    n_clusters: int,
    how: Merge,
    rng: np.random.Generator,
    column_scale: Array | None = None,
) -> tuple[Array, Integers]:
    """Merge centres by their weights.

    Parameters
    ----------
    centres : ndarray of shape (n, d)
        Released centres.
    weights : ndarray of shape (n,)
        What each weighs, above 0.
    n_clusters : int
        How many to leave.
    how : {"published", "ward", "kmeans"}
        Merge the closest pair (Ni et al.), the pair that costs least (Ward), or run weighted k-means.
    rng : numpy Generator
        Public randomness, for k-means.
    column_scale : ndarray of shape (d,), optional
        What columns are multiplied by before distances are taken.

    Returns
    -------
    merged : ndarray of shape (n_clusters, d)
        Weighted means of what was merged.
    labels : ndarray of shape (n,)
        Which of them each centre went into.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> merge(np.array([[0.0], [0.2], [1.0]]), np.array([3.0, 1.0, 5.0]), 2, "ward", rng)
    (array([[0.05],
           [1.  ]]), array([0, 0, 1]))
    """
    by = np.ones(centres.shape[1]) if column_scale is None else column_scale
    if how == "kmeans":
        found = weighted_kmeans(centres, weights, n_clusters, rng, column_scale=by).centres
        gaps = (((centres[:, np.newaxis, :] - found[np.newaxis, :, :]) * by) ** 2).sum(axis=2)
        return found, gaps.argmin(axis=1)
    linkage: Linkage = "ward" if how == "ward" else "closest"
    points, groups = agglomerate(
        centres, weights, linkage=linkage, n_left=n_clusters, column_scale=column_scale
    )
    kept, labels = np.unique(groups, return_inverse=True)
    return points[kept], labels
