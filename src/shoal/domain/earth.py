"""True distance for longitude and latitude: on the ground, near the middle latitude of the public bounds."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from shoal.domain.bounds import Bounds, geographic_axis
from shoal.errors import InvalidInput

KM_PER_DEGREE = 111.195
"""Of latitude, on a sphere of 6,371 km."""


def earth_pairs(names: tuple[str, ...] | None) -> list[tuple[int, int]]:
    """Return the columns of longitude and latitude that belong together, by their names.

    Examples
    --------
    >>> earth_pairs(("from_lon", "from_lat", "fare", "to_lat", "to_lon"))
    [(0, 1), (4, 3)]
    """
    axes: dict[str, dict[str, int]] = {"longitude": {}, "latitude": {}}
    for j, name in enumerate(names or ()):
        if (axis := geographic_axis(name)) is not None:
            axes[axis][re.sub(r"(?i)longitude|latitude|long|lon|lng|lat", "", name)] = j
    east, north = axes.values()
    if not east or east.keys() != north.keys():
        raise InvalidInput(
            "scaling='earth' needs pairs of columns named after longitude and latitude, such as lon and lat; "
            f"the columns are {list(names or ())}"
        )
    return [(east[rest], north[rest]) for rest in east]


def earth_reach(names: tuple[str, ...] | None, bounds: Bounds) -> npt.NDArray[np.float64]:
    """Return how far it is from the middle of each column to its bounds.

    A degree of longitude is that of the middle latitude of the bounds. In kilometres where all columns are
    longitudes and latitudes; else these are measured by the longest of them, and the others by their bounds.

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    bounds : Bounds
        Public bounds.

    Examples
    --------
    >>> earth_reach(("lon", "lat"), Bounds((-1, 59), (1, 61))).round(1)
    array([ 55.6, 111.2])
    """
    half, pairs = bounds.half_width, earth_pairs(names)
    if bounds.unknown:
        return np.full(len(half), np.inf)
    reach = np.ones(len(half))
    for east, north in pairs:
        reach[east] = half[east] * KM_PER_DEGREE * np.cos(np.radians(bounds.middle[north]))
        reach[north] = half[north] * KM_PER_DEGREE
    flat = [j for pair in pairs for j in pair]
    longest = reach[flat].max()
    if len(flat) < len(half) and longest > 0:
        reach[flat] /= longest
    return reach


def earth_error(names: tuple[str, ...] | None, bounds: Bounds) -> float:
    """Return by how much a distance to the east is off at most, as a share: the Earth is not flat.

    Examples
    --------
    >>> round(earth_error(("lon", "lat"), Bounds((-74.3, 40.4), (-73.7, 41.0))), 4)
    0.0045
    """
    worst = 0.0
    for _, north in earth_pairs(names):
        ends = np.radians([bounds.lower[north], bounds.upper[north]])
        widest = 1.0 if ends[0] < 0 < ends[1] else float(np.cos(ends).max())
        middle = float(np.cos(np.radians(bounds.middle[north])))
        worst = max(worst, abs(widest / middle - 1), abs(float(np.cos(ends).min()) / middle - 1))
    return worst
