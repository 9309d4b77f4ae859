"""From declarations to tables and estimators: the same for a look, a release, a script and the red layer."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.domain import Zones
from shoal.errors import InvalidInput, ShoalWarning
from shoal.estimators import KMeans, PrivTreeSynopsis
from shoal.queries import NotForRelease
from shoal.queries.gate.one_screen import groups_for_one_screen
from shoal.release.synopsis import SynopsisRelease
from shoal.sources import FileTable
from shoal.studio.workshop.draft import ESTIMATE, Draft
from shoal.studio.workshop.store import now
from shoal.studio.workshop.values import LevelView, Source

if TYPE_CHECKING:
    from shoal.studio.workshop.explored import Explored

LOOKED = "somebody looked at the real rows"
"""How a note of the ledger begins that says so."""
# Red centres where the data says how many, and no level is prepared.
_USUAL = 8
_WITHOUT_ZONES = (
    "levels are tried without the zones: where a zone is stronger, more is lost than is said here"
)


def table_of(source: Source, draft: Draft) -> FileTable:
    """Open the table; no row is read."""
    return FileTable(source.path, draft.columns or None, types=draft.types, header=draft.header)  # type: ignore[arg-type]


def parameters(draft: Draft, bounds: Any) -> dict[str, Any]:
    """Return what every estimator of a study is given, but for epsilon and budget."""
    given: dict[str, Any] = {"bounds": bounds}
    if draft.levels:
        given["levels"] = draft.levels
    if draft.unit is not None:
        given |= {"unit": draft.unit, "max_rows": draft.max_rows}
    if draft.delta:
        given["delta"] = draft.delta
    if draft.n_rows is not None:
        given["n_rows"] = draft.n_rows
    return given


def zones_of(draft: Draft) -> Zones | None:
    """Return the zones that were declared: regions, or the levels of a public column; None without.

    Regions are GeoJSON whose features have `name` and `epsilon`; a column is
    ``{"column": name, "levels": {level: epsilon}, "rest": None}``.
    """
    plain = draft.zones
    if plain is None:
        return None
    if "column" in plain:
        return Zones.from_column(plain["column"], plain.get("levels", {}), plain.get("rest"))
    return Zones.from_geojson(plain, rest=plain.get("rest"))


def losses_of(draft: Draft, epsilon: float, neighbours: str) -> float:
    """Return what one unit loses to a release at a level: with zones, the sum of the largest it can be in."""
    zones = zones_of(draft)
    if zones is None:
        return epsilon
    hit = draft.max_rows * (2 if neighbours == "replace" else 1)
    levels = sorted((Fraction(str(e)) for e in zones.epsilons(epsilon).values()), reverse=True)
    return float(sum(levels[:hit], Fraction(0)))


def bounds_of(draft: Draft, look: SynopsisRelease | None) -> Any:
    """Return bounds as an estimator takes them: declared, or released by the look; None where unknown."""
    if draft.bounds == ESTIMATE:
        if look is None:
            return None
        domain = look.domain
        ends = zip(look.names, domain.bounds.lower, domain.bounds.upper, strict=True)
        return {name: (float(low), float(high)) for name, low, high in ends if name in draft.columns}
    if isinstance(draft.bounds, Mapping):
        return {name: draft.bounds[name] for name in draft.columns if name in draft.bounds}
    if draft.bounds == "latlon":
        from shoal.domain.bounds import geographic_axis

        reach = {"longitude": 180.0, "latitude": 90.0}
        axes = {name: geographic_axis(name) for name in draft.columns}
        if all(axes.values()):
            return {name: (-reach[str(axis)], reach[str(axis)]) for name, axis in axes.items()}
    return draft.bounds


def synopsis_model(draft: Draft, budget: Any) -> PrivTreeSynopsis:
    """Return the estimator of the one look: what predicts best (benchmarks/studio_preview.py)."""
    given = parameters(draft, bounds_of(draft, None))
    given.pop("n_rows", None)
    return PrivTreeSynopsis(epsilon=draft.preview_epsilon, budget=budget, count_clipped=True, **given)


def centres_model(draft: Draft, epsilon: float, bounds: Any, budget: Any) -> KMeans:
    """Return the estimator of a release."""
    given = parameters(draft, bounds)
    if (zones := zones_of(draft)) is not None:
        if "zones" not in KMeans._parameter_names():
            raise InvalidInput("groups cannot be found in zones yet: leave them out")
        given["zones"] = zones
    return KMeans(draft.k, epsilon=epsilon, budget=budget, **given)  # type: ignore[arg-type]


def check_table(source: Source, draft: Draft) -> None:
    """Refuse columns, types and bounds that do not fit the file's own schema; no row is read."""
    model = centres_model(replace(draft, zones=None), 1.0, bounds_of(draft, None), None)
    _check(model, source, draft)


