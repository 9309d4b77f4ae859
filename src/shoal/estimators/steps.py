"""What the private steps of a pipeline share: the fit behind the gate, and reading rows to transform."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal._typing import Array
from shoal.accounting import Accountant, budget_of
from shoal.domain import BoundsLike, Domain
from shoal.domain.schema import NUMBER
from shoal.domain.unit import Neighbours
from shoal.estimators.parameters import accountant_for, entropy_for, saying_what_was_spent, unit_for
from shoal.mechanisms import public_seed
from shoal.queries import Curator, LiveCurator
from shoal.sources import Table


class PeopleOutMixin:
    """Adds the column of people to the names that scikit-learn's mixin on its right gives to columns."""

    unit: str | None

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that come out; that of people, where there is one, is the last.

        Parameters
        ----------
        input_features : array-like of str, optional
            As for scikit-learn's transformers.
        """
        names = super().get_feature_names_out(input_features)  # type: ignore[misc]
        return names if self.unit is None else np.append(names, self.unit)


class PrivateStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of private transformers: what they learn is released, what they return is your rows."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    unit: str | None
    max_rows: int
    budget: Accountant | None
    random_state: Any

    @abstractmethod
    def _learn(self, curator: Curator) -> Any:
        """Ask the curator for what is to be learnt."""

    @abstractmethod
    def _take(self, found: Any) -> None:
        """Make the fitted attributes of what was learnt; nothing else goes into them."""

    def _behind_gate(
        self, X: Any, bounds: BoundsLike | None, scaling: Literal["bounds", "none"] = "bounds"
    ) -> Any:
        """Learn from the rows of a table, take it over, and return it."""
        # All that can be wrong is found here, before anything is spent.
        budget = budget_of(self.epsilon, self.delta)
        unit = unit_for(self)
        accountant = accountant_for(self, budget)
        entropy = entropy_for(self)
        declared = dict.fromkeys(bounds, NUMBER) if isinstance(bounds, Mapping) else {}
        table = Table(X, declared=declared, unit=self.unit)
        validate_data(self, table.blank(), skip_check_array=True)
        domain = Domain(table.schema.bounds(bounds), scaling, unit=unit, names=table.names)
        self._check(domain)
        label = f"{type(self).__name__}.fit"
        with accountant.reserve(budget, label, unit) as allowance, saying_what_was_spent(allowance):
            # Which rows of a person are kept is drawn anew for every fit.
            key = public_seed(entropy) if self.unit is not None else 0
            curator = LiveCurator(table.source(domain, key=key), domain, allowance, entropy)
            found = self._learn(curator)
        self._transcript = curator.transcript  # noisy answers: what an audit runs the step again from
        self._take(found)
        return found

    def _check(self, domain: Domain) -> None:
        """Refuse parameters that do not suit the columns."""

    def transform(self, X: Any) -> Any:
        """Map every row by itself to [-1, 1]. What comes out is your rows: it is not for release.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Rows of the same columns as in `fit`, and the column of people where there is one.

        Returns
        -------
        ndarray or data frame
            With `unit`, a data frame in which the column of people stands beside the others, for the next
            step.
        """
        check_is_fitted(self)
        declared = dict.fromkeys(getattr(self, "feature_names_in_", ()), NUMBER)
        table = Table(X, declared=declared, unit=self.unit)
        validate_data(self, table.blank(), skip_check_array=True, reset=False)
        without = table.without_people()
        rows = [np.column_stack(without.read(part).columns) for part in without.parts(2**16)]
        found = self._map(np.concatenate(rows).astype(np.float64))
        return found if self.unit is None else table.with_people(found, self.get_feature_names_out()[:-1])

    def _map(self, rows: Array) -> Array:
        """Map rows, each by itself; missing cells are NaN."""
        raise NotImplementedError

    def _clipped(self, rows: Array, lower: Array, upper: Array) -> Array:
        """Clip to a box and scale it to [-1, 1]; a constant column becomes 0."""
        middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        with np.errstate(all="ignore"):  # a warning about a cell would tell of it
            # Clipped before it is divided, as a huge cell would overflow; then again, as division rounds.
            scaled = (np.clip(rows, lower, upper) - middle) / np.where(half > 0, half, 1.0)
            return np.clip(scaled, -1.0, 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
