"""The one fit path: checks and a plan from public values, the budget, the gate, the certificate."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from shoal.accounting import Accountant, Approx, Budget, Charge, Pure, ZoneAllowance, budget_of
from shoal.algorithms import REGISTRY, AlgorithmInfo, run_prepared
from shoal.algorithms.shared.clustering import check
from shoal.domain import STEPS, BoundsLike, Domain, Schema, Unit, Zones
from shoal.domain.domain import Neighbours, Scaling
from shoal.errors import InvalidInput, WeakDelta
from shoal.estimators.docstrings import SharesParameters
from shoal.estimators.face import BaseEstimator, columns_seen
from shoal.estimators.parameters import (
    CommonParameters,
    MissingLike,
    accountant_for,
    entropy_for,
    is_whole,
    missing_for,
    part_for,
    saying_what_was_spent,
    unit_for,
)
from shoal.estimators.progress import Progress, rehearsed_questions
from shoal.mechanisms import Entropy, SeededEntropy, public_seed
from shoal.queries import LiveCurator, Transcript
from shoal.queries.gate.codec import digest
from shoal.release import Certificate
from shoal.sources import OpenTable, open_table

# Sums are kept in 64-bit integers with two bits to spare for noise.
_MOST_ROWS = 2**62 // STEPS


@dataclass(frozen=True)
class FitPlan:
    """What a fit will do, decided by public values alone: `fit` carries it out, `explain` rehearses it.

    Parameters
    ----------
    budget : Budget
        What is spent at most; it may promise more than was asked for.
    domain : Domain
        The columns, their bounds, whom it protects, and the largest weight.
    algorithm : object
        What is run, with its own parameters checked.
    """

    budget: Budget
    domain: Domain
    algorithm: Any


class PrivateFit(SharesParameters, BaseEstimator):  # type: ignore[misc]
    """Base class of all that puts a table behind the gate and asks it: it has the fit.

    The parameters below are those that the fit reads; a class may have them as parameters of its own.
    """

    epsilon: float
    delta: float
    bounds: BoundsLike | None = None
    neighbours: Neighbours
    unit: str | None
    max_rows: int
    n_rows: int | None = None
    budget: Accountant | None
    scaling: Scaling = "bounds"
    missing: MissingLike = "centre"
    levels: Mapping[str, Sequence[str | int]] | None = None
    cyclic: Mapping[str, Any] | None = None
    column_weights: Mapping[str, float] | None = None
    max_weight: float | None
    zones: Zones | None = None
    n_jobs: int | None = None
    count_clipped: bool = False
    verbose: bool = False

    _registered: str
    _registry = REGISTRY

    on_charge: Callable[[Charge], None] | None = None
    """Told of every charge before the work it pays for; set it to show progress."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Learn from the rows of a table, privately.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns), path, FileTable or stream
            Numbers, booleans, times and categories of declared levels; missing and infinite cells are
            allowed. A path names a file, a folder or a pattern, which is streamed; so are a polars LazyFrame,
            a Dataset or RecordBatchReader of pyarrow, a DuckDB relation, a cursor and a SQLAlchemy Result.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Weights of the rows, clipped to [0, `max_weight`], or the column that holds them.

        Returns
        -------
        self
            The fitted model.
        """
        if self._has_parts():
            return self._fit_parts(X, sample_weight)
        # All that can be wrong is found here, before a row is read or anything is spent.
        unit, entropy, threads = self._unit(), entropy_for(self), self._threads()
        table = self._open(X, sample_weight)
        columns_seen(self, table, first=True)
        plan = self._plan(table.schema, unit, weighted=sample_weight is not None)
        accountant, label = accountant_for(self, plan.budget), f"{type(self).__name__}.fit"
        # Which rows of a person are kept is drawn anew for every fit, and once where it is resumed.
        key = public_seed(entropy) if self.unit is not None else 0
        planned = digest((plan, self.n_rows, bool(self.count_clipped), entropy.describe()))
        reserved = accountant.reserve(plan.budget, label, plan.domain.unit, key=key, plan=planned)
        with running(self, reserved, entropy, self._watching(table.schema)) as run:
            source = table.source(plan.domain, threads=threads, **run.keys)
            curator = run.curator(source, plan.domain, n_rows=self.n_rows)
            found = run_prepared(plan.algorithm, curator, count_clipped=bool(self.count_clipped))
        self.certificate_: Certificate = run.certificate(curator, found.domain, plan.algorithm)
        self._keep(found, curator.transcript)
        return self

    def _has_parts(self) -> bool:
        """Say whether disjoint parts of the table are fitted, each with a budget of its own."""
        return self.zones is not None

    def _fit_parts(self, X: Any, sample_weight: Any) -> Self:  # noqa: ARG002 - for those that have groups
        """Fit the parts, and join what was found in each."""
        raise InvalidInput(
            f"{type(self).__name__} knows no zones: levels of their own are for groups, as of KMeans"
        )

    def _watching(self, schema: Schema) -> AbstractContextManager[Progress | None]:
        return Progress(partial(rehearsed_questions, self, schema)) if self.verbose else nullcontext()

    @abstractmethod
    def _algorithm(self, budget: Pure | Approx) -> Any:
        """Check the algorithm's own parameters and return it."""

    @abstractmethod
    def _keep(self, found: Any, transcript: Transcript) -> None:
        """Make the fitted attributes of what was found; nothing else goes into them."""

    def _open(self, X: Any, sample_weight: Any) -> OpenTable:
        return open_table(
            X,
            levels=self.levels,
            unit=self.unit,
            weights=sample_weight,
            bounds=self.bounds,
            cyclic=self.cyclic,
            indicators=missing_for(self)[1],
            part=part_for(self),
        )

    def _plan(self, schema: Schema, unit: Unit, *, weighted: bool) -> FitPlan:
        """Check all parameters that matter to the promise, for a table of this schema."""
        budget, algorithm = self._choose(weighted=weighted)
        self._check_n_rows(budget, weighted=weighted)
        domain = Domain(
            schema.bounds(self.bounds),
            self.scaling,
            missing_for(self)[0],
            unit,
            schema.names,
            max_weight=self._max_weight() if weighted else None,
            schema=schema,
            column_weights=schema.column_weights(self.column_weights),
        )
        check(algorithm, domain)  # now, and not when bounds have been paid for
        return FitPlan(self._final_budget(budget, domain), domain, algorithm)

    def _choose(self, *, weighted: bool) -> tuple[Budget, Any]:  # noqa: ARG002 - for those that know none
        """Check the parameters that the budget and the algorithm are made of, and return both."""
        budget = budget_of(self.epsilon, self.delta)
        return budget, self._algorithm(budget)

    def _final_budget(self, budget: Budget, domain: Domain) -> Budget:  # noqa: ARG002 - for those that choose
        """Return the budget to spend, which may promise more than was asked for. Public facts decide."""
        return budget

    def _info(self) -> AlgorithmInfo:
        """Return what is known of the algorithm."""
        return self._registry[self._registered]

    def _rehearsed(self, algorithm: Any) -> Any:
        """Return what `explain` runs to tell errors: of what groups are found on, what finds them."""
        return algorithm

    def _one_of(self, plan: FitPlan, rows: float) -> tuple[FitPlan, float]:
        """Return what `explain` rehearses, and on how many rows: of what is fitted in blocks, one."""
        return plan, rows

    def _unit(self) -> Unit:
        return unit_for(self)

    def _max_weight(self) -> float:
        if self.max_weight is None:
            raise InvalidInput(
                "sample_weight needs max_weight: noise is drawn for the largest weight a row may have, so it "
                "must be public, and not be read off the weights; larger ones are clipped to it"
            )
        return self.max_weight

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


