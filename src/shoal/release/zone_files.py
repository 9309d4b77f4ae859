"""A release of zones as files, and back: those of all groups, and those of each zone with its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.domain import Zones
from shoal.errors import InvalidInput, InvalidRelease
from shoal.queries.gate.codec import from_plain, plain
from shoal.release.certificate import NOISE_ALONE
from shoal.release.files import CERTIFICATE, MAP, TABLE, TEXT, ZONES, from_files, group_rows, to_csv, to_files
from shoal.release.folder import FORMAT, dumps, loads
from shoal.release.geojson import map_columns, to_geojson
from shoal.release.release import Release
from shoal.release.zoned import ZonedRelease

BORDERS = "zones.geojson"
_NOTE = (
    "Groups were found in each zone by itself, with the zone's own epsilon. The files zone0.release.json and "
    "so on are the release of each zone, in this order; the others say the same of all together. The borders "
    "are public: they were fixed before anything was asked of the rows."
)


def zoned_files(release: ZonedRelease) -> dict[str, bytes]:
    """Return the content of every file of a release of zones, by name."""
    rows = [
        {"cluster": row["cluster"], "zone": zone, **{n: v for n, v in row.items() if n != "cluster"}}
        for row, zone in zip(group_rows(release, {"zone"}), release.zone, strict=True)
    ]
    texts = {
        ZONES: dumps(_summary(release)),
        TABLE: to_csv(rows),
        CERTIFICATE: dumps(release.certificate.to_dict()),
        TEXT: f"{release.certificate}\n",
    }
    if not release.zones.by_column:
        texts[BORDERS] = dumps(borders(release))
    if (points := zoned_geojson(release)) is not None:
        texts[MAP] = dumps(points)
    files = {name: text.encode() for name, text in texts.items()}
    for number, part in enumerate(release.parts):
        own = {name: data for name, data in to_files(part).items() if name != MAP}
        files |= {f"zone{number}.{name}": data for name, data in own.items()}
    return files


def zoned_from_files(files: Mapping[str, bytes]) -> ZonedRelease:
    """Read a release of zones from the files of each zone; the others are copies."""
    summary = loads(files[ZONES], ZONES)
    if not isinstance(summary, dict):
        raise InvalidRelease(f"{ZONES} does not hold one record")
    zones: Zones = _zones(summary.get("zones"))
    parts = []
    for number in range(len(zones.names)):
        head = f"zone{number}."
        own = {name.removeprefix(head): data for name, data in files.items() if name.startswith(head)}
        parts.append(Release(**from_files(own)))
    shared = summary.get("shared_out")
    if shared is not None and (type(shared) is not int or shared < len(parts)):
        raise InvalidRelease(f"{ZONES} says that {shared!r} groups were shared out")
    found = ZonedRelease.join(parts, shared)
    if found.zones != zones:
        raise InvalidRelease(f"{ZONES} has other zones than their releases")
    return found


def borders(release: ZonedRelease) -> dict[str, Any]:
    """Return the borders of a release's zones with their levels, and what each protects."""
    found = release.zones.to_geojson(release.epsilons["rest"])
    for feature in found["features"]:
        of = release.certificate.zones[feature["properties"]["name"]]
        feature["properties"] |= {"groups": of["groups"], "protects": of["protects"]}
    found["rest"] = {"epsilon": release.epsilons["rest"], **_rest(release)}
    return found


def zoned_geojson(release: ZonedRelease) -> dict[str, Any] | None:
    """Return centres with their zones, and the borders beside them; None where there is no map."""
    rows = [{**row, "zone": z} for row, z in zip(group_rows(release, {"zone"}), release.zone, strict=True)]
    points = to_geojson(release.domain, release.centres, rows, NOISE_ALONE)
    if points is None or not on_map(release):
        return points
    shapes = borders(release)
    return {**points, "rest": shapes["rest"], "features": [*points["features"], *shapes["features"]]}


def on_map(release: ZonedRelease) -> bool:
    """Say whether the borders are over the columns that are the map's."""
    columns = map_columns(release.domain)
    return columns is not None and release.zones.columns == tuple(release.names[j] for j in columns)


def _rest(release: ZonedRelease) -> dict[str, Any]:
    of = release.certificate.zones["rest"]
    return {"groups": of["groups"], "protects": of["protects"]}


def _summary(release: ZonedRelease) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "note": _NOTE,
        "guarantee": release.certificate.guarantee,
        "protects": release.certificate.zones,
        "shared_out": release.shared,
        "zones": plain(release.zones),
    }


def _zones(value: Any) -> Zones:
    try:
        found: Zones = from_plain(Zones, value)
    except InvalidRelease:
        raise
    except InvalidInput as error:
        raise InvalidRelease(str(error)) from None
    return found
