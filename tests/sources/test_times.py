"""Times, rounds and indicators: each cell is read by itself, alike in every source."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.domain.times import circle, on_circle, seconds, written
from shoal.sources import FileTable, Table, open_table
from shoal.sources.columns import read_times

MOMENTS = [datetime(2024, 5, 1, 12, 30, 15, 250_000), datetime(1969, 12, 31, 23, 59, 59), None]
WANT = [(moment - datetime(1970, 1, 1)).total_seconds() if moment else math.nan for moment in MOMENTS]


def series(native):
    return nw.from_native(native, series_only=True)


@pytest.mark.parametrize(
    "native",
    [
        pl.Series(MOMENTS, dtype=pl.Datetime("us")),
        pl.Series(MOMENTS, dtype=pl.Datetime("ns")),
        pl.Series(MOMENTS, dtype=pl.Datetime("ms")),
        pd.Series(MOMENTS, dtype="datetime64[us]"),
        pd.Series(MOMENTS, dtype="datetime64[ns]"),
        pd.Series(MOMENTS, dtype=object),
        pd.Series([None if m is None else str(m) for m in MOMENTS], dtype=object),
        pa.chunked_array([pa.array(MOMENTS, pa.timestamp("ns"))]),
        pa.chunked_array([["2024-05-01T12:30:15.25Z", "1969-12-31 23:59:59+02:00", "yesterday"]]),
    ],
    ids=lambda native: str(getattr(native, "dtype", getattr(native, "type", ""))),
)
def test_a_time_is_the_same_whatever_holds_it(native):
    assert np.array_equal(read_times(series(native)), WANT, equal_nan=True)


def test_a_time_of_a_zone_is_what_its_clock_shows():
    berlin = pl.Series([datetime(2024, 7, 1, 10, tzinfo=UTC)]).dt.convert_time_zone("Europe/Berlin")
    here = pd.Series(pd.to_datetime(["2024-07-01 12:00"])).dt.tz_localize("Europe/Berlin")
    cell = datetime(2024, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    want = seconds("2024-07-01 12:00")
    assert [read_times(series(one))[0] for one in (berlin, here)] == [want, want]
    assert seconds(cell) == seconds("2024-07-01T12:00+02:00") == want


def test_dates():
    days = [date(2024, 5, 1), None]
    for native in (pl.Series(days), pa.chunked_array([pa.array(days, pa.date32())])):
        assert np.array_equal(read_times(series(native)), [seconds("2024-05-01"), math.nan], equal_nan=True)


def test_a_date_within_a_day_does_not_stop_the_others():
    # Arrow keeps some dates as milliseconds, and refuses a whole column for one that is not a day's first.
    days = pa.array([1_714_521_600_000, 1_714_521_600_001, -1, None, 2**62], pa.int64()).view(pa.date64())
    want = [seconds("2024-05-01"), seconds("2024-05-01"), seconds("1969-12-31"), math.nan]
    assert np.array_equal(read_times(series(pa.chunked_array([days])))[:4], want, equal_nan=True)


class Fails(date):
    """A date of somebody's own, which is none."""

    def toordinal(self):
        raise RuntimeError("of a row")


ODD = [
    "",
    "2024-13-01",
    "2024-05-01T25:00",
    b"\xff",
    "\ud800",
    7,
    1e300,
    True,
    [],
    object,
    pd.NaT,
    pd.NA,
    Fails(2024, 5, 1),
]


@pytest.mark.parametrize("cell", [*ODD, np.datetime64("NaT", "s")], ids=repr)
def test_no_cell_stops_the_reading_of_times(cell):
    assert math.isnan(seconds(cell))
    column = pd.Series([cell, "2024-05-01"], dtype=object)
    assert np.array_equal(read_times(series(column)), [math.nan, seconds("2024-05-01")], equal_nan=True)


