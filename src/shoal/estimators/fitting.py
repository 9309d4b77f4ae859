"""What every private fit does before and around its algorithm: checks, the budget, the gate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from shoal.accounting import Approx, Budget, Charge, Pure, budget_of
from shoal.algorithms import AlgorithmInfo, lookup
from shoal.domain import STEPS, Domain, Unit
from shoal.errors import InvalidInput, WeakDelta
from shoal.estimators.parameters import (
    CommonParameters,
    accountant_for,
    entropy_for,
    is_whole,
    saying_what_was_spent,
    unit_for,
)
from shoal.mechanisms import public_seed
from shoal.queries import Curator, LiveCurator, Transcript
from shoal.release import Certificate
from shoal.sources import open_table

T = TypeVar("T")

# Sums are kept in 64-bit integers with two bits to spare for noise.
_MOST_ROWS = 2**62 // STEPS


class Answered(NamedTuple):
    """What came out of the gate: the transcript, and whether nobody can predict its noise."""

    transcript: Transcript
    private_entropy: bool


class PrivateEstimator(CommonParameters, BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators that put a table behind the gate and ask it."""

    _registered: str

    on_charge: Callable[[Charge], None] | None = None
    """Told of every charge before the work it pays for; set it to show progress."""

    def _behind_gate(
        self, X: Any, sample_weight: Any, budget: Budget, run: Callable[[Curator], T]
    ) -> tuple[T, Answered]:
        # All that can be wrong is found here, before a row is read or anything is spent.
        unit = self._unit()
        self._check_n_rows(budget, weighted=sample_weight is not None)
        entropy = entropy_for(self)
        threads = self._threads()
        max_weight = self._max_weight(sample_weight)
        table = open_table(X, levels=self.levels, unit=self.unit, weights=sample_weight, bounds=self.bounds)
        validate_data(self, table.blank(), skip_check_array=True)
        bounds = table.schema.bounds(self.bounds)
        domain = Domain(
            bounds, self.scaling, self.missing, unit, table.names, max_weight=max_weight, schema=table.schema
        )
        budget = self._settle(budget, domain)
        accountant = accountant_for(self, budget)
        label = f"{type(self).__name__}.fit"
        with accountant.reserve(budget, label, unit) as allowance, saying_what_was_spent(allowance):
            # Which rows of a person are kept is drawn anew for every fit.
            key = public_seed(entropy) if self.unit is not None else 0
            source = table.source(domain, key=key, threads=threads)
            curator = LiveCurator(
                source, domain, allowance, entropy, n_rows=self.n_rows, progress=self.on_charge
            )
            found = run(curator)
        return found, Answered(curator.transcript, entropy.private)

    def _certificate(self, algorithm: Any, domain: Domain, answered: Answered) -> Certificate:
        return Certificate.issue(
            self._info(),
            answered.transcript,
            domain,
            algorithm=algorithm,
            private_entropy=answered.private_entropy,
            shared=self.budget is not None,
        )

    def _algorithm(self, budget: Pure | Approx) -> Any:
        """Check the algorithm's own parameters and return it."""
        raise NotImplementedError

    def _plan(self) -> tuple[Budget, Any]:
        """Check the parameters that the budget and the algorithm are made of, and return both."""
        budget = budget_of(self.epsilon, self.delta)
        return budget, self._algorithm(budget)

    def _settle(self, budget: Budget, domain: Domain) -> Budget:  # noqa: ARG002 - for those that choose
        """Return the budget to spend, which may promise more than was asked for. Public facts decide."""
        return budget

    def _info(self) -> AlgorithmInfo:
        """Return what is known of the algorithm."""
        return lookup(self._registered)

    def _unit(self) -> Unit:
        return unit_for(self)

    def _max_weight(self, sample_weight: Any) -> float | None:
        if sample_weight is not None and self.max_weight is None:
            raise InvalidInput(
                "sample_weight needs max_weight: noise is drawn for the largest weight a row may have, so it "
                "must be public, and not be read off the weights; larger ones are clipped to it"
            )
        return None if sample_weight is None else self.max_weight

    def _check_n_rows(self, budget: Budget, *, weighted: bool) -> None:
        if self.n_rows is None:
            return
        if self.unit is not None:
            raise InvalidInput(
                "n_rows cannot go with unit: how many rows are left once each person has at most max_rows "
                "depends on the data"
            )
        if weighted:
            raise InvalidInput(
                "n_rows cannot go with sample_weight: groups are measured by their total weight"
            )
        if not is_whole(self.n_rows) or self.n_rows < 0:
            raise InvalidInput(
                f"n_rows is {self.n_rows!r}; it must be a public whole number of rows, or None"
            )
        if self.n_rows > _MOST_ROWS:
            raise InvalidInput(
                f"n_rows is {self.n_rows}; sums of more than {_MOST_ROWS} rows do not fit in 64-bit integers"
            )
        if self.missing == "drop":
            raise InvalidInput(
                "missing='drop' makes the number of rows depend on the data, so it cannot go with n_rows"
            )
        if isinstance(budget, Approx) and self.n_rows and budget.delta * self.n_rows >= 1:
            warnings.warn(
                f"delta = {float(budget.delta):g} is not below 1/n_rows = {1 / self.n_rows:.2g}: it would "
                "allow publishing somebody's row outright; use a much smaller one",
                WeakDelta,
                stacklevel=4,
            )

    def _threads(self) -> int | None:
        if self.n_jobs is None or self.n_jobs == -1:
            return None
        if not is_whole(self.n_jobs) or self.n_jobs < 1:
            raise InvalidInput(
                f"n_jobs is {self.n_jobs!r}; it must be a number of threads, or None for all cores"
            )
        return int(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
