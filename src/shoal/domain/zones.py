"""Zones: disjoint public regions, or levels of a public column, each with a privacy level of its own.

Their borders are public: fixed before anything is asked of the rows, from public or released values, and
published with the release. Every row is in exactly one zone, or in the rest.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from shoal.domain.bounds import geographic_axis
from shoal.domain.polygons import Axis, Ring, relation, touches_itself
from shoal.errors import InvalidInput, InvalidTable

Corners: TypeAlias = tuple[tuple[float, float], ...]
Polygon: TypeAlias = tuple[Corners, ...]
"""A line around it, and one around each of its holes; without the last corner, which is the first again."""

REST = "rest"
"""The name of all that is in no zone."""
# Corners of all zones together: pairs of edges are compared, and every row with every edge near it.
_MOST_CORNERS = 20_000


@dataclass(frozen=True)
class Zone:
    """One region with its level.

    Parameters
    ----------
    name : str
        What it is called; of a column, the level.
    epsilon : float
        The privacy loss allowed of a row in it.
    polygons : tuple
        Where it is; empty where a column says it.
    """

    name: str
    epsilon: float
    polygons: tuple[Polygon, ...] = ()


@dataclass(frozen=True)
class Zones:
    """Disjoint public regions, or levels of a public column, with privacy levels of their own.

    A row on a border is in the first zone that it touches; one in no zone, or without a place, is in the
    rest. Make them by :meth:`from_geojson` or :meth:`from_column`.

    Parameters
    ----------
    zones : tuple of Zone
        In the order that borders are settled by.
    rest : float, optional
        The level of all that is in no zone; if not given, the epsilon of the fit.
    columns : tuple of str, optional
        The two columns of the polygons, or the one column of levels. If not given, polygons are in
        longitude and latitude, and the columns are known by their names.

    Examples
    --------
    >>> zones = Zones.from_column("ward", {"clinic": 0.1, "harbour": 0.5}, rest=1.0)
    >>> zones.names, zones.epsilons()
    (('clinic', 'harbour', 'rest'), {'clinic': 0.1, 'harbour': 0.5, 'rest': 1.0})
    """

    zones: tuple[Zone, ...]
    rest: float | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.zones:
            raise InvalidInput("there are no zones: give at least one, or leave zones out")
        names = [zone.name for zone in self.zones]
        for name in names:
            if names.count(name) > 1 or name == REST or not name:
                why = "is what all others are called" if name == REST else "is there twice"
                raise InvalidInput(f"a zone called {name!r} {why if name else 'has no name'}; rename it")
        for zone in self.zones:
            _check_epsilon(zone.epsilon, f"zone {zone.name!r}")
        if self.rest is not None:
            _check_epsilon(self.rest, "rest, which is all that is in no zone,")
        if self.by_column:
            if any(zone.polygons for zone in self.zones):
                raise InvalidInput("zones are polygons or levels of one column, not both")
            return
        if self.columns is not None and len(set(self.columns)) != 2:
            raise InvalidInput(f"columns is {self.columns!r}; polygons lie over two: columns=('x', 'y')")
        self._check_polygons()

    @classmethod
    def from_geojson(
        cls,
        source: str | PathLike[str] | Mapping[str, Any],
        levels: Mapping[str, float] | None = None,
        rest: float | None = None,
        *,
        columns: tuple[str, str] | None = None,
    ) -> Zones:
        """Read polygons from GeoJSON.

        Each feature is a zone: a Polygon or a MultiPolygon, with its name in the property `name` and its
        level in the property `epsilon` or `level`.

        Parameters
        ----------
        source : path or mapping
            A file, or what was read from one: a FeatureCollection or a Feature.
        levels : mapping of str to float, optional
            The epsilon of each zone by name, where its feature does not say it, or says otherwise.
        rest : float, optional
            The epsilon of all that is in no zone; if not given, that of the fit.
        columns : (str, str), optional
            The columns that the two coordinates are of; longitude and latitude, if not given.

        Examples
        --------
        >>> square = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
        >>> feature = {"type": "Feature", "properties": {"name": "clinic"},
        ...            "geometry": {"type": "Polygon", "coordinates": square}}
        >>> Zones.from_geojson(feature, levels={"clinic": 0.1}, rest=1.0).epsilons()
        {'clinic': 0.1, 'rest': 1.0}
        """
        from shoal.domain.zone_files import read_features  # a reader of files is not needed to hold zones

        pair = None if columns is None else tuple(map(str, columns))
        return cls(tuple(read_features(source, levels, on_earth=pair is None)), rest, pair)

    @classmethod
    def from_column(cls, column: str, levels: Mapping[Any, float], rest: float | None = None) -> Zones:
        """Take the levels of a public column for zones; it is not clustered.

        Parameters
        ----------
        column : str
            Its name.
        levels : mapping of str or int to float
            The epsilon of the rows that have each level.
        rest : float, optional
            The epsilon of rows that have none of these; if not given, that of the fit.
        """
        if not isinstance(column, str) or not isinstance(levels, Mapping):
            raise InvalidInput(
                f"zones by column are a name and a mapping of its levels to epsilons; got {column!r} and "
                f"{levels!r}"
            )
        return cls(tuple(Zone(str(name), epsilon) for name, epsilon in levels.items()), rest, (column,))

    @property
    def by_column(self) -> bool:
        """Whether a column says in which zone a row is."""
        return self.columns is not None and len(self.columns) == 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all zones; the last is the rest."""
        return (*(zone.name for zone in self.zones), REST)

    def epsilons(self, epsilon: float | None = None) -> dict[str, float]:
        """Return the level of each zone by name; the last is that of the rest.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon of the fit, which is that of the rest where `rest` was not given.
        """
        if self.rest is None and epsilon is None:
            raise InvalidInput("the level of the rest is missing: give rest=..., or the epsilon of a fit")
        if self.rest is not None and epsilon is not None and float(self.rest) != float(epsilon):
            raise InvalidInput(
                f"zones have rest={self.rest:g} and the fit epsilon={epsilon:g}, and both are the level of "
                "all that is in no zone: leave rest out, or give the same"
            )
        rest = epsilon if self.rest is None else self.rest
        return {**{zone.name: float(zone.epsilon) for zone in self.zones}, REST: float(rest)}  # type: ignore[arg-type]

    def with_levels(self, levels: Mapping[str, float], rest: float | None = None) -> Zones:
        """Return the same zones with other levels.

        Parameters
        ----------
        levels : mapping of str to float
            The epsilons by name; zones that are not named keep theirs.
        rest : float, optional
            That of the rest; as it was, if not given.
        """
        for name in levels:
            if name not in self.names[:-1]:
                raise InvalidInput(f"there is no zone {name!r}; there are {', '.join(self.names[:-1])}")
        zones = tuple(replace(zone, epsilon=levels.get(zone.name, zone.epsilon)) for zone in self.zones)
        return replace(self, zones=zones, rest=self.rest if rest is None else rest)

    def placed(self, clustered: Iterable[str], names: Iterable[str]) -> Zones:
        """Return the zones with the columns that say where a row is, found among those of a table.

        Parameters
        ----------
        clustered : iterable of str
            Columns that are clustered: they are looked at first.
        names : iterable of str
            The table's columns.
        """
        if self.columns is not None:
            return self
        axes = _geographic(clustered)
        if any(len(found) != 1 for found in axes.values()):
            axes = _geographic(names)
        for axis, found in axes.items():
            if len(found) != 1:
                which = f"several columns of {axis}: {', '.join(found)}" if found else f"no column of {axis}"
                raise InvalidTable(
                    f"zones are in longitude and latitude, and the table has {which}; say which columns "
                    "the zones are over, with columns=('...', '...') in Zones.from_geojson or --zone-columns"
                )
        return replace(self, columns=(axes["longitude"][0], axes["latitude"][0]))

    def to_geojson(self, epsilon: float | None = None) -> dict[str, Any]:
        """Return the borders with their levels, as :meth:`from_geojson` reads them.

        Parameters
        ----------
        epsilon : float, optional
            The epsilon of the fit: said of the rest.
        """
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "MultiPolygon", "coordinates": [_closed(p) for p in zone.polygons]},
                "properties": {"name": zone.name, "epsilon": zone.epsilon},
            }
            for zone in self.zones
        ]
        rest = epsilon if self.rest is None else self.rest
        return {
            "type": "FeatureCollection",
            **({} if rest is None else {"rest": {"epsilon": rest}}),
            "features": features,
        }

    @cached_property
    def axes(self) -> tuple[Axis, Axis]:
        """The lattice that corners and rows are rounded to."""
        corners = np.array([corner for _, line in self._lines() for corner in line], dtype=np.float64)
        return Axis.over(corners[:, 0]), Axis.over(corners[:, 1])

    def boxes(self) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
        """Return the lowest and the highest corner of the box around each zone, a lattice step wider."""
        wider = [2.0**-axis.exponent for axis in self.axes]
        for zone in self.zones:
            ends = np.array([corner for polygon in zone.polygons for corner in polygon[0]])
            low, high = ends.min(axis=0) - wider, ends.max(axis=0) + wider
            yield (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))

    def rings(self, zone: Zone) -> list[list[Ring]]:
        """Return the lines of each polygon of a zone on the lattice: around it, then around its holes."""
        return [[Ring.of(self._steps(line)) for line in polygon] for polygon in zone.polygons]

    def _steps(self, line: Corners) -> Any:
        x, y = np.array(line, dtype=np.float64).T
        return np.column_stack([self.axes[0].steps(x), self.axes[1].steps(y)])

    def _lines(self) -> Iterator[tuple[Zone, Corners]]:
        return ((zone, line) for zone in self.zones for polygon in zone.polygons for line in polygon)

    def _check_polygons(self) -> None:
        """Refuse lines that are none, polygons that meet themselves, and zones that lie over each other."""
        corners = 0
        for zone, line in self._lines():
            if not all(math.isfinite(end) for corner in line for end in corner):
                raise InvalidInput(f"zone {zone.name!r} has a corner that is not finite")
            corners += len(line)
        if any(not zone.polygons for zone in self.zones):
            empty = next(zone.name for zone in self.zones if not zone.polygons)
            raise InvalidInput(f"zone {empty!r} has no polygon; give it one, or take it out")
        if corners > _MOST_CORNERS:
            raise InvalidInput(
                f"zones have {corners} corners; at most {_MOST_CORNERS} are checked and compared with every "
                "row: make their lines simpler"
            )
        shapes = {zone.name: self.rings(zone) for zone in self.zones}
        for name, polygons in shapes.items():
            for polygon in polygons:
                self._check_polygon(name, polygon)
        flat = [(name, polygon) for name, polygons in shapes.items() for polygon in polygons]
        for i, (name, polygon) in enumerate(flat):
            for other, another in flat[i + 1 :]:
                place = _overlap(polygon, another)
                if place is not None:
                    who = f"zones {name!r} and {other!r}" if name != other else f"two polygons of {name!r}"
                    raise InvalidInput(
                        f"{who} overlap near {self._shown(place)}: zones must be disjoint, so that a row is "
                        "in one of them; cut one along the other, at the same corners"
                    )

    def _check_polygon(self, name: str, polygon: list[Ring]) -> None:
        for ring in polygon:
            if len(ring.corners) < 3:
                raise InvalidInput(
                    f"zone {name!r} has a line that encloses nothing: at least three corners are wanted, and "
                    "none of them closer to another than a step of the lattice"
                )
            place = touches_itself(ring)  # as one does that encloses nothing
            if place is not None:
                raise InvalidInput(
                    f"zone {name!r} meets itself near {self._shown(place)}: the line around it must be simple"
                )
        outer, *holes = polygon
        for i, hole in enumerate(holes):
            how, place = relation(hole, outer)
            if how != "inside":
                raise InvalidInput(f"a hole of zone {name!r} is not inside it, near {self._shown(place)}")
            for other in holes[i + 1 :]:
                how, place = relation(hole, other)
                if how != "apart":
                    raise InvalidInput(f"two holes of zone {name!r} overlap near {self._shown(place)}")

    def _shown(self, place: Any) -> str:
        return f"({self.axes[0].value(float(place[0])):.7g}, {self.axes[1].value(float(place[1])):.7g})"


