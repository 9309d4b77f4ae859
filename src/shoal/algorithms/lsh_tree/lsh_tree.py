"""Chang, Ghazi, Kumar, Manurangsi 2021, as in Google's library: a tree of locality sensitive hashes (LSH).

Cut the rows by random hyperplanes, level by level, where noisy counts say that there are enough; sum the rows
of every leaf with noise; cluster the leaves for free; refine. Unlike there, a cell is cut where a histogram
along the level's direction says, and not through the origin. Proof: docs/proofs/lsh_tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array, Integers
from shoal.accounting.budget import equal, portion
from shoal.algorithms.lloyd import noisy_lloyd
from shoal.algorithms.lsh_tree.cells import Cells, Direction
from shoal.algorithms.shared.clustering import Clustering, RowCount
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.postprocess import pack, recentre
from shoal.postprocess.evidence import Noisy, combine, smallest_count
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries import Ball, Curator, Grid, Noise, Offset, RowStat, Value
from shoal.queries.partitions.projections import orthogonal

# Shares of what a tree costs: one look at all rows, all levels of counts, the sums of the leaves.
FOR_ROOT, FOR_LEVELS, FOR_LEAVES = Fraction(1, 20), Fraction(5, 20), Fraction(14, 20)
# Google's depth is 20; a level more halves the rows of a cell and thins the budget of all levels.
MOST_LEVELS = 12
# Levels that find the spread of all rows: they come first, where a cell has rows enough for many slabs.
_ROUGH_LEVELS = 3
# Leaves there may be for a centre; Google's rule asks for two at least.
_MOST_LEAVES, _FEWEST_LEAVES = 8, 2
# Noise moves the mean of a leaf by at most this many standard deviations of all rows: it has enough rows.
_LEAF_ERROR = 0.5
# Rows further from the mean than this many times the spread are clipped, where that makes less noise.
_CLIP = 2.0
# Half widths: a thousandth, so that noise does not make a spread of nothing. Not tuned.
_LEAST_SPREAD = 2.0**-10


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaves(Synopsis):
    """What is released of a tree of random cuts.

    Parameters
    ----------
    means : ndarray of shape (n_leaves, n_columns)
        Noisy means of the rows of each leaf.
    weights, sd, domain, rows, rows_sd
        As of a :class:`Synopsis`.
    sum_sd : float
        Standard deviation of the noise of a leaf's sum per coordinate.
    fewest_rows : float
        Rows that there surely are, for predicted errors.
    """

    means: Array
    sum_sd: float
    fewest_rows: float

    def places(self) -> Array:
        """Return the means."""
        return self.means


@dataclass(frozen=True, eq=False)
class LSHStart:
    """Centres found on the leaves of a tree.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Points of [-1, 1]^d.
    counts : ndarray of shape (n_clusters,)
        Their noisy sizes.
    n_leaves : ndarray of int64, shape (n_clusters,)
        How many leaves each rests on.
    leaves : Leaves
        What was released.
    """

    centres: Array
    counts: Array
    n_leaves: Integers
    leaves: Leaves


@dataclass(frozen=True)
class LSHTree:
    """A tree of random cuts, k-means on its leaves, then rounds of noisy Lloyd.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    max_iter : int
        Rounds of Lloyd after the tree; they have half of the budget. 0 is as published.
    n_starts : int
        Starts of k-means on the leaves.
    noise : Noise, optional
        Law of the noise of sums.
    """

    n_clusters: int
    max_iter: int = 1
    n_starts: int = 10
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Grow a tree, cluster its leaves, refine."""
        share = Fraction(1, 2) if self.max_iter else Fraction(1)
        start = lsh_start(curator, self.n_clusters, share, n_starts=self.n_starts, noise=self.noise)
        if self.max_iter:
            return noisy_lloyd(curator, start.centres, portion(equal(self.max_iter), 1 - share), self.noise)
        leaves = start.leaves
        held = np.maximum(start.n_leaves, 1)
        spread = leaves.sum_sd * np.sqrt(held) / np.maximum(start.counts, 1.0)
        spread[start.counts < smallest_count(leaves.sd)] = np.inf
        a_centre = math.sqrt(len(leaves.weights) / self.n_clusters)
        return Clustering(
            centres=start.centres,
            sizes=start.counts,
            centre_sd=np.repeat(spread[:, np.newaxis], curator.domain.n_columns, axis=1),
            size_sd=leaves.sd * a_centre,
            n_iter=1,
            predicted_sd=leaves.sum_sd * a_centre * self.n_clusters / leaves.fewest_rows,
            domain=curator.domain,
        )


