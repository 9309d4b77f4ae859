"""What was published without privacy, for estimators of its repair: to compare with."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from shoal.accounting import Budget, NoGuarantee, budget_of
from shoal.algorithms import AlgorithmInfo, lookup
from shoal.algorithms.published import Published
from shoal.errors import InvalidInput
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import check_choice, check_count
from shoal.queries.questions.published import Zones


class PublishedToo(PrivateKMeans):
    """Base class of estimators that have ``published=True``: no guarantee, and only if it is asked for.

    Subclasses set `published` and `allow_unproven`, and say which algorithm it is.
    """

    published: bool
    allow_unproven: bool

    def _info(self) -> AlgorithmInfo:
        return lookup(f"{self._registered}-published") if self.published else super()._info()

    def _choose(self, *, weighted: bool) -> tuple[Budget, Any]:
        if not self.published:
            if self.allow_unproven:
                raise InvalidInput("allow_unproven=True goes with published=True only: this one is proven")
            return super()._choose(weighted=weighted)
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
        return NoGuarantee(), self._as_published(float(budget_of(self.epsilon, self.delta).epsilon))

    @abstractmethod
    def _as_published(self, epsilon: float) -> Any:
        """Return the published algorithm; epsilon only says how noisy it is."""


class PublishedZones(PublishedToo):
    """Base class of those whose centres move into zones. Subclasses set `max_iter`."""

    _zones: Zones
    max_iter: int

    def _as_published(self, epsilon: float) -> Published:
        return Published(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            zones=self._zones,
            rounds=check_count(self.max_iter, "max_iter"),
            internal_k=check_count(getattr(self, "internal_k", 1), "internal_k"),
            sharpness=epsilon / 2,
            dampening=epsilon / 2,
            empty_zone=check_choice(
                getattr(self, "empty_zone", "whole zone"), "empty_zone", ("whole zone", "stay")
            ),
        )
