"""Opening one file: which columns it has, and how to stream them.

Opening looks at names, headers and footers only, so no error of it depends on a row. Streaming pulls one
batch at a time; a reader that runs ahead of its consumer (as the scanner of `pyarrow.dataset` does) would
fill the memory with the file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from shoal.domain.schema import UNTYPED
from shoal.errors import DamagedFile, InvalidFile
from shoal.sources.columns import type_of
from shoal.sources.files import Format

Batches: TypeAlias = Callable[[list[str], int], Iterator[Any]]

_WORDS = {"parquet": "Parquet", "csv": "CSV", "ipc": "Arrow IPC (Feather)"}
_LONGEST_HEADER = 2**20
_READ_AHEAD = 2**20  # bytes of a column of Parquet
_BLOCK = 2**20  # bytes of a CSV, of which a few dozen are read ahead; a line must fit in one
_MARK = "\xef\xbb\xbf"  # some programs begin UTF-8 files with it
_END = object()


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
        Types that the columns are read as.
    state : tuple of int
        Size and time of change when it was opened.
    batches : callable
        Yields record batches of the columns named, of about the number of rows asked for.
    """

    path: Path
    types: dict[str, str]
    schema: Any
    state: tuple[int, int]
    batches: Batches

    def scan(self, names: list[str], rows: int) -> Iterator[Any]:
        """Yield record batches of some columns, little of the file being in memory at a time."""
        if not self._is_unchanged():
            raise DamagedFile(f"{self.path} changed after it was opened; start again when it is complete")
        batches = self.batches(names, rows)
        while (batch := _next(batches)) is not _END:
            if batch is None:
                # Raised apart from its cause, whose message may quote a row.
                raise DamagedFile(f"{self.path} cannot be read to its end: it is damaged; write it again")
            yield batch

    def _is_unchanged(self) -> bool:
        try:
            return _state(self.path) == self.state
        except OSError:
            return False


def _next(batches: Iterator[Any]) -> Any:
    try:
        return next(batches, _END)
    except (pa.ArrowException, OSError):
        return None


def open_part(path: Path, kind: Format) -> Part:
    """Open one file and read what it says of its columns.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"parquet", "csv", "ipc"}
        What it is.
    """
    opener = {"parquet": _open_parquet, "csv": _open_csv, "ipc": _open_ipc}[kind]
    try:
        state = _state(path)
        schema, batches = opener(path)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, csv.Error):
        raise InvalidFile(
            f"{path} cannot be read as {_WORDS[kind]}: it is another kind of file, cut short, or closed to "
            "you; write it again, or give format= if its name is wrong"
        ) from None
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise InvalidFile(f"{path} has columns {twice} twice; rename one of each")
    if kind == "csv":
        types = dict.fromkeys(schema.names, UNTYPED)
    else:
        frame = nw.from_native(schema.empty_table())
        types = {name: type_of(dtype) for name, dtype in frame.schema.items()}
    return Part(path, types, schema, state, batches)


def _open_parquet(path: Path) -> tuple[Any, Batches]:
    def batches(names: list[str], rows: int) -> Iterator[Any]:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_AHEAD) as file:
            for batch in file.iter_batches(batch_size=rows, columns=names):
                yield batch.select(names)

    return pq.read_schema(path), batches


def _open_ipc(path: Path) -> tuple[Any, Batches]:
    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_file(file).schema

    def batches(names: list[str], rows: int) -> Iterator[Any]:
        wanted = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file, options=wanted)
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i).select(names)
                yield from (batch.slice(start, rows) for start in range(0, len(batch), rows))

    return schema, batches


def _open_csv(path: Path) -> tuple[Any, Batches]:
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    # The header alone is looked at: types found by looking at rows would depend on them.
    with io.TextIOWrapper(pa.input_stream(str(path), compression="detect"), "latin-1", newline="") as text:
        first = text.readline(_LONGEST_HEADER).removeprefix(_MARK)
        rest = iter(lambda: text.readline(_LONGEST_HEADER), "")
        lines = csv.reader(chain([first], rest), delimiter=delimiter)
        header = next((line for line in lines if line), [])
        header_only = text.read(1) == ""
    if not header:
        raise InvalidFile(f"{path} is empty; a CSV begins with a line of column names")
    names = [name.encode("latin-1").decode("utf-8") for name in header]
    if any("\0" in name for name in names):
        raise csv.Error
    schema = pa.schema([(name, pa.string()) for name in names])

    def batches(wanted: list[str], rows: int) -> Iterator[Any]:  # noqa: ARG001 - a block decides
        if header_only:
            return
        # Cells are taken as they are and parsed later, by a rule that cannot fail: in Latin-1 every byte is
        # a letter, and `decode` puts them together again. A line of too few or too many cells is not a row.
        with pa.input_stream(str(path), compression="detect") as file:
            yield from arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(
                    encoding="latin-1",
                    column_names=names,
                    skip_rows=lines.line_num,
                    block_size=max(_BLOCK, 64 * sum(map(len, header))),
                ),
                arrow_csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda _: "skip"
                ),
                arrow_csv.ConvertOptions(
                    check_utf8=False,
                    column_types=schema,
                    strings_can_be_null=True,
                    null_values=[""],
                    include_columns=wanted,
                ),
            )

    return schema, batches


def decode(word: str) -> str:
    """Return a word of a CSV as it was written in UTF-8.

    Examples
    --------
    >>> decode("cafÃ©")
    'café'
    """
    return word if word.isascii() else word.encode("latin-1").decode("utf-8", errors="surrogateescape")


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
