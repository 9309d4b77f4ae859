"""Which public centre is nearest to a released point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def nearest_centre(
    points: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Return the index of the centre nearest to each released point.

    Examples
    --------
    >>> nearest_centre(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]]))
    array([0, 1])
    """
    squares = (centres**2).sum(axis=1) - 2 * points @ centres.T
    return np.asarray(squares.argmin(axis=1), dtype=np.int64)
