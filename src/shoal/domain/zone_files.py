"""Zones as they are written: GeoJSON, with a name and a level for each feature."""

from __future__ import annotations

import json
import numbers
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from shoal.domain.zones import Corners, Polygon, Zone
from shoal.errors import InvalidInput

_LEVELS = ("epsilon", "level")
_REACH = (180.0, 90.0)


def read_features(
    source: str | PathLike[str] | Mapping[str, Any], levels: Mapping[str, float] | None, *, on_earth: bool
) -> Iterator[Zone]:
    """Read the zones of a GeoJSON file, or say what is wrong with which feature.

    Parameters
    ----------
    source : path or mapping
        A file, or what was read from one.
    levels : mapping of str to float, optional
        Epsilons by name; they win over those of the file.
    on_earth : bool
        Whether coordinates must be longitudes and latitudes.
    """
    given = dict(levels or {})
    held = source if isinstance(source, Mapping) else _read(source)
    names = []
    for i, feature in enumerate(_features(held)):
        told = feature.get("properties")
        said: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
        name = str(said.get("name") or feature.get("id") or f"zone {i + 1}")
        names.append(name)
        polygons = _polygons(feature.get("geometry"), name)
        if on_earth:
            _check_on_earth(polygons, name)
        yield Zone(name, _level(given[name] if name in given else _said(said, name), name), polygons)
    for name in given:
        if name not in names:
            raise InvalidInput(f"levels name zone {name!r}, which is not there; there are {', '.join(names)}")


def _read(source: Any) -> Mapping[str, Any]:
    if not isinstance(source, str | PathLike):
        raise InvalidInput(f"zones are {source!r}; give the path of a GeoJSON file, or what it holds")
    path = fspath(source)
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the file of zones {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the file of zones {path} is not GeoJSON: {error}") from None
    if not isinstance(held, Mapping):
        raise InvalidInput(f"the file of zones {path} is not GeoJSON: it holds no object")
    return held


def _features(held: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if held.get("type") == "Feature":
        return [held]
    found = held.get("features")
    if held.get("type") != "FeatureCollection" or not isinstance(found, list | tuple):
        raise InvalidInput(
            f"zones are GeoJSON of type {held.get('type')!r}; a FeatureCollection is wanted, with a Polygon "
            "or a MultiPolygon for each zone"
        )
    for i, feature in enumerate(found):
        if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
            raise InvalidInput(f"feature {i} of the zones is none: it has no type 'Feature'")
    return list(found)


def _said(said: Mapping[str, Any], name: str) -> Any:
    found = [said[word] for word in _LEVELS if said.get(word) is not None]
    if not found:
        raise InvalidInput(
            f"zone {name!r} has no level: say its epsilon in the property 'epsilon' of its feature, or by "
            f"levels={{{name!r}: 0.1}}"
        )
    return found[0]


def _level(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInput(f"the level of zone {name!r} is {value!r}; it is an epsilon: a number such as 0.1")
    return float(value)


def _polygons(geometry: Any, name: str) -> tuple[Polygon, ...]:
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind not in ("Polygon", "MultiPolygon"):
        raise InvalidInput(f"zone {name!r} is a {kind}; a Polygon or a MultiPolygon is wanted")
    held = geometry.get("coordinates")
    polygons = _listed([held] if kind == "Polygon" else held, name)
    return tuple(tuple(_line(line, name) for line in _listed(polygon, name)) for polygon in polygons)


def _line(line: Any, name: str) -> Corners:
    corners = [_corner(corner, name) for corner in _listed(line, name)]
    if len(corners) < 4 or corners[0] != corners[-1]:
        raise InvalidInput(
            f"zone {name!r} has a line that is not closed: GeoJSON wants at least four corners, of which the "
            "last is the first again"
        )
    return tuple(corners[:-1])


def _corner(corner: Any, name: str) -> tuple[float, float]:
    two = _listed(corner, name)[:2]  # a height may follow, and is not looked at
    if len(two) < 2 or any(isinstance(end, bool) or not isinstance(end, numbers.Real) for end in two):
        raise InvalidInput(f"zone {name!r} has a corner {corner!r}; two numbers are wanted")
    return float(two[0]), float(two[1])


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(f"the coordinates of zone {name!r} are not lists of corners as GeoJSON has them")
    return list(value)


def _check_on_earth(polygons: tuple[Polygon, ...], name: str) -> None:
    for corner in (corner for polygon in polygons for line in polygon for corner in line):
        if not all(abs(end) <= most for end, most in zip(corner, _REACH, strict=True)):
            raise InvalidInput(
                f"zone {name!r} has a corner {corner}, which is no longitude and latitude: GeoJSON has the "
                "longitude first; for other columns give columns=('x', 'y')"
            )
