"""A release as a picture and a table: from released values alone."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any

from shoal.studio.pages.scene import map_columns
from shoal.studio.workshop import ReleaseRecord

# Metres in a degree of latitude.
_DEGREE = 111_200


@dataclass(frozen=True)
class Picture:
    """What is drawn of a release.

    Parameters
    ----------
    names : list of str
        Columns.
    box : list or None
        South-west and north-east corners of the declared bounds; None where there is no map.
    centres : list of dict
        For the map: place, size, reach of the error, label.
    points : list of list
        Latitude, longitude and weight of released points.
    rows : list of dict
        For the table: number, place, size, interval, error.
    errors_are : str
        What the errors count.
    promised : list of (str, str)
        What is promised, and to whom.
    zones : dict or None
        Regions with levels of their own, as GeoJSON.
    """

    names: list[str]
    box: list[list[float]] | None
    centres: list[dict[str, Any]] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    errors_are: str = ""
    promised: list[tuple[str, str]] = field(default_factory=list)
    zones: dict[str, Any] | None = None


def picture_of(record: ReleaseRecord) -> Picture:
    """Return what is drawn of a release.

    Parameters
    ----------
    record : ReleaseRecord
        The release.
    """
    page = record.page()
    names, bounds = list(page["names"]), page["bounds"]
    columns = [
        {"name": n, "lower": float(bounds[n][0]), "upper": float(bounds[n][1])} for n in names if n in bounds
    ]
    places = map_columns(columns) if len(columns) == len(names) else None
    rows = []
    for i, (centre, size) in enumerate(zip(page["centres"], page["sizes"], strict=True)):
        off, reach = page["size_errors"][i], page["centre_errors"][i]
        known = None if reach is None or None in reach else [float(value) for value in reach]
        rows.append(
            {
                "number": i,
                "at": [float(v) for v in centre],
                "size": float(size),
                "off": off,
                "reach": known,
            }
        )
    said = {"errors_are": page["errors_are"], "promised": page["promised"], "zones": page["zones"]}
    if page["zone"]:
        for row, zone in zip(rows, page["zone"], strict=True):
            row["zone"] = zone
    if places is None:
        return Picture(names, None, rows=rows, **said)
    lon, lat = places
    box = [[columns[lat]["lower"], columns[lon]["lower"]], [columns[lat]["upper"], columns[lon]["upper"]]]
    centres = [
        {
            "at": [row["at"][lat], row["at"][lon]],
            "size": row["size"],
            "reach": row["reach"] and [row["reach"][lat], row["reach"][lon]],
            "label": f"group {row['number']}: {interval(row)} rows",
        }
        for row in rows
    ]
    for row in rows:
        if row["reach"]:
            row["metres"] = max(
                row["reach"][lat] * _DEGREE,
                row["reach"][lon] * _DEGREE * math.cos(math.radians(row["at"][lat])),
            )
    points = [
        [float(at[lat]), float(at[lon]), float(w)]
        for at, w in zip(page["points"], page["weights"], strict=True)
    ]
    return Picture(names, box, centres, points, rows, **said)


def interval(row: dict[str, Any]) -> str:
    """Return a size with its error."""
    size = f"{max(row['size'], 0):,.0f}"
    return size if row["off"] is None else f"{size} ± {row['off']:,.0f}"


def groups_html(picture: Picture) -> str:
    """Return the groups as a table."""
    head = "".join(f'<th scope="col" class="num">{html.escape(name)}</th>' for name in picture.names)
    zoned = any("zone" in row for row in picture.rows)
    head = ('<th scope="col">Zone</th>' if zoned else "") + head
    body = "".join(
        f'<tr><th scope="row">{row["number"]}</th>'
        + (f"<td>{html.escape(row['zone'])}</td>" if zoned else "")
        + "".join(f'<td class="num">{value:.5g}</td>' for value in row["at"])
        + f'<td class="num">{interval(row)}</td><td class="num">{_error(row)}</td></tr>'
        for row in picture.rows
    )
    return (
        f'<table class="plain"><thead><tr><th scope="col">Group</th>{head}<th scope="col" class="num">Rows</th>'
        f'<th scope="col" class="num">Error (95 %)</th></tr></thead><tbody>{body}</tbody></table>'
        + (f'<p class="caption">Errors: {html.escape(picture.errors_are)}.</p>' if picture.errors_are else "")
    )


def promised_html(picture: Picture) -> str:
    """Return what is promised as a table."""
    rows = "".join(
        f"<tr><th scope=row>{html.escape(name)}</th><td>{html.escape(said)}</td></tr>"
        for name, said in picture.promised
    )
    return f'<table class="plain"><tbody>{rows}</tbody></table>'


def _error(row: dict[str, Any]) -> str:
    if "metres" in row:
        return f"{row['metres']:,.0f} m" if row["metres"] < 1000 else f"{row['metres'] / 1000:.2g} km"
    return "" if row["reach"] is None else ", ".join(f"{value:.2g}" for value in row["reach"][:4])
