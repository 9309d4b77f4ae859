"""In which zone each row is, by its own cells alone: exact integers, compiled where there is much to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._compiling import compiled
from shoal._typing import Integers
from shoal.domain import Zones

Find: TypeAlias = Callable[[Integers, Integers, Integers, Integers, Integers, Integers], None]


def zones_of_places(zones: Zones, x: npt.ArrayLike, y: npt.ArrayLike) -> Integers:
    """Return the zone of each row by its place: the first that it is in or touches, else the rest.

    Parameters
    ----------
    zones : Zones
        Polygons.
    x, y : array of any real type
        Cells of the two columns; a row without a place is in the rest.

    Examples
    --------
    >>> lines = [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]
    >>> feature = {"type": "Feature", "properties": {"name": "a", "epsilon": 1},
    ...            "geometry": {"type": "Polygon", "coordinates": lines}}
    >>> zones_of_places(Zones.from_geojson(feature), [1.0, 2.0, 2.1, np.nan], [1.0, 1.0, 1.0, 1.0]).tolist()
    [0, 0, 1, 1]
    """
    edges = _edges(zones)
    # Cells of a lattice step are the same to all that follows: each is rounded by itself.
    px, py = zones.axes[0].steps(x), zones.axes[1].steps(y)
    found = np.full(len(px), len(zones.zones), dtype=np.int64)
    _find()(px, py, edges.lines, edges.first, edges.boxes, found)
    return found


def zones_of_array(zones: Zones, rows: npt.NDArray[Any]) -> Integers:
    """Return the zone of each row of an array, whose columns are called x0, x1 and so on.

    Parameters
    ----------
    zones : Zones
        Polygons over two of its columns.
    rows : ndarray of shape (n_rows, n_columns)
        All its columns.
    """
    x, y = (rows[:, int(name[1:])] for name in zones.columns or ())
    return zones_of_places(zones, x, y)


@dataclass(frozen=True, eq=False)
class _Edges:
    """All edges on the lattice, from (x, y) to (x, y); where those of each zone begin; a box of each zone."""

    lines: Integers
    first: Integers
    boxes: Integers


@lru_cache(maxsize=8)
def _edges(zones: Zones) -> _Edges:
    lines, first, boxes = [], [0], []
    for zone in zones.zones:
        rings = [ring for polygon in zones.rings(zone) for ring in polygon]
        own = np.concatenate([np.hstack([ring.corners, ring.ends]) for ring in rings])
        lines.append(own)
        first.append(first[-1] + len(own))
        boxes.append([*own[:, :2].min(axis=0), *own[:, :2].max(axis=0)])
    return _Edges(np.concatenate(lines), np.array(first, np.int64), np.array(boxes, np.int64))


@cache
def _find() -> Find:
    return compiled(find_loop, find_numpy, lambda px, _, lines, *__: len(px) * len(lines))


def find_loop(px: Any, py: Any, lines: Any, first: Any, boxes: Any, found: Any) -> None:
    """Write the first zone that each point is in, or on the border of; others stay as they are."""
    for i in range(len(px)):
        x, y = px[i], py[i]
        for zone in range(len(first) - 1):
            if x < boxes[zone, 0] or y < boxes[zone, 1] or x > boxes[zone, 2] or y > boxes[zone, 3]:
                continue
            inside = False
            for e in range(first[zone], first[zone + 1]):
                ax, ay, bx, by = lines[e, 0], lines[e, 1], lines[e, 2], lines[e, 3]
                if (ay > y and by > y) or (ay < y and by < y) or (ax < x and bx < x):
                    continue
                way = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
                if way == 0 and min(ax, bx) <= x <= max(ax, bx):
                    inside = True
                    break
                # The line to the right goes through it; an end counts for the edge that goes up from it.
                if (ay <= y < by and way > 0) or (by <= y < ay and way < 0):
                    inside = not inside
            if inside:
                found[i] = zone
                break


def find_numpy(px: Any, py: Any, lines: Any, first: Any, boxes: Any, found: Any) -> None:
    """Do the same as the loop, edge by edge for all points near a zone."""
    free = np.ones(len(px), dtype=np.bool_)
    for zone in range(len(first) - 1):
        low_x, low_y, high_x, high_y = boxes[zone]
        near = np.flatnonzero(free & (px >= low_x) & (py >= low_y) & (px <= high_x) & (py <= high_y))
        x, y = px[near], py[near]
        odd, on = np.zeros(len(near), dtype=np.bool_), np.zeros(len(near), dtype=np.bool_)
        for ax, ay, bx, by in lines[first[zone] : first[zone + 1]].tolist():
            way = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            span = (x >= min(ax, bx)) & (x <= max(ax, bx)) & (y >= min(ay, by)) & (y <= max(ay, by))
            on |= (way == 0) & span
            odd ^= ((ay <= y) & (y < by) & (way > 0)) | ((by <= y) & (y < ay) & (way < 0))
        inside = near[odd | on]
        found[inside], free[inside] = zone, False
