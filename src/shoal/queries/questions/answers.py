"""What the curator gives back: noisy values and the public spread of their noise, or noisy choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts of rows per cell.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy counts; they may be negative.
    sd : float
        Standard deviation of their noise.
    """

    counts: npt.NDArray[np.float64]
    sd: float


@dataclass(frozen=True, eq=False)
class PartCounts:
    """Counts of rows in the cells below nodes of a tree.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy counts, node by node; they may be negative.
    sd : ndarray of shape (n_nodes,)
        Standard deviation of the noise in the counts of each node.
    offsets : ndarray of int64, shape (n_nodes + 1,)
        The counts of node i are ``counts[offsets[i]:offsets[i + 1]]``.
    """

    counts: npt.NDArray[np.float64]
    sd: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts of rows in the cells whose noisy count is large; every other cell is below the threshold.

    Parameters
    ----------
    cells : ndarray of int64
        Keys of the kept cells, sorted. Some of them are empty.
    counts : ndarray of shape (n_kept,)
        Their noisy counts, none below the threshold.
    sd : float
        Standard deviation of the noise, before the small ones were dropped.
    threshold : int
        The least noisy count that is kept.
    """

    cells: npt.NDArray[np.int64]
    counts: npt.NDArray[np.float64]
    sd: float
    threshold: int


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Sums and counts of rows per cell.

    Parameters
    ----------
    sums : ndarray of shape (n_cells, n_columns)
        Noisy sums of the statistic, in the scaled units of the domain.
    counts : ndarray of shape (n_cells,)
        Noisy counts.
    sum_sd, count_sd : float
        Standard deviations of their noise, a coordinate.
    costs : ndarray of shape (n_cells,), optional
        Noisy sums of squared distance to the anchor, clipped at the squared radius (with `WithCost`).
    cost_sd : float, optional
        Standard deviation of their noise.
    """

    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    sum_sd: float
    count_sd: float
    costs: npt.NDArray[np.float64] | None = None
    cost_sd: float | None = None


@dataclass(frozen=True, eq=False)
class NoisyRatios:
    """Means of the rows of cells: noisy sums over noisy counts, from public points.

    Parameters
    ----------
    answer : NoisySums
        The sums and counts.
    origin : ndarray of shape (n_cells, n_columns) or float
        What the rows were measured from.
    radius : float
        How far from it they may lie, in the scaled units of the domain.
    """

    answer: NoisySums
    origin: npt.NDArray[np.float64] | float
    radius: float


@dataclass(frozen=True, eq=False)
class Chosen:
    """Candidates that were chosen.

    Parameters
    ----------
    indices : ndarray of int64
        All different, in the order they were chosen; or one of each cell, cell by cell.
    """

    indices: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NotPrivate:
    """What an algorithm without a guarantee gives, and what it shows on the way.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Where it ends.
    visited : ndarray of shape (rounds, n_clusters, n_columns)
        The centres that it publishes in every round; they are rows.
    empty_zones : float
        In which share of its moves a sampling zone was empty.
    """

    centres: npt.NDArray[np.float64]
    visited: npt.NDArray[np.float64]
    empty_zones: float = 0.0


@dataclass(frozen=True, eq=False)
class NoisyMeans:
    """Means of centres over blocks of rows.

    Parameters
    ----------
    means : ndarray of shape (n_clusters, n_columns)
        Noisy means, clamped to the range asked for.
    sd : ndarray of shape (n_columns,)
        Standard deviation of their noise in each column.
    """

    means: npt.NDArray[np.float64]
    sd: npt.NDArray[np.float64]
