"""Su, Cao, Li, Bertino, Jin 2016: Hybrid, a grid synopsis and then one round of noisy Lloyd.

Half the budget finds centres on a grid, half refines them, where the analysis says that the refinement is
worth it; otherwise all goes to the grid. Proof: docs/proofs/hybrid.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from shoal.algorithms.grid import GridSketch
from shoal.algorithms.lloyd import noisy_lloyd
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.shared.su_error import grid_cells, grid_variance, lloyd_error, smallest_epsilon
from shoal.algorithms.synopses.groups import clustering_on
from shoal.queries import Curator, Noise


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
    noise : Noise, optional
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
        self.sketch.check(curator.domain)
        rows, rest = count_rows(curator)
        refines = self.opens(curator, rows.estimate, rest)
        share = rest / 2 if refines else rest
        synopsis = self.sketch.ask(curator, rows.estimate, self.n_clusters, share)
        found = self.sketch.search(synopsis, self.n_clusters, curator, self.n_starts)
        if refines:
            refined = noisy_lloyd(curator, found.centres, (share,), self.noise)
            return replace(refined, shown=synopsis.shown())
        return clustering_on(curator, synopsis, found)

    def opens(self, curator: Curator, n_rows: float, rest: Fraction) -> bool:
        """Say whether a round of Lloyd is predicted to be worth half the budget, from public values."""
        if self.gate == "always":
            return True
        d, k, theta = curator.domain.n_columns, self.n_clusters, self.sketch.theta
        epsilon = curator.effective_epsilon(share=rest)
        if self.gate == "published":
            return epsilon >= smallest_epsilon(n_rows, d, k, theta)
        # Offsets from a centre that is nearly right are small, so the count's noise drops out.
        sum_sd, _ = curator.noise_sd(share=rest / 2, noise=self.noise)
        refined = lloyd_error(n_rows, d, k, sum_sd**2, 0.0)
        return refined <= grid_variance(n_rows, d, k, epsilon, grid_cells(n_rows, epsilon, d, theta))
