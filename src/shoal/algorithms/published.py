"""Lu and Shen 2020, and Joshi and Thakkar 2022, as published: **not private**, to compare with.

An algorithm sees no rows, so all it does is ask the gate: see `shoal.queries.questions.published` for what
it is, and docs/proofs/published.md for what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.shared.clustering import Clustering
from shoal.queries import AsPublished, Curator
from shoal.queries.questions.published import Zones


@dataclass(frozen=True)
class Published:
    """Centres as the papers have them. There is no guarantee, whatever the parameters are.

    Parameters
    ----------
    n_clusters, zones, rounds, internal_k, sharpness, dampening
        As in :class:`shoal.queries.AsPublished`.
    """

    n_clusters: int
    zones: Zones = "sub-clusters"
    rounds: int = 5
    internal_k: int = 3
    sharpness: float = 0.5
    dampening: float = 0.5

    def run(self, curator: Curator) -> Clustering:
        """Ask for it."""
        k, d = self.n_clusters, curator.domain.n_columns
        found = curator.as_published(
            AsPublished(self.zones, k, self.rounds, self.internal_k, self.sharpness, self.dampening)
        )
        return Clustering(
            centres=found.centres,
            # The papers release no sizes, and know of no error.
            sizes=np.zeros(k),
            centre_sd=np.full((k, d), np.inf),
            size_sd=np.inf,
            n_iter=self.rounds,
            predicted_sd=0.0,
            domain=curator.domain,
        )
