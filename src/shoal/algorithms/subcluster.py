"""Joshi and Thakkar 2022 (k-means sub-clustering), repaired.

Each cell is cut into sub-clusters, and its centre moves by what they hold. As published, sub-clusters are
found in the rows and a row becomes the centre, and nothing is private; here they are cut around public seeds
and asked for noisy sums. Proof, and what was wrong: docs/proofs/subcluster.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.accounting.budget import growing
from shoal.algorithms.convergent import GROWTH
from shoal.algorithms.shared.clustering import Clustering
from shoal.algorithms.shared.convergent_zones import reach, relative_noise, sub_seeds
from shoal.postprocess import pack
from shoal.postprocess.evidence import smallest_count
from shoal.queries import Box, Curator, Noise, NoisySums, Offset, SubCells, Voronoi

Move: TypeAlias = Literal["combined", "sampled", "largest"]

# Seeds lie this share of the reach from their centre.
SEED_DISTANCE = 0.5
# A sub-cluster drawn at random pulls its centre only half of the way.
DAMPING = 0.5


@dataclass(frozen=True)
class SubCluster:
    """Noisy sums of sub-clusters around public seeds, which tell their centre where to go.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    max_iter : int
        Rounds.
    internal_k : int
        Sub-clusters of a cell besides the one around its centre; 2 to 5 in the paper.
    move : {"combined", "sampled", "largest"}
        To the mean of all sub-clusters that are not empty; half way to that of one, drawn with a probability
        proportional to its size (the paper's rule); or to that of the largest.
    noise : Noise, optional
        Law of the noise; see :meth:`shoal.queries.Curator.sums`.
    """

    n_clusters: int
    max_iter: int = 5
    internal_k: int = 3
    move: Move = "combined"
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Cut every cell around public seeds, ask for sums and counts, and move the centres."""
        k, d = self.n_clusters, curator.domain.n_columns
        centres = pack(k, d, curator.public_rng("starting centres"))
        rng = curator.public_rng("sub-clusters")
        for t, share in enumerate(growing(self.max_iter, GROWTH)):
            radius = reach(t, k, d)
            ways = np.stack([sub_seeds(self.internal_k, d, rng) for _ in range(k)])
            # The centre itself is a seed too, so that staying has a sub-cluster.
            ways = np.concatenate([np.zeros((k, 1, d)), ways], axis=1)
            seeds = np.clip(centres[:, np.newaxis, :] + SEED_DISTANCE * radius * ways, -1.0, 1.0)
            cells = SubCells(centres, seeds, radius)
            answer = curator.sums(cells, of=Offset(cells.anchors, Box(radius)), share=share, noise=self.noise)
            parts = _Parts(cells, answer)
            centres = parts.moved(self.move, rng)
        sizes = parts.counts.sum(axis=1)
        return Clustering(
            centres=Voronoi(centres).centres,
            sizes=sizes,
            centre_sd=parts.spread(centres),
            size_sd=answer.count_sd * float(np.sqrt(self.internal_k + 2)),
            n_iter=self.max_iter,
            predicted_sd=relative_noise(curator, answer, sizes, radius),
            domain=curator.domain,
        )


class _Parts:
    """The sub-clusters of every centre, as one answer tells of them; what lies further out is one too."""

    def __init__(self, cells: SubCells, answer: NoisySums) -> None:
        k, d = cells.centres.shape
        least = smallest_count(answer.count_sd)
        self.answer, self.centres = answer, cells.centres
        self.counts = answer.counts.reshape(k, -1)
        self.anchors = cells.anchors.reshape(k, -1, d)
        # Too few rows to be told from none: not a sub-cluster. The noisy count decides, never the rows.
        self.weights = np.where(self.counts >= least, self.counts, 0.0)
        self.totals = self.weights.sum(axis=1)
        offsets = answer.sums.reshape(k, -1, d) / np.maximum(self.counts, least)[:, :, np.newaxis]
        self.means = np.clip(self.anchors + offsets, -1.0, 1.0)

    def moved(self, move: Move, rng: np.random.Generator) -> Array:
        """Return the new centres; one without sub-clusters stays where it is."""
        old = self.centres
        if move == "combined":
            return self.combined
        if move == "largest":
            pick = self.shares.argmax(axis=1)
        else:
            below = self.shares.cumsum(axis=1) <= rng.uniform(size=(len(old), 1))
            pick = np.minimum(below.sum(axis=1), self.shares.shape[1] - 1)
        step = DAMPING if move == "sampled" else 1.0
        to = old + step * (self.means[np.arange(len(old)), pick] - old)
        return np.where((self.totals > 0)[:, np.newaxis], to, old)

    @property
    def shares(self) -> Array:
        """The share of each sub-cluster in its centre's."""
        return np.asarray(self.weights / np.where(self.totals > 0, self.totals, 1.0)[:, np.newaxis])

    @property
    def combined(self) -> Array:
        """The mean of every centre's sub-clusters, or the centre where there are none."""
        mean = (self.shares[:, :, np.newaxis] * self.means).sum(axis=1)
        return np.where((self.totals > 0)[:, np.newaxis], mean, self.centres)

    def spread(self, centres: Array) -> Array:
        """Return the standard error that the noise gives the mean of a centre's sub-clusters.

        The mean is the sum over them of n a + S, with anchor a, over the sum of n. To first order it moves
        with the noise of S and with (a - mean) times that of n, over the sum of n. A centre that another rule
        has moved elsewhere is off by as much as it is away.
        """
        used = (self.weights > 0)[:, :, np.newaxis]
        mean = self.combined
        by_count = ((self.anchors - mean[:, np.newaxis, :]) * self.answer.count_sd) ** 2
        variance = (used * (self.answer.sum_sd**2 + by_count)).sum(axis=1)
        total = np.where(self.totals > 0, self.totals, 1.0)[:, np.newaxis]
        away = np.hypot(np.sqrt(variance) / total, centres - mean)
        return np.where((self.totals > 0)[:, np.newaxis], away, np.inf)
