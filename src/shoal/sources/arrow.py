"""Tables in files, streamed: memory does not grow with the size of the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import count
from os import PathLike, fspath
from typing import Any, Literal, Self, TypeVar

import narwhals.stable.v1 as nw
import pyarrow as pa

from shoal.domain import Chunk, Domain, InZone, Part, Schema
from shoal.domain.schema import BOOLEAN, NUMBER, TIME, Level, no_such_column
from shoal.errors import InvalidFile, InvalidTable
from shoal.sources.columns import Piece, read_frame
from shoal.sources.files import Format, find_all
from shoal.sources.formats import open_part, open_text
from shoal.sources.lines import decode
from shoal.sources.rows import OpenTable, Source, in_order
from shoal.sources.spool import Spool, can_copy

T = TypeVar("T")


class FileTable(OpenTable):
    r"""A table in one file or several, opened but not read.

    Parquet, CSV and Arrow IPC (Feather) files are known by their names' endings; a CSV may be compressed.
    Opening reads names and types only. Types are those of the file. A CSV has none, so its columns are
    declared: those named here, by levels or by bounds are looked for in its first line, and a cell of them is
    what was declared (a number, by default) or missing.

    Parameters
    ----------
    path : str or path, or a list of these
        A file, a folder, or a pattern such as ``"trips/2024-*.parquet"``.
    columns : sequence of str, optional
        The columns to cluster. If not given, all of a file with types; of a CSV, those that bounds and levels
        name. Columns of people and weights need not be among them.
    types : mapping of str to {"number", "boolean", "time"}, optional
        How to read columns of text.
    format : {"parquet", "csv", "ipc"}, optional
        The format, where the name does not tell.
    header : bool
        Whether the first line of a CSV holds its columns' names. If not, `columns` names the cells of a line
        in order, with None for those that are not to be read.
    multiline : bool
        Whether quoted cells of a CSV may hold line ends. If not, a line is a row, and one with a quote that
        does not end is none. If so, such a quote takes the lines after it along: ask for it only where all
        quotes are known to end.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> file = Path(folder.name) / "trips.csv"
    >>> _ = file.write_text("lon,lat,note\n-73.9,40.7,late\n-74.0,n/a,\n")
    >>> FileTable(file, columns=["lon", "lat"]).names
    ('lon', 'lat')
    >>> folder.cleanup()
    """

    keeps_copy = True

    def __init__(
        self,
        path: str | PathLike[str] | Sequence[str | PathLike[str]],
        columns: Iterable[str | None] | None = None,
        *,
        types: Mapping[str, Literal["number", "boolean", "time"]] | None = None,
        format: Format | None = None,
        header: bool = True,
        multiline: bool = False,
    ) -> None:
        several = [path] if isinstance(path, str | PathLike) else list(path)
        paths = [fspath(one) for one in several]
        self.path = " ".join(paths)
        kind, files = find_all(paths, format)
        self._types = _check_types(types)
        if isinstance(columns, str):
            raise InvalidTable(f"columns is {columns!r}; give a list of names, such as [{columns!r}]")
        named = None if columns is None else list(columns)
        self._is_text = kind == "csv"
        if self._is_text:
            if not header:
                _check_names(named)
            names = None if header else named
            self._parts = [open_text(file, names, multiline=multiline) for file in files]
        else:
            if multiline or not header:
                raise InvalidTable("header and multiline are for CSV files; others say what they hold")
            self._parts = [open_part(file, kind) for file in files]
        self._columns = None if named is None else tuple(dict.fromkeys(n for n in named if n is not None))
        self._roles: dict[str, Any] = {}
        for name in (*(self._columns or ()), *self._types):
            self._type(name)

    def __repr__(self) -> str:
        return f"FileTable({self.path!r}, columns={None if self._columns is None else list(self._columns)})"

    def using(
        self,
        *,
        levels: Mapping[str, Iterable[Level]] | None = None,
        unit: str | None = None,
        weights: Any = None,
        ignore: Collection[str] = (),
        declared: Mapping[str, str] | None = None,
        cyclic: Mapping[str, Any] | None = None,
        indicators: bool | Collection[str] = False,
        columns: Iterable[str] | None = None,
        part: Part | InZone | None = None,
    ) -> Self:
        """Return the same table with declared levels and with columns of people and weights.

        Parameters
        ----------
        levels : mapping of str to list of str or int, optional
            The levels of category columns.
        unit, weights : str, optional
            The columns that name the person and weigh the row.
        ignore : collection of str
            Columns to pass over where they are there.
        declared : mapping of str to {"number", "boolean", "time"}, optional
            How to read columns of text, where `types` does not say.
        cyclic, indicators
            As for :meth:`shoal.domain.Schema.of`.
        columns : sequence of str, optional
            The columns to cluster, beside those of `types`, where they were not named before.
        part : Part or InZone, optional
            The part of the table, or the zone, whose rows are read.
        """
        if weights is not None and not isinstance(weights, str):
            raise InvalidTable("sample_weight of a file must be the name of one of its columns")
        other = copy(self)
        other.__dict__.pop("schema", None)
        other._roles = {"levels": levels, "unit": unit, "weight": weights, "ignore": ignore}
        other._roles |= {"cyclic": cyclic, "indicators": indicators, "part": part}
        if self._columns is None and columns is not None:
            other._columns = tuple(dict.fromkeys([*columns, *self._types]))
        other._roles["declared"] = {**(declared or {}), **self._types}
        return other

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        """The columns that are clustered, and those that name the person and weigh the row."""
        roles = {"declared": self._types, **self._roles}
        columns = self.columns
        if self._is_text:  # to name a column of text is to declare it
            roles["declared"] = {**dict.fromkeys(columns, NUMBER), **roles["declared"]}
        part: Part | InZone | None = roles.get("part")
        if isinstance(part, InZone):
            part = roles["part"] = part.placed(columns, (name for held in self._parts for name in held.types))
        places = () if part is None else part.columns
        others = (roles.get("unit"), roles.get("weight"), *places)
        apart = [name for name in others if name is not None and name not in columns]
        if len(places) > 1:  # only read to say where a row is
            roles["ignore"] = {*roles.get("ignore", ()), *places} - {*columns}
        return Schema.of({name: self._type(name) for name in (*columns, *apart)}, **roles)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were named, or all of a file with types."""
        if self._columns is not None:
            return self._columns
        if not self._is_text:
            return tuple(dict.fromkeys(name for part in self._parts for name in part.types))
        named = tuple(self._named())
        if not self._roles.get("declared", self._types):  # levels alone leave out what they do not name
            raise InvalidTable(
                f"{self.path} is a CSV, whose columns have no types: name those to cluster, with "
                "FileTable(path, columns=[...]) or bounds={name: (low, high), ...}, or with --columns on the "
                "command line"
            )
        return named

    def _named(self) -> list[str]:
        """Return the columns that were declared to be clustered, one way or another."""
        declared = self._roles.get("declared", self._types)
        found = [*(self._columns or ()), *declared]
        for role in ("levels", "cyclic"):
            mapping = self._roles.get(role)
            found += mapping if isinstance(mapping, Mapping) else ()
        return list(dict.fromkeys(found))

    @property
    def offered(self) -> dict[str, str]:
        """All columns of the files and what they hold, whether or not they are clustered.

        Of a CSV these are the words of its first line, for the eyes of who knows that it holds names.
        """
        return {name: kind for part in self._parts for name, kind in part.types.items()}

    def blank(self) -> Any:
        """Return the clustered columns as they are, without rows."""
        return pa.table({field.name: pa.array([], pa.float64()) for field in self.schema.fields})

    def parts(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Stream the rows as Arrow tables, each with the place of its first row."""
        names, start = list(self.schema.columns), 0
        for part in self._parts:
            held: list[Any] = []
            n = 0
            for batch in part.scan(names, rows):
                held.append(batch)
                n += len(batch)
                if n >= rows:  # small batches are joined, for each costs a question its share of work
                    yield start, pa.Table.from_batches(held)
                    start, held, n = start + n, [], 0
            if n:
                yield start, pa.Table.from_batches(held)
                start += n
        if start == 0:
            yield 0, pa.schema([self._parts[0].schema.field(name) for name in names]).empty_table()

    def read(self, part: tuple[int, Any]) -> Piece:
        """Read one part; cells that are null, or not what they should be, are NaN."""
        start, table = part
        return read_frame(nw.from_native(table), self.schema, start, decode=decode if self._is_text else None)

    def source(
        self, domain: Domain, *, key: int = 0, parts_key: int = 0, threads: int | None = None
    ) -> Source:
        """Stream the rows to the lattice, again for every question."""
        return ArrowSource(self, domain, key=key, parts_key=parts_key, threads=threads)

    def _type(self, name: str) -> str:
        """Return what a column holds, the same in every part."""
        having = [part for part in self._parts if name in part.types]
        if not having:
            raise self._lacks(name)
        twice = next((part for part in having if name in part.twice), None)
        if twice is not None:
            raise InvalidFile(f"{twice.path} has column {name!r} twice; rename one of them")
        if len(having) < len(self._parts):
            lacking = next(part for part in self._parts if name not in part.types)
            raise InvalidFile(
                f"column {name!r} is in {having[0].path} but not in {lacking.path}; all parts must have it"
            )
        other = next((part for part in having if part.types[name] != having[0].types[name]), None)
        if other is not None:
            raise InvalidFile(
                f"column {name!r} holds {having[0].types[name]} in {having[0].path} and {other.types[name]} "
                f"in {other.path}; all parts must hold the same"
            )
        return having[0].types[name]

    def _lacks(self, name: str) -> InvalidTable | InvalidFile:
        first = self._parts[0]
        if self._is_text and not set(self._named()) & first.types.keys():
            # Perhaps the first line is somebody's row: nothing of it may be shown.
            return InvalidFile(
                f"the first line of {first.path} names none of the columns asked for ({name!r} is one); a "
                "CSV begins with a line of names, or is opened with header=False and all columns named in "
                "order (--no-header on the command line)"
            )
        return no_such_column(name, list(first.types), f"{self.path} was asked for")


class ArrowSource(Source):
    r"""Rows of a file, streamed; the answers are those of a table in memory.

    A few parts of the file are in memory at a time: as many as there are threads and one more. The first
    question decodes the file, and keeps the rows as they lie on the lattice in a copy without a name on the
    local disk, for the questions after it; where there is no room, every question decodes the file.
    Parameters are those of :class:`shoal.sources.rows.Source`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from shoal.domain import Bounds
    >>> folder = TemporaryDirectory()
    >>> file = Path(folder.name) / "ages.csv"
    >>> _ = file.write_text("age\n31\n47\nunknown\n")
    >>> source = ArrowSource(FileTable(file, ["age"]), Domain(Bounds.parse((0, 100), 1)))
    >>> source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b)
    3
    >>> folder.cleanup()
    """

    _spool: Spool | None = None

    def within(self, domain: Domain) -> Self:
        """Return the same rows on the lattice of another domain."""
        other = super().within(domain)
        other._spool = None
        return other

    def _map(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        spool = self._spool
        if spool is not None and spool.whole:
            return in_order(lambda place: function(spool.read(place)), spool.places(), self._threads)
        if self._table.keeps_copy and can_copy():
            return self._copying(function)
        return super()._map(function)

    def _copying(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """Answer from the file, and keep what is read of it for the next question."""
        spool, numbers = Spool(self._domain.n_columns), count()

        def kept(numbered: tuple[int, Any]) -> T:
            chunk = self._encode(numbered[1])
            spool.add(numbered[0], chunk)
            return function(chunk)

        parts = ((next(numbers), part) for part in self._table.parts(self._chunk_rows))
        yield from in_order(kept, parts, self._threads)
        spool.close_after(next(numbers))
        self._spool = spool if spool.whole else None


def _check_types(types: Any) -> dict[str, str]:
    found = {} if types is None else dict(types)
    for name, kind in found.items():
        if kind not in (NUMBER, BOOLEAN, TIME):
            wanted = "it must be 'number', 'boolean' or 'time'"
            raise InvalidTable(f"the type of column {name!r} is {kind!r}; {wanted}")
    return found


def _check_names(columns: list[str | None] | None) -> None:
    named = [name for name in columns or [] if name is not None]
    if not named:
        raise InvalidTable(
            "a CSV without a header needs columns=[...], a name (or None) for each cell of a line"
        )
    if len(set(named)) < len(named):
        raise InvalidTable(f"columns {named} name one twice; without a header, each cell needs its own")
