"""Files that cannot be used are refused when they are opened: clearly, and before anything is spent."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from shoal import Accountant, DPLloyd
from shoal.errors import DamagedFile, InvalidFile, InvalidInput, InvalidTable
from shoal.sources import FileTable

TABLE = pa.table({"lon": [0.1, 0.2], "lat": [0.3, 0.4], "name": ["x", "y"]})


def refused(error, says, X, **how):
    budget = Accountant(epsilon=10)
    weight = how.pop("sample_weight", None)
    with pytest.raises(error, match=says) as caught:
        DPLloyd(2, **{"epsilon": 1.0, "bounds": (0, 1), "budget": budget, **how}).fit(X, sample_weight=weight)
    assert isinstance(caught.value, InvalidInput)
    assert budget.charges == ()
    assert budget.left == 10
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    return tmp_path


def test_no_such_file(folder):
    refused(InvalidFile, "no file or folder", str(folder / "b.parquet"))
    refused(InvalidFile, "matches no file", str(folder / "*.arrow"))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv.gz", "csv.bz2"])
def test_not_what_its_name_says(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    path.write_text("lon,lat\n7.25,8.5\n" * 50)
    message = refused(InvalidFile, "another kind of file, cut short", path)
    assert "7.25" not in message


def test_binary_files_called_csv(folder):
    (folder / "a.parquet").rename(folder / "a.csv")
    refused(InvalidFile, "cannot be read as CSV", folder / "a.csv")
    (folder / "b.csv").write_bytes(b"lon\x00,lat\n1,2\n")
    refused(InvalidFile, "cannot be read as CSV", folder / "b.csv")


def test_an_empty_csv_has_no_header(tmp_path):
    (tmp_path / "t.csv").touch()
    refused(InvalidFile, "line of column names", tmp_path / "t.csv")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_truncated(tmp_path, ending):
    whole, cut = tmp_path / f"whole.{ending}", tmp_path / f"cut.{ending}"
    big = pa.table({"lon": np.random.default_rng(0).uniform(size=10_000)})
    if ending == "parquet":
        pq.write_table(big, whole)
    else:
        with pa.OSFile(str(whole), "wb") as sink, pa.ipc.new_file(sink, big.schema) as writer:
            writer.write_table(big)
    cut.write_bytes(whole.read_bytes()[:-1000])
    refused(InvalidFile, "cut short", cut)


def test_a_column_missing_in_one_part(folder):
    pq.write_table(TABLE.drop_columns(["lat"]), folder / "b.parquet")
    refused(InvalidFile, r"'lat' is in .*a\.parquet but not in .*b\.parquet", folder)
    refused(InvalidFile, "'lat'", FileTable(folder, ["lon"]), unit="lat")
    assert FileTable(folder, ["lon"]).names == ("lon",)  # a column that is not wanted may be missing


def test_an_extra_column_in_one_part(folder):
    pq.write_table(TABLE.append_column("extra", pa.array([1, 2])), folder / "b.parquet")
    refused(InvalidFile, "'extra'", folder)


@pytest.mark.parametrize("other", [pa.array(["1", "2"]), pa.array([True, False])])
def test_mixed_types_between_parts(folder, other):
    pq.write_table(TABLE.set_column(0, "lon", other), folder / "b.parquet")
    with pytest.raises(InvalidFile, match=r"'lon' holds number in .*a\.parquet and (text|boolean) in"):
        FileTable(folder, ["lon", "lat"])


def test_a_folder_without_data(tmp_path):
    refused(InvalidFile, "no data", tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden.parquet").touch()
    refused(InvalidFile, "no data", tmp_path)


def test_a_folder_of_several_formats(folder):
    (folder / "b.csv").write_text("lon,lat\n1,2\n")
    refused(InvalidFile, "several formats", folder)


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.json", "t.gz", "t.parquet.gz", "t.csv.br"])
def test_unknown_endings(tmp_path, name):
    (tmp_path / name).write_text("lon,lat\n1,2\n")
    refused(InvalidFile, "does not say what it is", tmp_path / name)


def test_a_format_can_be_given(tmp_path):
    (tmp_path / "t.dat").write_text("lon,lat\n1,2\n")
    assert FileTable(tmp_path / "t.dat", ["lon", "lat"], format="csv").names == ("lon", "lat")
    with pytest.raises(InvalidFile, match="format"):
        FileTable(tmp_path / "t.dat", format="xls")


def test_unknown_columns_name_the_near_ones(folder):
    with pytest.raises(InvalidTable, match=r"'lonn'.*did you mean 'lon'"):
        FileTable(folder, ["lonn"])
    numbers = FileTable(folder, ["lon", "lat"])
    refused(InvalidTable, "did you mean 'name'", numbers, unit="nam")
    refused(InvalidTable, "did you mean 'name'", numbers, sample_weight="nme", max_weight=1.0)
    refused(InvalidTable, "levels are declared for column 'nam'", numbers, levels={"nam": ["x"]})
    refused(InvalidTable, "'zebra'.*it has", numbers, unit="zebra")


def test_text_where_numbers_are_wanted(folder):
    message = refused(InvalidTable, "'name' holds text, not numbers", folder / "a.parquet")
    assert "levels={'name': [...]}" in message
    refused(
        InvalidTable, "it must hold numbers", FileTable(folder, ["lon"]), sample_weight="name", max_weight=1
    )


def test_other_arguments(folder):
    with pytest.raises(InvalidTable, match="list of names"):
        FileTable(folder, "lon")
    with pytest.raises(InvalidTable, match="'number', 'boolean' or 'time'"):
        FileTable(folder, types={"name": "date"})
    refused(
        InvalidTable,
        "name of one of its columns",
        FileTable(folder, ["lon"]),
        sample_weight=[1, 2],
        max_weight=1,
    )


def test_columns_named_twice(tmp_path):
    (tmp_path / "t.csv").write_text("lon,lon\n1,2\n")
    refused(InvalidFile, "'lon' twice", tmp_path / "t.csv", bounds={"lon": (0, 1)})


def damaged(path, X=None):
    budget = Accountant(epsilon=10)
    with pytest.raises(DamagedFile) as caught:
        DPLloyd(2, epsilon=1.0, bounds=(0, 1), budget=budget).fit(path if X is None else X)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def write_damaged(folder):
    """Write a Parquet file whose footer is whole and whose pages are not."""
    path = folder / "t.parquet"
    values = np.repeat(np.random.default_rng(0).integers(0, 1000, 5000), 10)
    table = pa.table({"lon": values, "who": values})
    pq.write_table(table, path, compression="gzip", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3 : len(raw) // 3 + 500] = b"\xff" * 500
    path.write_bytes(raw)
    return path


def test_damage_in_the_middle_says_nothing_of_the_rows(tmp_path):
    path = write_damaged(tmp_path)
    said = damaged(path)
    assert said.startswith(f"{path} cannot be read to its end: it is damaged; write it again; 0.")
    assert said.endswith("of epsilon = 1 was spent and is gone")


def test_a_cut_gzip_says_nothing_of_the_rows(tmp_path):
    rows = "\n".join(f"{x:.17g}" for x in np.random.default_rng(0).uniform(size=100_000))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(("lon\n" + rows).encode())[:-50_000])
    assert "damaged" in damaged(path, FileTable(path, ["lon"]))


def test_an_open_quote_says_nothing_of_the_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("lon,lat\n1,2\n" + '0.123454321,"secret\n' + "1,2\n" * 800_000)
    message = damaged(path, FileTable(path, ["lon", "lat"], multiline=True))
    assert "secret" not in message
    assert "12345" not in message


def test_a_file_that_changes_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("lon\n1\n")
    table = FileTable(path, ["lon"])
    path.write_text("lon\n1\n2\n")
    assert "changed" in damaged(path, table)
    path.unlink()
    assert "changed" in damaged(path, table)


def test_charges_stay_when_a_file_breaks_off(tmp_path):
    path = write_damaged(tmp_path)
    budget = Accountant(epsilon=1)
    with pytest.raises(DamagedFile, match=r"; 0\.2\d+ of epsilon = 1 was spent and is gone$"):
        DPLloyd(2, epsilon=1.0, bounds=(0, 1), budget=budget, max_iter=4).fit(path)
    assert float(budget.spent) == pytest.approx(0.25, rel=1e-5)  # of the question that was asked, no more


def test_a_ledger_says_what_was_spent_on_a_part_that_breaks_off(tmp_path):
    """The first part is whole: the question is paid for, and the damage is found while it is answered."""
    folder = tmp_path / "parts"
    folder.mkdir()
    write_damaged(folder).rename(folder / "b.parquet")
    values = pa.array(np.arange(1000) % 7, pa.int64())
    pq.write_table(pa.table({"lon": values, "who": values}), folder / "a.parquet")
    ledger = str(tmp_path / "budget.ledger")
    budget = Accountant.create(ledger, "trips", epsilon=1)
    with pytest.raises(DamagedFile, match=r"b\.parquet cannot be read .*; 0\.2\d+ of epsilon = 1 was spent"):
        DPLloyd(2, epsilon=1.0, bounds={"lon": (0, 7)}, budget=budget, max_iter=4).fit(folder)
    again = Accountant.open(ledger, "trips")  # as whoever comes next finds it
    assert float(again.spent) == pytest.approx(0.25, rel=1e-5)
    assert len(again.charges) == 1


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
@pytest.mark.parametrize("empty", [[0], [1], [0, 1]])
def test_parts_without_rows_are_answered_like_any(tmp_path, empty):
    rows = [[] if i in empty else [0.1, 0.9] for i in (0, 1)]
    parts = [pa.table({"lon": pa.array(column, pa.float64())}) for column in rows]
    for i, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    how = {"epsilon": 1.0, "bounds": (0, 1), "random_state": 0}
    there = DPLloyd(2, **how).fit(tmp_path)
    here = DPLloyd(2, **how).fit(pa.concat_tables(parts))
    assert np.array_equal(there.cluster_centers_, here.cluster_centers_)
    assert there.certificate_.charges == here.certificate_.charges


def test_a_file_that_breaks_off_before_anything_is_charged_says_so(tmp_path):
    path = write_damaged(tmp_path)  # people are counted in a pass of its own, before any question
    with pytest.raises(DamagedFile, match=r"; nothing was spent$"):
        DPLloyd(2, epsilon=1.0, bounds=(0, 1), unit="who").fit(
            FileTable(path.rename(tmp_path / "u.parquet"), ["lon", "who"])
        )


def test_csv_writer_and_reader_know_the_same_quotes(tmp_path):
    table = pa.table({"lon": ["1.5", "2.5"], "say": ['a "quoted", word', "two\nlines"]})
    csv.write_csv(table, tmp_path / "t.csv")
    opened = FileTable(tmp_path / "t.csv", ["lon", "say"], multiline=True).using(
        levels={"say": ['a "quoted", word', "two\nlines"]}
    )
    piece = opened.read(next(opened.parts(10)))
    assert [values.tolist() for values in piece.columns] == [[1.5, 2.5], [1, 0], [0, 1]]
