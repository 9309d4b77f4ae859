"""Tables that come as a stream: lazy frames, datasets of Arrow, readers, relations, results of queries.

What can be read only once is copied to the local disk as it is read, a batch at a time, so that memory does
not grow with its rows. The copy holds the columns that are read and no others. It has no name from the moment
it is made: nobody else can open it, and when the process ends, by whatever cause, it is gone.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pyarrow as pa

from shoal.domain.schema import UNTYPED
from shoal.errors import DamagedFile, InvalidFile, InvalidTable
from shoal.sources.arrow import FileTable
from shoal.sources.cells import word
from shoal.sources.columns import type_of
from shoal.sources.formats import Batches, Part

# Rows taken from a cursor at a time.
_FETCHED = 10_000


def stream_of(X: Any) -> StreamTable | None:
    """Open what is streamed; None for everything else. No row is read.

    Parameters
    ----------
    X : object
        A polars LazyFrame, a pyarrow Dataset or RecordBatchReader, a DuckDB relation, a cursor (ADBC or any
        other of Python's DB-API) that has executed its query, or a SQLAlchemy Result.

    Examples
    --------
    >>> reader = pa.table({"x": [1.0, 2.0]}).to_reader()
    >>> stream_of(reader).names
    ('x',)
    >>> stream_of([[1.0]]) is None
    True
    """
    kind, module = type(X).__name__, type(X).__module__.split(".")[0]
    if kind == "LazyFrame" and module == "polars":
        return _of_polars(X)
    if kind == "DuckDBPyRelation":
        return _of_duckdb(X)
    if isinstance(X, pa.RecordBatchReader):
        return _of_reader(X)
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(X, datasets.Dataset):
        return _of_dataset(X)
    if hasattr(X, "fetch_record_batch"):  # a cursor of ADBC
        return _of_reader(X.fetch_record_batch())
    if hasattr(X, "partitions") and hasattr(X, "keys") and hasattr(X, "cursor_strategy"):
        return _of_rows([str(key) for key in X.keys()], X.partitions(_FETCHED))  # noqa: SIM118 - of SQLAlchemy
    if hasattr(X, "fetchmany") and hasattr(X, "description"):
        return _of_cursor(X)
    return None


class StreamTable(FileTable):
    """A table that is streamed, opened but not read; to the rest it is one in a file with types.

    Parameters
    ----------
    part : Part
        Where the batches come from.
    """

    keeps_copy = False  # what can be read only once lies on the local disk already

    def __init__(self, part: Part) -> None:
        self.path = str(part.path)
        self._types: dict[str, str] = {}
        self._is_text = False
        self._parts = [part]
        self._columns: tuple[str, ...] | None = None
        self._roles: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<StreamTable of {self.path}>"


@dataclass(frozen=True, eq=False)
class Stream(Part):
    """Batches that can be had again."""

    def _is_unchanged(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class OnceOnly(Stream):
    """Batches that can be had once: copied to the disk when they are first asked for."""

    copies: list[Copy] = field(default_factory=list)

    def scan(self, names: list[str], rows: int) -> Iterator[Any]:
        """Yield record batches of some columns, from the copy."""
        if not self.copies:
            self.copies.append(Copy(super().scan(names, rows)))
        return self.copies[0].batches(names, rows)


class Copy:
    """Record batches in a file that has no name, mapped into memory.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
        What is copied, and not held.

    Examples
    --------
    >>> copy = Copy(iter(pa.table({"x": [1, 2, 3]}).to_batches()))
    >>> [len(batch) for batch in copy.batches(["x"], 2)]
    [2, 1]
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        self._map: Any = None
        first = next(batches, None)
        if first is None:
            return
        try:
            # 0600, and without a name at once; closed at the end, for the map holds it.
            with tempfile.TemporaryFile(prefix="shoal-") as file:
                with pa.ipc.new_stream(pa.PythonFile(file, "w"), first.schema) as writer:
                    for batch in chain([first], batches):
                        writer.write_batch(batch)
                file.flush()
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DamagedFile(
                f"the copy of a stream cannot be written to {tempfile.gettempdir()}: {error.strerror}; set "
                "TMPDIR to a folder with room"
            ) from None

    def batches(self, names: list[str], rows: int) -> Iterator[Any]:
        """Yield record batches of some columns, of at most so many rows; they lie in the mapped file."""
        if self._map is None:
            return
        for batch in pa.ipc.open_stream(pa.py_buffer(self._map)):
            some = batch.select(names)
            yield from (some.slice(start, rows) for start in range(0, len(some), rows))


def standard_input() -> Path:
    """Copy what comes in on the standard input to a file without a name, and return how to open it."""
    stream = sys.stdin.buffer
    if stream.isatty():
        raise InvalidFile("the table is -, the standard input, but nothing is piped into it")
    if not Path("/proc/self/fd").is_dir():  # not Linux: it has a name, until the process ends
        named = tempfile.NamedTemporaryFile(prefix="shoal-", suffix=".csv")  # noqa: SIM115
        shutil.copyfileobj(stream, named)
        named.flush()
        _held.append(named)
        return Path(named.name)
    file = tempfile.TemporaryFile(prefix="shoal-")  # noqa: SIM115
    shutil.copyfileobj(stream, file)
    file.flush()
    _held.append(file)
    return Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


# Open until the process ends: what has no name is gone when it is closed.
_held: list[Any] = []


def _table(what: str, schema: Any, batches: Batches, *, once: bool, untyped: bool = False) -> StreamTable:
    names = schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidTable(f"{what} has columns {twice} twice; rename one of each")
    if untyped:
        types = dict.fromkeys(names, UNTYPED)
    else:
        types = {n: type_of(dtype) for n, dtype in nw.from_native(schema.empty_table()).schema.items()}
    return StreamTable((OnceOnly if once else Stream)(Path(what), types, schema, (0, 0), batches))


def _of_polars(frame: Any) -> StreamTable:
    import polars as pl

    if not hasattr(frame, "collect_batches"):
        raise InvalidTable("the table is a lazy frame; this polars cannot stream it: call .collect() first")
    schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema

    def batches(names: list[str], rows: int) -> Iterator[Any]:
        for part in frame.select(names).collect_batches(chunk_size=rows):
            yield from part.to_arrow().cast(pa.schema([schema.field(n) for n in names])).to_batches()

    return _table("the lazy frame", schema, batches, once=True)


def _of_duckdb(relation: Any) -> StreamTable:
    def reader(names: list[str] | None, rows: int) -> Any:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names or relation.columns)
        chosen = relation.project(quoted) if names is not None else relation.limit(0)
        made = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return made(rows)

    def batches(names: list[str], rows: int) -> Iterator[Any]:
        yield from reader(names, rows)

    return _table("the relation", reader(None, 1).schema, batches, once=True)


