"""Parts of groups that a round has moved, and the groups that are made of them.

Groups that run into each other have no middle that a look could find well. Parts of them, more than there
are groups, need not be found well: a round moves each to its rows, and groups are made of what has moved.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shoal._typing import Array
from shoal.algorithms.kmeans.believed import Believed
from shoal.algorithms.kmeans.centre_round import RoundResult, counted_twice
from shoal.postprocess.nearest import group_sums, nearest_centre


def moved_to(shown: Believed, parts: Array, moved: RoundResult, column_scale: Array) -> Believed:
    """Return the places moved along with the parts that they are in, and weighed as look and round say.

    Parameters
    ----------
    shown : Believed
        Where rows were believed to be, when parts were made.
    parts : ndarray of shape (m, d)
        Their centres.
    moved : RoundResult
        What a round found of them.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.
    """
    scale = np.where(column_scale > 0, column_scale, 1.0)
    sizes, _ = _sizes(shown, parts, moved)
    groups = nearest_centre(shown.places, parts)
    held = np.bincount(groups, shown.weights, len(parts))
    mass = np.maximum(held, 1e-9)
    means = group_sums(groups, shown.weights[:, np.newaxis] * shown.places, len(parts)) / mass[:, np.newaxis]
    step = np.where((held > 0)[:, np.newaxis], moved.centres * scale - means, 0.0)
    places = np.clip(shown.places + step[groups], -scale, scale)
    return replace(shown, places=places, weights=shown.weights * (sizes / mass)[groups])


def joined(
    shown: Believed,
    parts: Array,
    moved: RoundResult,
    places: Believed,
    centres: Array,
    column_scale: Array,
) -> RoundResult:
    """Return groups of parts, with the errors that the noise of parts gives them.

    A group is the mean of its parts, so that its error has two reasons: each part's own, and how far the
    group is from a part whose size is not known.

    Parameters
    ----------
    shown : Believed
        Where rows were believed to be, when parts were made.
    parts : ndarray of shape (m, d)
        Centres of parts.
    moved : RoundResult
        What a round found of them.
    places : Believed
        Where rows are believed to be since.
    centres : ndarray of shape (k, d)
        Of the groups.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.
    """
    scale = np.where(column_scale > 0, column_scale, 1.0)
    k, m = len(centres), len(parts)
    _, noise = _sizes(shown, parts, moved)
    pairs = nearest_centre(places.places, centres) * m + nearest_centre(shown.places, parts)
    rows = np.bincount(pairs, places.weights, k * m).reshape(k, m)
    sums = group_sums(pairs, places.weights[:, np.newaxis] * places.places, k * m).reshape(k, m, -1)
    away = sums / np.maximum(rows, 1e-9)[:, :, np.newaxis] - centres[:, np.newaxis]
    shares = rows / np.maximum(rows.sum(axis=0), 1e-9)  # of a part, that are in a group
    sizes, size_noise = rows.sum(axis=1), np.maximum((shares**2 * noise).sum(axis=1), 1e-9)
    held, told = (sizes > 0)[:, np.newaxis], (sizes > np.sqrt(size_noise))[:, np.newaxis]
    least = np.maximum(sizes, np.sqrt(size_noise))[:, np.newaxis]
    sized = ((shares**2 * noise)[:, :, np.newaxis] * away**2).sum(axis=1) / scale**2
    known = np.isfinite(moved.variances)  # one without rows moves nothing
    stated, left = (
        np.where(which, (rows**2 @ np.where(known, own, 0.0) + sized) / least**2, np.inf)
        for own, which in ((moved.variances, told), (moved.centre_variance, held))
    )
    size_sd = math.sqrt(float((sizes * size_noise).sum() / max(float(sizes.sum()), 1e-9)))
    return RoundResult(centres / scale, sizes, stated, left, size_sd, moved.typical_sd * math.sqrt(m / k))


def _sizes(shown: Believed, parts: Array, moved: RoundResult) -> tuple[Array, Array]:
    """Return how many rows every part has, as look and round say together, and the variance of that."""
    both, left = counted_twice(moved.counts, moved.count_sd, *shown.sizes(parts))
    return np.where(both > np.sqrt(left), both, 0.0), left
