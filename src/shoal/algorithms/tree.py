"""Beyond the papers: a private tree, more centres than groups, noise in the shape of a cluster, a merge.

The tree is PrivTree (Zhang, Xiao, Xie 2016). It finds where rows are for a fifth of the budget; the rest
follows them with offsets from centres that are nearly right. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.algorithms.boxes import Boxes, tree_points
from shoal.algorithms.clustering import Clustering
from shoal.algorithms.follow import Followed, follow
from shoal.algorithms.grid import effective_epsilon
from shoal.algorithms.rows import Rows
from shoal.postprocess.fewer import fewer
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries import Curator, Voronoi

Array = npt.NDArray[np.float64]

# Share of the budget that a tree has.
FOR_TREE = Fraction(1, 5)
# Shares of the rest that rounds have, and the noise below which a third is worth its while.
_TWO_ROUNDS = (Fraction(1, 3), Fraction(2, 3))
_THREE_ROUNDS = (Fraction(3, 10), Fraction(1, 5), Fraction(1, 2))
_PLENTY = 0.0025
# Centres that cost the boxes so many times more than others have lost a group.
_LOST = 1.5
# Centres for every group before the merge, where rows are many.
OVER = 3
# With more centres than this, noise would move each by more than this part of its radius.
_MOST_ERROR = 0.3


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
        rows = Rows.of(curator, points.total, points.total_sd)
        return search(curator, points, self.n_clusters, rows, 1 - FOR_TREE, self.n_starts)


def search(
    curator: Curator, points: Boxes, n_clusters: int, rows: Rows, rest: Fraction, n_starts: int
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
    rows : Rows
        Public or noisy number of rows.
    rest : Fraction
        Share of the budget.
    n_starts : int
        Starts of k-means on the boxes.
    """
    rng = curator.public_rng("starts on the boxes")
    rows = rows.and_again(curator, points.total, points.total_sd)
    shares = _THREE_ROUNDS if round_noise(curator, n_clusters, rows, rest) < _PLENTY else _TWO_ROUNDS
    many = affordable(curator, n_clusters, rows.about, rest * shares[0])
    centres = points.centres(many, rng, n_starts)
    found = follow(curator, centres, points.spreads(centres), rows.about, rest * shares[0])
    centres = merged(found, n_clusters, points.stretch, rng)
    if many > n_clusters:
        # A group may have got lost on the way; boxes that are small beside the groups would tell.
        direct = points.centres(n_clusters, rng, max(1, n_starts // 4))
        cost, inside = points.cost(direct)
        if points.cost(centres)[0] > _LOST * cost and inside < cost / 2:
            centres = direct
    for share in shares[1:]:
        found = follow(curator, centres, points.spreads(centres), rows.about, rest * share)
        centres = found.centres
    return clustering_of(curator, found, rows, n_iter=len(shares))


def round_noise(curator: Curator, n_clusters: int, rows: Rows, rest: Fraction) -> float:
    """Return the noise of a centre in radii, were all groups alike and all of a share spent on one round."""
    return n_clusters * _sum_noise(curator, rest) / rows.surely


def affordable(curator: Curator, n_clusters: int, n_rows: float, cost: Fraction) -> int:
    """Return how many centres a round can tell apart: at least k, at most three times that."""
    most = int(_MOST_ERROR * n_rows / _sum_noise(curator, cost))
    return max(n_clusters, min(OVER * n_clusters, most))


def _sum_noise(curator: Curator, cost: Fraction) -> float:
    # Of a sum in radii, in the shape of a box of d + 1 sides: sqrt((d + 2)(d + 3) / 3) / epsilon.
    d = curator.domain.n_columns
    return math.sqrt((d + 2) * (d + 3) / 3) / effective_epsilon(curator, cost)


def merged(found: Followed, n_clusters: int, stretch: Array, rng: np.random.Generator) -> Array:
    """Merge centres until k are left, by weighted k-means on those that have rows."""
    if len(found.centres) == n_clusters:
        return found.centres
    known = found.known
    if known.sum() <= n_clusters:
        return found.centres[np.argsort(-found.counts, kind="stable")[:n_clusters]]
    weights = found.counts[known]
    return weighted_kmeans(found.centres[known], weights, n_clusters, rng, stretch=stretch).centres


def clustering_of(curator: Curator, found: Followed, rows: Rows, n_iter: int) -> Clustering:
    """Turn the last round into what is released; centres that noise cannot tell apart become one."""
    merged_into = fewer(found.centres, found.counts, found.variances, curator.domain.stretch)
    weights = np.where(found.known, np.maximum(found.counts, 1.0), 1e-6)
    mass = np.bincount(merged_into, weights, len(weights))[merged_into, np.newaxis]
    sums, noise = np.zeros_like(found.centres), np.zeros_like(found.variances)
    np.add.at(sums, merged_into, weights[:, np.newaxis] * found.centres)
    np.add.at(noise, merged_into, weights[:, np.newaxis] ** 2 * found.variances)
    rows = rows.and_again(curator, found.counts.sum(), found.count_sd * math.sqrt(len(weights)))
    if lost := len(weights) - len(np.unique(merged_into)):
        curator.note(f"{lost} of {len(weights)} groups made one with others: noise cannot tell them apart")
    return Clustering(
        centres=Voronoi(sums[merged_into] / mass).centres,
        sizes=found.counts,
        centre_sd=np.sqrt(noise[merged_into] / mass**2),
        size_sd=found.count_sd,
        n_iter=n_iter,
        predicted_sd=found.typical_sd * len(weights) / rows.surely,
        domain=curator.domain,
        merged_into=merged_into,
    )
