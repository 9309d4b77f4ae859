"""Columns of a frame as numbers: one reader for frames in memory and for batches of a file.

Every cell is read by the rules of `cells.py`, which look at nothing else and cannot fail. What is done in
bulk here is done to each cell alone: how a cell is read depends on its column's type, never on what other
cells hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal._typing import Integers
from shoal.domain import Field, InZone, Schema, Zones
from shoal.domain.schema import BOOLEAN, NUMBER, TEXT, TIME, UNTYPED
from shoal.domain.times import circle, seconds
from shoal.sources.cells import number, word
from shoal.sources.zones import zones_of_places

Values = npt.NDArray[np.generic]

# Digits of a number that Arrow and Python certainly read alike, without overflow.
_MOST_DIGITS = 20
# What a byte of a number is: a digit, the point, or any other sign. The sum over a cell tells how many there
# are; it fits a byte, 20 times 10 being less than 256.
_SIGN = 10
_SIGNS = bytes({**dict.fromkeys(b"0123456789", 0), ord("."): 1}.get(byte, _SIGN) for byte in range(256))
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), 1.0),
    **dict.fromkeys(("false", "f", "no", "n", "0"), 0.0),
}
# Units of Arrow's times, in a second.
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


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
    part : Words, optional
        What each row says in the column that cuts the table into parts.
    zone : ndarray of int64, optional
        The zone of each row.
    """

    start: int
    columns: list[Values]
    people: Words | None = None
    weights: Values | None = None
    part: Words | None = None
    zone: Integers | None = None

    @property
    def cells(self) -> list[Values]:
        """All that tells rows of one person apart: two with the same are interchangeable."""
        more = (self.weights, self.zone)
        return [*self.columns, *(values for values in more if values is not None)]

    @property
    def n_rows(self) -> int:
        """Rows of this piece."""
        return len(self.columns[0])

    def take(self, rows: npt.NDArray[np.int64]) -> Piece:
        """Return some of the rows, without their people, their part and their zone."""
        weights = None if self.weights is None else self.weights[rows]
        return Piece(self.start, [values[rows] for values in self.columns], None, weights)


def type_of(dtype: Any) -> str:
    """Say what a column holds, from its type: "number", "boolean", "time", "text", "untyped" or its name."""
    if dtype == nw.Boolean:
        return BOOLEAN
    if dtype in (nw.Date, nw.Datetime):
        return TIME
    if dtype.is_numeric():
        return NUMBER
    if dtype == nw.Object:
        return UNTYPED
    return TEXT if dtype in (nw.String, nw.Categorical, nw.Enum) else str(dtype)


def type_of_series(series: Any) -> str:
    """Say what a column holds. An object column of pandas has no type, whatever its first cells are.

    Examples
    --------
    >>> import pandas as pd
    >>> type_of_series(nw.from_native(pd.Series(["a", "b"], dtype=object), series_only=True))
    'untyped'
    """
    dtype = getattr(series.to_native(), "dtype", None)
    # Asked for its type, narwhals would look at the cells of such a column.
    return UNTYPED if isinstance(dtype, np.dtype) and dtype.kind == "O" else type_of(series.dtype)


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
            columns += _indicators(read(field.name), [str(level) for level in field.levels], field.indicator)
        elif field.cells == TIME:
            columns += expanded(field, read_times(series(field.name)))
        else:
            columns += expanded(field, read_numbers(series(field.name), truth=field.kind == "boolean"))
    people = None if schema.unit is None else read(schema.unit)
    weights = None if schema.weight is None else read_numbers(series(schema.weight))
    if isinstance(schema.part, InZone):
        zone = _zones(schema.part.zones, series, read)
        return Piece(start, columns, people, weights, zone=zone)
    part = None if schema.part is None else read(schema.part.column)
    return Piece(start, columns, people, weights, part)


def _zones(zones: Zones, series: Callable[[str], Any], read: Callable[[str], Words]) -> Integers:
    """Return the zone of each row, by what it says of its own."""
    columns = zones.columns or ()
    if zones.by_column:
        return zones_of_words(zones, read(columns[0]))
    x, y = (read_numbers(series(name)) for name in columns)
    return zones_of_places(zones, x, y)


def zones_of_words(zones: Zones, found: Words) -> Integers:
    """Return the zone that each row names; one that names none of them is in the rest."""
    known = {name: i for i, name in enumerate(zones.names[:-1])}
    rest = len(known)
    return np.array([*(known.get(word, rest) for word in found.words), rest], dtype=np.int64)[found.codes]


