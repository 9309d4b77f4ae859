"""One door for everything that holds rows, and one face for arrays and data frames.

What is refused here is refused by the schema (shape, column types), never by what a cell holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce as fold
from os import PathLike
from typing import Any, Self, TypeVar

import narwhals.stable.v1 as nw
import numpy as np

from shoal._typing import Array
from shoal.domain import Chunk, Domain, InZone, Part, Schema
from shoal.domain.schema import BOOLEAN, NUMBER, Level, declared_by, no_such_column
from shoal.errors import InvalidTable
from shoal.sources.arrow import FileTable
from shoal.sources.columns import Piece, Values, expanded, read_frame, read_numbers, type_of_series
from shoal.sources.folds import Fold
from shoal.sources.rows import OpenTable, Source, in_order
from shoal.sources.streams import stream_of
from shoal.sources.zones import zones_of_array

T = TypeVar("T")


class Table(OpenTable):
    """A typed view of a table in memory; no copy is made.

    Parameters
    ----------
    data : array-like of shape (n_rows, n_columns), or a pandas, polars, pyarrow, ... data frame
        Its numeric and boolean columns can be read, and others whose levels are declared.
    levels : mapping of str to list of str or int, optional
        The levels of category columns.
    unit : str, optional
        The column that names the person.
    weights : str or array-like of shape (n_rows,), optional
        The column of row weights, or the weights.
    ignore : collection of str
        Columns to pass over where they are there.
    declared : mapping of str to {"number", "boolean", "time"}, optional
        How to read columns of text and of objects.
    cyclic, indicators
        As for :meth:`shoal.domain.Schema.of`.
    columns : collection of str, optional
        The columns to cluster; all others are passed over. All that are there, if not given.
    part : Part or InZone, optional
        The part of the table, or the zone, whose rows are read.

    Examples
    --------
    >>> table = Table(np.zeros((4, 2), dtype=np.float32))
    >>> table.names is None, table.n_columns
    (True, 2)
    >>> import polars as pl
    >>> Table(pl.DataFrame({"a": [1.5], "hue": ["red"]}), levels={"hue": ["red", "blue"]}).names
    ('a', 'hue=red', 'hue=blue')
    """

    def __init__(
        self,
        data: Any,
        *,
        levels: Mapping[str, Iterable[Level]] | None = None,
        unit: str | None = None,
        weights: Any = None,
        ignore: Collection[str] = (),
        declared: Mapping[str, str] | None = None,
        cyclic: Mapping[str, Any] | None = None,
        indicators: bool | Collection[str] = False,
        columns: Collection[str] | None = None,
        part: Part | InZone | None = None,
    ) -> None:
        _check_names(data)
        frame = nw.from_native(data, strict=False, eager_only=False)
        if isinstance(frame, nw.LazyFrame):
            raise InvalidTable("the table is a lazy frame; call .collect() first")
        self._frame: Any = frame if isinstance(frame, nw.DataFrame) else None
        if self._frame is not None:
            self._n_rows = len(self._frame)
            self._keys = {str(key): key for key in self._frame.columns}
            part = part.placed(columns or (), self._keys) if isinstance(part, InZone) else part
            places = () if part is None else part.columns
            names = self._keys if columns is None else self._wanted(columns, (unit, weights, *places))
            if columns is not None and len(places) > 1:  # only read to say where a row is
                ignore = {*ignore, *places} - {*columns}
            types = {name: type_of_series(self._frame.get_column(self._keys[name])) for name in names}
        else:
            if columns is not None:
                raise no_such_column(next(iter(columns)), (), "bounds are given for")
            self._array = _as_array(data)
            self._n_rows, width = self._array.shape
            kind = BOOLEAN if self._array.dtype.kind == "b" else NUMBER
            types = {f"x{j}": kind for j in range(width)}
        self.schema = Schema.of(
            types,
            levels=levels,
            unit=unit,
            weight=weights if isinstance(weights, str) else None,
            ignore=ignore,
            declared=declared,
            cyclic=cyclic,
            indicators=indicators,
            part=part,
            named=self._frame is not None,
        )
        array_given = weights is not None and not isinstance(weights, str)
        self._weights = _as_weights(weights, self._n_rows) if array_given else None

    def _wanted(self, columns: Collection[str], roles: tuple[Any, ...]) -> list[str]:
        for name in columns:
            if name not in self._keys:
                raise no_such_column(name, self._keys, "bounds, levels or cyclic name")
        # In the order of the table.
        return [
            name for name in self._keys if name in columns or name in [r for r in roles if isinstance(r, str)]
        ]

    def blank(self) -> Any:
        """Return the clustered columns as they are, without rows."""
        if self._frame is None:
            return self._array[:0]
        clustered = {field.name for field in self.schema.fields}
        others = [key for name, key in self._keys.items() if name not in clustered]
        return (self._frame.head(0).drop(*others) if others else self._frame.head(0)).to_native()

    def with_people(self, values: Array, names: Iterable[str]) -> Any:
        """Return new columns with the column of people beside them, in a data frame of the same kind."""
        people = self._frame.select(self._keys[str(self.schema.unit)])
        library = nw.get_native_namespace(people)
        columns = [
            nw.new_series(str(name), column, nw.Float64(), native_namespace=library)
            for name, column in zip(names, values.T, strict=True)
        ]
        return people.with_columns(*columns).to_native()

    def parts(self, rows: int) -> Iterator[tuple[int, int]]:
        """Cut the table in ranges of at most `rows` rows; an empty table has one empty range."""
        for start in range(0, max(self._n_rows, 1), rows):
            yield start, min(start + rows, self._n_rows)

    def read(self, part: tuple[int, int]) -> Piece:
        """Read one range of rows; cells that are null are NaN."""
        start, stop = part
        weights = None if self._weights is None else self._weights[start:stop]
        if self._frame is None:
            rows, whole = self._array[start:stop], self.schema.part
            cells = zip(self.schema.fields, rows.T, strict=True)
            columns: list[Values] = [column for field, one in cells for column in expanded(field, one)]
            zone = zones_of_array(whole.zones, rows) if isinstance(whole, InZone) else None
            return Piece(start, columns, None, weights, zone=zone)
        piece = read_frame(self._frame[start:stop], self.schema, start, keys=self._keys)
        return piece if weights is None else replace(piece, weights=weights)

    def source(
        self, domain: Domain, *, key: int = 0, parts_key: int = 0, threads: int | None = None
    ) -> MemorySource:
        """Put the rows on the lattice and keep them there."""
        return MemorySource(self, domain, key=key, parts_key=parts_key, threads=threads)


def column_names(data: Any) -> list[str]:
    """Return the names of a frame's columns; arrays have none."""
    # Those of pandas and polars, and of pyarrow; a lazy frame would have to look.
    columns = getattr(
        data, "columns" if hasattr(data, "iloc") or hasattr(data, "to_arrow") else "column_names", ()
    )
    return [str(name) for name in columns]


