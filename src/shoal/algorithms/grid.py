"""Su, Cao, Li, Bertino, Jin 2016: uniform grid synopses (UG, EUG) and k-means on them (EUGkM).

Count the rows of every cell of a grid, once; everything after is free. Grids of more cells than can be held
are filtered. Proof: docs/proofs/grid.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.synopses.grid_counts import GridCounts
from shoal.algorithms.synopses.groups import clustering_on
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.queries import Curator, Grid
from shoal.queries.partitions.cells import MOST_CELLS

Resolution: TypeAlias = int | Literal["theta", "k-aware"]
Starts: TypeAlias = Literal["mixed", "published"]

# More cells than this are not held one by one.
MOST_DENSE_CELLS = 4_000_000
# The best number of cells per side was found near this multiple of k^(1/d) where rows are few.
_K_AWARE = 3.5
# Empty cells that pass the filter, for every cluster: few beside the cells of a cluster.
_SPURIOUS = 5.0
# Cells: what is held of noise takes a few megabytes at most.
_MOST_SPURIOUS = 100_000.0
# A rule does not ask for cells finer than two steps of the lattice.
_FINEST = 2**20


def side_by_theta(n_rows: float, epsilon: float, n_columns: int, theta: float) -> int:
    """Return the cells per side that balance noise and grain, Su et al.: m = (N epsilon / theta)^(2/(2+d)).

    Examples
    --------
    >>> side_by_theta(5062, 1.0, 2, 10), side_by_theta(5063, 1.0, 2, 10)
    (22, 23)
    """
    ideal = math.pow(max(n_rows, 0.0) * epsilon / theta, 2 / (2 + n_columns))
    return max(2, math.floor(ideal + 0.5))


def side_by_k(n_rows: float, epsilon: float, n_columns: int, theta: float, n_clusters: int) -> int:
    """Return the cells per side that can also tell k clusters apart, where the noise allows it.

    Examples
    --------
    >>> side_by_k(5000, 0.1, 2, 10, 15)
    14
    """
    plain = side_by_theta(n_rows, epsilon, n_columns, theta)
    wanted = math.ceil(_K_AWARE * math.pow(n_clusters, 1 / n_columns))
    # The logarithm of k sqrt(2 m^d / k) / (N epsilon): m^d leaves the floats in many columns.
    log_noise = (math.log(2 * n_clusters) + n_columns * math.log(wanted)) / 2
    log_noise -= math.log(max(n_rows * epsilon, 1e-9))
    return max(plain, wanted) if log_noise < math.log(0.5) else plain


@dataclass(frozen=True)
class GridSketch:
    """How to make a synopsis.

    Parameters
    ----------
    resolution : int, "theta" or "k-aware"
        Cells per side, or the rule to find them by.
    theta : float
        Su et al.'s constant; 3 to 20 is sensible.
    starts : {"mixed", "published"}
        How k-means searches the cells: our way, from packed starts and from heavy cells, with swaps; or from
        packed starts alone, each followed to its end (Su et al., 5.1).
    """

    resolution: Resolution = "theta"
    theta: float = 10.0
    starts: Starts = "mixed"

    def __post_init__(self) -> None:
        if isinstance(self.resolution, str) and self.resolution not in ("theta", "k-aware"):
            raise InvalidInput(
                f"resolution is {self.resolution!r}; it must be 'theta', 'k-aware' or the cells per side"
            )
        if isinstance(self.resolution, int) and self.resolution < 1:
            raise InvalidInput(f"resolution is {self.resolution}; at least 1 cell per side is wanted")
        if not 0 < self.theta < math.inf:
            raise InvalidInput(f"theta is {self.theta!r}; it must be a number above 0")

    def check(self, domain: Domain) -> None:
        """Refuse a grid of too many cells from public values, before anything is spent."""
        if isinstance(self.resolution, int) and self.resolution**domain.n_columns > _most_cells(domain):
            raise InvalidInput(
                f"{self.resolution} cells per side in {domain.n_columns} columns are "
                f"more than {_most_cells(domain)} cells; use fewer per side, or resolution='theta'"
            )

    def side(
        self, n_rows: float, epsilon: float, n_columns: int, n_clusters: int, most: int = MOST_CELLS
    ) -> int:
        """Return the cells per side, by a rule few enough that the grid has no more than `most` cells."""
        if isinstance(self.resolution, int):
            return self.resolution
        if self.resolution == "k-aware":
            found = side_by_k(n_rows, epsilon, n_columns, self.theta, n_clusters)
        else:
            found = side_by_theta(n_rows, epsilon, n_columns, self.theta)
        found = min(found, _FINEST, math.floor(math.pow(most, 1 / n_columns) + 1e-9))
        return max(1, found if found**n_columns <= most else found - 1)

    def search(
        self, synopsis: GridCounts, n_clusters: int, curator: Curator, n_starts: int
    ) -> WeightedClustering:
        """Find centres on the cells, for free."""
        rng = curator.public_rng("starts on the grid")
        return synopsis.kmeans(n_clusters, rng, n_starts, published=self.starts == "published")

    def ask(self, curator: Curator, n_rows: float, n_clusters: int, share: Fraction) -> GridCounts:
        """Count the rows of every cell, and keep the large counts where there are too many cells to hold.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        n_rows : float
            Public or noisy number of rows: the exact one would show in the number of cells.
        n_clusters : int
            How many clusters the synopsis is for, where the rule or the filter asks.
        share : Fraction
            Share of the budget.
        """
        domain = curator.domain
        d, epsilon = domain.n_columns, curator.effective_epsilon(share=share)
        grid = Grid((self.side(n_rows, epsilon, d, n_clusters, _most_cells(domain)),) * d)
        if grid.n_cells <= MOST_DENSE_CELLS:
            answer = curator.histogram(grid, share=share)
            return GridCounts(grid=grid, weights=answer.counts, sd=answer.sd, domain=domain, rows=n_rows)
        spurious = min(_SPURIOUS * n_clusters, _MOST_SPURIOUS)
        kept = curator.sparse_histogram(grid, share=share, spurious=spurious)
        return GridCounts(
            grid=grid,
            weights=kept.counts,
            sd=kept.sd,
            domain=domain,
            rows=n_rows,
            cells=kept.cells,
            threshold=kept.threshold,
        )


def _most_cells(domain: Domain) -> int:
    # The filter is for counts of rows; a sum of weights must be held cell by cell.
    return MOST_CELLS if domain.max_weight is None else MOST_DENSE_CELLS


@dataclass(frozen=True)
class GridSynopsis:
    """UG and EUG: one noisy grid, released as it is.

    Parameters
    ----------
    n_clusters : int
        How many clusters it should be able to tell apart.
    sketch : GridSketch
        How the grid is made.
    """

    n_clusters: int
    sketch: GridSketch = field(default_factory=GridSketch)

    def check(self, domain: Domain) -> None:
        """Refuse a grid of too many cells from public values, before anything is spent."""
        self.sketch.check(domain)

    def run(self, curator: Curator) -> GridCounts:
        """Count once."""
        self.check(curator.domain)
        rows, rest = count_rows(curator)
        synopsis = self.sketch.ask(curator, rows.estimate, self.n_clusters, rest)
        return replace(synopsis, rows_sd=rows.sd)


@dataclass(frozen=True)
class GridKMeans:
    """EUGkM: one noisy grid, then k-means on its cells with signed weights.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    sketch : GridSketch
        How the grid is made.
    n_starts : int
        Starts of k-means on the cells, judged on the synopsis alone.
    """

    n_clusters: int
    sketch: GridSketch = field(default_factory=GridSketch)
    n_starts: int = 30

    def run(self, curator: Curator) -> Clustering:
        """Count once, then search for free."""
        self.sketch.check(curator.domain)
        rows, rest = count_rows(curator)
        synopsis = self.sketch.ask(curator, rows.estimate, self.n_clusters, rest)
        found = self.sketch.search(synopsis, self.n_clusters, curator, self.n_starts)
        return clustering_on(curator, synopsis, found)
