"""Opening one file: which columns it has, and how to stream them.

Opening looks at names, headers and footers only, so no error of it depends on a row. Streaming pulls one
batch at a time; a reader that runs ahead of its consumer (as the scanner of `pyarrow.dataset` does) would
fill the memory with the file.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import narwhals.stable.v1 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.domain.schema import UNTYPED
from shoal.errors import DamagedFile, InvalidFile
from shoal.sources.columns import type_of
from shoal.sources.files import Format
from shoal.sources.lines import TextFile

T = TypeVar("T")
Batches: TypeAlias = Callable[[list[str], int], Iterator[Any]]

_WORDS = {"parquet": "Parquet", "csv": "CSV", "ipc": "Arrow IPC (Feather)"}
_READ_AHEAD = 2**20  # bytes of a column of Parquet
_END = object()


@dataclass(frozen=True, eq=False)
class Part:
    """One file of a table, opened.

    Parameters
    ----------
    path : Path
        Where it is.
    types : dict of str to str
        What each column holds; all are "untyped" in a text file.
    schema : pyarrow.Schema
        Types that the columns are read as.
    state : tuple of int
        Size and time of change when it was opened.
    batches : callable
        Yields record batches of the columns named, of about the number of rows asked for.
    twice : frozenset of str
        Names that several columns have; these cannot be read.
    """

    path: Path
    types: dict[str, str]
    schema: Any
    state: tuple[int, int]
    batches: Batches
    twice: frozenset[str] = frozenset()

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
    """Open one file with types of its own and read what it says of its columns.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"parquet", "ipc"}
        What it is.
    """
    state, (schema, batches) = _opened(path, kind, _open_parquet if kind == "parquet" else _open_ipc)
    twice = _twice(schema.names)
    if twice:
        raise InvalidFile(f"{path} has columns {sorted(twice)} twice; rename one of each")
    frame = nw.from_native(schema.empty_table())
    types = {name: type_of(dtype) for name, dtype in frame.schema.items()}
    return Part(path, types, schema, state, batches)


def open_text(path: Path, names: Sequence[str | None] | None, *, multiline: bool) -> Part:
    """Open one file of text, whose columns have names and no types.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of (str or None), optional
        What the cells of a line are called, where the first line does not say.
    multiline : bool
        Whether a quoted cell may hold line ends.
    """
    state, text = _opened(path, "csv", lambda path: TextFile.open(path, names, multiline=multiline))
    if not text.names:
        raise InvalidFile(f"{path} is empty; a CSV begins with a line of column names")
    found = [name for name in text.names if name is not None]
    types = dict.fromkeys(found, UNTYPED)
    schema = pa.schema([(name, pa.string()) for name in types])
    return Part(path, types, schema, state, lambda wanted, _: text.read(wanted), frozenset(_twice(found)))


def _opened(path: Path, kind: Format, opener: Callable[[Path], T]) -> tuple[tuple[int, int], T]:
    try:
        return _state(path), opener(path)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, csv.Error):
        raise InvalidFile(
            f"{path} cannot be read as {_WORDS[kind]}: it is another kind of file, cut short, or closed to "
            "you; write it again, or give format= if its name is wrong"
        ) from None


def _twice(names: Sequence[str]) -> set[str]:
    return {name for name, n in Counter(names).items() if n > 1}


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


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
