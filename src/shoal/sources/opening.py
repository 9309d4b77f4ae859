"""One door for everything that holds rows: arrays, data frames, paths and opened files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from shoal.domain import Schema
from shoal.domain.schema import NUMBER, Level
from shoal.sources.arrow import FileTable
from shoal.sources.rows import OpenTable
from shoal.sources.table import Table


def open_table(
    X: Any,
    *,
    levels: Mapping[str, Iterable[Level]] | None = None,
    unit: str | None = None,
    weights: Any = None,
    bounds: Any = None,
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
        Public bounds. Columns without a type that they name hold numbers; other kinds of bounds name none.

    Examples
    --------
    >>> open_table([[1.0, 2.0]]).n_columns
    2
    """
    declared = dict.fromkeys(bounds, NUMBER) if isinstance(bounds, Mapping) else {}
    roles: dict[str, Any] = {"levels": levels, "unit": unit, "weights": weights, "declared": declared}
    return _file(X).using(**roles) if _is_file(X) else Table(X, **roles)


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
    declared = {field.name: field.kind for field in schema.fields if field.kind != "category"}
    ignore = {schema.unit, schema.weight}
    roles: dict[str, Any] = {"levels": schema.levels, "ignore": ignore, "declared": declared}
    if not _is_file(X):
        return Table(X, **roles)
    names = [field.name for field in schema.fields] if schema.named else None
    return _file(X, schema).using(columns=names, **roles)


def _is_file(X: Any) -> bool:
    return isinstance(X, FileTable | str | PathLike)


def _file(X: Any, like: Schema | None = None) -> FileTable:
    if isinstance(X, FileTable):
        return X
    if like is None or not like.named:
        return FileTable(X)
    return FileTable(X, columns=[field.name for field in like.fields])
