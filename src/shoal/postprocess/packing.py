"""Starting centres that know nothing of the data: spread out by sphere packing (Su et al., section 4.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from shoal._compiling import compiled
from shoal._typing import Array
from shoal.postprocess.lloyd_loops import squared_distances

# Candidates in a row that are rejected before a radius is given up; Su et al. do not say how many.
_MAX_REJECTS = 100
# Halvings of the radius that is looked for: to a 4,000th of the first.
_SEARCH_STEPS = 12
# Columns from which random points are nearly equidistant, and packed ones all near the middle.
_MANY_COLUMNS = 20


def pack(n_points: int, n_columns: int, rng: np.random.Generator, *, always: bool = False) -> Array:
    """Spread points over [-1, 1]^d, away from each other and from the walls.

    Parameters
    ----------
    n_points, n_columns : int
        How many points, of how many columns.
    rng : numpy Generator
        Public randomness.
    always : bool
        Pack in many columns too, as published; else points of 20 columns and more are uniform.

    Returns
    -------
    ndarray of shape (n_points, n_columns)

    Examples
    --------
    >>> pack(1, 3, np.random.default_rng(0))
    array([[0., 0., 0.]])
    >>> points = pack(4, 2, np.random.default_rng(0))
    >>> float(np.linalg.norm(points[0] - points[1])) > 0.5
    True
    """
    if n_points == 1:
        return np.zeros((1, n_columns))
    best = rng.uniform(-1.0, 1.0, (n_points, n_columns))
    if n_columns >= _MANY_COLUMNS and not always:
        return best
    low, high = 0.0, 1.0
    for _ in range(_SEARCH_STEPS):
        radius = (low + high) / 2
        points = _try_radius(n_points, n_columns, radius, rng)
        if points is None:
            high = radius
        else:
            low, best = radius, points
    return best


def _try_radius(n_points: int, n_columns: int, radius: float, rng: np.random.Generator) -> Array | None:
    points = np.empty((n_points, n_columns))
    first_free = _first_free()
    for placed in range(n_points):
        candidates = rng.uniform(radius - 1.0, 1.0 - radius, (_MAX_REJECTS, n_columns))
        free = first_free(candidates, points, placed, (2 * radius) ** 2)
        if free < 0:
            return None
        points[placed] = candidates[free]
    return points


@cache
def _first_free() -> Callable[[Array, Array, int, float], int]:
    """Return ``(candidates, points, placed, gap) -> index`` of one that is not nearer to a point; else -1."""
    return compiled(
        _first_free_loop, _first_free_numpy, lambda candidates, _, placed, *__: 8 * candidates.size * placed
    )


def _first_free_loop(candidates: Array, points: Array, placed: int, gap: float) -> int:
    for i in range(len(candidates)):
        free = True
        for j in range(placed):
            distance = 0.0
            for c in range(candidates.shape[1]):
                step = candidates[i, c] - points[j, c]
                distance += step * step
            if distance < gap:
                free = False
                break
        if free:
            return i
    return -1


def _first_free_numpy(candidates: Array, points: Array, placed: int, gap: float) -> int:
    left = np.ones(len(candidates), dtype=np.bool_)
    for point in points[:placed]:
        left &= ~(squared_distances(candidates.T, point) < gap)
    free = np.flatnonzero(left)
    return int(free[0]) if len(free) else -1
