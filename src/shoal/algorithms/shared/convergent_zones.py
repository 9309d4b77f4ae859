"""Zones of Lu and Shen 2020: where a centre may go next, from released values and public randomness alone."""

from __future__ import annotations

import math

import numpy as np

from shoal._typing import Array
from shoal.algorithms.shared.clustering import RowCount
from shoal.queries import Curator, NoisySums

# How fast the reach of a round shrinks: ours, since the paper's zones follow the rows. Not tuned.
SHRINK = 0.8
# But not below this share of a cell: rows that are all clipped have a median, not a mean.
LEAST_REACH = 0.25
# Reach of the second round, in units of the side that each of k equal cells would have.
CELL_REACH = 1.6


def reach(round_: int, n_clusters: int, n_columns: int) -> float:
    """Return how far from its centre a row is followed in a round, in half widths: less and less.

    Centres start anywhere, so the first round looks over half the domain; then cells have found their size.

    Examples
    --------
    >>> [round(reach(t, 16, 2), 3) for t in range(4)]
    [1.0, 0.4, 0.32, 0.256]
    """
    if round_ == 0:
        return 1.0
    size = min(1.0, CELL_REACH * float(np.power(n_clusters, -1.0 / n_columns)))
    # A box narrower than the lattice cannot be asked for, however many centres there are.
    return max(size * max(SHRINK ** (round_ - 1), LEAST_REACH), 2.0**-16)


def sampling_zone(
    previous: Array, targets: Array, n: int, column_scale: Array, rng: np.random.Generator
) -> Array:
    """Return n candidates for each centre: its target, and points of its sampling zone.

    The convergent zone is the ball around the target that reaches to the previous centre. A random direction
    leads from the target to at most a right angle off the way it came, and the sampling zone is the ball of
    half the radius around the middle of that way: it touches target and border of the convergent zone.

    Parameters
    ----------
    previous, targets : ndarray of shape (n_clusters, n_columns)
        Public points of [-1, 1]^d.
    n : int
        Candidates a centre, the target first.
    column_scale : ndarray of shape (n_columns,)
        What columns are multiplied by before distances are taken.
    rng : numpy Generator
        Public randomness.

    Returns
    -------
    ndarray of shape (n_clusters, n, n_columns)
        Within the domain, and no further from the target than the previous centre is.
    """
    way = (targets - previous) * column_scale
    radius = np.linalg.norm(way, axis=1)[:, np.newaxis]
    turn = _directions(rng, targets.shape)
    turn *= np.where((turn * way).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    spread = _directions(rng, (len(targets), n - 1, targets.shape[1]))
    lengths = rng.uniform(0.0, 1.0, (len(targets), n - 1, 1))
    offsets = (radius / 2)[:, :, np.newaxis] * (turn[:, np.newaxis, :] + lengths * spread)
    # A column that does not count in distances is left alone.
    steps = np.divide(offsets, column_scale, out=np.zeros_like(offsets), where=column_scale > 0)
    points = np.clip(targets[:, np.newaxis, :] + steps, -1.0, 1.0)
    return np.concatenate([targets[:, np.newaxis, :], points], axis=1)


def sub_seeds(n: int, n_columns: int, rng: np.random.Generator) -> Array:
    """Return n directions far from each other: a regular simplex, turned at random, or axes both ways.

    Parameters
    ----------
    n, n_columns : int
        How many, of how many columns.
    rng : numpy Generator
        Public randomness.

    Returns
    -------
    ndarray of shape (n, n_columns)
        Unit vectors; where there is no room for more, shorter ones.

    Examples
    --------
    >>> three = sub_seeds(3, 2, np.random.default_rng(0))
    >>> (three @ three.T).round(3)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    >>> np.abs(sub_seeds(5, 1, np.random.default_rng(0))).ravel().round(3)
    array([1.   , 1.   , 0.5  , 0.5  , 0.333])
    """
    if n <= n_columns + 1:
        axes = _orthogonal(max(n - 1, 1), n_columns, rng)
        return axes if n == 1 else np.asarray((_simplex(n)[:, :, np.newaxis] * axes).sum(axis=1))
    axes = _orthogonal(n_columns, n_columns, rng)
    both = np.stack([axes, -axes], axis=1).reshape(-1, n_columns)
    rings = [both / (ring + 1) for ring in range(-(-n // len(both)))]
    return np.concatenate(rings)[:n]


def _simplex(n: int) -> Array:
    """Return the corners of a regular simplex as unit vectors of n - 1 columns (Helmert's matrix)."""
    corners = np.zeros((n, n - 1))
    for j in range(1, n):
        corners[:j, j - 1] = 1 / math.sqrt(j * (j + 1))
        corners[j, j - 1] = -j / math.sqrt(j * (j + 1))
    return corners * math.sqrt(n / (n - 1))


def _orthogonal(n: int, n_columns: int, rng: np.random.Generator) -> Array:
    """Return n random directions at right angles, by Gram and Schmidt.

    In plain sums: those of a linear algebra library differ in their last bits from machine to machine, and a
    release is run again elsewhere to verify it.
    """
    axes = rng.normal(size=(n, n_columns))
    for i in range(n):
        for other in axes[:i]:
            axes[i] -= (axes[i] * other).sum() * other
        axes[i] /= max(math.sqrt((axes[i] ** 2).sum()), 1e-300)
    return axes


def relative_noise(curator: Curator, answer: NoisySums, sizes: Array, radius: float) -> float:
    """Return the predicted noise of a centre's offset, as a share of how far it may reach.

    An offset whose noise is as wide as its reach says nothing, and its centre is where chance has put it.
    """
    parts = len(answer.counts) / len(sizes)
    sd = answer.count_sd * math.sqrt(parts)
    rows = RowCount.of(curator, sizes.sum(), sd * math.sqrt(len(sizes)))
    return answer.sum_sd * math.sqrt(parts) * len(sizes) / rows.at_least / radius


def _directions(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    normal = rng.normal(size=shape)
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300))
