"""Lu and Shen 2020, Joshi and Thakkar 2022, and Nock et al. 2016, as published: **not private**, to compare.

An algorithm sees no rows, so all it does is ask the gate: see `shoal.queries.questions.published` and
`seeds_published` for what it is, and docs/proofs/published.md and k_variates.md for what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.shared.clustering import Clustering
from shoal.queries import AsPublished, Curator, NotPrivate, SeedsAsPublished
from shoal.queries.questions.published import EmptyZone, Zones


@dataclass(frozen=True)
class Published:
    """Centres as the papers have them. There is no guarantee, whatever the parameters are.

    Parameters
    ----------
    n_clusters, zones, rounds, internal_k, sharpness, dampening, empty_zone
        As in :class:`shoal.queries.AsPublished`.
    """

    n_clusters: int
    zones: Zones = "sub-clusters"
    rounds: int = 5
    internal_k: int = 3
    sharpness: float = 0.5
    dampening: float = 0.5
    empty_zone: EmptyZone = "whole zone"

    def run(self, curator: Curator) -> Clustering:
        """Ask for it."""
        found = curator.as_published(
            AsPublished(
                self.zones,
                self.n_clusters,
                self.rounds,
                self.internal_k,
                self.sharpness,
                self.dampening,
                self.empty_zone,
            )
        )
        if self.zones == "orientation":
            curator.note(
                f"sampling zones were empty in {found.empty_zones:.0%} of the moves: {self.empty_zone}"
            )
        return _clustering(curator, found, self.rounds)


@dataclass(frozen=True)
class PublishedSeeds:
    """Seeds of k-variates++ as the paper has them. There is no guarantee, whatever the parameters are.

    Parameters
    ----------
    n_clusters, sharpness
        As in :class:`shoal.queries.SeedsAsPublished`.
    """

    n_clusters: int
    sharpness: float = 1.0

    def run(self, curator: Curator) -> Clustering:
        """Ask for it."""
        return _clustering(
            curator, curator.as_published(SeedsAsPublished(self.n_clusters, self.sharpness)), 1
        )


def _clustering(curator: Curator, found: NotPrivate, rounds: int) -> Clustering:
    k, d = found.centres.shape
    return Clustering(
        centres=found.centres,
        # The papers release no sizes, and know of no error.
        sizes=np.zeros(k),
        centre_sd=np.full((k, d), np.inf),
        size_sd=np.inf,
        n_iter=rounds,
        predicted_sd=0.0,
        domain=curator.domain,
    )
