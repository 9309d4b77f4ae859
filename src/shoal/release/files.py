"""A release as files, and back: three hold it, the others say the same for people and other programs."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.domain import Domain
from shoal.errors import InvalidRelease
from shoal.queries import Transcript
from shoal.queries.gate.codec import Arrays, from_plain, plain
from shoal.release.certificate import Certificate
from shoal.release.folder import FORMAT, dumps, loads
from shoal.release.geojson import to_geojson
from shoal.release.intervals import Intervals, TotalIntervals

if TYPE_CHECKING:
    from shoal.release.release import Release

SUMMARY, ARRAYS, TABLE, MAP = "release.json", "release.npz", "centres.csv", "centres.geojson"
SYNOPSIS, CORESET, STEP = "synopsis.json", "coreset.json", "step.json"  # instead of the summary
ZONES = "zones.json"  # likewise, beside a summary for each zone
TRANSCRIPT, CERTIFICATE, TEXT = "transcript.json", "certificate.json", "certificate.txt"
NAMES = (SUMMARY, ARRAYS, TABLE, MAP, TRANSCRIPT, CERTIFICATE, TEXT)

_NOTE = (
    "Centres are in the table's own units; sizes are noisy. noise_sd, noise_low and noise_high are the noise "
    "of the last answer, for this grouping: another fit may group rows otherwise, and differ by more. They "
    "are null where a centre rests on no rows. "
    "Groups that noise could not tell apart have one centre: merged_into is the first of them, and their "
    "sizes add up."
)


def to_files(release: Release) -> dict[str, bytes]:
    """Return the content of every file of a release, by name.

    Parameters
    ----------
    release : Release
        What may be published.
    """
    stored: Arrays = {}
    transcript = plain(release.transcript, stored)
    rows = group_rows(release)
    points = to_geojson(release.domain, release.centres, rows, release.stated_on(release.certificate).errors)
    texts = {
        SUMMARY: dumps(_summary(release)),
        TABLE: to_csv(rows),
        TRANSCRIPT: dumps(transcript),
        CERTIFICATE: dumps(release.certificate.to_dict()),
        TEXT: f"{release.certificate}\n",
    }
    if points is not None:
        texts[MAP] = dumps(points)
    arrays = write_npz({**_arrays(release), **stored})
    return {ARRAYS: arrays, **{name: text.encode() for name, text in texts.items()}}


def from_files(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the parts of a release, or say which file cannot be read.

    Parameters
    ----------
    files : mapping of str to bytes
        As from :func:`to_files`. Nothing in them is ever unpickled.
    """
    for name in NAMES:
        if name != MAP and name not in files:
            raise InvalidRelease(f"{name} is missing")
    arrays = read_npz(files[ARRAYS])
    summary = loads(files[SUMMARY], SUMMARY)
    certificate = loads(files[CERTIFICATE], CERTIFICATE)
    if not isinstance(summary, dict) or not isinstance(certificate, dict):
        raise InvalidRelease(f"{SUMMARY} or {CERTIFICATE} does not hold one record")
    domain = from_plain(Domain, summary.get("schema"))
    k, d = _shape(arrays, domain)
    interval_shapes = {"centre_low": (k, d), "centre_high": (k, d), "size_low": (k,), "size_high": (k,)}
    ends = {name: _array(arrays, name, shape) for name, shape in interval_shapes.items()}
    return {
        "centres": _array(arrays, "centres", (k, d)),
        "sizes": _array(arrays, "sizes", (k,)),
        "centre_sd": _array(arrays, "centre_sd", (k, d)),
        "size_sd": float(_array(arrays, "size_sd", ())),
        "intervals": Intervals(level=float(_array(arrays, "level", ())), **ends),
        "totals": _totals(arrays, k, d),
        "merged_into": _merged(arrays, k),
        "certificate": Certificate.from_dict(certificate),
        "transcript": from_plain(Transcript, loads(files[TRANSCRIPT], TRANSCRIPT), arrays),
        "domain": domain,
    }


