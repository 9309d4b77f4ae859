"""Ni, Qiao, Chen, Zhang, Zhong 2020: DP-KCCM, over-cluster with more budget for late rounds, then merge to k.

Its parts can be had one by one: `average_k` is DPLloyd with twelve rounds. Proof: docs/proofs/merging.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array, Integers
from shoal.accounting.budget import Plan, equal, weighted
from shoal.algorithms.lloyd import noisy_lloyd
from shoal.algorithms.shared.clustering import Clustering
from shoal.postprocess import pack
from shoal.postprocess.evidence import smallest_count
from shoal.postprocess.merge import Merge, merge, merge_weights
from shoal.queries import Curator, Noise

Variant: TypeAlias = Literal["average_k", "allocation_k", "average_nk", "allocation_nk"]

# Ni et al., section 3.1: three thirds of the rounds get epsilon/24, /12 and /8 each of twelve.
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
    noise : Noise, optional
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
        start = pack(n_centres, curator.domain.n_columns, curator.public_rng("starting centres"), always=True)
        found = noisy_lloyd(curator, start, self.plan(), self.noise)
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
    column_scale = curator.domain.column_scale
    weights = merge_weights(found.sizes, least, how)
    centres, labels = merge(found.centres, weights, n_clusters, how, rng, column_scale)
    merged = np.clip(centres, -1.0, 1.0)
    parts = np.bincount(labels, minlength=n_clusters)
    return replace(
        found,
        centres=merged,
        sizes=np.bincount(labels, found.sizes, n_clusters).astype(np.float64),
        centre_sd=merged_sd(found, merged, labels, weights),
        # One number for all groups: that of the group with the most parts.
        size_sd=found.size_sd * float(np.sqrt(parts.max())),
    )


def merged_sd(found: Clustering, merged: Array, labels: Integers, weights: Array) -> Array:
    """Return the standard error of every merged centre C, the sum over its parts of w c over the sum of w.

    A part that rests on rows has w c = S, its noisy sum, so to first order it adds the noise of S - C n. One
    that does not has a public w and c as it was before: it pulls C away from its rows by w (c - C), all of
    which is taken for error. A merged centre of such parts alone rests on no rows.
    """
    rests = np.isfinite(found.centre_sd).all(axis=1, keepdims=True)
    weights = weights[:, np.newaxis]
    own, to = found.centres, merged[labels]
    spread = np.where(rests, found.centre_sd, 0.0)
    # (w sd)^2 is the variance of S - c n; what n adds is to be had for C in place of c.
    noise = (weights * spread) ** 2 + (to**2 - own**2) * found.size_sd**2
    parts = np.where(rests, np.maximum(noise, 0.0), (weights * (own - to)) ** 2)
    variance, total = np.zeros_like(merged), np.zeros((len(merged), 1))
    np.add.at(variance, labels, parts)
    np.add.at(total, labels, weights)
    known = np.zeros((len(merged), 1), dtype=np.bool_)
    np.logical_or.at(known, labels, rests)
    return np.where(known, np.sqrt(variance) / np.where(known, total, 1.0), np.inf)
