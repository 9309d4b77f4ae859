"""Groups found on a synopsis, with the errors that its noise gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.algorithms.shared.clustering import Clustering, rows_at_least
from shoal.algorithms.synopses.boxes import BoxCounts
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.domain import Domain
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.queries import Curator


class MakesSynopsis(Protocol):
    """An algorithm whose result is a synopsis of boxes."""

    def check(self, domain: Domain) -> None:
        """Refuse what cannot work, from public values, before anything is spent."""
        ...

    def run(self, curator: Curator) -> BoxCounts:
        """Ask the curator."""
        ...


@dataclass(frozen=True)
class GroupsOn:
    """Groups found on a synopsis: their errors say what it is worth, before it is paid for.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    sketch : MakesSynopsis
        What makes the synopsis.
    n_starts : int
        Starts of k-means on it.
    """

    n_clusters: int
    sketch: MakesSynopsis
    n_starts: int = 30

    def run(self, curator: Curator) -> Clustering:
        """Ask once, then search for free."""
        synopsis = self.sketch.run(curator)
        found = synopsis.kmeans(self.n_clusters, curator.public_rng("starts on the synopsis"), self.n_starts)
        return clustering_on(curator, synopsis, found)


def clustering_on(curator: Curator, synopsis: Synopsis, found: WeightedClustering) -> Clustering:
    """Turn centres found on a synopsis into a clustering, with the errors that its noise gives them."""
    k, d = found.centres.shape
    # Noise of the sum over a cluster's cells of count * (cell - centre): Su et al. (9) has the same
    # second moment of a cube of volume 2^d / k.
    reach = math.sqrt((2 / k ** (1 / d)) ** 2 / 12)
    noise = synopsis.total_sd / math.sqrt(k)
    spread = noise * reach / np.maximum(found.masses, 1.0)
    # Rows that were lost are in no centre, so they do not help against the noise.
    known = synopsis.is_whole and curator.n_rows is not None
    rows = synopsis.rows if known else rows_at_least(synopsis.kept, synopsis.total_sd)
    return Clustering(
        centres=found.centres,
        sizes=found.masses,
        centre_sd=np.repeat(spread[:, np.newaxis], d, axis=1),
        # Lost rows may belong to any group: nothing from 0 to x has a deviation above x / 2.
        size_sd=math.hypot(noise, synopsis.lost / 2),
        n_iter=1,
        predicted_sd=noise * reach * k / max(rows, 1.0),
        domain=synopsis.domain,
        shown=synopsis.shown(),
    )
