"""Columns of a frame as numbers: one reader for frames in memory and for batches of a file.

Every cell is read by a rule of its own that cannot fail, so nothing here depends on what other cells hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.domain import Schema
from shoal.domain.schema import BOOLEAN, NUMBER, TEXT

Values = npt.NDArray[np.generic]

# How a number is written; "nan" and "inf" are missing cells, so they need not be known here.
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


@dataclass(frozen=True, eq=False)
class Words:
    """A column as written: the different words of some rows, and which of them each row has.

    Parameters
    ----------
    codes : ndarray of int64
        Index into `words` for each row; -1 where the cell is missing.
    words : list of str
        Different words.
    """

    codes: npt.NDArray[np.int64]
    words: list[str]

    def look_up(self, meaning: Mapping[str, float]) -> npt.NDArray[np.float64]:
        """Translate each row's word; NaN where it is missing or has no meaning."""
        known = np.array([meaning.get(word, np.nan) for word in self.words] + [np.nan])
        return known[self.codes]


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table, encoded as numbers but not yet on the lattice.

    Parameters
    ----------
    start : int
        The place of the first row in the table.
    columns : list of ndarray
        The columns after encoding; missing cells are NaN.
    people : Words, optional
        Who each row belongs to.
    weights : ndarray, optional
        The weight of each row.
    """

    start: int
    columns: list[Values]
    people: Words | None = None
    weights: Values | None = None

    @property
    def n_rows(self) -> int:
        """Rows of this piece."""
        return len(self.columns[0])

    def take(self, rows: npt.NDArray[np.int64]) -> Piece:
        """Return some of the rows, without their people."""
        weights = None if self.weights is None else self.weights[rows]
        return Piece(self.start, [values[rows] for values in self.columns], None, weights)


def type_of(dtype: Any) -> str:
    """Say what a column holds, from its declared type: "number", "boolean", "text" or the type's name."""
    if dtype == nw.Boolean:
        return BOOLEAN
    if dtype.is_numeric():
        return NUMBER
    return TEXT if dtype in (nw.String, nw.Categorical, nw.Enum) else str(dtype)


def read_frame(
    frame: Any,
    schema: Schema,
    start: int,
    *,
    keys: Mapping[str, Any] | None = None,
    decode: Callable[[str], str] | None = None,
) -> Piece:
    """Read the columns that a schema names.

    Parameters
    ----------
    frame : narwhals DataFrame
        Some rows.
    schema : Schema
        Which columns, and how each becomes numbers.
    start : int
        The place of the first row in the table.
    keys : mapping of str to object, optional
        What the frame calls its columns, where that is not text.
    decode : callable, optional
        How to read words, where they are not as they were written.
    """

    def series(name: str) -> Any:
        return frame.get_column(name if keys is None else keys[name])

    def read(name: str) -> Words:
        found = read_words(series(name))
        return found if decode is None else Words(found.codes, [decode(word) for word in found.words])

    columns: list[Values] = []
    for field in schema.fields:
        if field.kind == "category":
            columns += _indicators(read(field.name), [str(level) for level in field.levels])
        else:
            columns.append(read_numbers(series(field.name), truth=field.kind == "boolean"))
    people = None if schema.unit is None else read(schema.unit)
    weights = None if schema.weight is None else read_numbers(series(schema.weight))
    return Piece(start, columns, people, weights)


def read_numbers(series: Any, *, truth: bool = False) -> Values:
    """Return a column as numbers; a null, or text that is not a number, is NaN.

    Parameters
    ----------
    series : narwhals Series
        Numbers, booleans, or text that is to be read as such.
    truth : bool
        Whether text says true or false.

    Examples
    --------
    >>> column = pa.chunked_array([["1.5", " 2 ", "n/a", None, "1e3"]])
    >>> read_numbers(nw.from_native(column, series_only=True)).tolist()
    [1.5, 2.0, nan, nan, 1000.0]
    """
    if type_of(series.dtype) == TEXT:
        return read_words(series, fold=True).look_up(_TRUTH) if truth else _parse(_plain(series))
    values = series.to_numpy()
    if values.dtype == object or series.dtype == nw.Boolean:  # nullable columns of pandas and pyarrow
        values = series.cast(nw.Float64).to_numpy()
    if values.dtype == object:
        values = np.array([np.nan if v is None else float(v) for v in series.to_list()], dtype=np.float64)
    return np.asarray(values)


def read_words(series: Any, *, fold: bool = False) -> Words:
    """Return a column as it is written; whole numbers are written without a point.

    Parameters
    ----------
    series : narwhals Series
        Text or numbers.
    fold : bool
        Whether capitals and surrounding blanks do not matter.

    Examples
    --------
    >>> found = read_words(nw.from_native(pa.chunked_array([["b", None, "a", "b"]]), series_only=True))
    >>> found.codes.tolist(), found.words
    ([0, -1, 1, 0], ['b', 'a'])
    """
    array = _plain(series)
    if not (pa.types.is_primitive(array.type) or pa.types.is_decimal(array.type)):
        array = array.cast(pa.large_binary())  # text: bytes that are not UTF-8 must not raise
    encoded = array.dictionary_encode()  # so that only different cells are looked at one by one
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    written = _all_written(encoded.dictionary)
    if fold:
        written = [None if word is None else word.strip().lower() for word in written]
    missing = np.array([word is None for word in written] + [True])
    return Words(np.where(missing[codes], -1, codes), [word or "" for word in written])


def _all_written(values: Any) -> list[str | None]:
    try:
        if not pa.types.is_floating(values.type) and not pa.types.is_decimal(values.type):
            found: list[str | None] = values.cast(pa.large_string()).to_pylist()
            return found
    except pa.ArrowInvalid:  # not UTF-8
        pass
    return [_written(value) for value in values.to_pylist()]


def _plain(series: Any) -> Any:
    try:
        array = series.to_arrow()
    except (pa.ArrowException, TypeError):  # an untyped column of pandas with cells of several types
        return pa.array([_written(value) for value in series.to_list()], pa.string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _written(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if isinstance(value, str | int):
        return str(value)
    if not isinstance(value, float | Decimal) or not math.isfinite(value):
        return None
    # pandas keeps whole numbers as floats where a column has missing cells.
    return str(int(value)) if value == int(value) else str(value)


def _indicators(found: Words, levels: list[str]) -> list[Values]:
    codes = found.look_up({level: float(i) for i, level in enumerate(levels)})
    undeclared = np.isnan(codes)
    return [np.where(undeclared, np.nan, codes == i) for i in range(len(levels))]


def _parse(text: Any) -> Values:
    text = text.cast(pa.large_string())
    try:
        parsed = pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        # Some cell is not a number: leave those out and read the others by the same rule.
        bare = pc.ascii_trim_whitespace(text)
        sound = pc.match_substring_regex(bare, _NUMBER)
        parsed = pc.cast(pc.if_else(sound, bare, pa.scalar(None, bare.type)), pa.float64())
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype=np.float64)
