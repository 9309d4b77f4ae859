"""Ni, Li, Wang, Jiang, Yu 2018: DP-KCCM, over-cluster with more budget for late rounds, then merge to k.

Its parts can be had one by one: `average_k` is DPLloyd with twelve rounds. Proof: docs/proofs/merging.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from shoal.accounting.plan import Plan, equal, weighted
from shoal.algorithms.clustering import Clustering
from shoal.algorithms.lloyd import refine
from shoal.postprocess import pack
from shoal.postprocess.merge import Merge, merge
from shoal.postprocess.recentre import smallest_count
from shoal.queries import Curator, Noise

Variant: TypeAlias = Literal["average_k", "allocation_k", "average_nk", "allocation_nk"]

# Ni et al., section 4: three thirds of the rounds get epsilon/24, /12 and /8 each of twelve.
_THIRDS = (1, 2, 3)


@dataclass(frozen=True)
class Merging:
    """Noisy Lloyd with a multiple of k centres, merged to k.

    Parameters
    ----------
    n_clusters : int
        How many centres come out.
    variant : {"allocation_nk", "average_nk", "allocation_k", "average_k"}
        Whether later rounds get more budget ("allocation"), and whether there are more centres than k.
    factor : int
        How many times k centres there are in the variants with "nk"; 3 in the paper.
    max_iter : int
        Rounds; 12 in the paper.
    merge : {"published", "ward", "kmeans"}
        How centres are merged.
    noise : {"linf", "laplace", "split", "gaussian"}, optional
        Law of the noise; "laplace" in the paper.
    """

    n_clusters: int
    variant: Variant = "allocation_nk"
    factor: int = 3
    max_iter: int = 12
    merge: Merge = "published"
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Refine many centres, then merge what was released."""
        over = self.variant.endswith("_nk")
        n_centres = self.n_clusters * (self.factor if over else 1)
        start = pack(n_centres, curator.domain.n_columns, curator.public_rng("starting centres"))
        found = refine(curator, start, self.plan(), self.noise)
        return merge_to(found, self.n_clusters, self.merge, curator) if over else found

    def plan(self) -> Plan:
        """Cut the budget into rounds."""
        if self.variant.startswith("average"):
            return equal(self.max_iter)
        # Rounds 1-4, 5-8 and 9-12 of twelve weigh 1, 2 and 3.
        return weighted([_THIRDS[min(3 * t // self.max_iter, 2)] for t in range(self.max_iter)])


def merge_to(found: Clustering, n_clusters: int, how: Merge, curator: Curator) -> Clustering:
    """Merge a clustering's centres, with the errors that their noise gives the merged ones."""
    least = smallest_count(found.size_sd)
    rng = curator.public_rng("starts of the merge")
    centres, sizes = merge(found.centres, found.sizes, n_clusters, least, how, rng)
    parts = len(found.centres) / n_clusters
    # A merged centre averages about this many, so its error is a typical one's over the root of that.
    typical = np.median(found.centre_sd, axis=0) / np.sqrt(parts)
    return replace(
        found,
        centres=np.clip(centres, -1.0, 1.0),
        sizes=sizes,
        centre_sd=np.tile(typical, (n_clusters, 1)),
        size_sd=found.size_sd * float(np.sqrt(parts)),
    )
