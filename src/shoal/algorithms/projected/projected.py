"""Balcan, Dick, Liang, Mou, Zhang 2017: private clustering in many columns, by way of a few random ones.

Project rows to a few random directions, find where they crowd by a private tree of cubes, place centres
there, and sum the rows around them in all columns. Proof: docs/proofs/projected.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.accounting.budget import Plan, weighted
from shoal.algorithms.projected.cube_tree import Level, candidates, grow, leaves, levels_for
from shoal.algorithms.projected.recovery import Recovery
from shoal.algorithms.projected.sparse_recovery import SparseRecovery
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.shared.local_swap import local_swap
from shoal.errors import InvalidInput
from shoal.postprocess import pack
from shoal.postprocess.weighted_kmeans import weighted_kmeans
from shoal.queries import ClusterCost, Curator, Noise, NoisyCounts, Projected, Projection, Voronoi

Route: TypeAlias = Literal["practical", "published"]

# Candidates, swaps, sizes and sums: 1/6 each in Balcan et al., algorithm 4; here nothing is left.
_SHARES: dict[Route, Plan] = {
    "published": weighted([1, 1, 1, 1]),
    # There are no swaps to pay for: the counts of the tree serve again.
    "practical": weighted([7, 13]),
}
# Of everything, where one of several repetitions is chosen: another 1/6 of 5/6.
SHARE_FOR_CHOICE = Fraction(1, 5)
# The authors' own code has floor(ln(n) / 2) directions, and not 8 ln n as the theorem.
_FEWEST_DIRECTIONS, _MOST_DIRECTIONS = 2, 8
# Swaps that are paid for: each has a share of the budget, and more make all of them noise. Not tuned.
_MOST_SWAPS = 20
# Swaps on released counts are free, and many clusters need many.
_FREE_SWAPS, _MOST_FREE_SWAPS = 20, 1000
# About this share of a group's rows are in cubes whose middle is nearer to another group, or in none; and so
# much more the less groups stand apart.
_MISPLACED, _MIXED = 0.05, 0.4


@dataclass(frozen=True)
class ProjectedClustering:
    """Random projection, a tree of cubes, centres in few columns, and their recovery in all.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    route : {"practical", "published"}
        How centres are placed in the projected columns: by k-means on the counts of the tree, which is free;
        or by private local swaps among the cubes' centres, as in the paper.
    n_directions : int or "auto"
        Projected columns; floor(ln(n) / 2) if "auto". A table of no more columns is not projected.
    n_levels : int or "auto"
        Levels of the tree.
    n_shifts : int
        Trees, each shifted at random but the first if it is the only one; they share its cost.
    n_swaps : int or "auto"
        Private swaps of the published route; k, at most 20, if "auto".
    n_repeats : int
        Repetitions of the whole, of which one is chosen privately.
    n_starts : int
        Starts of k-means on the counts.
    sparsity : int, optional
        How many columns of a row are not zero, about, in tables where most are: only twice as many
        columns of a centre are chosen and summed (algorithm 5).
    noise : Noise, optional
        Law of the noise of the sums.
    gamma : float, optional
        Noisy rows, times the epsilon of a level, from which a cube is split; ln(2^p k A) for A levels of 2^p
        children if not given. The theorem has 20 ln(n / delta).
    """

    n_clusters: int
    route: Route = "practical"
    n_directions: int | Literal["auto"] = "auto"
    n_levels: int | Literal["auto"] = "auto"
    n_shifts: int = 1
    n_swaps: int | Literal["auto"] = "auto"
    n_repeats: int = 1
    n_starts: int = 10
    sparsity: int | None = None
    noise: Noise | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.n_directions != "auto" and not 1 <= self.n_directions <= 61:
            raise InvalidInput(f"n_directions is {self.n_directions}; it must be from 1 to 61, or 'auto'")
        if self.gamma is not None and not 0 < self.gamma < math.inf:
            raise InvalidInput(f"gamma is {self.gamma!r}; it must be a number above 0, or None")
        if self.n_levels != "auto" and not 1 <= self.n_levels <= 20:
            raise InvalidInput(f"n_levels is {self.n_levels}; it must be from 1 to 20, or 'auto'")

    def run(self, curator: Curator) -> Clustering:
        """Project, search and recover; where this is repeated, choose one."""
        rows, rest = count_rows(curator)
        n_rows = max(rows.estimate, 1.0)
        search = rest if self.n_repeats == 1 else rest * (1 - SHARE_FOR_CHOICE)
        found = [
            self._once(curator, n_rows, rows.at_least, search / self.n_repeats) for _ in range(self.n_repeats)
        ]
        if self.n_repeats == 1:
            return found[0]
        sets = ClusterCost(np.stack([each.centres for each in found]))
        best = found[int(curator.select(sets, share=rest * SHARE_FOR_CHOICE)[0])]
        return replace(best, n_iter=sum(each.n_iter for each in found) + 1)

    def _once(self, curator: Curator, n_rows: float, fewest: float, share: Fraction) -> Clustering:
        shares = [share * part for part in _SHARES[self.route]]
        rng = curator.public_rng("projection, shifts and starts")
        d = curator.domain.n_columns
        projection = Projection.random(self.directions(n_rows, d), d, rng, curator.domain.metric)
        trees = self.trees(curator, projection, shares[0], rng)
        sizes: NoisyCounts | None
        if self.route == "published":
            image = self.swapped(curator, projection, trees, shares[1], rng)
            # Algorithm 4 pays for sizes and sums apart: in many columns a count is soon drowned by noise.
            sizes = curator.histogram(Projected(projection, Voronoi(image)), share=shares[2])
            spread = None
        else:
            image, sizes, spread = self._on_counts(projection, trees, n_rows, rng)
        recovery: Recovery | SparseRecovery = Recovery(
            n_rows, fewest, shares[-1], self.noise, spread, shrinks=self.route == "practical"
        )
        if self.sparsity is not None:
            recovery = SparseRecovery(self.sparsity, fewest, shares[-1], self.noise)
        clustering = recovery.run(curator, projection, image, sizes)
        return replace(clustering, n_iter=clustering.n_iter + sum(map(len, trees)))

    def directions(self, n_rows: float, n_columns: int) -> int:
        """Return how many columns to project to.

        Examples
        --------
        >>> ProjectedClustering(4).directions(1e5, 100), ProjectedClustering(4).directions(1e5, 3)
        (5, 3)
        """
        if self.n_directions != "auto":
            return min(self.n_directions, n_columns)
        wanted = math.floor(math.log(n_rows) / 2)
        return min(n_columns, max(_FEWEST_DIRECTIONS, min(_MOST_DIRECTIONS, wanted)))

    def trees(
        self, curator: Curator, projection: Projection, share: Fraction, rng: np.random.Generator
    ) -> list[list[Level]]:
        """Grow trees with random shifts (algorithm 2); a single one needs none."""
        p = projection.n_directions
        n_levels = levels_for(self.n_clusters, p) if self.n_levels == "auto" else self.n_levels
        shifts = [None] if self.n_shifts == 1 else list(rng.uniform(-1.0, 1.0, (self.n_shifts, p)))
        return [
            grow(curator, projection, n_levels, self.n_clusters, share / self.n_shifts, shift, self.gamma)
            for shift in shifts
        ]

    def swapped(
        self,
        curator: Curator,
        projection: Projection,
        trees: list[list[Level]],
        share: Fraction,
        rng: np.random.Generator,
        *,
        squared: bool = True,
    ) -> Array:
        """Choose centres among the cubes' middles by private swaps (algorithm 3)."""
        k, p = self.n_clusters, projection.n_directions
        points = np.concatenate([candidates(tree, p) for tree in trees])
        n_swaps = min(k, _MOST_SWAPS) if self.n_swaps == "auto" else self.n_swaps
        start = points[rng.permutation(len(points))[:k]]
        if len(points) < k:  # the others may as well be anywhere
            start = np.concatenate([start, pack(k - len(points), p, rng)])
        return local_swap(curator, projection, points, start, n_swaps, share, squared=squared)

    def _on_counts(
        self, projection: Projection, trees: list[list[Level]], n_rows: float, rng: np.random.Generator
    ) -> tuple[Array, NoisyCounts | None, float | None]:
        """Place centres by k-means on the leaves of the trees; say how many rows are near, and how near."""
        k, p = self.n_clusters, projection.n_directions
        grown = [leaves(tree) for tree in trees if tree]
        if not grown:  # nothing stands out: as good as any
            return pack(k, p, rng), None, None
        points, weights = (np.concatenate(parts) for parts in zip(*grown, strict=True))
        n_swaps = min(_FREE_SWAPS * k, _MOST_FREE_SWAPS)
        found = weighted_kmeans(points, weights, k, rng, n_starts=self.n_starts, n_swaps=n_swaps)
        # What a unit of the image is in the scaled units of the domain.
        unit = 1 / math.sqrt(float((projection.matrix**2).sum(axis=1).mean()))
        total, within = float(weights.sum()), max(found.cost, 0.0)
        apart = points - (weights[:, np.newaxis] * points).sum(axis=0) / total
        mixed = min(within / max(float((weights[:, np.newaxis] * apart**2).sum()), 1e-300), 1.0)
        noise = max(level.sd for tree in trees for level in tree) * math.sqrt(len(points) / k)
        misplaced = (_MISPLACED + _MIXED * mixed) * n_rows / k
        sizes = NoisyCounts(found.masses * n_rows / total, math.hypot(noise * n_rows / total, misplaced))
        return found.centres, sizes, unit * math.sqrt(within / (total * p))
