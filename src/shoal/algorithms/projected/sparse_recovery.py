"""Balcan, Dick, Liang, Mou, Zhang 2017, algorithm 5: centres that differ from zero in few columns.

Choose the columns in which a group's rows have most mass, with noise, and sum only these. Proof:
docs/proofs/projected.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.projected.recovery import with_sizes, zero_of
from shoal.algorithms.shared.clustering import Clustering
from shoal.postprocess import centre_sd, recentre
from shoal.queries import CoordinateMass, Curator, Noise, NoisyCounts, Picked, Projected, Projection, Voronoi

# Balcan et al. choose s / eta columns, and lose a factor 1 / (1 - eta): eta = 1/2.
_PICKED_FOR_ONE = 2


@dataclass(frozen=True)
class SparseRecovery:
    """How centres of few columns are found once rows are grouped.

    Parameters
    ----------
    sparsity : int
        How many columns of a row are not zero, about.
    fewest_rows : float
        How many rows there surely are.
    share : Fraction
        Share of the budget: half for the choices, half for the sums.
    noise : Noise, optional
        Law of the noise of the sums.
    """

    sparsity: int
    fewest_rows: float
    share: Fraction
    noise: Noise | None = None

    def run(
        self, curator: Curator, projection: Projection, image: Array, sizes: NoisyCounts | None = None
    ) -> Clustering:
        """Choose columns one after the other in all groups at once, then sum them.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        projection : Projection
            To the columns that rows are grouped in.
        image : ndarray of shape (n_clusters, n_directions)
            Public centres there.
        sizes : NoisyCounts, optional
            What is known of the groups' sizes already.
        """
        k, d = len(image), curator.domain.n_columns
        cells, zero = Projected(projection, Voronoi(image)), zero_of(curator)
        n_picked = min(d, _PICKED_FOR_ONE * self.sparsity)
        taken = np.empty((k, 0), dtype=np.int64)
        for _ in range(n_picked):
            mass = CoordinateMass(cells, zero, taken)
            chosen = curator.select_each(mass, share=self.share / (2 * n_picked))
            taken = np.column_stack([taken, mass.column_of(chosen)])
        answer = curator.sums(cells, of=Picked(taken), share=self.share / 2, noise=self.noise)
        answer = with_sizes(answer, sizes)
        stay = zero[taken]
        means = recentre(answer.sums, answer.counts, answer.count_sd, fallback=stay)
        centres, sd = np.tile(zero, (k, 1)), np.full((k, d), np.inf)  # nothing is known of other columns
        np.put_along_axis(centres, taken, means, axis=1)
        found = centre_sd(means, answer.counts, answer.sum_sd, answer.count_sd)
        np.put_along_axis(sd, taken, found, axis=1)
        predicted = answer.sum_sd * k / self.fewest_rows
        return Clustering.from_sums(
            curator, centres, answer, n_picked + 1, centre_sd=sd, predicted_sd=predicted
        )
