"""A fit with zones: one in each, with the zone's own epsilon, charged together by what one unit can lose."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.accounting import (
    ZCDP,
    Accountant,
    Approx,
    Budget,
    NoGuarantee,
    Pure,
    zones_budget,
    zones_hit,
)
from shoal.algorithms import Clustering, counted_zone, run_prepared, shared_out
from shoal.algorithms.shared.clustering import check
from shoal.domain import Bounds, Domain, InZone, Schema, Unit, Zones
from shoal.errors import InvalidInput
from shoal.estimators.face import columns_seen
from shoal.estimators.fitting import FitPlan, PrivateFit, running
from shoal.estimators.parameters import entropy_for, is_whole
from shoal.estimators.progress import Progress
from shoal.mechanisms import public_seed
from shoal.queries.gate.codec import digest
from shoal.release import Release, ZonedRelease
from shoal.release.certificate import column_names
from shoal.sources.zones import zones_of_places

# Points per side that the areas of zones are told from, for explain.
_SIDE = 500


@dataclass(frozen=True)
class ZonePlan:
    """What a fit with zones will do, decided by public values alone.

    Parameters
    ----------
    names : tuple of str
        The zones; the last is the rest.
    models : tuple of PrivateFit
        What is fitted in each: the same but for its epsilon and its number of groups.
    plans : tuple of FitPlan
        The plan of each. Where groups are shared out it is for one group, and is made anew once rows are
        counted.
    schemas : tuple of Schema
        The table as each sees it.
    shared : int or None
        How many groups are shared out over the zones.
    most : int
        In how many zones one unit can be.
    """

    names: tuple[str, ...]
    models: tuple[PrivateFit, ...]
    plans: tuple[FitPlan, ...]
    schemas: tuple[Schema, ...]
    shared: int | None
    most: int

    @property
    def zones(self) -> tuple[InZone, ...]:
        """The part of the table that each is."""
        return tuple(InZone(_placed(schema), number) for number, schema in enumerate(self.schemas))

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """What each zone may spend."""
        return tuple(plan.budget for plan in self.plans)

    @property
    def budget(self) -> Pure | Approx | ZCDP:
        """What one unit may lose to all of them."""
        return zones_budget(self.budgets, self.most)

    def with_groups(self, numbers: list[int], unit: Unit, *, weighted: bool) -> tuple[FitPlan, ...]:
        """Return the plans for so many groups in each zone."""
        chosen = [with_parameters(model, n_clusters=k) for model, k in zip(self.models, numbers, strict=True)]
        pairs = zip(chosen, self.schemas, strict=True)
        return tuple(_plan(model, schema, unit, weighted=weighted) for model, schema in pairs)


@dataclass(frozen=True, eq=False)
class Found:
    """What a fit with zones leaves."""

    release: ZonedRelease
    clusterings: tuple[Clustering, ...]


def plan_zones(model: Any, schema: Schema, unit: Unit, *, weighted: bool) -> ZonePlan:
    """Check all that can be wrong with a fit of zones, from public values.

    Parameters
    ----------
    model : PrivateKMeans
        With its zones.
    schema : Schema
        Of the table, opened with them.
    unit : Unit
        Whom it protects.
    weighted : bool
        Whether rows have weights.
    """
    zones = _placed(schema)
    if model.n_rows is not None:
        raise InvalidInput("n_rows cannot go with zones: how many rows are in each depends on the data")
    epsilons = zones.epsilons(model.epsilon)
    numbers, shared = _numbers(model.n_clusters, zones)
    schemas = tuple(replace(schema, part=InZone(zones, number)) for number in range(len(zones.names)))
    models = tuple(
        with_parameters(model, epsilon=epsilons[name], n_clusters=numbers[name], zones=None)
        for name in zones.names
    )
    pairs = zip(models, schemas, strict=True)
    plans = tuple(_plan(one, own, unit, weighted=weighted) for one, own in pairs)
    if any(isinstance(plan.budget, NoGuarantee) for plan in plans):
        raise InvalidInput("what has no guarantee has no levels: leave zones out")
    if plans[0].domain.bounds.unknown:
        raise InvalidInput("zones need bounds: each would estimate its own, and groups could not be compared")
    return ZonePlan(zones.names, models, plans, schemas, shared, zones_hit(unit.neighbours, unit.max_rows))


def fit_zones(model: Any, X: Any, sample_weight: Any) -> Found:
    """Find groups in each zone of a table, privately.

    Parameters
    ----------
    model : PrivateKMeans
        With its zones; it is not changed.
    X : table
        As for `fit`.
    sample_weight : array-like or str, optional
        Weights of the rows.
    """
    unit, entropy, threads = model._unit(), entropy_for(model), model._threads()
    table, weighted = model._open(X, sample_weight), sample_weight is not None
    columns_seen(model, table, first=True)
    plan = plan_zones(model, table.schema, unit, weighted=weighted)
    # Which rows of a person are kept is one choice for all zones: so nobody is in more than they have rows.
    key = public_seed(entropy) if model.unit is not None else 0
    planned = digest((plan.plans, plan.shared, bool(model.count_clipped), entropy.describe()))
    accountant, label = _accountant(model, plan.budget), f"{type(model).__name__}.fit"
    reserved = accountant.reserve(plan.budget, label, unit, key=key, plan=planned, zones=plan.most)
    with running(model, reserved, entropy, _watching(model)) as run:
        domains = [own.domain for own in plan.plans]
        sources = table.zone_sources(plan.zones, domains, threads=threads, **run.keys)
        whole = zip(sources, domains, range(len(domains)), plan.names, plan.budgets, strict=True)
        lives = [run.curator_of_part(*own) for own in whole]
        plans, curators = plan.plans, list(lives)
        if plan.shared is not None:
            counted = [counted_zone(curator) for curator in lives]
            plans = plan.with_groups(
                shared_out(plan.shared, [n for _, n in counted]), unit, weighted=weighted
            )
            curators = [curator for curator, _ in counted]  # type: ignore[misc]
        clipped = bool(model.count_clipped)
        pairs = zip(plans, curators, strict=True)
        found = [run_prepared(own.algorithm, curator, count_clipped=clipped) for own, curator in pairs]
    releases = [
        Release.of(one, run.certificate(live, one.domain, own.algorithm), live.transcript)
        for own, live, one in zip(plans, lives, found, strict=True)
    ]
    return Found(ZonedRelease.join(releases, plan.shared), tuple(found))


def _plan(model: PrivateFit, schema: Schema, unit: Unit, *, weighted: bool) -> FitPlan:
    """Plan the fit of one zone: within the box around it, which is public."""
    plan, part = model._plan(schema, unit, weighted=weighted), schema.part
    known = isinstance(part, InZone) and not part.zones.by_column and not plan.domain.bounds.unknown
    if not known or not isinstance(part, InZone) or part.number == len(part.zones.zones):
        return plan
    domain = replace(plan.domain, bounds=_cut(plan.domain, part))
    check(plan.algorithm, domain)
    return replace(plan, domain=domain)


def _cut(domain: Domain, part: InZone) -> Bounds:
    """Cut the bounds of the columns that a zone is over to the box around it."""
    lower, upper = list(domain.bounds.lower), list(domain.bounds.upper)
    box = list(part.zones.boxes())[part.number]
    for column, low, high in zip(part.columns, *box, strict=True):
        j = column_names(domain).index(column) if column in column_names(domain) else None
        if j is None:  # it is not clustered, or as a cosine and a sine
            continue
        if high < lower[j] or low > upper[j]:
            raise InvalidInput(
                f"zone {part.name!r} lies beyond the bounds of {column!r}, {lower[j]:g} to {upper[j]:g}: all "
                "its rows would be moved to them; give other bounds, or take it out"
            )
        lower[j], upper[j] = max(lower[j], low), min(upper[j], high)
    return Bounds(tuple(lower), tuple(upper), f"{domain.bounds.source}, cut to the box around the zone")


def _placed(schema: Schema) -> Zones:
    if not isinstance(schema.part, InZone):
        raise TypeError("the table was opened without its zones")
    return schema.part.zones


def _numbers(asked: Any, zones: Zones) -> tuple[dict[str, Any], int | None]:
    """Return the number of groups of each zone, and how many are to be shared out; 1 for each, until then."""
    names = zones.names
    if isinstance(asked, Mapping):
        if missing := [name for name in names if name not in asked]:
            raise InvalidInput(
                f"n_clusters has no number for {missing[0]!r}; the zones are {', '.join(names)}"
            )
        if strange := [name for name in asked if name not in names]:
            raise InvalidInput(f"n_clusters names {strange[0]!r}; the zones are {', '.join(names)}")
        return dict(asked), None
    if not is_whole(asked):  # "auto": each zone finds its own; or wrong, as the algorithm will say
        return dict.fromkeys(names, asked), None
    if asked < len(names):
        raise InvalidInput(
            f"n_clusters is {asked} for {len(names)} zones, with the rest: each has at least one group. Ask "
            "for more, or say how many each has: n_clusters={name: number}"
        )
    return dict.fromkeys(names, 1), int(asked)


def even_shares(plan: ZonePlan) -> list[float]:
    """Return the share of rows that each zone would have, were they spread evenly over the bounds.

    Of zones by a column, and of polygons over columns that are not clustered, nobody can tell: all have the
    same.

    Parameters
    ----------
    plan : ZonePlan
        The zones, and the bounds of the whole table.
    """
    n, domain, zones = len(plan.names), plan.plans[-1].domain, _placed(plan.schemas[-1])
    places = [column_names(domain).index(c) for c in zones.columns or () if c in column_names(domain)]
    if zones.by_column or len(places) < 2:
        return [1 / n] * n
    ends = [(domain.bounds.lower[j], domain.bounds.upper[j]) for j in places]
    x, y = (low + (high - low) * (np.arange(_SIDE) + 0.5) / _SIDE for low, high in ends)
    found = np.bincount(zones_of_places(zones, *(a.ravel() for a in np.meshgrid(x, y))), minlength=n)
    # No zone is so small that it has none.
    return [max(int(hits), 1) / _SIDE**2 for hits in found]


def with_parameters(model: Any, **values: Any) -> Any:
    """Return the same estimator with some other parameters; not fitted, and with its accountant."""
    other = copy(model)
    for name, value in values.items():
        setattr(other, name, value)
    return other


def _accountant(model: Any, budget: Pure | Approx | ZCDP) -> Accountant:
    if model.budget is not None:
        if not isinstance(model.budget, Accountant):
            raise InvalidInput(f"budget is {model.budget!r}; pass a shoal.Accountant to share between fits")
        return model.budget
    if isinstance(budget, ZCDP):
        return Accountant(rho=budget.rho)
    return Accountant(epsilon=budget.epsilon, delta=budget.delta if isinstance(budget, Approx) else 0.0)


def _watching(model: Any) -> AbstractContextManager[Progress | None]:
    return Progress(None) if model.verbose else nullcontext()