def _check_names(data: Any) -> None:
    """Refuse a frame with two columns of one name, before a library does with a message of its own."""
    names = column_names(data)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidTable(f"the table has columns {twice} twice; rename one of each")


def _as_weights(weights: Any, n_rows: int) -> Values:
    series = nw.from_native(weights, series_only=True, strict=False)
    if isinstance(series, nw.Series):
        kind = type_of_series(series)
        values = read_numbers(series) if kind in (NUMBER, BOOLEAN) else np.empty(0, dtype=object)
    else:
        values = np.asarray(weights)
        kind = str(values.dtype)
    if values.dtype.kind not in "fiub":
        raise InvalidTable(f"sample_weight holds {kind}, not numbers")
    if values.ndim != 1:
        raise InvalidTable(f"Sample weights must be 1D: sample_weight has {values.ndim} dimensions")
    if len(values) != n_rows:
        raise InvalidTable("sample_weight and the table differ in their number of rows; give a weight a row")
    return values


def _as_array(data: Any) -> Values:
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InvalidTable(
            "the table is a sparse matrix; Shoal reads dense rows: pass X.toarray() if it fits in memory"
        )
    try:
        array = np.asarray(data)
    except ValueError:
        raise InvalidTable(f"a {type(data).__name__} of ragged rows is not a table") from None
    if array.dtype.kind == "c":
        raise InvalidTable("Complex data not supported: the table holds complex numbers")
    if array.dtype.kind == "O":
        # Looking at the cells of an untyped array would make this error depend on rows.
        raise InvalidTable(
            "the array has no type (dtype=object); declare one, for example X.astype(float): the argument "
            "must be a table of numbers, not of a string or a number as it comes"
        )
    if array.dtype.kind not in "fiub":
        raise InvalidTable(
            f"the array holds {array.dtype}, not numbers: pass a data frame, and the levels of text columns"
        )
    if array.ndim != 2:
        raise InvalidTable(
            f"Expected 2D array, got {array.ndim}D array instead: a table has rows and columns. Reshape "
            "your data with X.reshape(-1, 1) for one column or X.reshape(1, -1) for one row"
        )
    return array


