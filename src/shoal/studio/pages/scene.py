"""What the browser draws: all prepared levels of a study at once, as JSON."""

from __future__ import annotations

from typing import Any

from shoal.domain.bounds import geographic_axis
from shoal.studio.pages.desk import Desk
from shoal.studio.workshop import LEVELS, LevelView, Price, Study

# Digits of a place on a map or a plot: finer than a pixel at any zoom that is offered.
_DIGITS = 6
# Of a share: with more noise than this, that nothing was counted says nothing.
_TELLING = 0.2


def scene_of(desk: Desk, study: Study) -> dict[str, Any]:
    """Return everything that Explore shows, for every prepared level.

    Parameters
    ----------
    desk : Desk
        Where the study lies.
    study : Study
        The study.
    """
    views, draft = study.views(), study.draft
    names = views[0].names if views else draft.columns
    ends = study.bounds() or {}
    shares = {f"{name}={level}": (0.0, 1.0) for name, values in draft.levels.items() for level in values}
    columns = [_column(name, {**shares, **ends}, views) for name in names]
    chosen = desk.level(study)
    epsilons = [view.level.epsilon for view in views]
    start = epsilons.index(chosen.epsilon) if chosen.epsilon in epsilons else len(views) // 2
    price = study.price_of(LEVELS[0])
    levels = [_level(view, study.price_of(view.level)) for view in views]
    return {
        "columns": columns,
        "map": map_columns(columns),
        "levels": levels,
        "start": start,
        "zones": draft.zones if draft.zones and "features" in draft.zones else None,
        "ledger": {"left": _short(price.left), "total": _short(price.total)},
        "clipped": clipped_words(study.clipped()),
        "caption": (
            f"Drawn from {views[0].rows if views else 0:,} made-up rows of one small paid look: nobody's, and free to "
            "explore. It opens on the declared bounds, never on where rows are."
        ),
        **base_of(desk, study),
    }


def base_of(desk: Desk, study: Study | None) -> dict[str, Any]:
    """Return what lies under a map, and whose it is."""
    under = ["/assets/world.geojson"]
    if study is not None and study.source.kind == "demo":
        under.append("/assets/city.geojson")
    if desk.basemap is not None:
        under.append("/basemap.geojson")
    return {"basemaps": under, "attribution": "Land and borders: Natural Earth"}


def map_columns(columns: list[dict[str, Any]]) -> list[int] | None:
    """Return which columns are longitude and latitude, by their names and bounds; None if that is not plain."""
    found: dict[str, list[int]] = {"longitude": [], "latitude": []}
    reach = {"longitude": 180.0, "latitude": 90.0}
    for i, column in enumerate(columns):
        axis = geographic_axis(column["name"])
        if axis and -reach[axis] <= column["lower"] <= column["upper"] <= reach[axis]:
            found[axis].append(i)
    if len(found["longitude"]) != 1 or len(found["latitude"]) != 1:
        return None
    return [found["longitude"][0], found["latitude"][0]]


def _column(name: str, ends: dict[str, Any], views: tuple[LevelView, ...]) -> dict[str, Any]:
    low, high = ends.get(name, (None, None))
    try:
        low, high = float(low), float(high)
    except (TypeError, ValueError):  # dates, categories: as far as released places reach
        at = [row[views[0].names.index(name)] for view in views for row in (*view.points.at, *view.centres)]
        low, high = min(at, default=0.0), max(at, default=1.0)
    return {"name": name, "lower": low, "upper": high}


def clipped_words(found: dict[str, dict[str, float]]) -> list[str]:
    """Say what share of each column's cells the bounds cut off, as the look counted, with its noise."""
    said = []
    for name, shares in found.items():
        reach = 2 * shares.get("noise_sd", 0.0)
        parts = [
            f"{100 * share:.2g} % {where}"
            for where in ("below", "above", "missing")
            if (share := shares.get(where, 0.0)) > max(reach, 0.0005)
        ]
        none = "nothing" if reach < _TELLING else "not known"
        said.append(f"{name}: {', '.join(parts) or none} (± {100 * min(reach, 1.0):.2g} %)")
    return said


def _level(view: LevelView, price: Price) -> dict[str, Any]:
    errors = [None if None in error else _rounded(error) for error in view.centre_errors]
    intervals = [
        None if off is None else [max(size - off, 0.0), size + off]
        for size, off in zip(view.sizes, view.size_errors, strict=True)
    ]
    epsilon = view.level.epsilon
    return {
        "name": view.level.name,
        "epsilon": epsilon,
        "risk": (
            f"With all that was released before, {price.risk}."
            if price.enough
            else f"The ledger does not hold this level: {price.left:.4g} of {price.total:g} is left."
        ).replace(" %", "\N{NO-BREAK SPACE}%"),
        "centres": [_rounded(centre) for centre in view.centres],
        "sizes": [round(size, 1) for size in view.sizes],
        "intervals": intervals,
        "errors": errors,
        "points": [_rounded(place) for place in view.points.at],
        "weights": [round(weight, 2) for weight in view.points.weights],
        "excess": view.excess,
        "worst": view.worst_excess,
        "doubt": view.doubt,
        "coreset": {
            "points": [_rounded(place) for place in view.coreset.at],
            "weights": [round(weight, 2) for weight in view.coreset.weights],
        },
        "coreset_size": view.coreset_size,
        "left_after": _short(price.after) if price.enough else None,
    }


def _rounded(place: Any) -> list[float]:
    return [round(float(value), _DIGITS) for value in place]


def _short(value: float) -> str:
    return f"{value:.4g}"
