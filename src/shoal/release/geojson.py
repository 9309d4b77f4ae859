"""Centres as points on a map, where two columns are longitude and latitude."""

from __future__ import annotations

from typing import Any

from shoal.domain import Domain
from shoal.domain.bounds import geographic_axis
from shoal.release.certificate import column_names

_REACH = {"longitude": 180.0, "latitude": 90.0}


def map_columns(domain: Domain) -> tuple[int, int] | None:
    """Return which columns are longitude and latitude, by name and bounds; None if that is not plain.

    Examples
    --------
    >>> from shoal.domain import Bounds
    >>> names = ("fare", "pickup_latitude", "pickup_longitude")
    >>> map_columns(Domain(Bounds((0, 40, -75), (100, 41, -73)), names=names))
    (2, 1)
    >>> map_columns(Domain(Bounds((0, 0), (500, 500)), names=("lon", "lat"))) is None
    True
    """
    found: dict[str, list[int]] = {"longitude": [], "latitude": []}
    ends = zip(column_names(domain), domain.bounds.lower, domain.bounds.upper, strict=True)
    for j, (name, low, high) in enumerate(ends):
        axis = geographic_axis(name)
        if axis is not None and -_REACH[axis] <= low <= high <= _REACH[axis]:
            found[axis].append(j)
    if len(found["longitude"]) != 1 or len(found["latitude"]) != 1:
        return None
    return found["longitude"][0], found["latitude"][0]


def to_geojson(
    domain: Domain, centres: Any, rows: list[dict[str, Any]], note: str = ""
) -> dict[str, Any] | None:
    """Return a collection of points with one row of properties each, or None where there is no map.

    Parameters
    ----------
    domain : Domain
        Names and bounds of the columns.
    centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    rows : list of dict
        What to tell about each centre.
    note : str
        What to tell about all of them.
    """
    columns = map_columns(domain)
    if columns is None:
        return None
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [float(centre[j]) for j in columns]},
            "properties": row,
        }
        for centre, row in zip(centres, rows, strict=True)
    ]
    return {"type": "FeatureCollection", **({"note": note} if note else {}), "features": features}
