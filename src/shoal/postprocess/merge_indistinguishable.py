"""Fewer centres where noise cannot tell them apart: two that are one on average cost less as one."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array, Integers
from shoal.postprocess.agglomerate import agglomerate


def merge_indistinguishable(centres: Array, sizes: Array, variances: Array, column_scale: Array) -> Integers:
    """Say which centres to make one of, so that the expected cost falls.

    For sizes n, m and noise variances v, w (summed over columns) keeping two centres apart costs
    n v + m w, and their weighted mean (n^2 v + m^2 w) / (n + m) of noise and n m / (n + m) times their
    squared distance, of which v + w is noise. The difference is n m / (n + m) (distance - 2 (v + w)): so two
    centres nearer than that become one, the nearest pair first.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Released centres.
    sizes : ndarray of shape (k,)
        Their noisy sizes.
    variances : ndarray of shape (k, d)
        Of the noise of each coordinate; a centre of infinite variance stays as it is.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.

    Returns
    -------
    ndarray of int64, shape (k,)
        For each centre the least index among those that it becomes one with.

    Examples
    --------
    >>> places, noise = np.array([[0.0], [0.1], [0.9]]), np.full((3, 1), 0.01)
    >>> merge_indistinguishable(places, np.ones(3), noise, np.ones(1))
    array([0, 0, 2])
    """
    return agglomerate(
        centres,
        np.maximum(sizes, 1.0),
        linkage="indistinguishable",
        below=1.0,
        noise=(variances * column_scale**2).sum(axis=1),
        column_scale=column_scale,
    )[1]


def merge_ward(
    n_clusters: int, centres: Array, sizes: Array, variances: Array, column_scale: Array
) -> Integers:
    """Join noisy centres until n_clusters are left: those first that cost the least as one (Ward).

    Two that are one on average seem apart by their noise, so that is taken off their squared distance.
    Parameters and what is returned are those of :func:`merge_indistinguishable`.

    Examples
    --------
    >>> places, noise = np.array([[0.0], [0.4], [0.7]]), np.array([[0.1], [0.1], [0.0]])
    >>> merge_ward(2, places, np.ones(3), noise, np.ones(1))
    array([0, 0, 2])
    >>> merge_ward(2, places, np.ones(3), 0 * noise, np.ones(1))
    array([0, 1, 1])
    """
    return agglomerate(
        centres,
        np.maximum(sizes, 1.0),
        linkage="ward",
        n_left=n_clusters,
        noise=(variances * column_scale**2).sum(axis=1),
        column_scale=column_scale,
    )[1]
