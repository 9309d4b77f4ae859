"""What a fit would ask, spend and be worth, told without touching the data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from shoal._typing import Array
from shoal.accounting import Charge, NoGuarantee
from shoal.algorithms import Clustering, run_prepared
from shoal.algorithms.column_stats import Learnt
from shoal.algorithms.kmeans.kmeans import USUAL_GROUPS
from shoal.domain import Schema
from shoal.domain.fields import NUMBER, TEXT, cells_of
from shoal.domain.times import check_cycles
from shoal.errors import InvalidInput, MostlyNoise
from shoal.estimators.coreset import PrivateCoreset
from shoal.estimators.fitting import PrivateFit
from shoal.estimators.parameters import missing_for
from shoal.estimators.steps import PrivateStep
from shoal.estimators.synopsis import MaskedGridSynopsis, PrivateSynopsis
from shoal.queries import RehearsalCurator, SparseCounts, Transcript, Tree
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        plain = asdict(self)
        plain["charges"] = [{**asdict(c), "amount": str(c.amount)} for c in self.charges]
        plain["centre_error"] = {
            name: error if np.isfinite(error) else None for name, error in self.centre_error.items()
        }
        return plain


def explain(model: PrivateFit, columns: Sequence[str] | Schema, rows: float) -> Explanation:
    """Rehearse a fit on an imagined table.

    Parameters
    ----------
    model : estimator
        A private k-means estimator, a synopsis, a coreset or a step of a pipeline; it is not changed.
    columns : sequence of str or Schema
        Names of the columns that are looked at, numbers but for those with `levels`; or the table's schema.
    rows : float
        A guess of the number of rows.

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
    plan = model._plan(schema, model._unit(), weighted=schema.weight is not None)
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
        found = run_prepared(algorithm, curator, count_clipped=bool(model.count_clipped))
    relative, worst = _of_step(found) if isinstance(model, PrivateStep) else _of_groups(found)
    known, groups = not bounds.unknown, None if isinstance(model, PrivateStep) else len(found.centres)
    errors = relative * bounds.half_width if known else relative
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
    )


def _imagined(model: PrivateFit, columns: Sequence[str]) -> Schema:
    """Return the schema of a table of numbers, of levels, and of times where the model has them go round."""
    rounds, levels = check_cycles(model.cyclic), model.levels or {}
    types = {name: cells_of(rounds[name]) if name in rounds else NUMBER for name in columns}
    types |= {name: TEXT for name in columns if name in levels}
    indicators = missing_for(model)[1]
    return Schema.of(types, levels=model.levels, cyclic=model.cyclic, indicators=indicators)


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