def lsh_start(
    curator: Curator, n_clusters: int, share: Fraction, *, n_starts: int = 10, noise: Noise | None = None
) -> LSHStart:
    """Find centres with a tree of random cuts: a start for other algorithms, in any number of columns.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int
        How many centres.
    share : Fraction
        Share of the budget to spend.
    n_starts : int
        Starts of k-means on the leaves.
    noise : Noise, optional
        Law of the noise of sums.
    """
    leaves = grow_tree(curator, n_clusters, share, noise=noise)
    rng = curator.public_rng("starts on the leaves")
    spare = n_clusters - len(leaves.weights)
    if spare >= 0:  # nothing to search for; the others may as well be anywhere
        anywhere = pack(spare, curator.domain.n_columns, rng) if spare else leaves.means[:0]
        return LSHStart(
            centres=np.vstack([leaves.means, anywhere]),
            counts=np.append(leaves.weights, np.zeros(spare)),
            n_leaves=(np.arange(n_clusters) < len(leaves.weights)).astype(np.int64),
            leaves=leaves,
        )
    column_scale = curator.domain.column_scale
    weights = np.maximum(leaves.weights, 1.0)
    found = weighted_kmeans(
        leaves.means, weights, n_clusters, rng, n_starts=n_starts, column_scale=column_scale
    ).centres
    gaps = [(((leaves.means - centre) * column_scale) ** 2).sum(axis=1) for centre in found]
    labels = np.argmin(gaps, axis=0)
    return LSHStart(
        centres=np.clip(found, -1.0, 1.0),
        counts=np.bincount(labels, leaves.weights, n_clusters).astype(np.float64),
        n_leaves=np.bincount(labels, minlength=n_clusters),
        leaves=leaves,
    )


def grow_tree(curator: Curator, n_clusters: int, share: Fraction, *, noise: Noise | None = None) -> Leaves:
    """Grow a tree and sum the rows of its leaves.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int
        How many groups its leaves should be able to tell apart.
    share : Fraction
        Share of the budget to spend.
    noise : Noise, optional
        Law of the noise of sums.
    """
    d, for_leaves = curator.domain.n_columns, share * FOR_LEAVES
    levels = min(MOST_LEVELS, 1 + math.ceil(math.log2(_MOST_LEAVES * n_clusters)))
    for_level = share * FOR_LEVELS / levels
    curator.count_sd(share=for_level)  # refuses a budget that is too small, before any of it is spent
    sum_sd, _ = curator.noise_sd(share=for_leaves, noise=noise)
    rng = curator.public_rng("directions of the tree")
    along = orthogonal(min(d, levels), d, rng) * curator.domain.column_scale

    root = curator.sums(Grid.whole(d), share=share * FOR_ROOT, noise=noise)
    rows = RowCount.of(curator, root.counts[0], root.count_sd)
    mean = recentre(root.sums, root.counts, root.count_sd, fallback=np.zeros((1, d)))[0]
    cells = Cells.root(d, len(along), rows.estimate)
    squares: list[float] = []
    for level in range(levels):
        axis = level % len(along)
        direction = Direction(axis, along[axis], float((along[axis] * mean).sum()))
        rough = level < min(_ROUGH_LEVELS, len(along))
        spread = _spread(squares)
        least = np.clip(
            sum_sd / (_LEAF_ERROR * spread),
            rows.estimate / (_MOST_LEAVES * n_clusters),
            rows.estimate / (_FEWEST_LEAVES * n_clusters),
        )
        edges = cells.edges(direction, None if rough else spread)
        cells, square = cells.grow(curator, direction, edges, float(least), for_level)
        if rough and square is not None:
            squares.append(square)

    return _sum_leaves(curator, cells, mean, rows, _spread(squares), for_leaves, noise)


def _sum_leaves(
    curator: Curator,
    cells: Cells,
    mean: Array,
    rows: RowCount,
    spread: float,
    share: Fraction,
    noise: Noise | None,
) -> Leaves:
    """Sum the rows of every leaf, or their offsets from the mean of all, whichever has less noise."""
    d = len(mean)
    stats: list[RowStat] = [Value()]
    if curator.domain.metric is None:  # the spread is known in the columns' own scale
        near = Ball(min(_CLIP * spread * math.sqrt(d), 1023.0))
        stats.append(Offset(np.repeat(mean[np.newaxis, :], len(cells.counts), axis=0), near))
    of = min(stats, key=lambda stat: curator.noise_sd(of=stat, share=share, noise=noise)[0])
    answer = curator.sums(cells.tree, of=of, share=share, noise=noise)
    # The levels and the sums have counted the same rows.
    known = zip(cells.counts, cells.variances, answer.counts, strict=True)
    both = [combine(Noisy(a, v), Noisy.of(b, answer.count_sd)) for a, v, b in known]
    counts, count_sd = np.array([cell.value for cell in both]), max(cell.sd for cell in both)
    least = smallest_count(count_sd)
    anchor = mean if isinstance(of, Offset) else np.zeros(d)
    moved = np.clip(anchor + answer.sums / np.maximum(counts, least)[:, np.newaxis], -1.0, 1.0)
    means = np.where((counts >= least)[:, np.newaxis], moved, mean)
    return Leaves(
        means=means,
        weights=counts,
        sd=count_sd,
        domain=curator.domain,
        rows=rows.estimate,
        rows_sd=rows.sd,
        sum_sd=answer.sum_sd,
        fewest_rows=rows.at_least,
    )


def _spread(squares: list[float]) -> float:
    """Return the standard deviation of rows along a direction, a half width while nothing is known."""
    if not squares:
        return 1.0
    return min(max(math.sqrt(max(sum(squares) / len(squares), 0.0)), _LEAST_SPREAD), 1.0)