def read_npz(data: bytes) -> Arrays:
    """Return the arrays of a file; an object that would have to be unpickled is an error."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidRelease(f"{ARRAYS} is not a file of plain arrays, or cut short: {error}") from None


def _shape(arrays: Arrays, domain: Domain) -> tuple[int, int]:
    sizes = arrays.get("sizes")
    if sizes is None or sizes.ndim != 1:
        raise InvalidRelease(f"{ARRAYS} does not hold one size a cluster")
    return len(sizes), domain.n_columns


def _array(arrays: Arrays, name: str, shape: tuple[int, ...], kind: type = np.float64) -> Any:
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != kind:
        raise InvalidRelease(f"{ARRAYS} does not hold {name} as numbers of shape {shape}")
    return found


def _totals(arrays: Arrays, k: int, d: int) -> TotalIntervals | None:
    """Return total intervals, where they were saved too."""
    if "total_refits" not in arrays:
        return None
    shapes = {"centre_low": (k, d), "centre_high": (k, d), "size_low": (k,), "size_high": (k,)}
    shapes |= {"centre_sd": (k, d), "size_sd": (k,), "changed": (k,)}
    found = {name: _array(arrays, f"total_{name}", shape) for name, shape in shapes.items()}
    refits = int(_array(arrays, "total_refits", (), np.int64))
    return TotalIntervals(level=float(_array(arrays, "level", ())), refits=refits, **found)


def _merged(arrays: Arrays, k: int) -> Any:
    found = _array(arrays, "merged_into", (k,), np.int64)
    inside = ((found >= 0) & (found <= np.arange(k))).all()
    if not inside or not np.array_equal(found[found], found):
        raise InvalidRelease(f"{ARRAYS} does not hold the first of the groups that each is one with")
    return found


def _arrays(release: Release) -> Arrays:
    known = release.intervals
    return {
        "centres": release.centres,
        "sizes": release.sizes,
        "centre_sd": release.centre_sd,
        "size_sd": np.array(release.size_sd),
        "level": np.array(known.level),
        "centre_low": known.centre_low,
        "centre_high": known.centre_high,
        "size_low": known.size_low,
        "size_high": known.size_high,
        "merged_into": release.merged_into,
        **_total_arrays(release.totals),
    }


def _total_arrays(totals: TotalIntervals | None) -> Arrays:
    if totals is None:
        return {}
    names = ("centre_low", "centre_high", "size_low", "size_high", "centre_sd", "size_sd", "changed")
    return {**{f"total_{n}": getattr(totals, n) for n in names}, "total_refits": np.array(totals.refits)}


def write_npz(arrays: Arrays) -> bytes:
    """Return arrays as a file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return file.getvalue()


def _summary(release: Release) -> dict[str, Any]:
    known = release.intervals
    clusters = [
        {
            "centre": _finite(release.centres[i]),
            "centre_noise_sd": _finite(release.centre_sd[i]),
            "centre_noise_low": _finite(known.centre_low[i]),
            "centre_noise_high": _finite(known.centre_high[i]),
            "size": _number(release.sizes[i]),
            "size_noise_sd": _number(release.size_sd),
            "size_noise_low": _number(known.size_low[i]),
            "size_noise_high": _number(known.size_high[i]),
            "merged_into": int(release.merged_into[i]),
            **_total_of(release, i),
        }
        for i in range(len(release.sizes))
    ]
    return {
        "format": FORMAT,
        "note": _NOTE if release.totals is None else f"{_NOTE} {release.totals.describe()}.",
        "columns": list(release.names),
        "level": known.level,
        "clusters": clusters,
        "schema": plain(release.domain),
        "certificate": release.certificate.to_dict(),
    }


def _total_of(release: Release, i: int) -> dict[str, Any]:
    known = release.totals
    if known is None:
        return {}
    return {
        "centre_total_sd": _finite(known.centre_sd[i]),
        "centre_total_low": _finite(known.centre_low[i]),
        "centre_total_high": _finite(known.centre_high[i]),
        "size_total_sd": _number(known.size_sd[i]),
        "size_total_low": _number(known.size_low[i]),
        "size_total_high": _number(known.size_high[i]),
        "stable": bool(known.stable[i]) if known.known else None,
        "changed": _number(known.changed[i]),
    }


def group_rows(release: Release, taken: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return one flat row a cluster: centre, size, then the errors of each; some names may be taken."""
    known, names = release.intervals, _distinct([*release.names, "size"], taken)
    rows = []
    for i, centre in enumerate(release.centres):
        values = [*centre, release.sizes[i]]
        spread = [*release.centre_sd[i], release.size_sds[i]]
        low = [*known.centre_low[i], known.size_low[i]]
        high = [*known.centre_high[i], known.size_high[i]]
        row: dict[str, Any] = {"cluster": i}
        row.update((name, _number(value)) for name, value in zip(names, values, strict=True))
        for name, *three in zip(names, spread, low, high, strict=True):
            row.update(zip(_stated(name), map(_number, three), strict=True))
        row["merged_into"] = int(release.merged_into[i])
        if (total := release.totals) is not None:
            spread = [*total.centre_sd[i], total.size_sd[i]]
            low = [*total.centre_low[i], total.size_low[i]]
            high = [*total.centre_high[i], total.size_high[i]]
            for name, *three in zip(names, spread, low, high, strict=True):
                row.update(zip(_stated(name, "total"), map(_number, three), strict=True))
            row["stable"] = bool(total.stable[i]) if total.known else None
            row["changed"] = _number(total.changed[i])
        rows.append(row)
    return rows


def _distinct(names: list[str], more: Collection[str]) -> list[str]:
    # A column of the table may be called "cluster", "size" or "size_noise_sd" too.
    taken, result = {"cluster", "merged_into", "stable", "changed", *more}, []
    for name in names:
        while (mine := {name, *_stated(name), *_stated(name, "total")}) & taken:
            name += "_"
        taken |= mine
        result.append(name)
    return result


def _stated(name: str, what: str = "noise") -> tuple[str, str, str]:
    # Named for what they are: not how far another fit would be, but the noise of the last answer, or "total".
    return f"{name}_{what}_sd", f"{name}_{what}_low", f"{name}_{what}_high"


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows of the same entries as a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite(values: Any) -> list[float | None]:
    return [_number(value) for value in values]
