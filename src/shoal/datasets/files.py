"""Data sets in files: find them in a directory, else download them; check that they are the right ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import numpy.typing as npt

from shoal.datasets.catalogue import Download, Entry
from shoal.datasets.dataset import Array, Dataset, box
from shoal.errors import ChecksumMismatch, DataUnavailable

TIMEOUT = 30.0


def directory() -> Path:
    """Return where data files are kept: `SHOAL_DATA`, else the user's cache directory."""
    chosen = os.environ.get("SHOAL_DATA")
    return Path(chosen) if chosen else cache_directory()


def cache_directory() -> Path:
    """Return the directory of the user's that is ours to fill and may be emptied at any time."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "shoal"


def fetch(entry: Entry) -> Path:
    """Return the path of an entry's Parquet file, downloading it first if it is not there.

    A file that is found is not read here; `read` checks it.
    """
    path = directory() / entry.file
    if path.is_file():
        return path
    if entry.download is None:
        raise DataUnavailable(f"{entry.name!r} is not at hand and cannot be downloaded. {_where(entry)}")
    url = entry.download.url
    try:
        raw = _get(url)
    except (OSError, HTTPException) as error:
        raise DataUnavailable(
            f"{entry.name!r} is not at hand and {url} could not be reached ({error}). {_where(entry)}"
        ) from error
    try:
        X = parse(raw, entry.download)
    except (OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise ChecksumMismatch(f"what {url} sent cannot be read ({error}). {_where(entry)}") from error
    if rows_digest(X) != entry.rows_sha256:
        raise ChecksumMismatch(
            f"what {url} holds is not the table that is known as {entry.name!r} ({len(X)} rows, "
            f"{entry.n_rows} expected): it may have changed. {_where(entry)}"
        )
    _write(path, entry, X)
    return path


def read(entry: Entry) -> Dataset:
    """Read an entry's file, and check that it holds what the catalogue says."""
    import pyarrow.parquet as pq

    path = fetch(entry)
    try:
        present = set(pq.read_schema(path).names)
        label = entry.label if entry.label in present else None
        table = pq.read_table(path, columns=[*entry.columns, *([label] if label else [])])
        columns = [table.column(name).to_numpy() for name in entry.columns]
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are among these
        raise ChecksumMismatch(f"{path} cannot be read ({error}). {_where(entry)}") from error
    X: Array = np.empty((table.num_rows, len(columns)), dtype=np.result_type(np.float32, *columns))
    for i, column in enumerate(columns):
        X[:, i] = column
    # A file written by another version has other bytes; its rows must be the same.
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != entry.sha256 and rows_digest(X) != entry.rows_sha256:
        raise ChecksumMismatch(
            f"{path} does not hold the table that is known as {entry.name!r} (SHA-256 {found}, "
            f"{entry.sha256} expected). {_where(entry)}"
        )
    whole = Dataset(
        name=entry.name,
        title=entry.title,
        X=X[: entry.first],
        names=entry.columns,
        bounds=box(entry.lower, entry.upper, len(entry.columns)),
        bounds_source=entry.bounds_source,
        k=entry.k,
        source=entry.source,
        licence=entry.licence,
        labels=table.column(label).to_numpy()[: entry.first] if label else None,
    )
    return whole if entry.drawn is None else whole.sample(entry.drawn)


def rows_digest(X: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of a table's rows as 32-bit floats, in sorted order.

    It is the same for any order of the rows and any file format, so that it can be compared with what a
    public source holds.

    Examples
    --------
    >>> rows_digest(np.array([[1, 2], [3, 4]])) == rows_digest(np.array([[3.0, 4.0], [1.0, 2.0]]))
    True
    """
    rows = np.ascontiguousarray(X, dtype="<f4") + np.float32(0)  # + 0 turns -0 into 0
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return hashlib.sha256(np.sort(whole).tobytes()).hexdigest()


def parse(raw: bytes, how: Download) -> npt.NDArray[np.float64]:
    """Read the features out of a downloaded text table, zipped, gzipped or plain.

    Lines whose cells are not numbers (headers, comments) are passed over: the digest of the rows says
    whether all that should be read was.
    """
    rows = []
    for line in _lines(raw, how):
        cells = line.split(how.separator or None)
        try:
            rows.append([float(cells[i]) for i in how.columns])
        except (ValueError, IndexError):
            continue
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(how.columns))


def _lines(raw: bytes, how: Download) -> Iterator[str]:
    if how.members:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for member in how.members:
                yield from archive.read(member).decode("utf-8", "replace").splitlines()
    else:
        plain = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        yield from plain.decode("utf-8", "replace").splitlines()


def _get(url: str) -> bytes:
    if not url.startswith(("https://", "http://")):
        raise OSError(f"{url} is not a web address")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    return content


def _write(path: Path, entry: Entry, X: npt.NDArray[np.float64]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first, so that an interrupted download leaves no half a file.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    pq.write_table(pa.table(dict(zip(entry.columns, X.T, strict=True))), part)
    part.replace(path)


def _where(entry: Entry) -> str:
    return (
        f"Put {entry.file} into {directory()} (set SHOAL_DATA to use another directory): a Parquet file "
        f"with the {entry.n_rows:,} rows of {entry.source} and the columns {_shown(entry.columns)}"
    )


def _shown(columns: tuple[str, ...]) -> str:
    return ", ".join(columns) if len(columns) <= 12 else f"{columns[0]} .. {columns[-1]} ({len(columns)})"
