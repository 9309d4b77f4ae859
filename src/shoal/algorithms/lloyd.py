"""Blum, Dwork, McSherry, Nissim 2005 (SuLQ), as DPLloyd in Su, Cao, Li, Bertino, Jin 2016.

Lloyd's algorithm with noisy sums and counts. Proof: docs/proofs/lloyd.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.accounting.budget import equal, growing, portion
from shoal.algorithms.shared.clustering import Clustering, count_rows
from shoal.algorithms.shared.su_error import lloyd_error
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess import divide, pack, recentre
from shoal.queries import Curator, Noise, Voronoi

Init: TypeAlias = Literal["packing", "uniform"]
Division: TypeAlias = Literal["guarded", "plain"]

# Su et al.: a round is worth its budget while the k centres' total squared error stays below this.
MAX_TOTAL_ERROR = 0.004


@dataclass(frozen=True)
class Lloyd:
    """Noisy Lloyd: assign, sum, add noise, divide; a fixed number of times.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    max_iter : int or "auto"
        Rounds, or "auto": 2 to 7, as many as the noise allows for the public or paid-for number of rows.
    noise : Noise, optional
        Law of the noise; see :meth:`shoal.queries.Curator.sums`.
    spending : {"equal", "growing"}
        Whether all rounds cost the same, or each a quarter more than the one before.
    init : {"packing", "uniform"} or tuple of tuple of float
        Where centres start: spread by sphere packing (Su et al., 4.1.1), drawn evenly from the domain as in
        the plain DPLloyd that they compare with, or at public points, in the table's own units.
    division : {"guarded", "plain"}
        What becomes of noisy sums and counts: "plain" is S/C as published; "guarded", which is ours, keeps a
        centre whose count may be noise alone.
    """

    n_clusters: int
    max_iter: int | Literal["auto"] = 5
    noise: Noise | None = None
    spending: Literal["equal", "growing"] = "equal"
    init: Init | tuple[tuple[float, ...], ...] = "packing"
    division: Division = "guarded"

    def check(self, domain: Domain) -> None:
        """Refuse starting centres of another number or other columns, before anything is spent."""
        if not isinstance(self.init, tuple):
            return
        if len(self.init) != self.n_clusters or any(len(point) != domain.n_columns for point in self.init):
            raise InvalidInput(
                f"init has {len(self.init)} centres of {len(self.init[0]) if self.init else 0} columns; "
                f"{self.n_clusters} of {domain.n_columns} are wanted, or 'packing' or 'uniform'"
            )

    def run(self, curator: Curator) -> Clustering:
        """Ask for noisy sums around the current centres, and move the centres there."""
        shares = self.plan(curator)
        return noisy_lloyd(curator, self.start(curator), shares, self.noise, self.division)

    def start(self, curator: Curator) -> Array:
        """Return the centres that the first round is asked about; they know nothing of the rows."""
        if isinstance(self.init, tuple):
            bounds, half = curator.domain.bounds, curator.domain.bounds.half_width
            away = np.array(self.init, dtype=np.float64) - np.asarray(bounds.lower) - half
            return np.asarray(np.clip(away / np.where(half > 0, half, 1.0), -1.0, 1.0))
        rng, d = curator.public_rng("starting centres"), curator.domain.n_columns
        if self.init == "uniform":
            return rng.uniform(-1.0, 1.0, (self.n_clusters, d))
        return pack(self.n_clusters, d, rng, always=True)

    def plan(self, curator: Curator) -> tuple[Fraction, ...]:
        """Cut the budget into rounds; "auto" pays for a count of rows first unless it is public."""
        shares = equal if self.spending == "equal" else growing
        if self.max_iter != "auto":
            return shares(self.max_iter)
        rows, rest = count_rows(curator)
        return portion(shares(self.rounds(curator, rows.estimate, rest)), rest)

    def rounds(self, curator: Curator, n_rows: float, share: Fraction) -> int:
        """Return the largest number of rounds, 2 to 7, whose predicted error is worth it.

        One round has k times the error of a centre, Su et al. (6) with the law's own variances.
        """
        k, d = self.n_clusters, curator.domain.n_columns
        for rounds in range(7, 2, -1):
            sum_sd, count_sd = curator.noise_sd(share=share / rounds, noise=self.noise)
            error = k * lloyd_error(n_rows, d, k, sum_sd**2, count_sd**2)
            if math.isfinite(error) and error <= MAX_TOTAL_ERROR:
                return rounds
        return 2


def noisy_lloyd(
    curator: Curator,
    centres: Array,
    shares: tuple[Fraction, ...],
    noise: Noise | None,
    division: Division = "guarded",
) -> Clustering:
    """Run rounds of noisy Lloyd from public centres.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    centres : ndarray of shape (n_clusters, n_columns)
        Public points of [-1, 1]^d.
    shares : tuple of Fraction
        Share of the budget of each round; at least one.
    noise : Noise, optional
        Law of the noise.
    division : {"guarded", "plain"}
        See :class:`Lloyd`.
    """
    for share in shares:
        answer = curator.sums(Voronoi(centres), share=share, noise=noise)
        if division == "plain":
            centres = divide(answer.sums, answer.counts, fallback=centres)
        else:
            centres = recentre(answer.sums, answer.counts, answer.count_sd, fallback=centres)
    return Clustering.from_sums(curator, centres, answer, len(shares))
