"""What a fit would ask, spend and be worth, told without touching the data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shoal._typing import Array
from shoal.accounting import Charge, NoGuarantee
from shoal.algorithms import SHARE_FOR_BOUNDS, SHARE_FOR_CLIPPED, Clustering, run_prepared, shared_out
from shoal.algorithms.column_stats import Learnt
from shoal.algorithms.kmeans.kmeans import USUAL_GROUPS
from shoal.domain import Bounds, InZone, Schema
from shoal.domain.fields import NUMBER, TEXT, cells_of
from shoal.domain.times import check_cycles
from shoal.errors import InvalidInput, MostlyNoise
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.coreset import PrivateCoreset
from shoal.estimators.fitting import FitPlan, PrivateFit
from shoal.estimators.parameters import missing_for, part_for
from shoal.estimators.shapes import expected_excess, likeness, scaled_to
from shoal.estimators.steps import PrivateStep
from shoal.estimators.synopsis import MaskedGridSynopsis, PrivateSynopsis
from shoal.estimators.zoned import even_shares, plan_zones, with_parameters
from shoal.queries import MadeUpTable, RehearsalCurator, SparseCounts, Transcript, Tree
from shoal.queries.questions import WithoutNearest
from shoal.release.certificate import column_names
from shoal.release.words import risk_sentence

# Above this many half widths the noise of a centre drowns its place (algorithms say "infeasible").
_TOO_MUCH = 0.5


@dataclass(frozen=True)
class Explanation:
    """The plan of a fit and its predicted errors.

    Parameters
    ----------
    algorithm, status : str
        Which algorithm, and what is known of its privacy.
    budget, risk : str
        What would be spent, and what that means.
    charges : tuple of Charge
        What would be paid for what, in order.
    rows : float
        The guess of the number of rows that the errors are for.
    centre_error : dict of str to float
        Predicted standard error of a centre, from the noise alone, for each column in its own units; as a
        share of the half width where the bounds are not known yet. Of a step, that of the mean; none of
        private bounds.
    size_error : float, optional
        Predicted standard error of a group's size; a step has no groups.
    group_size : float, optional
        The size of an average group.
    bounds_known : bool
        Whether bounds were given, so that errors are in the table's own units.
    mostly_noise : bool
        Whether the answer would be mostly noise.
    released : str
        What would be released; of a synopsis, the errors above are those of groups found on it.
    like : str, optional
        What the table was taken to be like.
    excess, worst_excess : float, optional
        How much more than without privacy the centres of such a table would cost, in the mean of some runs
        and in the worst: 0.04 is 4 % more.
    zones : dict of str to dict
        Of each zone: its budget, the imagined rows, what is released, and the errors. The errors above are
        then those of the rest.
    """

    algorithm: str
    status: str
    budget: str
    risk: str
    charges: tuple[Charge, ...]
    rows: float
    centre_error: dict[str, float]
    size_error: float | None
    group_size: float | None
    bounds_known: bool
    mostly_noise: bool
    released: str
    like: str | None = None
    excess: float | None = None
    worst_excess: float | None = None
    zones: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        plain = asdict(self)
        plain["charges"] = [{**asdict(c), "amount": str(c.amount)} for c in self.charges]
        plain["centre_error"] = {
            name: error if np.isfinite(error) else None for name, error in self.centre_error.items()
        }
        if not self.zones:
            del plain["zones"]
        return plain


def explain(
    model: PrivateFit, columns: Sequence[str] | Schema, rows: float, *, like: Any = None
) -> Explanation:
    """Rehearse a fit on an imagined table.

    Parameters
    ----------
    model : estimator
        A private k-means estimator, a synopsis, a coreset or a step of a pipeline; it is not changed.
    columns : sequence of str or Schema
        Names of the columns that are looked at, numbers but for those with `levels`; or the table's schema.
    rows : float
        A guess of the number of rows.
    like : Release, SynopsisRelease, EvenGroups or array, optional
        What the table is like: a release with a look, a synopsis, a named shape, or a public table. Rows are
        made up from it and fitted, to tell how much more the groups would cost than without privacy. Of
        estimators of groups only.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> plan = explain(DPLloyd(5, epsilon=1.0, bounds=(0, 10)), ["x", "y"], rows=20_000)
    >>> len(plan.charges), round(plan.centre_error["x"], 3)
    (5, 0.016)
    """
    if not rows > 0:
        raise InvalidInput(f"rows is {rows!r}; give a guess above 0, such as 1e6")
    schema = columns if isinstance(columns, Schema) else _imagined(model, columns)
    if model.zones is not None:
        if like is not None:
            raise InvalidInput("like does not go with zones: explain a fit without them to see its cost")
        return _explain_zones(model, schema, rows)
    plan = model._plan(schema, model._unit(), weighted=schema.weight is not None)
    plan, rows = model._one_of(plan, rows)
    return _rehearsed(model, plan, rows, like=like)


def _explain_zones(model: Any, schema: Schema, rows: float) -> Explanation:
    """Rehearse the fit of each zone, on rows that are spread evenly over the bounds."""
    weighted = schema.weight is not None
    plan = plan_zones(model, schema, model._unit(), weighted=weighted)
    imagined = [max(rows * share, 1.0) for share in even_shares(plan)]
    models, plans = list(plan.models), list(plan.plans)
    if plan.shared is not None:
        numbers = shared_out(plan.shared, imagined)
        plans = list(plan.with_groups(numbers, model._unit(), weighted=weighted))
        models = [with_parameters(one, n_clusters=k) for one, k in zip(models, numbers, strict=True)]
    told = [
        _rehearsed(one, own, n, counted=plan.shared is not None)
        for one, own, n in zip(models, plans, imagined, strict=True)
    ]
    charges = [
        replace(charge, question=f"zone {name}: {charge.question}")
        for name, one in zip(plan.names, told, strict=True)
        for charge in one.charges
    ]
    zones = {
        name: {
            "budget": one.budget,
            "risk": one.risk,
            "rows": one.rows,
            "released": one.released,
            "group_size": one.group_size,
            "size_error": one.size_error,
            "centre_error": one.centre_error,
            "mostly_noise": one.mostly_noise,
        }
        for name, one in zip(plan.names, told, strict=True)
    }
    return replace(
        told[-1],
        budget=plan.budget.describe(),
        risk=risk_sentence(plan.budget),
        charges=tuple(charges),
        rows=float(rows),
        mostly_noise=any(one.mostly_noise for one in told),
        released="; ".join(f"{name}: {one.released}" for name, one in zip(plan.names, told, strict=True)),
        zones=zones,
    )


def _rehearsed(
    model: PrivateFit, plan: FitPlan, rows: float, *, like: Any = None, counted: bool = False
) -> Explanation:
    domain, bounds = plan.domain, plan.domain.bounds
    if isinstance(plan.budget, NoGuarantee):
        raise InvalidInput(
            "there is nothing to explain: it is not private, and has no guarantee and no budget"
        )
    algorithm: Any = model._rehearsed(plan.algorithm)
    if hasattr(algorithm, "n_starts"):  # no search is worth its time on imagined counts
        algorithm = replace(algorithm, n_starts=1)
    if getattr(algorithm, "n_clusters", None) == "auto":  # imagined counts show no groups
        algorithm = replace(algorithm, n_clusters=USUAL_GROUPS, counted=True)
    curator = RehearsalCurator(domain, plan.budget, rows, n_rows=model.n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostlyNoise)
        clipped = bool(model.count_clipped)
        found = run_prepared(algorithm, curator, count_clipped=clipped, count_zone=counted)
    relative, worst = _of_step(found) if isinstance(model, PrivateStep) else _of_groups(found)
    known, groups = not bounds.unknown, None if isinstance(model, PrivateStep) else len(found.centres)
    errors = relative * bounds.half_width if known else relative
    told = {} if like is None else _told_by(model, plan, rows, like)
    info = model._info()
    return Explanation(
        algorithm=info.name,
        status=info.status.value,
        budget=plan.budget.describe(),
        risk=risk_sentence(plan.budget),
        charges=curator.transcript.charges,
        rows=float(rows),
        centre_error=dict(zip(column_names(domain), map(float, errors), strict=bool(len(errors)))),
        size_error=found.size_sd if groups else None,
        group_size=float(rows) / groups if groups else None,
        bounds_known=known,
        mostly_noise=not worst <= _TOO_MUCH,
        released=_released(model, curator.transcript, groups) if groups else found.describe(),
        **told,
    )


def _told_by(model: PrivateFit, plan: FitPlan, rows: float, like: Any) -> dict[str, Any]:
    """Return what rows like the given ones would cost."""
    if not isinstance(model, PrivateKMeans):
        raise InvalidInput(f"like is for what finds groups; {type(model).__name__} finds none by itself")
    shape = likeness(like, plan.domain)
    domain, portion = plan.domain, Fraction(1)
    if domain.bounds.unknown:
        domain = replace(domain, bounds=Bounds(tuple(shape.lower), tuple(shape.upper)))
        portion *= 1 - SHARE_FOR_BOUNDS
    if model.count_clipped:
        portion *= 1 - SHARE_FOR_CLIPPED
    table = MadeUpTable(scaled_to(shape, domain), domain, seed=0, rows=rows)
    found = expected_excess(plan.algorithm, table, plan.budget, model.n_rows, portion)
    return {"like": shape.name, "excess": float(np.mean(found)), "worst_excess": float(max(found))}


def _imagined(model: PrivateFit, columns: Sequence[str]) -> Schema:
    """Return the schema of a table of numbers, of levels, and of times where the model has them go round."""
    rounds, levels = check_cycles(model.cyclic), model.levels or {}
    types = {name: cells_of(rounds[name]) if name in rounds else NUMBER for name in columns}
    types |= {name: TEXT for name in columns if name in levels}
    indicators = missing_for(model)[1]
    part = None if model.zones is None else part_for(model)
    if part is not None:  # columns that only say where a row is
        places = part.placed(columns, ()).columns if isinstance(part, InZone) else ()
        types |= {name: TEXT for name in places if name not in types}
    ignore = {name for name in types if name not in columns}
    return Schema.of(
        types, levels=model.levels, cyclic=model.cyclic, indicators=indicators, part=part, ignore=ignore
    )


def _of_groups(found: Clustering) -> tuple[Array, float]:
    """Return the noise of an average group's centre, column by column, and the worst of it."""
    # The median, since a rehearsal spreads rows evenly.
    relative = np.median(found.centre_sd, axis=0)
    # Where no error of a centre is known, the prediction for the whole has to do.
    return relative, float(np.max(relative)) if np.isfinite(relative).all() else found.predicted_sd


