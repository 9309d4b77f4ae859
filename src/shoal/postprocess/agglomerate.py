"""Joining released points two at a time, the pair of least loss first, for any idea of what joining loses."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array, Integers

Linkage: TypeAlias = Literal["closest", "ward", "indistinguishable"]


def joining_losses(
    points: Array, weights: Array, noise: Array | float = 0.0, linkage: Linkage = "ward"
) -> Array:
    """Return what joining each pair of points loses.

    "closest" is their squared distance. "ward" is what they cost more as one: n m / (n + m) times the squared
    distance, less what of it is noise. "indistinguishable" is the squared distance over twice its
    noise: below 1, two points cost less as one (see :func:`merge_indistinguishable`).

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In coordinates in which distance is Euclidean.
    weights : ndarray of shape (n,)
        Above 0.
    noise : ndarray of shape (n,) or float
        Variance of each point's noise, summed over the columns.
    linkage : {"closest", "ward", "indistinguishable"}
        What is lost.

    Examples
    --------
    >>> joining_losses(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]))[0, 1]
    np.float64(3.0)
    """
    spread = noise * np.ones(len(points))
    lines = [_line(points, weights, spread, i, linkage) for i in range(len(points))]
    return np.array(lines).reshape(len(points), len(points))


def _line(points: Array, weights: Array, noise: Array, i: int, linkage: Linkage) -> Array:
    """Return what joining one point with each loses."""
    gaps = np.asarray(((points - points[i]) ** 2).sum(axis=1))
    if linkage == "closest":
        return gaps
    apart = noise + noise[i]
    if linkage == "indistinguishable":
        return np.asarray(gaps / np.maximum(2 * apart, 1e-300))
    return np.asarray((gaps - apart) * (weights * weights[i]) / (weights + weights[i]))


def agglomerate(
    points: Array,
    weights: Array,
    *,
    linkage: Linkage,
    n_left: int = 1,
    below: float = np.inf,
    noise: Array | None = None,
    column_scale: Array | None = None,
) -> tuple[Array, Integers]:
    """Join the pair that loses least into its weighted mean, again and again.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Released points.
    weights : ndarray of shape (n,)
        What each weighs, above 0.
    linkage : {"closest", "ward", "indistinguishable"}
        What joining two loses; see :func:`joining_losses`.
    n_left : int
        How many are left at least.
    below : float
        Joining stops where it loses this much.
    noise : ndarray of shape (n,), optional
        Variance of each point's noise, summed over scaled columns; a point of infinite variance is joined
        with none, and does not count as left.
    column_scale : ndarray of shape (d,), optional
        What columns are multiplied by before distances are taken.

    Returns
    -------
    points : ndarray of shape (n, d)
        Where each group is, in the place of its first member.
    groups : ndarray of int64, shape (n,)
        For each point the first of those that it was joined with.

    Examples
    --------
    >>> places = np.array([[0.0], [0.2], [1.0]])
    >>> points, groups = agglomerate(places, np.array([3.0, 1.0, 5.0]), linkage="ward", n_left=2)
    >>> points[[0, 2]].round(2).tolist(), groups
    ([[0.05], [1.0]], array([0, 0, 2]))
    """
    at, mass = points.astype(np.float64), weights.astype(np.float64)
    unsure = np.zeros(len(at)) if noise is None else noise.astype(np.float64)
    scale = np.ones(at.shape[1]) if column_scale is None else column_scale
    left, groups = np.flatnonzero(np.isfinite(unsure)), np.arange(len(at))
    # What is above the diagonal counts; what is gone stays there, and can be joined no more.
    here = np.ones(len(left), dtype=bool)
    places, heavy, spread = at[left] * scale, mass[left], unsure[left]
    losses = joining_losses(places, heavy, spread, linkage)
    losses[np.tril_indices(len(left))] = np.inf
    for _ in range(len(left) - n_left):
        first, second = divmod(int(losses.argmin()), len(left))
        if not losses[first, second] < below:
            break
        i, j = left[first], left[second]
        n, m = mass[i], mass[j]
        at[i] = (n * at[i] + m * at[j]) / (n + m)
        unsure[i] = (n * n * unsure[i] + m * m * unsure[j]) / (n + m) ** 2
        mass[i] = n + m
        groups[groups == j] = i
        here[second] = False
        places[first], heavy[first], spread[first] = at[i] * scale, mass[i], unsure[i]
        line = np.where(here, _line(places, heavy, spread, first, linkage), np.inf)
        losses[second], losses[:, second] = np.inf, np.inf
        losses[first, first + 1 :], losses[:first, first] = line[first + 1 :], line[:first]
    return at, groups
