"""Finding files and opening them: what they are, which columns they have, and what is wrong with them.

Only names, headers and footers are read here, so no error depends on a row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v1 as nw
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as ds
from pyarrow import fs

from shoal.domain.schema import UNTYPED
from shoal.errors import DamagedFile, InvalidFile
from shoal.sources.columns import type_of

Format: TypeAlias = Literal["parquet", "csv", "ipc"]

_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_COMPRESSED = (".gz", ".bz2", ".lz4")  # those that a scan knows by themselves
_KNOWN = f"{', '.join(_FORMATS)}, and .csv or .tsv with {', '.join(_COMPRESSED)}"
_LONGEST_HEADER = 2**20


@dataclass(frozen=True, eq=False)
class Part:
    """One file of a table, opened.

    Parameters
    ----------
    path : Path
        Where it is.
    types : dict of str to str
        What each column holds; all are "untyped" in a CSV.
    schema : pyarrow.Schema
        Types to read the columns as.
    fragment : pyarrow.dataset.Fragment, optional
        What reads it; None for a CSV of a header alone.
    state : tuple of int
        Size and time of change when it was opened.
    """

    path: Path
    types: dict[str, str]
    schema: Any
    fragment: Any
    state: tuple[int, int]

    def scan(self, names: list[str], rows: int) -> Iterator[Any]:
        """Yield record batches of some columns, little of the file being in memory at a time."""
        if self.fragment is None:
            return
        if not self._is_unchanged():
            raise DamagedFile(f"{self.path} changed after it was opened; start again when it is complete")
        batches = self._batches(names, rows)
        while (batch := _next(batches)) is not _END:
            if batch is None:
                # Raised apart from its cause, whose message may quote a row.
                raise DamagedFile(f"{self.path} cannot be read to its end: it is damaged; write it again")
            yield batch

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        yield from self.fragment.to_batches(
            schema=pa.schema([self.schema.field(name) for name in names]),
            columns=names,
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=1,
        )

    def _is_unchanged(self) -> bool:
        try:
            return _state(self.path) == self.state
        except OSError:
            return False


_END = object()


def _next(batches: Iterator[Any]) -> Any:
    try:
        return next(batches, _END)
    except (pa.ArrowException, OSError):
        return None


def find_files(path: str, given: Format | None) -> tuple[Format, list[Path]]:
    """Return the files that a path, a folder or a glob means, and their format.

    Parameters
    ----------
    path : str
        A file, a folder (read with its subfolders; hidden files and those beginning with "_" are passed
        over), or a pattern with ``*``, ``?`` or ``[``.
    given : {"parquet", "csv", "ipc"}, optional
        The format, where names do not tell.
    """
    if given is not None and given not in get_args(Format):
        raise InvalidFile(f"format is {given!r}; it must be 'parquet', 'csv' or 'ipc'")
    place = Path(path).expanduser()
    if place.is_file():
        found, what = [place], "file"
    elif place.is_dir():
        found, what = _in_folder(place), "folder"
    elif any(sign in path for sign in "*?["):
        pattern = str(place.relative_to(place.anchor))
        found, what = sorted(p for p in Path(place.anchor or ".").glob(pattern) if p.is_file()), "pattern"
        if not found:
            raise InvalidFile(f"the pattern {path} matches no file; check it, quoted, with ls")
    else:
        raise InvalidFile(f"there is no file or folder {path}; check the name and the folder you are in")
    if given is not None:
        if not found:
            raise InvalidFile(f"the folder {path} has no data: no files are in it")
        return given, found
    formats = {name: _format(name) for name in found}
    known = {name: kind for name, kind in formats.items() if kind is not None}
    if not known:
        if what == "folder":
            raise InvalidFile(f"the folder {path} has no data: no file in it ends with {_KNOWN}")
        raise InvalidFile(f"{found[0]} does not say what it is; name it {_KNOWN}, or give format=")
    if len(set(known.values())) > 1:
        raise InvalidFile(
            f"the {what} {path} holds files of several formats ({', '.join(sorted(set(known.values())))}); "
            "name one with a pattern such as folder/*.parquet"
        )
    return next(iter(known.values())), list(known)


def open_part(path: Path, kind: Format) -> Part:
    """Open one file and read what it says of its columns."""
    try:
        state = _state(path)
        if kind == "csv":
            return _open_csv(path, state)
        reader = ds.ParquetFileFormat() if kind == "parquet" else ds.IpcFileFormat()
        if kind == "parquet":
            # Without these a scan holds on to every row group it has passed.
            reader.default_fragment_scan_options = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, pre_buffer=False
            )
        fragment = reader.make_fragment(str(path), fs.LocalFileSystem())
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, csv.Error):
        raise InvalidFile(
            f"{path} cannot be read as {_WORDS[kind]}: it is another kind of file, cut short, or closed to "
            "you; write it again, or give format= if its name is wrong"
        ) from None
    _check_names(path, schema.names)
    frame = nw.from_native(schema.empty_table())
    types = {name: type_of(dtype) for name, dtype in frame.schema.items()}
    return Part(path, types, schema, fragment, state)


_WORDS = {"parquet": "Parquet", "csv": "CSV", "ipc": "Arrow IPC (Feather)"}


def _open_csv(path: Path, state: tuple[int, int]) -> Part:
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    # The header alone is read: types found by looking at rows would depend on them.
    with io.TextIOWrapper(pa.input_stream(str(path), compression="detect"), "utf-8-sig", newline="") as text:
        lines = iter(lambda: text.readline(_LONGEST_HEADER), "")
        names = next((line for line in csv.reader(lines, delimiter=delimiter) if line), [])
        empty = text.read(1) == ""
    if any("\0" in name for name in names):
        raise csv.Error
    if not names:
        raise InvalidFile(f"{path} is empty; a CSV begins with a line of column names")
    _check_names(path, names)
    # Cells are taken as they are, and parsed later by a rule that cannot fail. A line with too few or too
    # many cells is not a row.
    reader = ds.CsvFileFormat(
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=_skip
        ),
        convert_options=arrow_csv.ConvertOptions(
            check_utf8=False, strings_can_be_null=True, null_values=[""]
        ),
    )
    schema = pa.schema([(name, pa.string()) for name in names])
    fragment = None if empty else reader.make_fragment(str(path), fs.LocalFileSystem())
    return Part(path, dict.fromkeys(names, UNTYPED), schema, fragment, state)


def _skip(row: Any) -> str:  # noqa: ARG001
    return "skip"


def _check_names(path: Path, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidFile(f"{path} has columns {twice} twice; rename one of each")


def _in_folder(folder: Path) -> list[Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if not _is_hidden(path.relative_to(folder))]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        kind = _FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return kind if kind == "csv" else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
