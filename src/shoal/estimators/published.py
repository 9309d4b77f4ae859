"""What was published without privacy, for estimators of its repair: to compare with."""

from __future__ import annotations

from typing import Any

from shoal.accounting import Budget, NoGuarantee, budget_of
from shoal.algorithms import AlgorithmInfo, lookup
from shoal.algorithms.published import Published
from shoal.errors import InvalidInput
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import check_count
from shoal.queries.questions.published import Zones


class PublishedToo(PrivateKMeans):
    """Base class of estimators that have ``published=True``: no guarantee, and only if it is asked for.

    Subclasses set `published`, `allow_unproven` and `max_iter`.
    """

    _zones: Zones
    published: bool
    allow_unproven: bool
    max_iter: int

    def _info(self) -> AlgorithmInfo:
        return lookup(f"{self._registered}-published") if self.published else super()._info()

    def _choose(self, *, weighted: bool) -> tuple[Budget, Any]:
        if not self.published:
            if self.allow_unproven:
                raise InvalidInput("allow_unproven=True goes with published=True only: this one is proven")
            return super()._choose(weighted=weighted)
        # What is not private has nothing to do with a budget; epsilon only says how noisy it is.
        noisiness = float(budget_of(self.epsilon, self.delta).epsilon) / 2
        if weighted:
            raise InvalidInput("published=True knows no weights: leave sample_weight out")
        wrong = {
            "allow_unproven=True is wanted": not self.allow_unproven,
            "it cannot draw on a shared budget, whose promise it would break": self.budget is not None,
            "count_clipped=True has no budget to count with": bool(self.count_clipped),
            "bounds must be given: there is no budget to estimate them with": self.bounds is None,
        }
        if said := [text for text, holds in wrong.items() if holds]:
            raise InvalidInput(f"published=True is not private and has no guarantee at all: {said[0]}")
        algorithm = Published(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            zones=self._zones,
            rounds=check_count(self.max_iter, "max_iter"),
            internal_k=check_count(getattr(self, "internal_k", 1), "internal_k"),
            sharpness=noisiness,
            dampening=noisiness,
        )
        return NoGuarantee(), algorithm
