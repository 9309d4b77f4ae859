"""Fewer centres where noise cannot tell them apart: two that are one on average cost less as one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def fewer(centres: Array, sizes: Array, variances: Array, stretch: Array) -> npt.NDArray[np.int64]:
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
    stretch : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.

    Returns
    -------
    ndarray of int64, shape (k,)
        For each centre the least index among those that it becomes one with.

    Examples
    --------
    >>> places, noise = np.array([[0.0], [0.1], [0.9]]), np.full((3, 1), 0.01)
    >>> fewer(places, np.ones(3), noise, np.ones(1))
    array([0, 0, 2])
    """
    k = len(centres)
    points = centres * stretch
    noise = (variances * stretch**2).sum(axis=1)
    weights = np.maximum(sizes, 1.0)
    group = np.arange(k)
    alive = np.isfinite(noise)
    while alive.sum() > 1:
        gaps = ((points[:, np.newaxis, :] - points[np.newaxis, :, :]) ** 2).sum(axis=2)
        surplus = gaps / np.maximum(2 * np.add.outer(noise, noise), 1e-300)
        surplus[~alive, :] = surplus[:, ~alive] = np.inf
        np.fill_diagonal(surplus, np.inf)
        i, j = sorted(divmod(int(surplus.argmin()), k))
        if not surplus[i, j] < 1:
            break
        n, m = weights[i], weights[j]
        points[i] = (n * points[i] + m * points[j]) / (n + m)
        noise[i] = (n * n * noise[i] + m * m * noise[j]) / (n + m) ** 2
        weights[i], alive[j] = n + m, False
        group[group == j] = i
    return group
