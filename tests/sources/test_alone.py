"""Encoding: a row is read by itself. One more or one less changes the encoding of no other, in any source."""

import io
import math
import warnings
from decimal import Decimal

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odd_cells import DECIMALS, HASHABLE, INTEGERS, NUMBERS, OBJECTS, TEXTS, TICKS, WIDE
from shoal.domain import Domain
from shoal.domain.schema import NUMBER, TIME
from shoal.sources import FileTable, Table, lines
from shoal.sources.cells import number, word
from shoal.sources.columns import read_numbers, read_words

LEVELS = {"hue": ["red", "7", "true", "n/a"]}
ROLES = {"levels": LEVELS, "unit": "who", "weights": "w"}
NAMES = ("x", "hue", "who", "w")


def columns(rows):
    return dict(zip(NAMES, ([row[j] for row in rows] for j in range(4)), strict=True))


def pandas_frame(rows, kinds):
    return pd.DataFrame({name: pd.Series(cells, dtype=kinds[name]) for name, cells in columns(rows).items()})


def pandas_category(rows):
    def is_null(cell):
        if isinstance(cell, Decimal):  # one that signals must not be asked
            return not cell.is_finite()
        return pd.api.types.is_scalar(cell) and pd.isna(cell)

    nulls = {id(cell) for cell in OBJECTS if is_null(cell)}

    def category(cells):
        # By hand, for pandas itself fails on some of these cells.
        different = dict.fromkeys(cell for cell in cells if id(cell) not in nulls)
        places = {cell: i for i, cell in enumerate(different)}
        codes = [-1 if id(cell) in nulls else places[cell] for cell in cells]
        every = np.empty(len(places), dtype=object)
        for cell, i in places.items():
            every[i] = cell
        kind = pd.CategoricalDtype._from_fastpath(pd.Index(every, dtype=object), ordered=False)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=kind, validate=False))

    return pd.DataFrame({name: category(cells) for name, cells in columns(rows).items()})


def polars_frame(rows, kinds):
    return pl.DataFrame({name: pl.Series(name, cells, kinds[name]) for name, cells in columns(rows).items()})


def arrow_table(rows, kinds):
    return pa.table({name: pa.array(cells, kinds[name]) for name, cells in columns(rows).items()})


def arrow_ticks(rows, kind):
    table = arrow_table(rows, {"x": pa.int64(), "hue": pa.string(), "who": pa.int64(), "w": pa.float64()})
    ticks = pa.chunked_array([chunk.view(kind) for chunk in table.column("x").chunks], kind)
    return table.set_column(0, "x", ticks)


def in_memory(frame):
    return Table(frame, declared={"x": NUMBER}, **ROLES)


def in_file(ending):
    def make(rows, kinds, folder):
        path = folder / f"t.{ending}"
        table = arrow_table(rows, kinds)
        if ending == "parquet":
            pq.write_table(table, path, row_group_size=2)
        else:
            feather.write_feather(table, str(path), chunksize=2, compression="uncompressed")
        return FileTable(path, ["x", "hue"], types={}).using(**ROLES)

    return make


TYPED_CELLS = (NUMBERS, TEXTS, INTEGERS, NUMBERS)
SOURCES = {
    "pandas objects": (
        (OBJECTS,) * 4,
        lambda rows, _: in_memory(pandas_frame(rows, dict.fromkeys(NAMES, object))),
    ),
    "pandas categories": (
        (HASHABLE, HASHABLE, HASHABLE, NUMBERS),
        lambda rows, _: in_memory(
            pandas_category(rows).assign(w=pd.Series([row[3] for row in rows], dtype="float64"))
        ),
    ),
    "pandas numpy": (
        (NUMBERS, TEXTS, NUMBERS, NUMBERS),
        lambda rows, _: in_memory(
            pandas_frame(rows, {"x": "float64", "hue": object, "who": "float64", "w": "float64"})
        ),
    ),
    "pandas nullable": (
        (INTEGERS, TEXTS, INTEGERS, [0.5, math.inf, None]),
        lambda rows, _: in_memory(
            pandas_frame(
                rows, {"x": "Int64", "hue": pd.StringDtype("pyarrow"), "who": "Int64", "w": "Float64"}
            )
        ),
    ),
    "pandas python text": (
        (NUMBERS, [*TEXTS, "\ud800"], [*TEXTS, "\ud800"], NUMBERS),
        lambda rows, _: in_memory(
            pandas_frame(
                rows,
                {
                    "x": "float64",
                    "hue": pd.StringDtype("python"),
                    "who": pd.StringDtype("python"),
                    "w": "float64",
                },
            )
        ),
    ),
    "polars": (
        TYPED_CELLS,
        lambda rows, _: in_memory(
            polars_frame(rows, {"x": pl.Float64, "hue": pl.Categorical, "who": pl.Int64, "w": pl.Float32})
        ),
    ),
    "polars wide": (
        (WIDE, TEXTS, WIDE, DECIMALS),
        lambda rows, _: in_memory(
            polars_frame(rows, {"x": pl.Int128, "hue": pl.String, "who": pl.Int128, "w": pl.Decimal(20, 2)})
        ),
    ),
    "arrow": (
        TYPED_CELLS,
        lambda rows, _: in_memory(
            arrow_table(rows, {"x": pa.float64(), "hue": pa.string(), "who": pa.int64(), "w": pa.float32()})
        ),
    ),
    "arrow others": (
        (TEXTS, TEXTS, DECIMALS, [True, False, None]),
        lambda rows, _: in_memory(
            arrow_table(
                rows,
                {
                    "x": pa.large_string(),
                    "hue": pa.dictionary(pa.int8(), pa.string()),
                    "who": pa.decimal128(20, 2),
                    "w": pa.bool_(),
                },
            )
        ),
    ),
    "Parquet": (
        TYPED_CELLS,
        lambda rows, folder: in_file("parquet")(
            rows, {"x": pa.float64(), "hue": pa.string(), "who": pa.int64(), "w": pa.float64()}, folder
        ),
    ),
    "IPC": (
        TYPED_CELLS,
        lambda rows, folder: in_file("arrow")(
            rows,
            {
                "x": pa.float32(),
                "hue": pa.dictionary(pa.int8(), pa.string()),
                "who": pa.int32(),
                "w": pa.float64(),
            },
            folder,
        ),
    ),
}


