"""Balcan, Dick, Liang, Mou, Zhang 2017, algorithms 1 and 2: private trees of cubes, and candidates from them.

A cube whose noisy count is large becomes active and is split, a fixed number of times. Proof:
docs/proofs/projected.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array, Integers
from shoal.postprocess.evidence import noise_floor
from shoal.queries import Cubes, Curator, Projected, Projection

# Halvings beyond those that make as many cubes as clusters: a cluster is then a few cubes wide.
_FINER = 3
# Cubes: the largest are split where more are active, or where their children could not be told apart by
# integers of so many bits.
_MOST_ACTIVE, _KEY_BITS = 2**16, 61
# Cubes: where weights are summed, all children of those that are split are held, in 32 megabytes.
_MOST_HELD = 2**22


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a released tree.

    Parameters
    ----------
    cubes : Cubes
        Where these cubes are among.
    keys : ndarray of int64
        The cubes that became active, sorted.
    counts : ndarray of shape (n_active,)
        Their noisy counts.
    sd : float
        Standard deviation of a count's noise.
    """

    cubes: Cubes
    keys: Integers
    counts: Array
    sd: float

    @property
    def centres(self) -> Array:
        """The middle of every active cube."""
        return self.cubes.centres_of(self.keys)

    @property
    def half_width(self) -> float:
        """Of every cube."""
        return (1.0 if self.cubes.shift is None else 2.0) / (1 << self.cubes.level)

    @property
    def parents(self) -> Integers:
        """The place of each cube's parent in the level above."""
        return self.keys >> self.cubes.n_columns


def levels_for(n_clusters: int, n_columns: int) -> int:
    """Return how often to split: until cubes are much smaller than the room that a cluster has.

    Examples
    --------
    >>> levels_for(64, 5), levels_for(4, 3), levels_for(1, 1)
    (5, 4, 3)
    """
    return math.ceil(math.log2(n_clusters) / n_columns) + _FINER


def grow(
    curator: Curator,
    projection: Projection,
    n_levels: int,
    n_clusters: int,
    share: Fraction,
    shift: Array | None = None,
    gamma: float | None = None,
) -> list[Level]:
    """Split cubes of large noisy count, level by level (algorithm 1).

    A child is active if its count, with noise, reaches gamma = ln(2^p k A) / e' for A levels at e' each:
    an empty one with probability 1 / (2^(p+1) k A), so that there are few of them.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    projection : Projection
        To the columns that are split.
    n_levels : int
        How many, fixed: each has the same share of the cost.
    n_clusters : int
        How many clusters it is for.
    share : Fraction
        Share of the budget, of all levels together.
    shift : ndarray of shape (n_directions,), optional
        Of the root (algorithm 2); without it the root is the domain.
    gamma : float, optional
        The threshold in units of 1 / e', if not the one above.

    Returns
    -------
    list of Level
        Fewer than asked for where no cube is active any more.
    """
    cubes, found = Cubes(projection.n_directions, (), shift), []
    for _ in range(n_levels):
        spurious = cubes.n_active / (2 * n_clusters * n_levels)
        if gamma is not None:  # of 2^p children of each, half exp(-gamma) reach gamma / e' by noise alone
            spurious = cubes.n_active * 2.0**cubes.n_columns * math.exp(-gamma) / 2
        level = _active(curator, projection, cubes, share / n_levels, spurious)
        if not len(level.keys):
            break
        found.append(level)
        cubes = cubes.split(level.keys)
    return found


def _active(
    curator: Curator, projection: Projection, cubes: Cubes, share: Fraction, spurious: float
) -> Level:
    cells = Projected(projection, cubes)
    if curator.domain.max_weight is None:
        answer = curator.sparse_histogram(cells, share=share, spurious=spurious)
        keys, counts, sd = answer.cells, answer.counts, answer.sd
        most = min(_MOST_ACTIVE, 1 << max(0, _KEY_BITS - cubes.n_columns))
    else:
        held = curator.histogram(cells, share=share)
        threshold = noise_floor(cubes.n_cells, held.sd, false_alarms=spurious)
        keys = np.flatnonzero(held.counts >= threshold)
        counts, sd, most = held.counts[keys], held.sd, max(1, _MOST_HELD >> cubes.n_columns)
    children = keys < cubes.n_cells - 1  # the last cell is everything else
    keys, counts = keys[children], counts[children]
    largest = np.sort(np.argsort(-counts, kind="stable")[:most])
    return Level(cubes, keys[largest], counts[largest], sd)


def candidates(levels: list[Level], n_columns: int) -> Array:
    """Return the middle of every cube that was active, the root's first.

    Parameters
    ----------
    levels : list of Level
        A tree.
    n_columns : int
        Of the root.
    """
    root = levels[0].cubes.shift if levels else None
    middle = np.zeros(n_columns) if root is None else root
    return np.concatenate([middle[np.newaxis], *(level.centres for level in levels)])


def leaves(levels: list[Level]) -> tuple[Array, Array]:
    """Return the cubes that have no active children, and how many rows are in each.

    Rows of a cube that are in none of its active children are shared out among these: they were cut off
    clusters by a cube's wall, more often than not. For the same reason a cube that is not split to the end
    is placed at its wall, next to where more rows are.
    """
    points, weights = [], []
    above = np.empty(0)
    for i, level in enumerate(levels):
        masses = level.counts
        if i:
            total = np.bincount(level.parents, weights=level.counts, minlength=len(above))
            masses = masses * (np.maximum(above, total) / np.where(total > 0, total, 1.0))[level.parents]
        split = np.zeros(len(masses), dtype=np.bool_)
        if i + 1 < len(levels):
            split[levels[i + 1].parents] = True
        points.append(level.centres[~split])
        weights.append(masses[~split])
        above = masses
    for i, level in enumerate(levels[:-1]):
        points[i] = _beside(points[i], level.half_width, points[-1])
    return np.concatenate(points), np.concatenate(weights)


def _beside(centres: Array, half_width: float, others: Array) -> Array:
    """Return, for every cube, its point that is nearest to any of the other points."""
    found = np.empty_like(centres)
    for i, centre in enumerate(centres):
        inside = np.clip(others, centre - half_width, centre + half_width)
        found[i] = inside[np.argmin(((inside - others) ** 2).sum(axis=1))]
    return found