def read_numbers(series: Any, *, truth: bool = False) -> Values:
    """Return a column as numbers; a null, or a cell that is not a number, is NaN.

    Parameters
    ----------
    series : narwhals Series
        Numbers, booleans, or cells that are to be read as such.
    truth : bool
        Whether cells say true or false.

    Examples
    --------
    >>> column = pa.chunked_array([["1.5", " 2 ", "n/a", None, "1e3"]])
    >>> read_numbers(nw.from_native(column, series_only=True)).tolist()
    [1.5, 2.0, nan, nan, 1000.0]
    """
    if type_of_series(series) in (TEXT, UNTYPED):
        if truth:
            return read_words(series, fold=True).look_up(_TRUTH)
        return _parse(_arrow(series)) if _is_arrow(series) else _each(*_distinct(series))
    if series.dtype in (
        nw.Boolean,
        nw.Decimal,
        nw.Int128,
        nw.UInt128,
    ):  # NumPy has no such types, or no nulls
        series = series.cast(nw.Float64)
    values = series.to_numpy()
    if values.dtype == object:  # nullable columns of pandas
        values = np.array([number(value) for value in series.to_list()], dtype=np.float64)
    return np.asarray(values)


def read_times(series: Any) -> Values:
    """Return a column as seconds since 1970, on the clock of its own zone; what is no time is NaN.

    Parameters
    ----------
    series : narwhals Series
        Dates, times, or cells that are to be read as such.

    Examples
    --------
    >>> column = pa.chunked_array([["1970-01-02", "1970-01-01 00:00:01", "soon", None]])
    >>> read_times(nw.from_native(column, series_only=True)).tolist()
    [86400.0, 1.0, nan, nan]
    """
    if type_of_series(series) in (TEXT, UNTYPED):
        return _each(*_distinct(series), seconds)
    array = series.to_arrow()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_date32(array.type):
        return _doubles(array.cast(pa.int32())) * 86_400.0
    if pa.types.is_date64(array.type):  # milliseconds, of which Arrow itself refuses those within a day
        return np.floor(_doubles(array.cast(pa.int64())) / 86_400_000.0) * 86_400.0
    if array.type.tz is not None:
        array = pc.local_timestamp(array)
    ticks, per_second = array.cast(pa.int64()), _PER_SECOND[array.type.unit]
    if per_second > _PER_SECOND["us"]:  # as Python has them
        whole = np.floor_divide(ticks.fill_null(0).to_numpy(zero_copy_only=False), per_second // 10**6)
        return np.where(ticks.is_valid().to_numpy(zero_copy_only=False), whole / 1e6, np.nan)
    return _doubles(ticks) / per_second


def expanded(field: Field, values: Values) -> list[Values]:
    """Return the columns that a column of numbers, truth values or times becomes.

    Parameters
    ----------
    field : Field
        How it is encoded; not a category.
    values : ndarray
        Its cells; missing ones are NaN.
    """
    columns: list[Values] = [values]
    if field.cycles:
        doubles = np.asarray(values, dtype=np.float64)
        columns = [part for cycle in field.cycles for part in circle(doubles, cycle)]
    return [*columns, 1.0 - np.isfinite(columns[0])] if field.indicator else columns


def read_words(series: Any, *, fold: bool = False) -> Words:
    """Return a column as it is written; whole numbers are written without a point.

    Parameters
    ----------
    series : narwhals Series
        Text, numbers, or cells of any kind.
    fold : bool
        Whether capitals and surrounding blanks do not matter.

    Examples
    --------
    >>> found = read_words(nw.from_native(pa.chunked_array([["b", None, "a", "b"]]), series_only=True))
    >>> found.codes.tolist(), found.words
    ([0, -1, 1, 0], ['b', 'a'])
    """
    codes, cells = _distinct(series)
    written = [word(cell) for cell in cells]
    if fold:
        written = [None if found is None else found.strip().lower() for found in written]
    places = {found: i for i, found in enumerate(dict.fromkeys(w for w in written if w is not None))}
    places_of = np.array([-1 if found is None else places[found] for found in written] + [-1], dtype=np.int64)
    return Words(places_of[codes], list(places))


def _distinct(series: Any) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Return cells, and for each row which of them it has, -1 where it is null.

    A cell may come twice: cells that Python takes for equal, as True and 1, are not joined.
    """
    if _is_arrow(series):
        return _encoded(_arrow(series))
    native = series.to_native()
    categories = getattr(native.dtype, "categories", None)
    if categories is None:
        cells = native.tolist()
        return np.arange(len(cells)), cells
    used, codes = np.unique(native.cat.codes.to_numpy(), return_inverse=True)
    return codes.astype(np.int64), [None if code < 0 else categories[code] for code in used]


def _encoded(array: Any) -> tuple[npt.NDArray[np.int64], list[Any]]:
    encoded = array.dictionary_encode()  # so that only different cells are looked at one by one
    indices, start = encoded.indices, encoded.indices.offset
    n, codes = len(indices), np.empty(0, np.int64)
    if n:  # through buffers, as in `_parse`
        codes = np.frombuffer(indices.buffers()[1], np.int32)[start : start + n].astype(np.int64)
        codes[~_truths(indices.is_valid())] = -1
    return codes, encoded.dictionary.to_pylist()


def _is_arrow(series: Any) -> bool:
    """Say whether a column can be handed to Arrow: all can but those of pandas that hold Python's objects."""
    if not series.implementation.is_pandas_like():
        return bool(series.dtype != nw.Object)
    dtype = series.to_native().dtype
    if getattr(dtype, "categories", None) is not None:
        return False
    storage = getattr(dtype, "storage", None)  # of a column of text
    return str(storage).startswith("pyarrow") if storage is not None else type_of_series(series) != UNTYPED


def _arrow(series: Any) -> Any:
    if series.dtype in (nw.Int128, nw.UInt128):  # as written, for Arrow has no such type
        series = series.cast(nw.String)
    array = series.to_arrow()
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if not (pa.types.is_primitive(array.type) or pa.types.is_decimal(array.type)):
        array = _as_bytes(array)  # text: bytes that are not UTF-8 must not raise
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_bytes(array: Any) -> Any:
    if _casts(array.type):
        return array.cast(pa.large_binary())
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    cells = [cell for chunk in chunks for cell in chunk.view(pa.binary_view()).to_pylist()]
    return pa.array(cells, pa.large_binary())


@cache
def _casts(kind: Any) -> bool:
    """Say whether this Arrow makes bytes of a type of text: views are new to it. No cell is asked."""
    try:
        pa.nulls(0, kind).cast(pa.large_binary())
    except pa.ArrowNotImplementedError:
        return False
    return True


def _indicators(found: Words, levels: list[str], missing: bool) -> list[Values]:
    codes = found.look_up({level: float(i) for i, level in enumerate(levels)})
    undeclared = np.isnan(codes)
    if missing:  # a level of its own
        return [*((codes == i) + 0.0 for i in range(len(levels))), undeclared + 0.0]
    return [np.where(undeclared, np.nan, codes == i) for i in range(len(levels))]


def _each(
    codes: npt.NDArray[np.int64], cells: list[Any], rule: Callable[[Any], float] = number
) -> npt.NDArray[np.float64]:
    return np.array([rule(cell) for cell in cells] + [np.nan])[codes]


def _doubles(array: Any) -> npt.NDArray[np.float64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)  # nulls are NaN


def _parse(text: Any) -> Values:
    """Read written numbers: plain ones by Arrow, in bulk, and all others one by one."""
    if not pa.types.is_large_binary(text.type):  # numbers as categories
        return _each(*_encoded(text))
    # Through buffers: `pa.array`, `pa.scalar` and `to_numpy` would load pandas, where there is one.
    n, plain = len(text), _are_plain(text)
    # Seen as text without a look at its letters: what is not plain is left out before it is read.
    seen = text.view(pa.large_string())
    in_bulk = pc.cast(pc.if_else(_mask(plain), seen, pa.nulls(1, seen.type)[0]), pa.float64())
    start = in_bulk.offset
    values = np.frombuffer(in_bulk.buffers()[1], np.float64)[start : start + n].copy() if n else np.empty(0)
    values[~plain] = np.nan
    others = ~plain & _truths(text.is_valid())
    if others.any():
        values[others] = _each(*_encoded(text.filter(_mask(others))))
    return values


def _mask(truths: npt.NDArray[np.bool_]) -> Any:
    """Return truth values as an array of Arrow."""
    bits = pa.py_buffer(np.packbits(truths, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(truths), [None, bits])


def _truths(mask: Any) -> npt.NDArray[np.bool_]:
    """Return an array of Arrow, without nulls, as truth values."""
    bits = np.unpackbits(np.frombuffer(mask.buffers()[1] or b"", np.uint8), bitorder="little")
    return bits[mask.offset : mask.offset + len(mask)].astype(np.bool_)


def _are_plain(text: Any) -> npt.NDArray[np.bool_]:
    """Say of each cell whether it is digits, with at most a minus before and one point among them."""
    n = len(text)
    offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + n + 1]
    offsets, start, length = offsets - offsets[0], int(offsets[0]), int(offsets[-1] - offsets[0])
    first, last = offsets[:-1], offsets[1:]
    raw = text.buffers()[2]
    # One byte more, which is no cell's: an empty cell at the end has a first byte, too.
    cells = (b"" if raw is None else raw.slice(start, length).to_pybytes()) + b"0"
    kinds = np.frombuffer(cells.translate(_SIGNS), np.uint8)
    # One cell follows the other, so a cell is summed up to the next; an empty one, and only that, wrongly.
    signs = np.add.reduceat(kinds, first, dtype=np.uint8) if n else kinds[:0]
    minus = np.frombuffer(cells, np.uint8)[first] == ord("-")
    begins = kinds[np.minimum(first + minus, last)] == 0
    ends = kinds[np.maximum(last, 1) - 1] == 0
    lengths = last - first
    few = (lengths > minus) & (lengths <= _MOST_DIGITS)
    return np.asarray(few & begins & ends & (signs - minus * np.uint8(_SIGN) <= 1))
