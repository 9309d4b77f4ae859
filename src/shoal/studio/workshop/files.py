"""Files of a release to download: made when they are asked for, from what was saved."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InvalidInput
from shoal.release.html import About, certificate_page
from shoal.studio.workshop import repeat
from shoal.studio.workshop.report import report_page
from shoal.studio.workshop.values import CORESET_SHARE, Plain

if TYPE_CHECKING:
    from shoal.studio.workshop.releases import ReleaseRecord

REQUEST = "request.json"
"""What the release was asked for with, beside its folders."""
# Every entry of an archive has this time: the same release is the same file.
_TIME = (2000, 1, 1, 0, 0, 0)

_SAVED = {
    "centres.csv": ("centres", "text/csv", "Groups as a table: centres, sizes and their errors"),
    "centres.geojson": ("centres", "application/geo+json", "Groups as points for a map"),
    "certificate.json": ("centres", "application/json", "The certificate, for machines"),
    "certificate.txt": ("centres", "text/plain", "The certificate as text"),
    "coreset.csv": ("coreset", "text/csv", "The coreset: weighted points as a table"),
    "coreset.geojson": ("coreset", "application/geo+json", "The coreset as points for a map"),
}
_MADE = {
    "report.html": ("text/html", "One page with the map, groups and guarantee, to print"),
    "certificate.html": ("text/html", "The certificate as a page to file and sign"),
    "repeat.py": ("text/x-python", "A script that repeats the release"),
    "repeat.ipynb": ("application/x-ipynb+json", "A notebook that repeats the release"),
}
_FOLDERS = {
    "release.zip": ("centres", "The whole release: `shoal verify` checks it"),
    "coreset.zip": ("coreset", "The whole coreset: `shoal verify` checks it"),
    "synopsis.zip": ("synopsis", "The look that was paid for before: counts of rows in boxes"),
}


@dataclass(frozen=True)
class Download(Plain):
    """A file to download.

    Parameters
    ----------
    name : str
        What it is called.
    media_type : str
        What it is.
    label : str
        What it holds, in words.
    """

    name: str
    media_type: str
    label: str


def downloads_of(folder: Path) -> Iterator[Download]:
    """Yield what can be downloaded of a release.

    Parameters
    ----------
    folder : Path
        Where it was saved.
    """
    for name, (kind, label) in _MADE.items():
        yield Download(name, kind, label)
    for name, (inside, kind, label) in _SAVED.items():
        if (folder / inside / name).is_file():
            yield Download(name, kind, label)
    if _zones(folder) is not None:
        yield Download(
            "zones.geojson", "application/geo+json", "The zones and their levels, as they were drawn"
        )
    for name, (inside, label) in _FOLDERS.items():
        if (folder / inside).is_dir():
            yield Download(name, "application/zip", label)


def content_of(record: ReleaseRecord, folder: Path, name: str, basemap: dict[str, Any] | None) -> bytes:
    """Return the content of a file of a release.

    Parameters
    ----------
    record : ReleaseRecord
        Whose.
    folder : Path
        Where it was saved.
    name : str
        One of `downloads_of`.
    basemap : dict, optional
        GeoJSON to draw the report's map on.
    """
    if name in _SAVED:
        return (folder / _SAVED[name][0] / name).read_bytes()
    if name in _FOLDERS:
        return _zip(folder / _FOLDERS[name][0], Path(name).stem)
    if name == "report.html":
        return report_page(record, basemap).encode()
    if name == "zones.geojson":
        return json.dumps(_zones(folder)).encode()
    certificate = record.release.certificate
    if name == "certificate.html":
        return certificate_page(certificate, About(title=record.title, date=record.created[:10])).encode()
    if name in ("repeat.py", "repeat.ipynb"):
        request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
        share = CORESET_SHARE if "coreset" in record.fits else 1.0
        told = {
            "date": record.created[:10],
            "transcript": certificate.transcript,
            "epsilon": record.level.epsilon * share,
            "delta": record.own_delta * share,
        }
        return (repeat.script if name == "repeat.py" else repeat.notebook)(request, told).encode()
    raise InvalidInput(f"the release has no file {name!r}")


def _zones(folder: Path) -> Any:
    """Return the regions that were declared, if there were some: they are published with the release."""
    path = folder / REQUEST
    found = json.loads(path.read_text(encoding="utf-8"))["draft"]["zones"] if path.is_file() else None
    return None if found is None or "column" in found else found


def _zip(folder: Path, name: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                archive.writestr(zipfile.ZipInfo(f"{name}/{path.name}", _TIME), path.read_bytes())
    return held.getvalue()