@dataclass(frozen=True, eq=False)
class Run:
    """A fit that may spend: of a whole table, or of disjoint parts of one (zones, blocks).

    Parameters
    ----------
    model : PrivateFit
        Whose fit it is.
    allowance : Allowance
        What was reserved for it.
    entropy : Entropy
        Where its noise comes from.
    watch : Progress, optional
        Shows how far it is, on the data holder's own screen.
    """

    model: Any
    allowance: Any
    entropy: Entropy
    watch: Progress | None

    @property
    def keys(self) -> dict[str, int]:
        """What decides which rows of a person are read."""
        return {"key": self.allowance.key, "parts_key": self.allowance.parts_key}

    def curator(self, source: Any, domain: Domain, *, n_rows: int | None = None) -> LiveCurator:
        """Put all rows behind the gate."""
        return self._live(source, domain, self.allowance, self.entropy, n_rows)

    def curator_of_part(
        self, source: Any, domain: Domain, number: int, name: str, budget: Budget
    ) -> LiveCurator:
        """Put the rows of a part behind the gate, with a budget of its own, noted in that of the whole."""
        own, entropy = ZoneAllowance(self.allowance, number, name, budget), self.entropy
        # Questions of a seeded fit have words by their number, the same in every part: without a seed
        # of their own, parts would share their noise.
        entropy = entropy.of_zone(number) if isinstance(entropy, SeededEntropy) else entropy
        return self._live(source, domain, own, entropy, None)

    def certificate(self, curator: LiveCurator, domain: Domain, algorithm: Any) -> Certificate:
        """Issue what is promised, when the fit is over: only then its ledger says what it holds of it.

        Parameters
        ----------
        curator : LiveCurator
            What was asked.
        domain : Domain
            With the bounds as they turned out.
        algorithm : object
            What asked.
        """
        return Certificate.issue(
            self.model._info(),
            curator.transcript,
            domain,
            algorithm=algorithm,
            private_entropy=self.entropy.private,
            shared=self.model.budget is not None,
            ledger=self.allowance.statement,
        )

    def _live(
        self, source: Any, domain: Domain, allowance: Any, entropy: Entropy, n_rows: int | None
    ) -> LiveCurator:
        watch = self.watch
        told = partial(_tell, [self.model.on_charge, None if watch is None else watch.charged])
        seen = source if watch is None else source.watched(watch.saw)
        return LiveCurator(seen, domain, allowance, entropy, n_rows=n_rows, progress=told)


@contextmanager
def running(
    model: Any,
    reserved: AbstractContextManager[Any],
    entropy: Entropy,
    watching: AbstractContextManager[Progress | None],
) -> Iterator[Run]:
    """Open what was reserved for a fit, until it is over; what breaks off half way says what it has cost.

    Parameters
    ----------
    model : PrivateFit
        Whose fit it is.
    reserved : context of an Allowance
        What an accountant has set aside.
    entropy : Entropy
        Where its noise comes from.
    watching : context of a Progress or None
        What shows how far it is.
    """
    with reserved as allowance, saying_what_was_spent(allowance), watching as watch:
        yield Run(model, allowance, entropy, watch)


def _tell(watchers: Sequence[Callable[[Charge], None] | None], charge: Charge) -> None:
    """Tell all who watch of a charge."""
    for watcher in watchers:
        if watcher is not None:
            watcher(charge)


class PrivateEstimator(CommonParameters, PrivateFit):
    """Base class of estimators of groups, and of what groups are found on."""
