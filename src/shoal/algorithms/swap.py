"""Beyond the papers: SWAP-Lloyd, noisy Lloyd that also asks how far rows lie from their centre.

One more noisy number a cluster, its clipped cost, tells which centre covers two groups and which two share
one; moving them is free. Proof: docs/proofs/swap.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal._typing import Array
from shoal.accounting.budget import equal, portion
from shoal.algorithms.kmeans.centre_round import CAUTIOUS_RADIUS, distance_within, edges
from shoal.algorithms.lsh_tree.lsh_tree import lsh_start
from shoal.algorithms.shared.clustering import Clustering, RowCount
from shoal.postprocess import pack
from shoal.postprocess.agglomerate import joining_losses
from shoal.postprocess.evidence import smallest_count
from shoal.queries import Curator, Relative, Shells, Voronoi

# While groups may be without a centre, rows are followed this far, in half widths of the domain, a column.
_FIRST_RADIUS = 0.6
# The last rounds look at the distances of rows first, for this part of their share.
_LOOK = Fraction(1, 20)
# Distance that this share of the rows is within: fewer than all, as some centres cover two groups.
_INSIDE = 0.6
# How far rows are followed, in that distance: a ball's radius, a box's a column (times 1 / sqrt(d)), and the
# distance beyond which the cost of a row does not rise.
_BALL, _BOX, _REACH = 1.2, 2.0, 1.0
# Swaps a round, at most.
_MOST_SWAPS = 8
# A centre that covers two groups has at least this many times the usual cost a row.
_COVERS_TWO = 2.0
# The usual cost a row: this quantile over clusters, so that a few bad centres do not count.
_USUAL = 0.3
# A centre is split into two this many standard deviations apart on either side.
_SPLIT = 0.3
# The last but one round counts a third of the average, the last two thirds.
_LAST = 2 / 3
FOR_LSH_TREE = Fraction(1, 5)


@dataclass(frozen=True)
class SwapLloyd:
    """Noisy Lloyd with swaps: merge two centres that share a group, split one that covers two.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    max_iter : int, optional
        Rounds; 6 under pure epsilon and 8 under (epsilon, delta), where they are cheaper, if not given.
    start : {"packing", "lsh-tree"}
        Centres to start from: spheres packed without a look at rows, or a tree of random cuts for a fifth of
        the budget, which finds groups in many columns.
    """

    n_clusters: int
    max_iter: int | None = None
    start: Literal["packing", "lsh-tree"] = "packing"

    def run(self, curator: Curator, share: Fraction = Fraction(1)) -> Clustering:
        """Assign, sum, add noise, divide, swap; a fixed number of times, for a share of the budget."""
        k, d = self.n_clusters, curator.domain.n_columns
        rounds = self.max_iter or (8 if curator.budget.currency == "rho" else 6)
        rng = curator.public_rng("starting centres and swaps")
        if self.start == "lsh-tree":
            centres, rest = lsh_start(curator, k, share * FOR_LSH_TREE).centres, share * (1 - FOR_LSH_TREE)
        else:
            centres, rest = pack(k, d, rng), share
        found, usual, before = None, math.inf, centres
        for t, each in enumerate(portion(equal(rounds), rest)):
            last_rounds = t >= rounds - 2
            before = centres
            found, usual = swap_round(curator, centres, each, narrow=last_rounds)
            centres = found.centres
            if not last_rounds and t > 0:
                centres = swapped(found, usual, curator.domain.column_scale, rng)
        assert found is not None
        if rounds > 1:  # no swap happens between the last two, so they can be averaged
            centres = (1 - _LAST) * before + _LAST * centres
        rows = RowCount.of(curator, found.counts.sum(), found.count_sd * math.sqrt(k))
        return Clustering(
            centres=Voronoi(centres).centres,
            sizes=found.counts,
            centre_sd=found.centre_sd,
            size_sd=found.count_sd,
            n_iter=rounds,
            predicted_sd=found.predicted_sd * k / rows.at_least,
            domain=curator.domain,
        )


@dataclass(frozen=True, eq=False)
class Round:
    """What one round released.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Where the centres have moved.
    counts : ndarray of shape (k,)
        Noisy sizes.
    costs : ndarray of shape (k,)
        Noisy sums of clipped squared distances to the old centres.
    centre_sd : ndarray of shape (k, d)
        Noise of the centres; infinite where a cluster is too small.
    predicted_sd, count_sd : float
        Noise of a sum, a coordinate, for a radius that is not narrow, and of a size.
    """

    centres: Array
    counts: Array
    costs: Array
    centre_sd: Array
    predicted_sd: float
    count_sd: float


def swap_round(curator: Curator, centres: Array, share: Fraction, *, narrow: bool) -> tuple[Round, float]:
    """Move centres to noisy means, and find the usual squared distance of a row.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    centres : ndarray of shape (k, d)
        Public points of [-1, 1]^d.
    share : Fraction
        Share of the budget.
    narrow : bool
        Whether to look at distances first and follow rows only as far as most of them lie. While groups may
        still be without a centre, rows are followed far.
    """
    k, d = centres.shape
    centres = Voronoi(centres).centres
    body: Literal["box", "ball"] = "ball" if curator.budget.currency == "rho" else "box"
    if narrow:
        shells = curator.histogram(Shells(centres, np.ones((k, d)), "ball", edges(d)), share=share * _LOOK)
        distance = distance_within(shells, max(float(shells.counts.sum()), 1.0), "ball", d, _INSIDE)
        radius = _BALL * distance if body == "ball" else min(_BOX / math.sqrt(d), 1.0) * distance
        share *= 1 - _LOOK
    else:
        distance = _FIRST_RADIUS * math.sqrt(d)
        radius = distance if body == "ball" else _FIRST_RADIUS
    reach = _REACH * distance * float(curator.domain.column_scale.max())
    of = Relative(centres, np.full((k, d), radius), body, np.full(k, reach))
    answer = curator.sums(Voronoi(centres), of=of, share=share)
    assert answer.costs is not None
    least = smallest_count(answer.count_sd)
    known, rows = (answer.counts >= least)[:, np.newaxis], np.maximum(answer.counts, least)
    assert of.reaches is not None
    radius, reach = float(of.radii[0, 0]), float(of.reaches[0])
    steps = np.clip(answer.sums / rows[:, np.newaxis], -1.0, 1.0)
    moved = np.clip(centres + radius * steps, -1.0, 1.0)
    costs = np.maximum(answer.costs, 0.0) * reach**2
    noise = radius * np.sqrt(answer.sum_sd**2 + (steps * answer.count_sd) ** 2) / rows[:, np.newaxis]
    per_row = (costs / rows)[known[:, 0]]
    found = Round(
        np.where(known, moved, centres),
        answer.counts,
        costs,
        np.where(known, noise, np.inf),
        max(radius, CAUTIOUS_RADIUS) * answer.sum_sd,
        answer.count_sd,
    )
    return found, float(np.quantile(per_row, _USUAL)) if len(per_row) else math.inf


def swapped(found: Round, usual: float, column_scale: Array, rng: np.random.Generator) -> Array:
    """Merge pairs that cost little and split centres that cost much, while that lowers the cost.

    Parameters
    ----------
    found : Round
        Released centres, sizes and costs.
    usual : float
        The usual squared distance of a row.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.
    rng : numpy Generator
        Public randomness.
    """
    k, d = found.centres.shape
    if k < 3 or not math.isfinite(usual):
        return found.centres
    centres, sizes = found.centres.copy(), np.maximum(found.counts, 1.0)
    # What merging two adds to the cost (Ward); a starved centre has no rows, so it is merged first.
    wards = joining_losses(centres * column_scale, sizes)
    wards[np.tril_indices(k)] = np.inf
    unused = np.ones(k, dtype=bool)
    least = smallest_count(found.count_sd)
    for _ in range(_MOST_SWAPS):
        free = np.where(unused & (found.counts >= least), found.costs, -1.0)
        wide = int(free.argmax())
        per_row = found.costs[wide] / sizes[wide]
        if free[wide] <= 0 or per_row < _COVERS_TWO * usual:
            break
        unused[wide] = False
        pairs = np.where(np.logical_and.outer(unused, unused), wards, np.inf)
        one, other = divmod(int(pairs.argmin()), k)
        if not pairs[one, other] < (found.costs[wide] - sizes[wide] * usual) / 2:
            break
        gone, stays = (one, other) if sizes[one] <= sizes[other] else (other, one)
        both = sizes[gone] + sizes[stays]
        centres[stays] = (sizes[gone] * centres[gone] + sizes[stays] * centres[stays]) / both
        direction = rng.normal(size=d)
        away = _SPLIT * math.sqrt(per_row) * direction / np.linalg.norm(direction) / column_scale
        centres[gone], centres[wide] = centres[wide] + away, centres[wide] - away
        unused[[gone, stays]] = False
    return np.clip(centres, -1.0, 1.0)
