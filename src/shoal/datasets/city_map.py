"""The made-up city as a map: its shores, park, streets and terminals, as GeoJSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.datasets.city import (
    _AIRPORTS,
    _AVENUE,
    _BLOCK,
    _KM,
    _PARK,
    _QUARTERS,
    _STREET,
    LOWER,
    UPPER,
    _on_land,
    _to_degrees,
    _turn,
)

Points = npt.NDArray[np.float64]

# Where the island's width changes, and its half widths there, in kilometres: as `_on_land` has them.
_WIDTHS = np.array([[0, 0.45], [2, 1.2], [4, 1.5], [12, 1.5], [16, 1.0], [20, 0.5]])
# The shore across the eastern river and the bay, along and across in kilometres, from south to north.
_EAST_SHORE = np.array([[-70, 4], [-9, 4], [-9, 1.2], [0, 1.2], [0, 1.15], [2, 2.0], [4, 2.4], [9, 2.4],
                        [12, 2.28], [14, 1.85], [16, 1.47], [20, 0.7], [20.2, 0.2], [70, 0.2]])  # fmt: skip
# The far shore, where nobody is picked up, in kilometres across.
_WEST_SHORE = -3.2
# A quarter's streets are drawn as far as most of its pick-ups lie, in their standard deviations.
_REACH = 1.7
# Kilometres between the places of a street that are asked whether they lie on land.
_STEP = 0.1
# Decimals of a degree: a ten-thousandth is eleven metres, less than a pavement on screen.
_DECIMALS = 4


def city_map() -> dict[str, Any]:
    """Return the map of the made-up city: land, park, streets, avenues and terminals.

    It is drawn from the constants of the city alone, and reads no pick-up.

    Returns
    -------
    dict
        A GeoJSON collection; `kind` of each feature says what it is.

    Examples
    --------
    >>> [feature["properties"]["kind"] for feature in city_map()["features"]]
    ['box', 'land', 'park', 'street', 'avenue', 'terminal']
    """
    south, north = _WIDTHS[:, 0], _WIDTHS[::-1, 0]
    island = np.concatenate(
        [np.column_stack([south, _WIDTHS[:, 1]]), np.column_stack([north, -_WIDTHS[::-1, 1]])]
    )
    east = np.concatenate([_EAST_SHORE, [[70, 80], [-70, 80]]])
    west = np.array([[-70, _WEST_SHORE], [70, _WEST_SHORE], [70, -80], [-70, -80]])
    along, to, left, right = _PARK
    park = np.array([[along, left], [to, left], [to, right], [along, right]])
    x0, y0, x1, y1 = *LOWER, *UPPER
    box = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    return {
        "type": "FeatureCollection",
        "features": [
            _feature("box", "Polygon", [_ring(box)]),
            _feature("land", "MultiPolygon", [[_ring(_to_degrees(part))] for part in (island, east, west)]),
            _feature("park", "Polygon", [_ring(_to_degrees(park))]),
            _feature("street", "MultiLineString", _lines([*_cross_streets(), *_quarter_streets()])),
            _feature("avenue", "MultiLineString", _lines(_avenues())),
            _feature("terminal", "MultiLineString", _lines(_kerbs())),
        ],
    }


def _feature(kind: str, shape: str, coordinates: Any) -> dict[str, Any]:
    geometry = {"type": shape, "coordinates": coordinates}
    return {"type": "Feature", "properties": {"kind": kind}, "geometry": geometry}


def _ring(points: Points) -> list[list[float]]:
    return _pairs(np.concatenate([points, points[:1]]))


def _lines(lines: list[Points]) -> list[list[list[float]]]:
    return [_pairs(line) for line in lines]


def _pairs(points: Points) -> list[list[float]]:
    rounded: list[list[float]] = np.round(points, _DECIMALS).tolist()
    return rounded


def _cross_streets() -> list[Points]:
    """Cross the island, but not its park."""
    found = []
    for along in np.arange(1, int(20 / _STREET)) * _STREET:
        half = float(np.interp(along, _WIDTHS[:, 0], _WIDTHS[:, 1]))
        pieces = [(-half, half)]
        if _PARK[0] < along < _PARK[1]:
            pieces = [(-half, _PARK[2]), (_PARK[3], half)]
        found += [_to_degrees(np.array([[along, a], [along, b]])) for a, b in pieces]
    return found


def _avenues() -> list[Points]:
    """Run the length of the island, but not through its park."""
    found = []
    for across in np.arange(-5, 6) * _AVENUE:
        along = np.linspace(0, 20, 401)
        line = np.column_stack([along, np.full_like(along, across)])
        inside = np.abs(across) <= np.interp(along, _WIDTHS[:, 0], _WIDTHS[:, 1])
        in_park = (along > _PARK[0]) & (along < _PARK[1]) & (_PARK[2] < across < _PARK[3])
        found += [_to_degrees(piece[[0, -1]]) for piece in _runs(line, inside & ~in_park)]
    return found


def _quarter_streets() -> list[Points]:
    """Two families of parallel streets round the middle of each quarter, as far as there is land."""
    found = []
    for longitude, latitude, spread, tilt, _ in _QUARTERS:
        reach = _REACH * spread
        offsets = np.arange(-int(reach / _BLOCK), int(reach / _BLOCK) + 1) * _BLOCK
        for offset in offsets:
            half = float(np.sqrt(max(0.0, reach**2 - offset**2)))
            run = np.linspace(-half, half, max(2, int(2 * half / _STEP)))
            for km in (
                np.column_stack([run, np.full_like(run, offset)]),
                np.column_stack([np.full_like(run, offset), run]),
            ):
                line = np.array([longitude, latitude]) + _turn(km, np.full(len(km), tilt)) / _KM
                found += [piece[[0, -1]] for piece in _runs(line, _on_land(line))]
    return found


def _kerbs() -> list[Points]:
    angle = np.linspace(0, np.pi, 13)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    return [np.array([x, y]) + arc * spread / _KM for x, y, spread, _ in _AIRPORTS]


def _runs(line: Points, keep: npt.NDArray[np.bool_]) -> list[Points]:
    """Cut a line into the pieces where `keep` holds."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]]).astype(np.int8)))
    return [line[a:b] for a, b in ends.reshape(-1, 2) if b - a > 1]
