"""What the private steps of a pipeline share: the fit behind the gate, and reading rows to transform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from shoal.accounting import Accountant, budget_of
from shoal.domain import BoundsLike, Domain, Unit
from shoal.domain.schema import NUMBER
from shoal.domain.unit import Neighbours
from shoal.estimators.parameters import accountant_for, entropy_for, saying_what_was_spent
from shoal.queries import Curator, LiveCurator
from shoal.sources import Table

T = TypeVar("T")


class PrivateStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of private transformers: what they learn is released, what they return is your rows."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    budget: Accountant | None
    random_state: Any

    def _behind_gate(
        self,
        X: Any,
        bounds: BoundsLike | None,
        run: Callable[[Curator], T],
        scaling: Literal["bounds", "none"] = "bounds",
    ) -> T:
        # All that can be wrong is found here, before anything is spent.
        budget = budget_of(self.epsilon, self.delta)
        unit = Unit(self.neighbours)
        accountant = accountant_for(self, budget)
        entropy = entropy_for(self)
        declared = dict.fromkeys(bounds, NUMBER) if isinstance(bounds, Mapping) else {}
        table = Table(X, declared=declared)
        validate_data(self, X, skip_check_array=True)
        domain = Domain(table.schema.bounds(bounds), scaling, unit=unit, names=table.names)
        self._check(domain)
        label = f"{type(self).__name__}.fit"
        with accountant.reserve(budget, label, unit) as allowance, saying_what_was_spent(allowance):
            return run(LiveCurator(table.source(domain), domain, allowance, entropy))

    def _check(self, domain: Domain) -> None:
        """Refuse parameters that do not suit the columns."""

    def _read(self, X: Any) -> npt.NDArray[np.float64]:
        table = Table(X, declared=dict.fromkeys(getattr(self, "feature_names_in_", ()), NUMBER))
        validate_data(self, X, skip_check_array=True, reset=False)
        rows = [np.column_stack(table.read(part).columns) for part in table.parts(2**16)]
        return np.concatenate(rows).astype(np.float64)

    def _clipped(
        self, X: Any, lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Clip to a box and scale it to [-1, 1]; a constant column becomes 0."""
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        with np.errstate(all="ignore"):  # a warning about a cell would tell of it
            # Clipped before it is divided, as a huge cell would overflow; then again, as division rounds.
            scaled = (np.clip(self._read(X), lower, upper) - middle) / np.where(half > 0, half, 1.0)
            return np.clip(scaled, -1.0, 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