def test_what_is_written_can_be_read_again():
    for moment in (0.0, 1714521600.0, -86399.0):
        assert seconds(written(moment)) == moment


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=2, max_size=40), st.data())
@settings(max_examples=60, deadline=None)
def test_a_place_on_a_circle_depends_on_one_cell(values, data):
    cells = np.array(values)
    rows = data.draw(st.permutations(range(len(cells))))[: data.draw(st.integers(1, len(cells)))]
    for cycle in (24.0, "week"):
        every, some = circle(cells, cycle), circle(cells[rows], cycle)
        for all_of, part in zip(every, some, strict=True):
            assert np.array_equal(all_of[rows], part, equal_nan=True)
        assert np.array_equal(np.isnan(every[0]), ~np.isfinite(cells))
        assert (np.hypot(*every)[np.isfinite(cells)] > 0.999).all()


def test_rounds_begin_where_they_should():
    monday = seconds("2024-05-06")
    assert [float(part[0]) for part in circle(np.array([monday]), "week")] == [1.0, 0.0]
    noon = np.array([monday + 12 * 3600])
    assert on_circle(*circle(noon, "day"), "day")[0] == pytest.approx(12)
    assert on_circle(*circle(noon, "week"), "week")[0] == pytest.approx(0.5, abs=1e-3)


FRAME = pl.DataFrame(
    {
        "note": ["x", "y", None],
        "pickup": pl.Series(MOMENTS, dtype=pl.Datetime("us")),
        "hour": [6.0, 18.0, None],
        "hue": ["red", None, "mauve"],
        "paid": [True, False, None],
        "age": [1.0, math.nan, 3.0],
    }
)
ROLES = {
    "bounds": {"age": (0, 4), "paid": "boolean"},
    "levels": {"hue": ["red", "blue"]},
    "cyclic": {"hour": 24, "pickup": ["day", "week"]},
    "indicators": ["age", "hue", "hour"],
}


def cells(table):
    assert table.names == (
        *("pickup day cos", "pickup day sin", "pickup week cos", "pickup week sin"),
        *("hour 24 cos", "hour 24 sin", "hour=missing", "hue=red", "hue=blue", "hue=missing", "paid"),
        *("age", "age=missing"),
    )
    return np.concatenate(
        [np.array(table.read(part).columns, dtype=float) for part in table.parts(2)], axis=1
    )


def test_one_declaration_reads_alike_in_memory_in_a_file_and_in_text(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_csv(tmp_path / "t.csv", datetime_format="%Y-%m-%d %H:%M:%S%.f")
    want = cells(open_table(FRAME, **ROLES))
    assert want[7:10].tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert want[-1].tolist() == [0, 1, 0]
    assert want[6].tolist() == [0, 0, 1]
    assert want[4:6, :2].round(9).tolist() == [[0, 0], [1, -1]]
    for other in (FRAME.to_arrow(), FRAME.to_pandas(), FRAME.to_pandas().astype(object)):
        assert np.array_equal(cells(open_table(other, **ROLES)), want, equal_nan=True)
    order = [column for column in FRAME.columns if column != "note"]
    for path in (tmp_path / "t.parquet", tmp_path / "t.csv"):
        file = FileTable(path, columns=order)
        assert np.array_equal(cells(open_table(file, **ROLES)), want, equal_nan=True)


def test_an_indicator_of_an_array():
    piece = Table(np.array([[1.0, np.inf], [np.nan, 2.0]]), indicators=True).read((0, 2))
    assert np.array_equal(piece.columns, [[1, np.nan], [0, 1], [np.inf, 2], [1, 0]], equal_nan=True)


def test_truth_is_told_in_several_words(tmp_path):
    (tmp_path / "t.csv").write_text(
        "paid\n" + "\n".join(["yes", "NO", "t", "F", "1", "0", "True", "perhaps"])
    )
    table = open_table(tmp_path / "t.csv", bounds={"paid": "boolean"})
    found = np.concatenate([table.read(part).columns[0] for part in table.parts(100)])
    assert np.array_equal(found, [1, 0, 1, 0, 1, 0, 1, np.nan], equal_nan=True)
