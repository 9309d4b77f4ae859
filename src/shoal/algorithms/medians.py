"""Balcan, Dick, Liang, Mou, Zhang 2017 and Feldman, Fiat, Kaplan, Nissim 2009: private k-medians.

Centres of least total distance, not squared, by one of five routes. Proof: docs/proofs/medians.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.accounting.budget import equal, portion
from shoal.algorithms.coreset.coreset import coreset_clustering
from shoal.algorithms.coreset.sketch import CoresetSketch
from shoal.algorithms.grid import GridSketch
from shoal.algorithms.projected.projected import ProjectedClustering
from shoal.algorithms.projected.recovery import lift
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.shared.local_swap import local_swap
from shoal.algorithms.synopses.grid_counts import GridCounts
from shoal.algorithms.synopses.groups import clustering_on
from shoal.errors import MostlyNoise
from shoal.postprocess import recentre
from shoal.postprocess.evidence import smallest_count
from shoal.queries import Curator, Direction, Noise, NoisySums, Partition, Projected, Projection, Voronoi

Route: TypeAlias = Literal["gradient", "synopsis", "coreset", "swap", "projected"]

# A grid is too coarse to find medians on in more columns than this.
MOST_COLUMNS_OF_A_GRID = 5
# Balcan et al., algorithm 3, in practice: as many swaps as centres, up to this.
MOST_SWAPS = 10
# Cells per centre that a swap may bring in.
SWAP_CANDIDATES = 3
# Shares of the grid that candidates come from, and of the final sizes.
SHARE_FOR_CANDIDATES = Fraction(1, 2)
SHARE_FOR_SIZES = Fraction(1, 20)
# Of the projected route: candidates, swaps, means and descent, 1/6 each in Balcan et al., algorithm 4.
PROJECTED_SHARES = (Fraction(1, 4),) * 4
# Of the descent: the share that its start is paid with, and the first and the last step, as shares of the
# side of a cell if there were k equal ones.
SHARE_FOR_START = Fraction(2, 5)
FIRST_STEP, LAST_STEP = 0.5, 0.1


@dataclass(frozen=True)
class Medians:
    """k-medians by noisy descent, on a noisy grid, on a coreset, or by private swaps.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    route : {"gradient", "synopsis", "coreset", "swap", "projected"}
        Noisy descent, in which each row pulls with a strength of one, from a start on a grid or, in more than
        five columns, a coreset; k-medians on the cells of a noisy grid or on the points of a private coreset
        alone; private choices of swaps among cells of a grid; or, for many columns, such choices among cubes
        of a random projection, and descent in all columns (Balcan et al., theorem 12).
    max_iter : int
        Rounds of the descent.
    n_starts : int
        Starts of k-medians on the cells.
    sketch : GridSketch
        How a grid is made.
    noise : Noise, optional
        Law of the noise of the descent; see :meth:`shoal.queries.Curator.sums`.
    """

    n_clusters: int
    route: Route = "gradient"
    max_iter: int = 4
    n_starts: int = 10
    sketch: GridSketch = field(default_factory=GridSketch)
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Take the route."""
        self.sketch.check(curator.domain)
        if self.route == "synopsis":
            return self._on_grid(curator)
        if self.route == "coreset":
            return self._on_coreset(curator)
        if self.route == "projected":
            return self._projected(curator)
        return self._swap(curator) if self.route == "swap" else self._descend(curator)

    def _on_coreset(self, curator: Curator) -> Clustering:
        starts = curator.public_rng("starts on the coreset")
        coreset = CoresetSketch(self.n_clusters).ask(curator)
        return coreset_clustering(coreset, coreset.kmedians(self.n_clusters, starts, self.n_starts))

    def _on_grid(self, curator: Curator) -> Clustering:
        rows, rest = count_rows(curator)
        return self._on(curator, self.sketch.ask(curator, rows.estimate, self.n_clusters, rest))

    def _on(self, curator: Curator, synopsis: GridCounts) -> Clustering:
        found = synopsis.kmedians(self.n_clusters, curator.public_rng("starts on the grid"), self.n_starts)
        return _without_errors(clustering_on(curator, synopsis, found))

    def _swap(self, curator: Curator) -> Clustering:
        """Balcan et al., algorithm 3: swap centres for candidates, chosen by what distances they leave."""
        rows, rest = count_rows(curator)
        for_grid, for_sizes = SHARE_FOR_CANDIDATES * rest, SHARE_FOR_SIZES * rest
        synopsis = self.sketch.ask(curator, rows.estimate, self.n_clusters, for_grid)
        begun = self._on(curator, synopsis)
        candidates = synopsis.spread(SWAP_CANDIDATES * self.n_clusters, curator.public_rng("candidates"))
        swaps, share = min(self.n_clusters, MOST_SWAPS), rest - for_grid - for_sizes
        centres = local_swap(curator, None, candidates, begun.centres, swaps, share, squared=False)
        cells = Voronoi(centres)
        answer = curator.histogram(cells, share=for_sizes)
        return replace(begun, centres=cells.centres, sizes=answer.counts, size_sd=answer.sd, n_iter=swaps)

    def _descend(self, curator: Curator) -> Clustering:
        """Start from a grid or a coreset, and move each centre the way its rows pull, each with one."""
        k, d = self.n_clusters, curator.domain.n_columns
        part = curator.within(curator.domain.bounds, SHARE_FOR_START)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoise)  # of a start, which is not yet the answer
            centres = (self._on_grid if d <= MOST_COLUMNS_OF_A_GRID else self._on_coreset)(part).centres
        shares = portion(equal(self.max_iter), 1 - SHARE_FOR_START)
        return self._pulled(curator, Voronoi, centres, shares, float(np.power(k, -1.0 / d)))

    def _projected(self, curator: Curator) -> Clustering:
        """Balcan et al., theorem 12: swaps by distance in few random columns, then medians in all.

        Where the theorem samples a log-concave density, whose mixing nobody can check, means are moved
        by noisy descent.
        """
        k, d, metric = self.n_clusters, curator.domain.n_columns, curator.domain.metric
        rows, rest = count_rows(curator)
        for_trees, for_swaps, for_means, for_descent = (rest * share for share in PROJECTED_SHARES)
        rng = curator.public_rng("projection, shifts and starts")
        search = ProjectedClustering(k, route="published")
        projection = Projection.random(search.directions(max(rows.estimate, 1.0), d), d, rng, metric)
        trees = search.trees(curator, projection, for_trees, rng)
        image = search.swapped(curator, projection, trees, for_swaps, rng, squared=False)
        groups = Projected(projection, Voronoi(image))
        answer = curator.sums(groups, share=for_means, noise=self.noise)
        start = recentre(
            answer.sums, answer.counts, answer.count_sd, fallback=lift(projection, image, metric)
        )
        # A mean is off by its noise; a step as long as that leads back, and no longer one is wanted.
        counts = np.maximum(answer.counts, smallest_count(answer.count_sd))
        reach = float(np.clip(np.median(answer.sum_sd / counts), 2.0**-10, 1.0))
        shares = portion(equal(self.max_iter), for_descent)
        return self._pulled(curator, lambda _: groups, start, shares, reach / FIRST_STEP)

    def _pulled(
        self,
        curator: Curator,
        cells_of: Callable[[Array], Partition],
        centres: Array,
        shares: tuple[Fraction, ...],
        side: float,
    ) -> Clustering:
        """Move each centre the way the rows of its cell pull, each with one, in ever shorter steps."""
        column_scale, shrink = curator.domain.column_scale, LAST_STEP / FIRST_STEP
        visited: list[Array] = []
        for t, share in enumerate(shares):
            step = side * FIRST_STEP * shrink ** (t / max(self.max_iter - 1, 1))
            at = Voronoi(centres).centres
            answer = curator.sums(cells_of(at), of=Direction(at, step), share=share, noise=self.noise)
            pull = _pull(answer)
            ways = np.divide(step * pull, column_scale, out=np.zeros_like(pull), where=column_scale > 0)
            centres = np.clip(at + ways, -1.0, 1.0)
            visited.append(centres)
        # Late centres are near each other, and their noise is not the same: their mean has less.
        centres = np.mean(visited[-max(1, self.max_iter // 3) :], axis=0)
        # What is predicted is the noise of a pull: above one half, it is stronger than what pulls.
        unknown = np.full(centres.shape, np.inf)
        return Clustering.from_sums(curator, centres, answer, self.max_iter, centre_sd=unknown)


def _pull(answer: NoisySums) -> Array:
    least = smallest_count(answer.count_sd)
    pull = answer.sums / np.maximum(answer.counts, least)[:, np.newaxis]
    # Rows pull with at most one each; more than that is noise.
    length = np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1.0)
    return np.where((answer.counts >= least)[:, np.newaxis], pull / length, 0.0)


def _without_errors(found: Clustering) -> Clustering:
    # What noise does to a median depends on how dense rows are around it, which nobody has asked.
    return replace(found, centre_sd=np.full(found.centres.shape, np.inf))