def _of_reader(reader: Any) -> StreamTable:
    def batches(names: list[str], _: int) -> Iterator[Any]:
        for batch in reader:
            yield batch.select(names)

    return _table("the stream", reader.schema, batches, once=True)


def _of_dataset(dataset: Any) -> StreamTable:
    def batches(names: list[str], rows: int) -> Iterator[Any]:
        # Little is read ahead: a scanner that runs on fills the memory.
        few = {"batch_readahead": 1, "fragment_readahead": 1}
        for batch in dataset.scanner(columns=names, batch_size=rows, **few).to_batches():
            yield batch.select(names)

    return _table("the dataset", dataset.schema, batches, once=False)


def _of_cursor(cursor: Any) -> StreamTable:
    if cursor.description is None:
        raise InvalidTable("the cursor has no rows; call its execute() with a query first")

    def fetched() -> Iterator[Any]:
        while rows := cursor.fetchmany(_FETCHED):
            yield rows

    return _of_rows([str(column[0]) for column in cursor.description], fetched())


def _of_rows(names: list[str], fetched: Iterator[Any]) -> StreamTable:
    """Open rows of Python's objects, which have no types: each cell is taken as it is written."""
    places = {name: i for i, name in enumerate(names)}

    def batches(wanted: list[str], _: int) -> Iterator[Any]:
        for rows in fetched:
            columns = [pa.array([word(row[places[n]]) for row in rows], pa.string()) for n in wanted]
            yield pa.record_batch(columns, names=wanted)

    schema = pa.schema([(name, pa.string()) for name in names])
    return _table("the result", schema, _guarded(batches), once=True, untyped=True)


def _guarded(batches: Batches) -> Batches:
    """Let a connection that breaks be a stream that ends in the middle, as a damaged file does."""

    def read(names: list[str], rows: int) -> Iterator[Any]:
        found = batches(names, rows)
        while True:
            try:
                batch = next(found, None)
            except (pa.ArrowException, OSError):
                raise
            except Exception:  # of any driver; its message may quote a row
                raise OSError from None
            if batch is None:
                return
            yield batch

    return read
