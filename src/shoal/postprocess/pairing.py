"""Pairs of things that lie near: the Hungarian method, loaded only where it is used."""

from __future__ import annotations

from shoal._typing import Array, Integers


def paired(gaps: Array) -> tuple[Integers, Integers]:
    """Pair rows with columns so that the gaps between partners add up to the least.

    Parameters
    ----------
    gaps : ndarray
        What each pair would cost.

    Returns
    -------
    tuple of ndarray
        Numbers of rows in order, and of their columns.

    Examples
    --------
    >>> import numpy as np
    >>> paired(np.array([[1.0, 0.0], [5.0, 1.0]]))[1].tolist()
    [0, 1]
    """
    # Not at the top: every fit would load it, and it takes a third of a second.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(gaps)
    return rows, columns
