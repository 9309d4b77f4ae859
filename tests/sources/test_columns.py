"""Every cell is read by a rule of its own: what cannot be read is missing, never an error or another type."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import DPLloyd
from shoal.domain import Bounds, Domain, Schema
from shoal.sources import FileTable, Table
from shoal.sources.columns import read_numbers, read_words


def series(values, kind=None):
    import narwhals.stable.v1 as nw

    return nw.from_native(pa.chunked_array([pa.array(values, kind)]), series_only=True)


def read_all(table):
    pieces = [table.read(part) for part in table.parts(1000)]
    return [np.concatenate(columns) for columns in zip(*(piece.columns for piece in pieces), strict=True)]


written = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(10**30), 10**30).map(str)
anything = (
    written
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "nan", "inf", "1e999", "-1e999", "1_0", "0x10", "+1", " 2\t", "1,5", "١", "1.", ".5"]
    )
    | st.none()
)


@pytest.mark.slow
@given(st.lists(anything, min_size=1, max_size=20), st.integers(0, 19))
def test_a_cell_is_parsed_by_itself_alone(cells, i):
    i %= len(cells)
    together = read_numbers(series(cells, pa.string()))
    alone = read_numbers(series([cells[i]], pa.string()))
    if np.isfinite(alone[0]) or np.isfinite(together[i]):
        assert together[i : i + 1].tobytes() == alone.tobytes()


@given(st.lists(written, min_size=1, max_size=20), st.booleans())
def test_numbers_are_those_of_python(cells, spoilt):
    found = read_numbers(series([*cells, "spoilt"] if spoilt else cells, pa.string()))
    assert found[: len(cells)].tolist() == [float(cell) for cell in cells]


@pytest.mark.parametrize(
    "cell", ["", "abc", "1,5", "1_0", "--1", "1e", "0x10", "nan", "inf", "-", ".", "1 2", "١"]
)
def test_what_is_not_a_number_is_missing(cell):
    assert not math.isfinite(read_numbers(series([cell, "7"]))[0])


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_types_of_a_csv_do_not_depend_on_where_the_text_is(tmp_path):
    # The first block of a file is what a reader that guesses types would look at: here 2 MB of numbers.
    numbers = "1.5\n" * 500_000
    late = read_all(FileTable(write(tmp_path / "late.csv", f"a\n{numbers}oops\n2.5\n"), ["a"]))[0]
    early = read_all(FileTable(write(tmp_path / "early.csv", f"a\noops\n2.5\n{numbers}"), ["a"]))[0]
    assert np.isnan(late[-2])
    assert late[-1] == 2.5
    assert np.array_equal(np.sort(late), np.sort(early), equal_nan=True)


def test_awkward_csv_files(tmp_path):
    rows = 'a,b,hue\r\n1,2,red\r\n"3",x,"red"\r\n5\r\n6,7,8,9\r\n\r\n,8,NA\r\n-4.5e1, 9 ,blue\r\n'
    table = FileTable(write(tmp_path / "t.csv", rows), ["a", "b", "hue"]).using(levels={"hue": ["red", "NA"]})
    a, b, red, na = read_all(table)
    assert np.array_equal(a, [1, 3, np.nan, -45], equal_nan=True)  # lines of 1 and of 4 cells are not rows
    assert np.array_equal(b, [2, np.nan, 8, 9], equal_nan=True)
    assert np.array_equal(red, [1, 1, 0, np.nan], equal_nan=True)
    assert np.array_equal(na, [0, 0, 1, np.nan], equal_nan=True)


def test_bytes_that_are_not_utf8_are_no_error(tmp_path, capfd):
    rows = b"a,hue\n1,caf\xe9\n\xff\xfe,red\n3,\xc3\xa9t\xc3\xa9\n\xe9,\xe9,\xe9\n4,red\n"
    table = FileTable(write(tmp_path / "t.csv", rows), ["a", "hue"]).using(levels={"hue": ["red", "été"]})
    a, red, summer = read_all(table)
    assert np.array_equal(a, [1, np.nan, 3, 4], equal_nan=True)
    assert np.array_equal(red, [np.nan, 1, 0, 1], equal_nan=True)
    assert np.array_equal(summer, [np.nan, 0, 1, 0], equal_nan=True)
    assert capfd.readouterr().err == ""


def test_text_of_arrow_that_is_not_utf8_is_no_error():
    raw = pa.array([b"red", b"\xff", None], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    found = read_all(Table(pa.table({"hue": broken}), levels={"hue": ["red"]}))[0]
    assert np.array_equal(found, [1, np.nan, np.nan], equal_nan=True)


def test_header_with_mark_blanks_quotes_and_accents(tmp_path):
    text = '\ufeff\n"größe, cm","two\nlines",x\n1,2,3\n4,5,6\n'
    names = ("größe, cm", "two\nlines", "x")
    table = FileTable(write(tmp_path / "t.csv", text), names, multiline=True)
    assert table.names == names
    assert [values.tolist() for values in read_all(table)] == [[1, 4], [2, 5], [3, 6]]


def test_declared_booleans_of_text(tmp_path):
    text = "m\ntrue\nFalse\n1\n0\n TRUE \nyes\n\n2\n"
    found = read_all(FileTable(write(tmp_path / "t.csv", text), types={"m": "boolean"}))[0]
    assert np.array_equal(found, [1, 0, 1, 0, 1, 1, np.nan], equal_nan=True)  # an empty line is no row


def test_declared_types_of_text_in_parquet(tmp_path):
    text = pa.array(["1", "x", None, "3"])
    pq.write_table(pa.table({"a": text, "b": text.dictionary_encode()}), tmp_path / "t.parquet")
    table = FileTable(tmp_path / "t.parquet", types={"a": "number", "b": "number"})
    for column in read_all(table):
        assert np.array_equal(column, [1, np.nan, np.nan, 3], equal_nan=True)


HUES = ["red", None, "blue", "mauve", "red"]
ZONES = [1, None, 2, 9, 1]
FRAMES = {
    "pandas": lambda: pd.DataFrame({"hue": HUES, "zone": ZONES}),  # zones become floats
    "pandas object": lambda: pd.DataFrame({"hue": HUES, "zone": ZONES}).astype({"hue": object}),
    "pandas nullable": lambda: pd.DataFrame({"hue": HUES, "zone": ZONES}).convert_dtypes(),
    "pandas category": lambda: pd.DataFrame({"hue": HUES, "zone": ZONES}).astype("category"),
    "polars": lambda: pl.DataFrame({"hue": HUES, "zone": ZONES}),
    "polars category": lambda: pl.DataFrame({"hue": HUES, "zone": ZONES}).with_columns(
        pl.col("hue").cast(pl.Categorical)
    ),
    "polars text": lambda: pl.DataFrame({"hue": HUES, "zone": ["1", None, "2", "9", "1"]}),
    "arrow": lambda: pa.table({"hue": HUES, "zone": pa.array(ZONES, pa.int8())}),
    "arrow dictionary": lambda: pa.table({"hue": pa.array(HUES).dictionary_encode(), "zone": ZONES}),
    "arrow view": lambda: pa.table({"hue": pa.array(HUES, pa.string_view()), "zone": ZONES}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("zones", [[2, 1], ["2", "1"]])
def test_levels_are_compared_as_written(make, zones):
    table = Table(make(), levels={"hue": ["blue", "red"], "zone": zones})
    assert table.names == ("hue=blue", "hue=red", "zone=2", "zone=1")
    missing = np.nan
    want = [
        [0, missing, 1, missing, 0],
        [1, missing, 0, missing, 1],
        [0, missing, 1, missing, 0],
        [1, missing, 0, missing, 1],
    ]
    for column, values in zip(read_all(table), want, strict=True):
        assert np.array_equal(column, values, equal_nan=True)


def test_an_undeclared_level_is_in_the_middle_or_dropped():
    table = Table(pl.DataFrame({"hue": ["red", "mauve"]}), levels={"hue": ["red", "blue"]})
    columns, schema = read_all(table), table.schema
    centred = Domain(schema.bounds((0, 1))).encode(columns)
    assert centred.columns.T.tolist() == [[1.0, -1.0], [0.0, 0.0]]
    assert Domain(schema.bounds((0, 1)), missing="drop").encode(columns).n_rows == 1


def test_ids_of_64_bits_stay_apart():
    found = read_words(series([2**63 - 1, 2**63 - 2, -(2**63)]))
    assert found.words == [str(2**63 - 1), str(2**63 - 2), str(-(2**63))]


def test_whole_floats_are_written_as_whole_numbers():
    found = read_words(series([17.0, 17.5, math.nan, None, -0.0]))
    assert [found.words[code] if code >= 0 else None for code in found.codes] == [
        "17",
        "17.5",
        None,
        None,
        "0",
    ]


def test_columns_that_hold_cells_of_several_types():
    frame = pd.DataFrame({"hue": ["red"] * 200 + [3, None, ("x",)]}, dtype=object)
    codes = read_all(Table(frame, levels={"hue": ["red", "3"]}))
    assert codes[0][:200].tolist() == [1] * 200
    assert np.array_equal(codes[1][200:], [1, np.nan, np.nan], equal_nan=True)


def test_columns_named_by_numbers():
    X = np.random.default_rng(0).uniform(0, 1, (50, 2))
    model = DPLloyd(2, epsilon=10.0, bounds=(0, 1), random_state=0).fit(pd.DataFrame(X))
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(pd.DataFrame(X)), model.predict(X))


def test_bounds_of_what_is_not_a_number_are_implied():
    schema = Schema.of({"a": "number", "m": "boolean", "h": "text"}, levels={"h": ["x"]})
    want = Bounds((5.0, 0.0, 0.0), (9.0, 1.0, 1.0))
    assert schema.bounds((5, 9)) == want
    assert schema.bounds(([5], [9])) == want
    assert schema.bounds({"a": (5, 9)}) == want
    assert schema.bounds({"a": (5, 9), "m": (-1, 1)}).lower == (5.0, -1.0, 0.0)
    assert schema.bounds(None).unknown == (0,)
    assert schema.bounds(want) == want
