"""From noisy sums and counts to centres."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array
from shoal.postprocess.evidence import Noisy, upper_bound


def recentre(sums: Array, counts: Array, count_sd: float, fallback: Array) -> Array:
    """Divide sums by counts; a cell whose noisy count says "empty" keeps its old centre.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums of scaled rows.
    counts : ndarray of shape (n_cells,)
        Noisy counts.
    count_sd : float
        Standard deviation of the noise of a count.
    fallback : ndarray of shape (n_cells, n_columns)
        Centres to keep where the count is too small to divide by.

    Examples
    --------
    >>> recentre(np.array([[5.0], [1.0]]), np.array([10.0, -3.0]), 1.0, np.array([[0.0], [0.25]]))
    array([[0.5 ],
           [0.25]])
    """
    least = smallest_count(count_sd)
    moved = np.clip(sums / np.maximum(counts, least)[:, np.newaxis], -1.0, 1.0)
    return np.where((counts >= least)[:, np.newaxis], moved, fallback)


def smallest_count(count_sd: float) -> float:
    """Return the count below which a cell may as well be empty: what noise makes of none, or one row."""
    return max(1.0, upper_bound(Noisy.of(0.0, count_sd)))


def centre_sd(centres: Array, counts: Array, sum_sd: float, count_sd: float) -> Array:
    """Return the standard error that the noise gives each coordinate of a centre S/n.

    To first order the error of S/n is (noise of S - centre * noise of n) / n. A centre that was kept for
    want of rows has an infinite one.

    Examples
    --------
    >>> centre_sd(np.array([[0.0, 1.0]]), np.array([100.0]), 3.0, 4.0)
    array([[0.03, 0.05]])
    """
    least = smallest_count(count_sd)
    spread = np.sqrt(sum_sd**2 + (centres * count_sd) ** 2) / np.maximum(counts, least)[:, np.newaxis]
    return np.where((counts >= least)[:, np.newaxis], spread, np.inf)
