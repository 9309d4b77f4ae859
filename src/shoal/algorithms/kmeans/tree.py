"""Beyond the papers: a private tree, more centres than groups, noise in the shape of a cluster, a merge.

The tree is PrivTree (Zhang, Xiao, Xie 2016). It finds where rows are for a fifth of the budget; the rest
follows them with offsets from centres that are nearly right. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import expit

from shoal._typing import Array, Integers
from shoal.algorithms.kmeans.boxes import Boxes, tree_points
from shoal.algorithms.kmeans.centre_round import RoundResult, centre_round
from shoal.algorithms.shared.clustering import Clustering, RowCount
from shoal.postprocess.merge_indistinguishable import merge_indistinguishable, merge_ward
from shoal.postprocess.nearest import group_sums, nearest_centre
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries import Curator, Voronoi

# Share of the budget that a tree has.
FOR_TREE = Fraction(1, 5)
# Shares of the rest that rounds have. One is enough where the first of two could not tell more centres apart
# than there are groups: 0.97, 0.92 of the cost at noise of 0.05, 0.07 radii (`round_noise`), on 45 tables of
# 7 to 12 columns (benchmarks/routes.py).
_ONE_ROUND = (Fraction(1),)
_TWO_ROUNDS = (Fraction(1, 2), Fraction(1, 2))
_THREE_ROUNDS = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
# A third round is worth its while below this noise of a centre, in radii; and from this many columns on,
# where boxes are coarse and the first round goes far, between the others.
_PLENTY = 0.0025
_COARSE_COLUMNS, _COARSE = 7, (0.02, 0.05)
# Centres for every group before the merge, while noise moves each by less than this part of its radius.
_OVER = ((3, 0.25), (6, 0.08))
# Where the noise of a centre's boxes is below this part of its rows, boxes that are moved along with it tell
# more than the centre by itself: not where boxes are coarse.
_CLEAR = 0.07
# Standard deviations by which the size of a centre stands out before the merge, and while rows are missing:
# all are tried, and that is taken which is expected to cost least.
_REAL, _MOST_ROWS = ((3.0, 2.0), (2.0, 1.0), (1.0, 0.5), (0.5, 0.25)), 0.9


@dataclass(frozen=True)
class TreeKMeans:
    """A private tree, k-means on its boxes, then rounds that follow the rows.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    n_starts : int
        Starts of k-means on the boxes.
    """

    n_clusters: int
    n_starts: int = 20

    def run(self, curator: Curator) -> Clustering:
        """Grow a tree, cluster its boxes for free, follow the rows."""
        points = tree_points(curator, FOR_TREE)
        rows = RowCount.of(curator, points.total, points.total_sd)
        return refine(curator, points, self.n_clusters, rows, 1 - FOR_TREE, self.n_starts)


def refine(
    curator: Curator, points: Boxes, n_clusters: int, rows: RowCount, rest: Fraction, n_starts: int
) -> Clustering:
    """Turn released boxes into centres with what is left of the budget: a round, a merge, more rounds.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    points : Boxes
        The boxes.
    n_clusters : int
        How many centres.
    rows : RowCount
        Public or noisy number of rows.
    rest : Fraction
        Share of the budget.
    n_starts : int
        Starts of k-means on the boxes.
    """
    rng = curator.public_rng("starts on the boxes")
    rows = rows.capped_by(curator, points.total, points.total_sd)
    shares = rounds(curator.domain.n_columns, predicted_noise(curator, n_clusters, rows, rest))
    many = affordable(curator, n_clusters, rows.estimate, rest * shares[0])
    if many == n_clusters:  # a first round would only put noise into centres that boxes know as well
        shares = _ONE_ROUND
    # Where there are more centres than groups, none is hard to find.
    starts = n_starts if many == n_clusters else max(1, n_starts // 8)
    centres = points.centres(many, rng, starts)
    found = centre_round(curator, centres, points.spreads(centres), rows.estimate, rest * shares[0])
    coarse = curator.domain.n_columns >= _COARSE_COLUMNS
    if not coarse and points.sd * math.sqrt(len(points.weights) * many) < _CLEAR * rows.estimate:
        points = points.moved_to(centres, found.centres, found.counts, found.count_sd)
        centres = points.centres_without_noise(n_clusters, rng, n_starts)
    else:
        centres = merge_to_k(found, n_clusters, rows.estimate, points.column_scale, rng)
    for share in shares[1:]:
        found = centre_round(curator, centres, points.spreads(centres), rows.estimate, rest * share)
        centres = found.centres
    return replace(to_clustering(curator, found, rows, n_iter=len(shares)), shown=points.shown(rows.estimate))


def rounds(n_columns: int, noise: float) -> tuple[Fraction, ...]:
    """Return the shares of the rounds, for noise of a centre in radii.

    Examples
    --------
    >>> len(rounds(2, 0.001)), len(rounds(2, 0.03)), len(rounds(10, 0.03))
    (3, 2, 3)
    """
    coarse = n_columns >= _COARSE_COLUMNS and _COARSE[0] < noise < _COARSE[1]
    return _THREE_ROUNDS if noise < _PLENTY or coarse else _TWO_ROUNDS


def predicted_noise(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> float:
    """Return the noise of a centre in radii, were all groups alike and all of a share spent on one round."""
    return n_clusters * _sum_noise(curator, rest) / rows.at_least


def affordable(curator: Curator, n_clusters: int, n_rows: float, share: Fraction) -> int:
    """Return how many centres a round can tell apart: from k to six times that."""
    per_error = n_rows / _sum_noise(curator, share)
    return max(n_clusters, *(min(times * n_clusters, int(error * per_error)) for times, error in _OVER))


def _sum_noise(curator: Curator, share: Fraction) -> float:
    # Of a sum in radii, in the shape of a box of d + 1 sides: sqrt((d + 2)(d + 3) / 3) / epsilon.
    d = curator.domain.n_columns
    return math.sqrt((d + 2) * (d + 3) / 3) / curator.effective_epsilon(share=share)


def merge_to_k(
    found: RoundResult, n_clusters: int, rows: float, column_scale: Array, rng: np.random.Generator
) -> Array:
    """Merge centres until k are left.

    A centre that is noise would take the place of a group; one that is left out because its rows are few may
    be all that is known of a group. So centres that stand out by more and by less are merged in turn, and
    what costs least is taken, where every centre has the rows that are expected of it.

    Parameters
    ----------
    found : RoundResult
        Centres, more than k or as many.
    n_clusters : int
        How many are left.
    rows : float
        Public or noisy number of rows.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.
    rng : numpy Generator
        Public randomness.
    """
    if len(found.centres) == n_clusters:
        return found.centres
    order = np.argsort(-found.counts, kind="stable")
    sizes = found.counts[order]
    many = dict.fromkeys(max(n_clusters, n_real(sizes, found.count_sd, rows, by)) for by in _REAL)
    tried = [_merged(found, order[:real], n_clusters, column_scale, rng) for real in many]
    expected = expected_rows(found.counts, found.count_sd)
    noise = _noise(found.centre_variance, column_scale)
    centres = found.centres * column_scale

    def cost(means: Array) -> float:
        nearest = (means * column_scale)[nearest_centre(centres, means * column_scale)]
        return float(expected @ np.maximum(((centres - nearest) ** 2).sum(axis=1) - noise, 0.0))

    return min(tried, key=cost)


def expected_rows(counts: Array, sd: float) -> Array:
    """Return the rows that centres are expected to have, one of which may be noise.

    Examples
    --------
    >>> expected_rows(np.array([500.0, 30.0, 12.0, -5.0]), 10.0).round()
    array([500.,  27.,   5.,   0.])
    """
    chance = expit(math.sqrt(2) * counts / sd - math.log(2 * len(counts)))
    return np.asarray(np.maximum(counts, 0.0) * chance)


def _noise(variance: Array, column_scale: Array) -> Array:
    """Return how far off centres may be, squared; where nothing is known of it, that they are right."""
    return np.asarray((np.where(np.isfinite(variance), variance, 0.0) * column_scale**2).sum(axis=1))


def _merged(
    found: RoundResult, real: Integers, n_clusters: int, column_scale: Array, rng: np.random.Generator
) -> Array:
    """Merge some of the centres.

    Two ways are tried, k-means and joining what is nearest, and the one is taken that seems to cost less once
    the part of it that is noise is taken off: noise sets the halves of a group apart.
    """
    centres, sizes, variance = (
        found.centres[real],
        np.maximum(found.counts[real], 1.0),
        found.centre_variance[real],
    )
    if len(real) == n_clusters:
        return centres
    by_means = weighted_kmeans(centres, sizes, n_clusters, rng, column_scale=column_scale).centres
    groups = (
        merge_ward(n_clusters, centres, sizes, variance, column_scale),
        nearest_centre(centres * column_scale, by_means * column_scale),
    )
    noise = _noise(variance, column_scale)
    found_by = [_joined(group, centres, sizes, noise, column_scale) for group in groups]
    means, _ = min(found_by, key=lambda one: one[1])
    return means if len(means) == n_clusters else by_means


def n_real(sizes: Array, sd: float, rows: float, by: tuple[float, float] = _REAL[0]) -> int:
    """Return how many of the largest sizes stand out of the noise.

    By the first of these standard deviations; by the second, while a tenth of the rows is still missing.

    Examples
    --------
    >>> sizes = np.array([500.0, 400.0, 25.0, 5.0])
    >>> n_real(sizes, 10.0, 900.0), n_real(sizes, 10.0, 1200.0)
    (2, 3)
    """
    before = np.cumsum(sizes) - sizes
    wanted = np.where(before < _MOST_ROWS * rows, by[1], by[0]) * sd
    below = np.flatnonzero(sizes < wanted)
    return int(below[0]) if len(below) else len(sizes)


def _joined(
    groups: Integers, centres: Array, sizes: Array, noise: Array, column_scale: Array
) -> tuple[Array, float]:
    """Return the means of groups of centres, and what they cost less the noise of the centres."""
    names, labels = np.unique(groups, return_inverse=True)
    mass = np.bincount(labels, sizes)
    means = group_sums(labels, sizes[:, np.newaxis] * centres, len(names)) / mass[:, np.newaxis]
    away = (((centres - means[labels]) * column_scale) ** 2).sum(axis=1)
    return means, float(sizes @ (away - noise * (1 - sizes / mass[labels])))


def to_clustering(curator: Curator, found: RoundResult, rows: RowCount, n_iter: int) -> Clustering:
    """Turn the last round into what is released; centres that noise cannot tell apart become one."""
    merged_into = merge_indistinguishable(
        found.centres, found.counts, found.centre_variance, curator.domain.column_scale
    )
    weights = np.where(found.known, np.maximum(found.counts, 1.0), 1e-6)
    mass = np.bincount(merged_into, weights, len(weights))[merged_into, np.newaxis]
    sums = group_sums(merged_into, weights[:, np.newaxis] * found.centres, len(weights))
    noise = group_sums(merged_into, weights[:, np.newaxis] ** 2 * found.variances, len(weights))
    rows = rows.capped_by(curator, found.counts.sum(), found.count_sd * math.sqrt(len(weights)))
    centres, spread = Voronoi(sums[merged_into] / mass).centres, np.sqrt(noise[merged_into] / mass**2)
    # Centres that came to lie on one point are one as well: of few boxes k-means has no more places.
    _, first, which = np.unique(centres, axis=0, return_index=True, return_inverse=True)
    merged_into = first[which.ravel()].astype(np.int64)
    if lost := len(weights) - len(first):
        curator.note(f"{lost} of {len(weights)} groups made one with others: noise cannot tell them apart")
    return Clustering(
        centres=centres,
        sizes=found.counts,
        centre_sd=spread,
        size_sd=found.count_sd,
        n_iter=n_iter,
        predicted_sd=found.typical_sd * len(weights) / rows.at_least,
        domain=curator.domain,
        merged_into=merged_into,
    )
