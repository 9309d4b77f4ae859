"""Feldman, Xiang, Zhu, Rus 2017: private coresets for k-means (PRIVATE-K-MEAN).

`sketch.py` has how a coreset is made; here it is released, or groups are found on it for free. Proof and
repairs: docs/proofs/coreset.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.algorithms.coreset.sketch import STRENGTH, CoresetSketch, Shares
from shoal.algorithms.coreset.small_ball import Search
from shoal.algorithms.shared.clustering import Clustering
from shoal.algorithms.synopses.coreset import Coreset
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.queries import Curator, Voronoi


@dataclass(frozen=True)
class PrivateCoreset:
    """A coreset, released as it is.

    Parameters
    ----------
    sketch : CoresetSketch
        How it is made.
    """

    sketch: CoresetSketch

    def run(self, curator: Curator) -> Coreset:
        """Find the points."""
        self.sketch.check(curator.domain)
        return self.sketch.ask(curator)


@dataclass(frozen=True)
class CoresetKMeans:
    """PRIVATE-K-MEAN: k-means on a private coreset.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    search : {"windows", "published"}
        How a small ball is found.
    strength : float
        What the epsilon of a round times the rows of its ball must be at least.
    refine : bool
        Whether points move to the means of the rows around them.
    n_starts : int
        Starts of k-means on the coreset.
    shares : {"fitted", "published"}
        What a round costs.
    """

    n_clusters: int
    search: Search = "windows"
    strength: float = STRENGTH
    refine: bool = True
    n_starts: int = 30
    shares: Shares = "fitted"

    @property
    def sketch(self) -> CoresetSketch:
        """How the coreset is made."""
        return CoresetSketch(self.n_clusters, self.search, self.strength, self.refine, self.shares)

    def run(self, curator: Curator) -> Clustering:
        """Make a coreset, then search it for free."""
        self.sketch.check(curator.domain)
        starts = curator.public_rng("starts on the coreset")
        coreset = self.sketch.ask(curator)
        return coreset_clustering(coreset, coreset.kmeans(self.n_clusters, starts, self.n_starts))


def coreset_clustering(coreset: Coreset, found: WeightedClustering) -> Clustering:
    """Turn centres found on a coreset into a clustering."""
    return Clustering(
        centres=Voronoi(found.centres).centres,
        sizes=found.masses,
        # The noise is in where balls were found: there is no error to be had for a coordinate.
        centre_sd=np.full(found.centres.shape, np.inf),
        size_sd=coreset.sd * math.sqrt(len(coreset.points) / len(found.centres)),
        n_iter=len(coreset.points),
        predicted_sd=coreset.point_sd,
        domain=coreset.domain,
    )