class MemorySource(Source):
    """Rows of a table, kept on the lattice.

    Parameters are those of :class:`shoal.sources.rows.Source`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.domain import Bounds
    >>> from shoal.sources import Table
    >>> domain = Domain(Bounds.parse((0, 1), 2))
    >>> source = MemorySource(Table(np.full((10, 2), 0.5)), domain, chunk_rows=4)
    >>> source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b)
    10
    """

    def __init__(self, table: OpenTable, domain: Domain, **how: Any) -> None:
        super().__init__(table, domain, **how)
        self._chunks = list(self._map(lambda chunk: chunk))

    def within(self, domain: Domain) -> Self:
        """Return the same rows on the lattice of another domain."""
        other = super().within(domain)
        other._chunks = list(other._map(lambda chunk: chunk))
        return other

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk and combine the results, in order."""
        return fold(combine, in_order(self._told(partial), self._chunks, self._threads))


def open_table(
    X: Any,
    *,
    levels: Mapping[str, Iterable[Level]] | None = None,
    unit: str | None = None,
    weights: Any = None,
    bounds: Any = None,
    cyclic: Mapping[str, Any] | None = None,
    indicators: bool | Collection[str] = False,
    part: Part | InZone | None = None,
) -> OpenTable:
    """Open a table to fit a model on it.

    Parameters
    ----------
    X : array-like, data frame, path, folder, pattern or FileTable
        Where the rows are.
    levels : mapping of str to list of str or int, optional
        The levels of category columns.
    unit : str, optional
        The column that names the person.
    weights : str or array-like, optional
        The column of row weights or, for a table in memory, the weights.
    bounds : mapping of str to (lower, upper), optional
        Public bounds. By name they say which columns to cluster, with those of levels and cyclic, and what
        columns without a type hold; other kinds of bounds name none, and all columns are clustered.
    cyclic : mapping of str to float, str or list, optional
        Columns that go round.
    indicators : bool or collection of str
        Columns that get another one for missing cells.
    part : Part or InZone, optional
        The part of the table, or the zone, whose rows are read.

    Examples
    --------
    >>> open_table([[1.0, 2.0]]).n_columns
    2
    """
    if isinstance(X, Fold):
        opened = open_table(
            X.data,
            levels=levels,
            unit=unit,
            weights=weights,
            bounds=bounds,
            cyclic=cyclic,
            indicators=indicators,
            part=part,
        )
        opened.fold = X
        return opened
    roles: dict[str, Any] = {"levels": levels, "unit": unit, "weights": weights}
    roles |= {"declared": declared_by(bounds), "cyclic": cyclic, "indicators": indicators, "part": part}
    names = [mapping for mapping in (bounds, levels, cyclic) if isinstance(mapping, Mapping)]
    if isinstance(bounds, Mapping) and bounds:
        roles["columns"] = dict.fromkeys(str(name) for mapping in names for name in mapping)
    return _opened(X, roles)


def open_like(X: Any, schema: Schema | None) -> OpenTable:
    """Open a table whose rows are to be labelled: levels as fitted, people and weights passed over.

    Parameters
    ----------
    X : array-like, data frame, path, folder, pattern or FileTable
        Where the rows are. Of files that are only named, the fitted columns are read.
    schema : Schema, optional
        The fitted schema.
    """
    if schema is None:
        return open_table(X)
    roles: dict[str, Any] = {**schema.roles, "ignore": {schema.unit, schema.weight}}
    if isinstance(schema.part, InZone):  # a row is labelled by the groups of its zone
        roles["part"] = schema.part
    elif schema.part is not None:
        roles["ignore"].add(schema.part.column)
    names = [field.name for field in schema.fields]
    if (engine := _engine(X)) is not None:
        return engine(X, columns=names if schema.named else None, **roles)
    X = stream_of(X) or X
    if _is_file(X):
        return _file(X, schema).using(columns=names if schema.named else None, **roles)
    # Columns that were not clustered are passed over, unless some that were are not there.
    found = column_names(X) if schema.named else ()
    return Table(X, columns=names if set(names) <= set(found) else None, **roles)


def open_beside(
    X: Any,
    schema: Schema,
    *,
    bounds: Mapping[str, Any],
    levels: Mapping[str, Iterable[Level]] | None,
    unit: str | None,
    weights: Any,
) -> OpenTable:
    """Open a table for its fitted columns and for further ones.

    Parameters
    ----------
    X : array-like, data frame, path, folder, pattern, FileTable or stream
        Where the rows are.
    schema : Schema
        The fitted schema.
    bounds, levels : mapping
        Of further columns.
    unit : str, optional
        The column that names the person.
    weights : str or array-like, optional
        Row weights.
    """
    roles = schema.roles
    roles["levels"] = {**roles["levels"], **(levels or {})}
    roles["declared"] = {**declared_by(bounds), **roles["declared"]}
    names = dict.fromkeys([*(field.name for field in schema.fields), *map(str, bounds), *(levels or {})])
    roles |= {"columns": names, "unit": unit, "weights": weights}
    return _opened(X, roles)


def _opened(X: Any, roles: dict[str, Any]) -> OpenTable:
    if (engine := _engine(X)) is not None:
        return engine(X, **roles)
    X = stream_of(X) or X
    return _file(X).using(**roles) if _is_file(X) else Table(X, **roles)


def _engine(X: Any) -> Callable[..., OpenTable] | None:
    """Return what opens a table of an engine, which is not imported here; None if it is none's."""
    library = type(X).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from shoal.sources.engines.dask import DaskTable

        return DaskTable
    if library == "pyspark":
        from shoal.sources.engines.spark import SparkTable

        return SparkTable
    return None


def _is_file(X: Any) -> bool:
    return isinstance(X, FileTable | str | PathLike)


def _file(X: Any, like: Schema | None = None) -> FileTable:
    if isinstance(X, FileTable):
        return X
    if like is None or not like.named:
        return FileTable(X)
    return FileTable(X, columns=[field.name for field in like.fields])
