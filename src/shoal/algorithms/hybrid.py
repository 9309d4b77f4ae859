"""Su, Cao, Li, Bertino, Jin 2016: Hybrid, a grid synopsis and then one round of noisy Lloyd.

Half the budget finds centres on a grid, half refines them, where the analysis says that the refinement is
worth it; otherwise all goes to the grid. Proof: docs/proofs/hybrid.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from shoal.algorithms.clustering import Clustering
from shoal.algorithms.grid import GridSketch, effective_epsilon, grid_clustering
from shoal.algorithms.lloyd import RHO, refine
from shoal.algorithms.rows import count_rows
from shoal.queries import Curator, Noise


def smallest_epsilon(n_rows: float, n_columns: int, n_clusters: int, theta: float = 10.0) -> float:
    """Return the epsilon above which a round of Lloyd is worth half the budget, Su et al. (15).

    One round at epsilon/2 has squared error 8 d (1 + 4 rho^2)(k (d + 1) / (N epsilon))^2, equation (13); the
    grid at epsilon has 2 d k^((d-2)/d) / (3 theta^(2d/(2+d)) (N epsilon)^(4/(2+d))), equation (9). The first
    is the smaller one from this epsilon on, with r = 1.

    Examples
    --------
    >>> round(smallest_epsilon(5000, 2, 15), 1), round(smallest_epsilon(48_841, 6, 5), 3)
    (58.4, 0.068)
    """
    d, k = n_columns, n_clusters
    inner = 12 * (1 + 4 * RHO**2) * math.pow(k, (d + 2) / d) * (d + 1) ** 2
    return theta / max(n_rows, 1.0) * math.pow(inner, (d + 2) / (2 * d))


def round_error(sum_sd: float, n_rows: float, n_columns: int, n_clusters: int) -> float:
    """Return the squared error of a centre after a round with this noise, offsets from it being small."""
    return n_columns * (sum_sd * n_clusters / max(n_rows, 1.0)) ** 2


def grid_error(epsilon: float, n_rows: float, n_columns: int, n_clusters: int, theta: float) -> float:
    """Return the squared error of a centre found on the grid, Su et al. (9) with M by theta.

    Examples
    --------
    >>> round(grid_error(1.0, 5000, 2, 15, 10.0), 7)
    2.67e-05
    """
    d, n = n_columns, max(n_rows * epsilon, 1e-9)
    grain = 3 * math.pow(theta, 2 * d / (2 + d)) * math.pow(n, 4 / (2 + d))
    return 2 * d * math.pow(n_clusters, (d - 2) / d) / grain


@dataclass(frozen=True)
class Hybrid:
    """Centres from a grid, refined by one round of noisy Lloyd where that pays.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    sketch : GridSketch
        How the grid is made.
    n_starts : int
        Starts of k-means on the cells.
    noise : {"linf", "laplace", "split", "gaussian"}, optional
        Law of the noise of the refinement.
    gate : {"published", "improved", "always"}
        When to refine: by the published threshold; by the noise that is really drawn, which is smaller; or
        always.
    """

    n_clusters: int
    sketch: GridSketch = field(default_factory=GridSketch)
    n_starts: int = 30
    noise: Noise | None = None
    gate: Literal["published", "improved", "always"] = "published"

    def run(self, curator: Curator) -> Clustering:
        """Count once, search for free, refine once if the gate opens."""
        n_rows, rest = count_rows(curator)
        refines = self.opens(curator, n_rows, rest)
        cost = rest / 2 if refines else rest
        synopsis = self.sketch.ask(curator, n_rows, self.n_clusters, cost)
        found = synopsis.kmeans(self.n_clusters, curator.public_rng("starts on the grid"), self.n_starts)
        if refines:
            return refine(curator, found.centres, (cost,), self.noise)
        return grid_clustering(curator, synopsis, found)

    def opens(self, curator: Curator, n_rows: float, rest: Fraction) -> bool:
        """Say whether a round of Lloyd is predicted to be worth half the budget, from public values."""
        if self.gate == "always":
            return True
        d, k, theta = curator.domain.n_columns, self.n_clusters, self.sketch.theta
        epsilon = effective_epsilon(curator, rest)
        if self.gate == "published":
            return epsilon >= smallest_epsilon(n_rows, d, k, theta)
        sum_sd, _ = curator.noise_sd(cost=rest / 2, noise=self.noise)
        return round_error(sum_sd, n_rows, d, k) <= grid_error(epsilon, n_rows, d, k, theta)
