"""Lu and Shen 2020 (differentially private k-means with convergence guarantee), repaired.

Each centre moves into a zone around the mean of its rows, to a point that they choose. As published, mean,
zone and points are the rows' own, and nothing is private; here the mean is noisy and the zone is made from
released values. Proof, and what was wrong: docs/proofs/convergent.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.accounting.budget import growing
from shoal.algorithms.shared.clustering import Clustering
from shoal.algorithms.shared.convergent_zones import reach, relative_noise, sampling_zone
from shoal.postprocess import centre_sd, pack, recentre
from shoal.queries import Box, Curator, Noise, Offset, OffsetCost, Voronoi

GROWTH = Fraction(6, 5)
"""Each round gets this many times the budget of the one before."""

SHARE_FOR_CHOICE = Fraction(1, 5)
"""What choosing costs of a round. It is not in the paper, and measured: more only takes from the means."""


@dataclass(frozen=True)
class Convergent:
    """Noisy means, then a private choice among public points of a zone around each.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    max_iter : int
        Rounds.
    n_candidates : int
        Points that each centre's rows choose among, the noisy mean included; with 1 there is no choice, and
        the whole budget goes to the means.
    noise : Noise, optional
        Law of the means' noise; see :meth:`shoal.queries.Curator.sums`.
    """

    n_clusters: int
    max_iter: int = 5
    n_candidates: int = 8
    noise: Noise | None = None

    def run(self, curator: Curator) -> Clustering:
        """Ask for noisy means, lay a zone around each, and let the rows of each cell choose."""
        k, d, column_scale = self.n_clusters, curator.domain.n_columns, curator.domain.column_scale
        centres = pack(k, d, curator.public_rng("starting centres"))
        rng = curator.public_rng("zones")
        choice = SHARE_FOR_CHOICE if self.n_candidates > 1 else Fraction(0)
        for t, share in enumerate(growing(self.max_iter, GROWTH)):
            cells, radius = Voronoi(centres), reach(t, k, d)
            answer = curator.sums(
                cells, of=Offset(centres, Box(radius)), share=share * (1 - choice), noise=self.noise
            )
            # An empty cell's offset is nothing: its centre stays.
            offsets = recentre(answer.sums, answer.counts, answer.count_sd, np.zeros((k, d)))
            targets = np.clip(cells.centres + offsets, -1.0, 1.0)
            centres = targets
            if choice:
                zone = sampling_zone(cells.centres, targets, self.n_candidates, column_scale, rng)
                loss = OffsetCost(cells, targets, zone, 2 * radius)
                centres = zone[np.arange(k), curator.select_each(loss, share=share * choice)]
        spread = centre_sd(offsets, answer.counts, answer.sum_sd, answer.count_sd)
        # How far the chosen point lies from the noisy mean is known, and adds to that mean's error.
        error, predicted = (
            np.hypot(spread, centres - targets),
            relative_noise(curator, answer, answer.counts, radius),
        )
        return Clustering.from_sums(
            curator, centres, answer, self.max_iter, centre_sd=error, predicted_sd=predicted
        )
