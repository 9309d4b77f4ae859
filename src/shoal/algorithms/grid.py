"""Su, Cao, Li, Bertino, Jin 2016: uniform grid synopses (UG, EUG) and k-means on them (EUGkM).

Count the rows of every cell of a grid, once; everything after is free. Proof: docs/proofs/grid.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.algorithms.clustering import Clustering
from shoal.algorithms.rows import count_rows
from shoal.errors import InvalidInput
from shoal.postprocess import pack
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans
from shoal.queries import Curator, Grid

Array: TypeAlias = npt.NDArray[np.float64]
Resolution: TypeAlias = int | Literal["theta", "k-aware"]

# More cells than this are not held one by one.
MOST_DENSE_CELLS = 4_000_000
# The best number of cells a side was found near this multiple of k^(1/d) where rows are few.
_K_AWARE = 3.5


@dataclass(frozen=True, eq=False)
class Synopsis:
    """Released cells of a grid: everything that follows is free.

    Parameters
    ----------
    grid : Grid
        The cells.
    counts : ndarray of shape (n_cells,)
        Noisy counts of all cells; they may be negative.
    sd : float
        Standard deviation of a count's noise.
    """

    grid: Grid
    counts: Array
    sd: float

    @property
    def n_rows(self) -> float:
        """The noisy number of rows."""
        return float(self.counts.sum())

    def kmeans(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 30) -> WeightedClustering:
        """Find centres on the cells, the best of many starts.

        Parameters
        ----------
        n_clusters : int
            How many centres.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts, judged on the synopsis alone.
        """
        if not self.counts.sum() > 0:  # nothing stands out: as good as any
            return WeightedClustering(
                pack(n_clusters, len(self.grid.shape), rng), np.zeros(n_clusters), float("inf")
            )
        # Below this weight a centre's cells are noise: two standard deviations of their sum.
        least = max(1.0, 2 * self.sd * math.sqrt(self.grid.n_cells / n_clusters))
        return weighted_kmeans(
            self.grid.centres(),
            self.counts,
            n_clusters,
            rng,
            n_starts=n_starts,
            least_mass=least,
            noise=self.sd,
        )


def side_by_theta(n_rows: float, epsilon: float, n_columns: int, theta: float) -> int:
    """Return the cells a side that balance noise and grain, Su et al.: m = (N epsilon / theta)^(2/(2+d)).

    Examples
    --------
    >>> side_by_theta(5062, 1.0, 2, 10), side_by_theta(5063, 1.0, 2, 10)
    (22, 23)
    """
    ideal = math.pow(max(n_rows, 0.0) * epsilon / theta, 2 / (2 + n_columns))
    return max(2, math.floor(ideal + 0.5))


def side_by_k(n_rows: float, epsilon: float, n_columns: int, theta: float, n_clusters: int) -> int:
    """Return the cells a side that can also tell k clusters apart, where the noise allows it.

    Examples
    --------
    >>> side_by_k(5000, 0.1, 2, 10, 15)
    14
    """
    plain = side_by_theta(n_rows, epsilon, n_columns, theta)
    wanted = math.ceil(_K_AWARE * math.pow(n_clusters, 1 / n_columns))
    noise = n_clusters * math.sqrt(2 * wanted**n_columns / n_clusters) / max(n_rows * epsilon, 1e-9)
    return max(plain, wanted) if noise < 0.5 else plain


@dataclass(frozen=True)
class GridSketch:
    """How to make a synopsis.

    Parameters
    ----------
    resolution : int, "theta" or "k-aware"
        Cells a side, or the rule to find them by.
    theta : float
        Su et al.'s constant; 3 to 20 is sensible.
    """

    resolution: Resolution = "theta"
    theta: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.resolution, str) and self.resolution not in ("theta", "k-aware"):
            raise InvalidInput(
                f"resolution is {self.resolution!r}; it must be 'theta', 'k-aware' or the cells a side"
            )
        if isinstance(self.resolution, int) and self.resolution < 1:
            raise InvalidInput(f"resolution is {self.resolution}; at least 1 cell a side is wanted")
        if not 0 < self.theta < math.inf:
            raise InvalidInput(f"theta is {self.theta!r}; it must be a number above 0")

    def side(self, n_rows: float, epsilon: float, n_columns: int, n_clusters: int) -> int:
        """Return the cells a side, at most as many as can be held."""
        if isinstance(self.resolution, int):
            return self.resolution
        if self.resolution == "k-aware":
            found = side_by_k(n_rows, epsilon, n_columns, self.theta, n_clusters)
        else:
            found = side_by_theta(n_rows, epsilon, n_columns, self.theta)
        return max(1, min(found, math.floor(math.pow(MOST_DENSE_CELLS, 1 / n_columns) + 1e-9)))

    def ask(self, curator: Curator, n_rows: float, n_clusters: int, cost: Fraction) -> Synopsis:
        """Count the rows of every cell.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        n_rows : float
            Public or noisy number of rows: the exact one would show in the number of cells.
        n_clusters : int
            How many clusters the synopsis is for, where the rule asks.
        cost : Fraction
            Share of the budget.
        """
        d = curator.domain.n_columns
        grid = Grid((self.side(n_rows, effective_epsilon(curator, cost), d, n_clusters),) * d)
        answer = curator.histogram(grid, cost=cost)
        return Synopsis(grid, answer.counts, answer.sd)


def effective_epsilon(curator: Curator, cost: Fraction) -> float:
    """Return the epsilon whose Laplace noise spreads like the count noise at this cost.

    It is the share of epsilon itself under a pure budget, and serves the formulas under any other.
    """
    # The discrete law of rate e has variance 1 / (2 sinh(e/2)^2).
    return 2 * math.asinh(1 / (math.sqrt(2) * curator.count_sd(cost=cost)))


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
        n_rows, rest = count_rows(curator)
        synopsis = self.sketch.ask(curator, n_rows, self.n_clusters, rest)
        found = synopsis.kmeans(self.n_clusters, curator.public_rng("starts on the grid"), self.n_starts)
        return grid_clustering(curator, synopsis, found)


def grid_clustering(curator: Curator, synopsis: Synopsis, found: WeightedClustering) -> Clustering:
    """Turn centres found on a synopsis into a clustering, with the errors that its noise gives them."""
    k, d = found.centres.shape
    cells = synopsis.grid.n_cells / k
    mass = np.maximum(found.masses, 1.0)
    # Noise of the sum over a cluster's cells of count * (cell - centre): Su et al. (9) has the same
    # second moment of a cube of volume 2^d / k.
    reach = math.sqrt((2 / k ** (1 / d)) ** 2 / 12)
    spread = synopsis.sd * math.sqrt(cells) * reach / mass
    predicted = synopsis.sd * math.sqrt(cells) * reach * k / max(synopsis.n_rows, 1.0)
    return Clustering(
        centres=found.centres,
        sizes=found.masses,
        centre_sd=np.repeat(spread[:, np.newaxis], d, axis=1),
        size_sd=synopsis.sd * math.sqrt(cells),
        n_iter=1,
        predicted_sd=predicted,
        domain=curator.domain,
    )