def _of_step(found: Learnt) -> tuple[Array, float]:
    """Return the noise of the means, column by column, and the worst of it; of bounds none is known."""
    sd = found.mean_sd
    return (np.zeros(0), 0.0) if sd is None else (np.full(found.domain.n_columns, sd), sd)


def _released(model: Any, transcript: Transcript, n_clusters: int) -> str:
    if isinstance(model, PrivateCoreset):
        taken = sum(isinstance(entry.question, WithoutNearest) for entry in transcript)
        return f"a coreset of {taken} weighted points"
    if not isinstance(model, PrivateSynopsis):
        if model.n_clusters == "auto":
            return f"as many groups as the released counts show; the errors are those of {n_clusters}"
        return f"{n_clusters} groups"
    entry = next(e for e in reversed(transcript.entries) if e.charge is not None)
    answer, partition = entry.answer, getattr(entry.question, "partition", None)
    kept = ", of which those with many rows are kept," if isinstance(answer, SparseCounts) else ""
    kept = ", of which those that stand out are kept," if isinstance(model, MaskedGridSynopsis) else kept
    cells = getattr(partition, "n_cells", 0)
    # A tree grows where rows are; of even ones it can be said how many boxes it would have.
    what = f"a tree of about {cells:,} boxes" if isinstance(partition, Tree) else f"a grid of {cells:,} cells"
    return f"{what}{kept} with an error of ± {getattr(answer, 'sd', 0.0):.3g} rows each"