def going_round(frame):
    """Read x as a time of the day and of the year, with a column that says where it is missing."""
    how = {"declared": {"x": TIME}, "cyclic": {"x": ["day", "year"]}, "indicators": True}
    return Table(frame, **how, **ROLES)


SOURCES |= {
    "pandas times": (
        ([*OBJECTS, "2024-05-01", "1969-12-31T23:59:59.5Z"], OBJECTS, OBJECTS, NUMBERS),
        lambda rows, _: going_round(pandas_frame(rows, {**dict.fromkeys(NAMES, object), "w": "float64"})),
    ),
    "arrow times": (
        (TICKS, TEXTS, INTEGERS, NUMBERS),
        lambda rows, _: going_round(arrow_ticks(rows, pa.timestamp("ns", tz="Europe/Berlin"))),
    ),
    "polars times": (
        (TICKS, TEXTS, INTEGERS, NUMBERS),
        lambda rows, _: going_round(pl.from_arrow(arrow_ticks(rows, pa.timestamp("ms")))),
    ),
}
SOURCES["IPC"] = ((NUMBERS, TEXTS, [0, 7, -1, None], NUMBERS), SOURCES["IPC"][1])


def encoded(table, rows=3):
    """Return what becomes of every row: its numbers, its person and its weight, to the last bit."""
    found = []
    domain = Domain(table.schema.bounds((-2.0, 2.0)), max_weight=2.0)
    for part in table.parts(rows):
        piece = table.read(part)
        chunk = domain.encode(piece.columns, piece.weights)
        cells = [np.asarray(values, np.float64) + 0.0 for values in [*piece.columns, piece.weights]]
        people = [piece.people.words[code] if code >= 0 else None for code in piece.people.codes]
        found += [
            (who, *(repr(float(values[i])) for values in cells), chunk.columns[:, i].tobytes(), steps)
            for i, (who, steps) in enumerate(zip(people, chunk.weights.tolist(), strict=True))
        ]
    return found


def rows_of(pools):
    return st.tuples(*(st.sampled_from(pool) for pool in pools))


