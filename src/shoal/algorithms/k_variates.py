"""Nock, Canyasse, Boreli, Nielsen 2016: k-variates++, private by running on a released synopsis.

As published it is private only for tables that nobody can check. Proof: docs/proofs/k_variates.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from shoal.algorithms.grid import GridSketch
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.synopses.groups import clustering_on
from shoal.queries import Curator, Voronoi


@dataclass(frozen=True)
class KVariates:
    """k-variates++ on a noisy grid: far cells first, and a place in each at random.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    sketch : GridSketch
        How the grid is made.
    refine : bool
        Whether the centres are starts of k-means on the cells, or released as they are, as published.
    """

    n_clusters: int
    sketch: GridSketch = field(default_factory=GridSketch)
    refine: bool = False

    def run(self, curator: Curator) -> Clustering:
        """Count once, then draw centres for free."""
        self.sketch.check(curator.domain)
        rows, rest = count_rows(curator)
        synopsis = self.sketch.ask(curator, rows.estimate, self.n_clusters, rest)
        rng = curator.public_rng("k-variates++")
        found = synopsis.k_variates(self.n_clusters, rng, refine=self.refine)
        clustering = clustering_on(curator, synopsis, found)
        centres = Voronoi(found.centres).centres
        if self.refine:
            return replace(clustering, centres=centres)
        # A place at random in a cell at random: it estimates nothing, so it has no error.
        return replace(clustering, centres=centres, centre_sd=np.full(centres.shape, np.inf))