@dataclass(frozen=True)
class InZone:
    """The part of a table that is one zone.

    Parameters
    ----------
    zones : Zones
        All of them, with their columns.
    number : int
        Which; the last is the rest.
    """

    zones: Zones
    number: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.number < len(self.zones.names):
            raise InvalidInput(f"zone {self.number} of {len(self.zones.names)} is wanted")

    def placed(self, clustered: Iterable[str], names: Iterable[str]) -> InZone:
        """Return the same with its columns, found among those of a table."""
        return replace(self, zones=self.zones.placed(clustered, names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say where a row is."""
        return self.zones.columns or ()

    @property
    def name(self) -> str:
        """What the zone is called."""
        return self.zones.names[self.number]


_AXES = ("longitude", "latitude")


def _geographic(names: Iterable[str]) -> dict[str, list[str]]:
    known = list(dict.fromkeys(names))
    return {axis: [name for name in known if geographic_axis(str(name)) == axis] for axis in _AXES}


def _check_epsilon(value: Any, whose: str) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 < float(value) < math.inf:
        raise InvalidInput(
            f"the epsilon of {whose} is {value!r}; it must be a number above 0, such as 0.1: say it in the "
            "property 'epsilon' of its feature, or by levels={name: epsilon}"
        )


def _overlap(polygon: list[Ring], other: list[Ring]) -> Any:
    """Return a place near which two valid polygons have points in common, not counting borders; or None."""
    how, place = relation(polygon[0], other[0])
    if how == "apart":
        return None
    # One may lie in a hole of the other.
    if how == "inside" and any(relation(polygon[0], hole)[0] == "inside" for hole in other[1:]):
        return None
    if how == "around" and any(relation(other[0], hole)[0] == "inside" for hole in polygon[1:]):
        return None
    return place


def _closed(polygon: Polygon) -> list[list[list[float]]]:
    return [[list(corner) for corner in (*line, line[0])] for line in polygon]