if not hasattr(pl, "Int128"):  # older than this type
    del SOURCES["polars wide"]


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_row_changes_the_encoding_of_no_other(name, data, tmp_path):
    pools, make = SOURCES[name]
    rows = data.draw(st.lists(rows_of(pools), min_size=1, max_size=8))
    i = data.draw(st.integers(0, len(rows) - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, rest = make(rows, tmp_path), make(rows[:i] + rows[i + 1 :], tmp_path / "..")
        assert whole.schema == rest.schema
        with_it, without = encoded(whole), encoded(rest)
        assert with_it[:i] + with_it[i + 1 :] == without
        assert encoded(whole, 10_000) == with_it


@given(st.lists(st.sampled_from(NUMBERS[:-2]), min_size=2, max_size=9), st.sampled_from("fdg"))
def test_arrays_too(cells, kind):
    array = np.array([np.nan if cell is None else cell for cell in cells], dtype=kind).reshape(-1, 1)
    weights = np.abs(array[:, 0])

    def read(rows, heavy, n):
        table = Table(rows, weights=heavy)
        pieces = [table.read(part) for part in table.parts(n)]
        read = [np.concatenate([p.columns[0], p.weights]).astype(np.float64) for p in pieces]
        return np.concatenate(read).reshape(-1, 2) if n == 1 else read[0].reshape(2, -1).T

    with np.errstate(all="ignore"):
        whole = read(array, weights, 1)
        assert whole[1:].tobytes() == read(array[1:], weights[1:], 1).tobytes()
        assert whole.tobytes() == np.ascontiguousarray(read(array, weights, 100)).tobytes()


# Text files: a line is a row or it is none, whatever lies around it.

LINES = [
    "1,2,a,3", '"1",2,a,inf', "x,y,b,n/a", '3,"open,b,1', '4,two"b,b,2', '"a""b",2,c,1', '"a"b,2,c,1',
    "", "5", "6,7,8,9,10", '"q",",",c,1', " 7 ,red,,1e400", '"', '""', ",,,", "é,é,é,é", "1,red\x00,d,2",
    "0,red," + "d" * 60 + ",1", '9,"red",e,"2"', "\ufeff1,red,f,1",
]  # fmt: skip


def csv_rows(path, text_lines, end="\n", trailing=True, **how):
    text = end.join(["x,hue,who,w", *text_lines]) + (end if trailing else "")
    path.write_bytes(text.encode())
    return encoded(FileTable(path, ["x", "hue"], **how).using(**ROLES))


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(LINES), max_size=8),
    st.integers(1, 90),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_a_line_is_read_by_itself(tmp_path, text_lines, block, end, trailing):
    alone = [row for line in text_lines for row in csv_rows(tmp_path / "t.csv", [line])]
    assert csv_rows(tmp_path / "t.csv", text_lines, end, trailing) == alone
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)  # where blocks are cut does not matter
        assert csv_rows(tmp_path / "t.csv", text_lines, end, trailing) == alone


@given(st.lists(st.text("ab\n", max_size=30), max_size=6), st.integers(1, 8), st.integers(8, 12))
def test_a_line_that_is_too_long_is_not_a_row_wherever_blocks_end(pieces, block, longest):
    text = "".join(pieces).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        patch.setattr(lines, "LONGEST_LINE", longest)
        found = b"".join(lines.whole_lines(io.BytesIO(text), ","))
    assert found.split() == [line for line in text.split() if len(line) <= longest]


def test_a_very_long_line_stops_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n" + "9" * (3 * 2**20) + ",5\n3,4\n")
    table = FileTable(path, ["x", "y"])
    pieces = [table.read(part).columns for part in table.parts(10)]
    assert np.concatenate(pieces, axis=1).tolist() == [[1, 3], [2, 4]]


def test_one_opening_quote_takes_no_other_row_along(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2\n" * 10 + '3,"4\n' + "5,6\n" * 20_000)
    table = FileTable(path, ["x", "y"])
    assert sum(table.read(part).n_rows for part in table.parts(1000)) == 20_010


# In bulk as one by one.

written = (
    st.floats().map(repr)
    | st.integers(-(10**25), 10**25).map(str)
    | st.decimals(allow_nan=False).map(str)
    | st.text("0123456789.-+eE inf", max_size=24)
    | st.text("01789.-", max_size=24)  # nearly plain: what is read in bulk, and what is not
    | st.sampled_from(TEXTS[:-2])
    | st.none()
)


def series(values, kind):
    return nw.from_native(pa.chunked_array([pa.array(values, kind)]), series_only=True)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    st.lists(written, max_size=20),
    st.sampled_from([pa.string(), pa.large_string(), pa.binary()]),
    st.integers(0, 5),
)
def test_numbers_in_bulk_are_those_of_the_rule(cells, kind, skip):
    array = pa.array(cells, pa.string()).cast(kind)[skip:]
    frame = nw.from_native(pa.chunked_array([array.cast(pa.string())]), series_only=True)
    found = read_numbers(frame)
    want = np.array([number(cell) for cell in cells[skip:]], dtype=np.float64)
    assert np.array_equal(found, want, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(want))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(NUMBERS, pa.float64()), (INTEGERS, pa.int64()), (DECIMALS, pa.decimal128(9, 2)), (TEXTS, pa.string())],
)
def test_words_in_bulk_are_those_of_the_rule(cells, kind):
    found = read_words(series(cells, kind))
    assert [found.words[code] if code >= 0 else None for code in found.codes] == [word(c) for c in cells]
    assert len(set(found.words)) == len(found.words)


def test_numbers_of_any_type_are_read_alike():
    cells = [1.5, None, 7.0, -2.25]
    want = [1.5, math.nan, 7.0, -2.25]
    found = {
        "float": pa.array(cells),
        "text": pa.array(["1.5", None, "7", "-2.25"]),
        "decimal": pa.array([None if c is None else Decimal(str(c)) for c in cells], pa.decimal128(9, 2)),
    }
    for name, array in found.items():
        values = read_numbers(nw.from_native(pa.chunked_array([array]), series_only=True))
        assert np.array_equal(values, want, equal_nan=True), name
