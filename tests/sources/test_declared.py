"""Schema: what a column holds follows from its type or is declared; nothing of a row decides or is shown."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import Accountant, DPLloyd
from shoal.errors import InvalidFile, InvalidInput, InvalidTable
from shoal.sources import FileTable, Table, open_table


def fit(X, weight=None, **how):
    how = {"epsilon": 5.0, "bounds": (0, 1), "random_state": 0, **how}
    return DPLloyd(2, **how).fit(X, sample_weight=weight)


def refused(error, says, X, weight=None, **how):
    budget = Accountant(epsilon=10)
    with pytest.raises(error, match=says) as caught:
        fit(X, weight, budget=budget, **how)
    assert isinstance(caught.value, InvalidInput)
    assert (budget.charges, budget.left) == ((), 10)
    return str(caught.value)


def read_all(table):
    pieces = [table.read(part).columns for part in table.parts(1000)]
    return np.concatenate(pieces, axis=1).tolist()


@pytest.mark.parametrize("first", [["a"] * 150, [1.5] * 150, [None] * 150, [True] * 150], ids=str)
def test_an_object_column_has_no_type_whatever_its_first_cells_are(first):
    frame = pd.DataFrame({"x": pd.Series([*first, "b"], dtype=object)})
    refused(InvalidTable, "'x' has no type.*bounds={'x'.*levels={'x'", frame)
    refused(InvalidTable, "'x' has no type", frame, bounds=None)
    assert Table(frame, levels={"x": ["a"]}).names == ("x=a",)
    assert open_table(frame, bounds={"x": (0, 1)}).schema.fields[0].kind == "number"


def test_bounds_declare_numbers_and_the_fitted_schema_declares_them_again():
    cells = [0.1, "0.9", None, np.int64(1), True, "n/a"] * 30
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    typed = pd.DataFrame({"x": [0.1, 0.9, np.nan, 1, 1, np.nan] * 30})
    model, same = fit(frame, bounds={"x": (0, 1)}), fit(typed, bounds={"x": (0, 1)})
    assert model.cluster_centers_.tobytes() == same.cluster_centers_.tobytes()
    assert np.array_equal(model.predict(frame), same.predict(typed))


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_two_columns_of_one_name(kind):
    if kind == "pandas":
        table = pd.DataFrame([[0.1, 0.2]], columns=["a", "a"])
    else:
        table = pa.Table.from_arrays([pa.array([0.1]), pa.array([0.2])], names=["a", "a"])
    refused(InvalidTable, r"columns \['a'\] twice", table)


def test_columns_that_would_be_called_the_same():
    refused(InvalidTable, r"columns \['1'\] twice", pd.DataFrame([[0.1, 0.2]], columns=[1, "1"]))


ODD = ["\ud800", 2**70, ("a", 1), b"\xff", 10**5000, object(), np.timedelta64(5, "s"), np.timedelta64(3, "M")]


@pytest.mark.parametrize("cell", ODD, ids=lambda cell: f"{type(cell)}")
@pytest.mark.parametrize("column", ["x", "hue", "who", "w"])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_no_cell_stops_a_fit(cell, column):
    rng = np.random.default_rng(0)
    cells = {"x": rng.uniform(size=50), "hue": ["red", "blue"] * 25, "who": [1, 2] * 25, "w": [1.0] * 50}
    frame = pd.DataFrame(cells).astype(object)
    frame.at[7, column] = cell
    how = {"bounds": {"x": (0, 1)}, "levels": {"hue": ["red", "blue"]}, "unit": "who", "max_rows": 30}
    assert fit(frame, "w", max_weight=1.0, **how).cluster_centers_.shape == (2, 3)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="older than this type")
def test_whole_numbers_of_128_bits():
    cells = {"x": [2**70, 1, None], "who": [2**100, 2**100 + 1, None]}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.Int128))
    piece = Table(frame, unit="who").read((0, 3))
    assert np.array_equal(piece.columns[0], [2.0**70, 1, np.nan], equal_nan=True)
    assert piece.people.words == [str(2**100), str(2**100 + 1)]


# Text files.


@pytest.fixture
def trips(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text("id,day,lon,lat\n" + "".join(f"{i},2024-05-01,0.{i},0.5\n" for i in range(10, 60)))
    return path


def test_nothing_is_spent_on_a_csv_whose_columns_are_not_declared(trips):
    message = refused(InvalidTable, "no types: name those to cluster", trips)
    assert "id" not in message.replace("'", " ").split()
    refused(InvalidTable, "no types", trips, bounds=None)
    refused(InvalidTable, "no types", FileTable(trips), levels={"day": ["2024-05-01"]})


def test_bounds_columns_and_types_declare(trips):
    bounds = {"lon": (0, 1), "lat": (0, 1)}
    want = fit(FileTable(trips, ["lon", "lat"])).cluster_centers_
    assert np.array_equal(fit(trips, bounds=bounds).cluster_centers_, want)
    assert open_table(trips, bounds=bounds, unit="id").names == ("lon", "lat")
    assert FileTable(trips, types={"lat": "boolean"}).names == ("lat",)
    assert FileTable(trips, ["lon", "lat"]).using(unit="day").schema.columns == ("lon", "lat", "day")


@pytest.fixture
def headless(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Ada,0.125,77\nBob,0.5,12\nCyd,0.75,13\n")
    return path


def test_a_first_line_that_is_a_row_is_not_shown(headless):
    table = {"columns": ["lon", "lat"]}
    with pytest.raises(InvalidFile, match=r"first line of .* names none of the columns") as caught:
        FileTable(headless, **table)
    messages = [str(caught.value), refused(InvalidFile, "names none", headless, bounds={"lon": (0, 1)})]
    messages.append(refused(InvalidTable, "no types", headless))
    messages.append(refused(InvalidFile, "names none", headless, bounds={"0.12": (0, 1)}, unit="Adaa"))
    for message in messages:
        assert not any(cell in message for cell in ("Ada,", "Ada'", "0.125", "77"))


def test_names_are_shown_once_one_of_them_matched(trips):
    with pytest.raises(InvalidTable, match=r"'longitude'.*did you mean 'lon'"):
        FileTable(trips, ["lat", "longitude"])
    refused(InvalidTable, "did you mean 'day'", FileTable(trips, ["lon"]), unit="dayy")


def test_a_row_one_with_equal_cells_is_not_shown(tmp_path):
    (tmp_path / "t.csv").write_text("31,31,47\n1,2,3\n")
    message = refused(InvalidFile, "names none", tmp_path / "t.csv", bounds={"age": (0, 99)})
    assert "31" not in message.replace(str(tmp_path), "")
    assert FileTable(tmp_path / "t.csv", [None, None, "age"], header=False).names == ("age",)


def test_without_a_header_columns_are_declared_in_order(headless):
    table = FileTable(headless, ["who", "lon", None], header=False)
    assert read_all(table.using(unit="who")) == [[0.125, 0.5, 0.75]]
    piece = table.using(unit="who").read(next(table.using(unit="who").parts(10)))
    assert piece.people.words == ["Ada", "Bob", "Cyd"]
    assert read_all(FileTable(headless, [None, "lon", "age"], header=False)) == [
        [0.125, 0.5, 0.75],
        [77, 12, 13],
    ]
    with pytest.raises(InvalidTable, match=r"needs columns=\["):
        FileTable(headless, header=False)
    with pytest.raises(InvalidTable, match="name one twice"):
        FileTable(headless, ["a", "a", "b"], header=False)


def test_the_layout_of_text_is_for_text_alone(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [0.1]}), tmp_path / "t.parquet")
    for how in ({"header": False}, {"multiline": True}):
        with pytest.raises(InvalidTable, match="are for CSV"):
            FileTable(tmp_path / "t.parquet", ["x"], **how)


def test_quoted_line_ends_are_asked_for(tmp_path):
    (tmp_path / "t.csv").write_text('x,note\n1,a\n2,"two\nlines"\n3,b\n')
    assert read_all(FileTable(tmp_path / "t.csv", ["x"])) == [[1, 3]]
    assert read_all(FileTable(tmp_path / "t.csv", ["x"], multiline=True)) == [[1, 2, 3]]


def test_labels_keep_the_fitted_order_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,hue,b\n" + "0.1,red,0.9\n0.9,blue,0.1\n" * 40)
    levels = {"hue": ["red", "blue"]}
    model = fit(FileTable(path, ["a", "hue", "b"]), levels=levels)
    assert model.release_.names == ("a", "hue=red", "hue=blue", "b")
    assert np.array_equal(model.predict(FileTable(path)), model.predict(path))
