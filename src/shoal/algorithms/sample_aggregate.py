"""Mohan, Thakurta, Shi, Song, Culler 2012 (GUPT), as GkM and GkM-3K in Su, Cao, Li, Bertino, Jin 2016.

Cluster many small blocks of rows apart, average their centres, add noise to the mean. Proof:
docs/proofs/sample_aggregate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal.algorithms.shared.bounds import tighten
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.postprocess import pack
from shoal.queries import Curator, Marginal, Noise, Voronoi

BlockRule: TypeAlias = int | Literal["n^0.4", "3k"]
Range: TypeAlias = Literal["loose", "tight", "helper"]
Align: TypeAlias = Literal["matched", "sorted"]

# The published algorithm releases no sizes; this much of the budget pays for them.
SHARE_FOR_SIZES = Fraction(1, 20)
# Intervals per column that ranges are tightened on: an end is off by a 32nd of the range. Not tuned.
_INTERVALS = 32
# Each takes memory, and a noisy number of rows may be anything.
_MOST_BLOCKS = 1_000_000


@dataclass(frozen=True)
class SampleAggregate:
    """k-means in every block, then a noisy mean over blocks.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    blocks : "n^0.4", "3k" or int
        How many blocks: N^0.4 (GkM), N/(3k) (GkM-3K), or given.
    ranges : {"loose", "helper", "tight"}
        What centres are clamped to: the whole domain; private quantiles, for half the budget; or `within`.
    within : tuple of (float, float)
        With "tight": a public range of each column, in units of the half width around the middle.
    align : {"matched", "sorted"}
        Which centre of a block is the first: each is matched to the nearest of k public points (ours); or
        they are sorted by their first column, as GUPT does.
    noise : Noise, optional
        Law of the noise; "laplace" in the paper.
    """

    n_clusters: int
    blocks: BlockRule = "n^0.4"
    ranges: Range = "loose"
    within: tuple[tuple[float, float], ...] = ()
    align: Align = "matched"
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Ask for the mean of the blocks' centres."""
        d, k = curator.domain.n_columns, self.n_clusters
        rows, rest = count_rows(curator)
        share = rest - SHARE_FOR_SIZES
        pairs = [(-1.0, 1.0)] * d
        if self.ranges == "tight":
            pairs = list(self.within)
        elif self.ranges == "helper":
            share /= 2  # Su et al. (3): the other half estimates the range
            pairs = [self._quantiles(curator, j, share / d) for j in range(d)]
        reference = pack(k, d, curator.public_rng("centres to match to"))
        lower, upper = tuple(low for low, _ in pairs), tuple(high for _, high in pairs)
        reference = np.clip(reference, lower, upper)
        if self.align == "sorted":  # a block without rows answers with these
            reference = reference[np.lexsort(reference.T[::-1])]
        blocks = self.n_blocks(rows.estimate)
        answer = curator.blocks(
            blocks, reference, (lower, upper), share=share, noise=self.noise, align=self.align
        )
        # A block of fewer than k rows answers with public centres: then there is no noise, and no signal.
        filled = rows.at_least >= k * blocks
        sizes = curator.histogram(Voronoi(answer.means), share=SHARE_FOR_SIZES)
        return Clustering(
            centres=Voronoi(answer.means).centres,
            sizes=sizes.counts,
            centre_sd=np.tile(answer.sd, (k, 1)),
            size_sd=sizes.sd,
            n_iter=1,
            predicted_sd=float(answer.sd.max()) if filled else math.inf,
            domain=curator.domain,
        )

    def n_blocks(self, n_rows: float) -> int:
        """Return the number of blocks, from a public or noisy number of rows."""
        if isinstance(self.blocks, int):
            return self.blocks
        rule = math.pow(max(n_rows, 1.0), 0.4) if self.blocks == "n^0.4" else n_rows / (3 * self.n_clusters)
        return max(1, math.floor(min(rule, _MOST_BLOCKS) + 0.5))  # rounded, as in Su et al., table 1

    def _quantiles(self, curator: Curator, column: int, share: Fraction) -> tuple[float, float]:
        answer = curator.histogram(Marginal(column, _INTERVALS), share=share)
        return tighten(answer.counts, answer.sd, -1.0, 1.0)
