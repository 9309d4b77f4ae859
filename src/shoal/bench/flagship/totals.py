"""Do total intervals hold what they promise? They must cover the middle of many refits of the real table.

Total intervals are drawn from a release alone; here, where the table is at hand, it is fitted many times.
Groups come in any order, so refits are matched to the release first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.optimize import linear_sum_assignment

from shoal._typing import Array

# What is wanted of 95 % intervals over all releases, stable centres and coordinates.
LEAST, MOST = 0.90, 0.99
# What is wanted of predicted excess costs: within this factor, in this share of cells.
FACTOR, SHARE = 1.5, 0.8


def matched(centres: Array, others: Array) -> Array:
    """Return the other centres in the order in which they lie nearest to the centres, one to one.

    Examples
    --------
    >>> matched(np.array([[0.0], [1.0]]), np.array([[0.9], [0.2]]))
    array([[0.2],
           [0.9]])
    """
    gaps = ((centres[:, np.newaxis] - others[np.newaxis]) ** 2).sum(axis=2)
    return np.asarray(others[linear_sum_assignment(gaps)[1]])


def covered(
    centres: Array, low: Array, high: Array, stable: Array, refits: Iterable[Array]
) -> tuple[int, int]:
    """Count the coordinates of stable centres whose interval holds the median of the matched refits.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Of the release.
    low, high : ndarray of shape (k, d)
        Ends of its total intervals.
    stable : ndarray of bool, shape (k,)
        Which centres it calls stable.
    refits : iterable of ndarray of shape (k, d)
        Centres of fits of the real table.

    Returns
    -------
    held, of : int
        How many intervals hold it, of how many.

    Examples
    --------
    >>> refits = [np.array([[0.1], [1.0]]), np.array([[1.1], [0.2]]), np.array([[0.3], [3.0]])]
    >>> centres, stable = np.array([[0.0], [1.0]]), np.array([True, True])
    >>> covered(centres, centres - 0.15, centres + 0.15, stable, refits)
    (1, 2)
    """
    middle = np.median([matched(centres, refit) for refit in refits], axis=0)
    inside = (low <= middle) & (middle <= high)
    return int(inside[stable].sum()), int(inside[stable].size)


def foretold(predicted: Array, measured: Array) -> float:
    """Return the share of cells whose predicted excess cost is within a factor of the measured one.

    Examples
    --------
    >>> foretold(np.array([0.10, 0.02]), np.array([0.12, 0.05]))
    0.5
    """
    return float(((measured <= FACTOR * predicted) & (predicted <= FACTOR * measured)).mean())