def check_plan(study: Explored, epsilon: float) -> None:
    """Refuse what a fit would refuse, before anything is spent."""
    model = centres_model(study.draft, epsilon, study.bounds(), None)
    _check(model, study.source, study.draft)


def _check(model: Any, source: Source, draft: Draft) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        table = model._open(table_of(source, draft), None)
        if draft.bounds is not None and not draft.missing():
            model._plan(table.schema, model._unit(), weighted=False)


def note_look(accountant: Any, by: str) -> None:
    """Record in the ledger that real rows are looked at; every later certificate says so."""
    accountant.note(
        f"{LOOKED} on {now()[:10]} ({by}, in the studio): levels, bounds and zones of later releases may "
        "depend on that look, which no budget covers"
    )


def _look_is_noted(study: Explored) -> Any:
    """Return the bounds for a look at real rows, if the ledger says that there is one."""
    draft = study.draft
    accountant = study.studio.accountant(draft.dataset, draft.ledger)
    if not any(note.startswith(LOOKED) for note in accountant.book.notes):
        raise InvalidInput(
            "that real rows are looked at is not in the ledger: switch it on again, which records it"
        )
    bounds = study.bounds()
    if bounds is None:
        raise InvalidInput("bounds are not known yet: prepare levels first, which estimates them privately")
    return bounds


def preview_centres(study: Explored, epsilon: float) -> NotForRelease:
    """Try a level on the real rows, without paying, for the curator's screen alone.

    Noise is drawn as for a release. But nothing is charged, so it is no release: it comes back as a value
    that nothing accepts that leaves.
    """
    bounds, draft = _look_is_noted(study), replace(study.draft, zones=None)
    model = centres_model(draft, epsilon, bounds, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # of this very thing: that it draws on no budget
        found = model.fit(table_of(study.source, draft)).release_
    return NotForRelease(found.centres, found.sizes)


def red_centres(study: Explored) -> NotForRelease:
    """Compute centres without privacy, in the gate, for the curator's screen alone."""
    bounds, draft = _look_is_noted(study), study.draft
    model = centres_model(replace(draft, zones=None), 1.0, bounds, None)
    table = model._open(table_of(study.source, draft), None)
    plan = model._plan(table.schema, model._unit(), weighted=False)
    views = study.views()
    k = draft.k if isinstance(draft.k, int) else len(views[-1].centres) if views else _USUAL
    return groups_for_one_screen(table.source(plan.domain), plan.domain, k)


@lru_cache(maxsize=64)
def _read(path: str, changed: int) -> tuple[LevelView, ...]:  # noqa: ARG001 - what was read before may be old
    plain = json.loads(Path(path).read_text(encoding="utf-8"))
    return tuple(LevelView.from_dict(view) for view in plain)


def read_views(path: Path) -> tuple[LevelView, ...]:
    """Return prepared levels, from memory where the file is as it was."""
    try:
        return _read(str(path), path.stat().st_mtime_ns)
    except FileNotFoundError:
        return ()


def without_zones(view: LevelView) -> LevelView:
    """Return a prepared level that says that zones, which were declared, are not in it."""
    return replace(view, doubt="; ".join(filter(None, (view.doubt, _WITHOUT_ZONES))))
