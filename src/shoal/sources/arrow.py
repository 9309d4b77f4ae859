"""Tables in files, streamed: memory does not grow with the size of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from os import PathLike, fspath
from typing import Any, Literal, Self

import narwhals.stable.v1 as nw
import pyarrow as pa

from shoal.domain import Domain, Schema
from shoal.domain.schema import BOOLEAN, NUMBER, TEXT, UNTYPED, Level, no_such_column
from shoal.errors import InvalidFile, InvalidTable
from shoal.sources.columns import Piece, read_frame
from shoal.sources.files import Format, find_files
from shoal.sources.formats import decode, open_part
from shoal.sources.rows import OpenTable, Source


class FileTable(OpenTable):
    r"""A table in one file or several, opened but not read.

    Parquet, CSV and Arrow IPC (Feather) files are known by their names' endings; a CSV may be compressed.
    Opening reads names and types only. Types are those of the file; a CSV has none, so there a cell is a
    number or missing, and the first line, the header, is public.

    Parameters
    ----------
    path : str or path
        A file, a folder, or a pattern such as ``"trips/2024-*.parquet"``.
    columns : sequence of str, optional
        The columns to cluster; all if not given. Columns of people and weights need not be among them.
    types : mapping of str to {"number", "boolean"}, optional
        How to read columns of text.
    format : {"parquet", "csv", "ipc"}, optional
        The format, where the name does not tell.

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

    def __init__(
        self,
        path: str | PathLike[str],
        columns: Iterable[str] | None = None,
        *,
        types: Mapping[str, Literal["number", "boolean"]] | None = None,
        format: Format | None = None,
    ) -> None:
        self.path = fspath(path)
        kind, files = find_files(self.path, format)
        self._csv = kind == "csv"
        self._parts = [open_part(file, kind) for file in files]
        self._declared = _check_types(types)
        if isinstance(columns, str):
            raise InvalidTable(f"columns is {columns!r}; give a list of names, such as [{columns!r}]")
        every = dict.fromkeys(name for part in self._parts for name in part.types)
        self.columns = tuple(every if columns is None else dict.fromkeys(columns))
        for name in (*self.columns, *self._declared):
            self._type(name)
        self._roles: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"FileTable({self.path!r}, columns={list(self.columns)})"

    def using(
        self,
        *,
        levels: Mapping[str, Iterable[Level]] | None = None,
        unit: str | None = None,
        weights: Any = None,
        ignore: Collection[str] = (),
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
        """
        if weights is not None and not isinstance(weights, str):
            raise InvalidTable("sample_weight of a file must be the name of one of its columns")
        other = copy(self)
        other.__dict__.pop("schema", None)
        other._roles = {"levels": levels, "unit": unit, "weight": weights, "ignore": ignore}
        return other

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        """The columns that are clustered, and those that name the person and weigh the row."""
        roles = [name for name in (self._roles.get("unit"), self._roles.get("weight")) if name is not None]
        return Schema.of({name: self._type(name) for name in (*self.columns, *roles)}, **self._roles)

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
        return read_frame(nw.from_native(table), self.schema, start, decode=decode if self._csv else None)

    def source(self, domain: Domain, *, key: int = 0, threads: int | None = None) -> ArrowSource:
        """Stream the rows to the lattice, again for every question."""
        return ArrowSource(self, domain, key=key, threads=threads)

    def _type(self, name: str) -> str:
        """Return what a column holds, the same in every part."""
        having = [part for part in self._parts if name in part.types]
        if not having:
            raise no_such_column(name, list(self._parts[0].types), f"{self.path} was asked for")
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
        found = having[0].types[name]
        return self._declared.get(name, found) if found in (TEXT, UNTYPED) else found


class ArrowSource(Source):
    r"""Rows of a file, streamed for every question; the answers are those of a table in memory.

    A few parts of the file are in memory at a time: as many as there are threads and one more. Parameters
    are those of :class:`shoal.sources.rows.Source`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from shoal.domain import Bounds
    >>> folder = TemporaryDirectory()
    >>> file = Path(folder.name) / "ages.csv"
    >>> _ = file.write_text("age\n31\n47\nunknown\n")
    >>> source = ArrowSource(FileTable(file), Domain(Bounds.parse((0, 100), 1)))
    >>> source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b)
    3
    >>> folder.cleanup()
    """


def _check_types(types: Any) -> dict[str, str]:
    found = {} if types is None else dict(types)
    for name, kind in found.items():
        if kind not in (NUMBER, BOOLEAN):
            raise InvalidTable(f"the type of column {name!r} is {kind!r}; it must be 'number' or 'boolean'")
    return found
