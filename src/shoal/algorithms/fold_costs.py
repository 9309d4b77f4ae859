"""Noisy costs of several sets of public centres: what a private search over parameters judges them by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.registry import AlgorithmInfo, Status
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.queries import Ball, Curator, Offset, Voronoi, WithCost


@dataclass(frozen=True, eq=False)
class Costs:
    """What sets of centres cost a row, on average.

    Parameters
    ----------
    totals : ndarray of shape (n_sets,)
        Noisy sums of squared distance to the nearest centre, in scaled units; each at most that of half the
        diagonal of the domain.
    rows : ndarray of shape (n_sets,)
        Noisy numbers of rows, as each of the answers has counted them.
    sd : ndarray of shape (n_sets,)
        Standard deviations of the totals' noise.
    domain : Domain
        What they are scaled to.
    """

    totals: Array
    rows: Array
    sd: Array
    domain: Domain


@dataclass(frozen=True, eq=False)
class FoldCosts:
    """Ask what each of several sets of centres costs: one question a set, with equal shares.

    Parameters
    ----------
    sets : tuple of ndarray of shape (n_clusters, n_columns)
        Public centres in [-1, 1]^d.
    """

    sets: tuple[Array, ...]

    def __post_init__(self) -> None:
        if not self.sets:
            raise InvalidInput("there are no sets of centres to compare")

    def run(self, curator: Curator) -> Costs:
        """Ask one question a set."""
        share, found = Fraction(1, len(self.sets)), []
        # No row is counted as further off than half the diagonal, whatever the centres.
        reach = Ball(math.sqrt(curator.domain.n_columns))
        for centres in self.sets:
            inside = np.clip(centres, -1.0, 1.0)
            answer = curator.sums(Voronoi(inside), of=WithCost(Offset(inside, reach)), share=share)
            if answer.costs is None or answer.cost_sd is None:
                raise TypeError("the answer has no costs")
            noise = answer.cost_sd * math.sqrt(len(centres))
            found.append((float(answer.costs.sum()), float(answer.counts.sum()), noise))
        totals, rows, sd = np.array(found).T
        return Costs(totals, rows, sd, curator.domain)


FOLD_COSTS = AlgorithmInfo(
    name="fold-costs",
    estimator="PrivateSearchCV",
    paper="noisy costs of public centres",
    status=Status.PROVEN,
    condition="centres are released before they are judged; folds are drawn by a keyed hash of person or row",
    proof="docs/proofs/search.md",
    algorithm=FoldCosts,
)
