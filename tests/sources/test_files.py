"""A file gives the same answer bit for bit as the table in memory, however it is written and cut."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal import DPLloyd
from shoal.domain import Bounds, Domain
from shoal.sources import ArrowSource, FileTable, MemorySource, Table, open_table

from .conftest import LEVELS, write

BOUNDS = {"lon": (-1, 1), "lat": (-1, 1), "hour": (0, 24), "member": "boolean"}
ALL = ["lon", "lat", "hour", "member", "colour", "zone"]
ROLES = [
    {},
    {"sample_weight": "w", "max_weight": 2.0},
    {"unit": "who", "max_rows": 3},
    {"unit": "who", "max_rows": 2, "sample_weight": "w", "max_weight": 2.0, "missing": "drop"},
]


def fit(X, *, sample_weight=None, **how):
    how = {"epsilon": 5.0, "bounds": BOUNDS, "levels": LEVELS, "random_state": 3, **how}
    model = DPLloyd(3, **how).fit(X, sample_weight=sample_weight)
    return model.cluster_centers_.tobytes(), model.cluster_sizes_.tobytes(), model.certificate_.transcript


def clustered(table, roles):
    extra = [name for name in (roles.get("unit"), roles.get("sample_weight")) if name]
    return table.select([*ALL, *extra])


def opened(path):
    return FileTable(path, columns=ALL, types={"member": "boolean"})


@pytest.mark.parametrize("roles", ROLES, ids=str)
@pytest.mark.parametrize(
    "name", ["t.parquet", "t.csv", "t.csv.gz", "t.tsv", "t.csv.zst", "t.csv.bz2", "t.csv.lz4", "t.arrow"]
)
def test_every_format(everything, tmp_path, name, roles):
    path = write(everything, tmp_path / name)
    assert fit(opened(path), **roles) == fit(clustered(everything, roles), **roles)


@pytest.mark.parametrize("rows", [11, 97, 1024, 5000])
@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_row_groups_and_batches(everything, tmp_path, name, rows):
    roles = ROLES[3]
    path = write(everything, tmp_path / name, rows)
    assert fit(opened(path), **roles) == fit(clustered(everything, roles), **roles)


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow"])
def test_folders_and_patterns(everything, tmp_path, ending):
    roles = ROLES[2]
    want = fit(clustered(everything, roles), **roles)
    (tmp_path / "b").mkdir()
    write(everything.slice(0, 700), tmp_path / f"part-0.{ending}")
    write(everything.slice(700, 2000).select(everything.column_names[::-1]), tmp_path / f"part-1.{ending}")
    write(everything.slice(2700), tmp_path / "b" / f"part-2.{ending}")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "readme.txt").write_text("ignored")
    assert fit(opened(tmp_path), **roles) == want
    assert fit(opened(f"{tmp_path}/**/part-?.{ending}"), **roles) == want


def test_chunks_and_threads(everything, tmp_path):
    table = everything.select(["lon", "lat", "hour"])
    domain = Domain(Bounds.parse({n: BOUNDS[n] for n in table.column_names}, 3, table.column_names))
    path = write(table, tmp_path / "t.parquet", 130)

    def total(source):
        return source.reduce(lambda c: c.columns.sum(axis=1, dtype=np.float64), np.add)

    want = total(MemorySource(Table(table), domain))
    for rows in (7, 50, 131, 10_000):
        for threads in (1, 3):
            source = ArrowSource(FileTable(path), domain, chunk_rows=rows, threads=threads)
            assert np.array_equal(total(source), want)


def test_parts_come_in_order_and_once(everything, tmp_path):
    path = write(everything.select(["lon"]), tmp_path / "t.parquet", 130)
    pieces = [FileTable(path).read(part) for part in FileTable(path).parts(200)]
    assert [p.start for p in pieces] == list(np.cumsum([0] + [p.n_rows for p in pieces])[:-1])
    together = np.concatenate([p.columns[0] for p in pieces])
    assert np.array_equal(together, everything["lon"].to_numpy(), equal_nan=True)


def test_numbers_of_several_widths_in_the_parts(tmp_path):
    narrow, wide = pa.array([1, 2], pa.int8()), pa.array([2**40, -5.5], pa.float64())
    pq.write_table(pa.table({"a": narrow}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": wide}), tmp_path / "1.parquet")
    table = FileTable(tmp_path)
    values = np.concatenate([table.read(part).columns[0] for part in table.parts(100)])
    assert values.tolist() == [1.0, 2.0, 2.0**40, -5.5]


def test_private_bounds_from_a_file(everything, tmp_path):
    table = everything.select(["lon", "hour", "who"])
    path = write(table, tmp_path / "t.parquet", 500)
    roles = {"bounds": None, "levels": None, "epsilon": 50.0, "unit": "who", "max_rows": 2}
    assert fit(FileTable(path, ["lon", "hour"]), **roles) == fit(table, **roles)


def test_a_path_is_enough(everything, tmp_path):
    table = everything.select(["lon", "lat"])
    path = write(table, tmp_path / "t.parquet")
    want = fit(table, bounds=(-1, 1), levels=None)
    assert fit(path, bounds=(-1, 1), levels=None) == want
    assert fit(str(path), bounds=(-1, 1), levels=None) == want


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_labels_of_a_file(everything, tmp_path, name):
    path = write(everything, tmp_path / name, 700)
    model = DPLloyd(
        3, epsilon=5.0, bounds=BOUNDS, levels=LEVELS, unit="who", max_rows=3, max_weight=2.0, random_state=0
    ).fit(opened(path), sample_weight="w")
    assert list(model.feature_names_in_) == ALL
    assert model.n_features_in_ == 6
    assert model.release_.names[3:] == ("member", "colour=red", "colour=green", "zone=1", "zone=2", "zone=3")
    assert model.cluster_centers_.shape == (3, 9)
    want = model.predict(everything.select(ALL))
    assert len(want) == 3000
    assert np.array_equal(model.predict(path), want)  # of a path, the fitted columns are read
    assert np.array_equal(model.predict(opened(path)), want)
    assert np.array_equal(model.predict(everything), want)  # people and weights are passed over
    assert np.array_equal(model.predict(pl.from_arrow(everything).drop("w")), want)
    assert model.score(path) == model.score(everything)
    assert np.array_equal(model.transform(path), model.transform(everything))


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_empty_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y")
    (tmp_path / "b.csv").write_text("x,y\n")
    write(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int8())}), tmp_path / "c.parquet")
    for name in ("a.csv", "b.csv", "c.parquet"):
        bounds = {"x": (0, 1), "y": (0, 1)}
        model = DPLloyd(2, epsilon=1.0, bounds=bounds, random_state=0).fit(tmp_path / name)
        empty = np.zeros((0, 2))
        same = DPLloyd(2, epsilon=1.0, bounds=(0, 1), random_state=0).fit(empty)
        assert np.array_equal(model.cluster_centers_, same.cluster_centers_)
        assert model.predict(tmp_path / name).shape == (0,)


def test_a_model_fitted_on_a_file_holds_no_path(everything, tmp_path):
    import pickle

    path = write(everything.select(["lon", "lat"]), tmp_path / "secret-name.parquet")
    model = DPLloyd(2, epsilon=1.0, bounds=(-1, 1)).fit(path)
    assert b"secret-name" not in pickle.dumps(model)


def test_open_table_opens_everything(everything, tmp_path):
    path = write(everything.select(["lon", "lat"]), tmp_path / "t.parquet")
    for X in (path, str(path), FileTable(path), everything.select(["lon", "lat"])):
        table = open_table(X)
        assert (table.names, table.n_columns) == (("lon", "lat"), 2)
        chunks = list(table.encoded(Domain(Bounds.parse((-1, 1), 2))))
        assert sum(chunk.n_rows for chunk in chunks) == 3000
