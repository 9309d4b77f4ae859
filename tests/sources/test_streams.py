"""Streams give the same answer bit for bit as the table in memory, and leave nothing behind."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from shoal import Accountant, DPLloyd
from shoal.errors import DamagedFile, InvalidTable
from shoal.sources.streams import Copy, stream_of

N = 5000
RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "x": RNG.uniform(0, 10, N),
        "y": pa.array([None if i % 50 == 0 else float(i % 10) for i in range(N)]),
        "hue": pa.array(["red" if i % 3 else "blue" for i in range(N)]),
        "who": pa.array([f"p{i % 900}" for i in range(N)]),
    }
)
HOW = {
    "bounds": {"x": (0, 10), "y": (0, 10)},
    "levels": {"hue": ["red", "blue"]},
    "unit": "who",
    "max_rows": 3,
}


def fit(X, **how):
    model = DPLloyd(2, **{"epsilon": 5.0, "random_state": 3, **HOW, **how}).fit(X)
    return model.cluster_centers_.tobytes(), model.certificate_.transcript


OPEN = []  # old versions close a connection that nobody holds, under the relation


def relation(table):
    duckdb = pytest.importorskip("duckdb")
    OPEN.append(duckdb.connect())
    return OPEN[-1].from_arrow(table)


def skip_old_polars(kind):
    if kind == "polars" and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("older than streaming by batches")


def dataset(table, folder):
    for i in range(3):
        pq.write_table(table.slice(i * 2000, 2000), folder / f"{i}.parquet", row_group_size=700)
    return pyarrow.dataset.dataset(folder)


_OPENED: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def closed():
    """Close what a test opened: from Python 3.13 on a connection that is left open is an error elsewhere."""
    yield
    while _OPENED:
        _OPENED.pop().close()


def sqlite(table, folder):
    connection = sqlite3.connect(folder / "t.db")
    _OPENED.append(connection)
    connection.execute("create table t (x real, y real, hue text, who text)")
    connection.executemany("insert into t values (?, ?, ?, ?)", zip(*table.to_pydict().values(), strict=True))
    connection.commit()
    return connection


def alchemy(table, folder):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    sqlite(table, folder).close()
    engine = sqlalchemy.create_engine(f"sqlite:///{folder / 't.db'}", poolclass=sqlalchemy.pool.NullPool)
    return engine.connect().execute(sqlalchemy.text("select * from t"))


def adbc(table, folder):
    dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi")
    sqlite(table, folder).close()
    connection = dbapi.connect(str(folder / "t.db"))
    cursor = connection.cursor()
    cursor.execute("select * from t")
    return cursor


STREAMS = {
    "polars": lambda table, _: pl.from_arrow(table).lazy(),
    "reader": lambda table, _: pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=999)
    ),
    "dataset": dataset,
    "duckdb": lambda table, _: relation(table),
    "cursor": lambda table, folder: sqlite(table, folder).execute("select * from t"),
    "sqlalchemy": alchemy,
    "adbc": adbc,
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_gives_what_the_table_gives(kind, tmp_path):
    skip_old_polars(kind)
    before = set(Path(tempfile.gettempdir()).glob("shoal-*"))
    assert fit(STREAMS[kind](TABLE, tmp_path)) == fit(TABLE)
    assert set(Path(tempfile.gettempdir()).glob("shoal-*")) == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["polars", "reader", "dataset", "cursor"])
def test_rows_of_a_stream_are_labelled(kind, tmp_path):
    skip_old_polars(kind)
    model = DPLloyd(2, epsilon=5.0, **HOW).fit(TABLE)
    assert np.array_equal(model.predict(STREAMS[kind](TABLE, tmp_path)), model.predict(TABLE))


def test_private_bounds_of_a_stream():
    numbers = TABLE.select(["x", "y"])
    how = {"bounds": None, "levels": None, "unit": None, "max_rows": 1, "missing": "drop"}
    assert fit(numbers.to_reader(), **how) == fit(numbers, **how)


def test_an_empty_stream_is_no_error():
    with pytest.warns(match="noise"):
        assert fit(TABLE.slice(0, 0).to_reader()) == fit(TABLE.slice(0, 0))


def test_misspelt_columns_and_missing_types_cost_nothing(tmp_path):
    budget = Accountant(epsilon=9)
    cursor = sqlite(TABLE, tmp_path).execute("select * from t")
    for X, says, how in [
        (TABLE.to_reader(), "did you mean 'hue'", {"levels": {"hues": ["red"]}}),
        (cursor, "has no type", {"bounds": (0, 10), "levels": None}),
    ]:
        with pytest.raises(InvalidTable, match=says):
            fit(X, budget=budget, **how)
    assert budget.charges == ()
    assert len(cursor.fetchall()) == N  # no row was read


def test_a_stream_that_breaks_says_nothing_of_rows_and_what_was_spent():
    def batches():
        yield from TABLE.slice(0, 1000).to_batches()
        raise pa.ArrowInvalid("row 1001 of Ada Lovelace is broken")

    budget = Accountant(epsilon=9)
    with pytest.raises(DamagedFile) as caught:
        fit(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), budget=budget)
    assert "Ada" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert budget.charges == ()


def test_a_copy_has_no_name_and_is_nobody_elses(monkeypatch):
    made = []
    original = tempfile.TemporaryFile

    def watched(*args, **kwargs):
        made.append(original(*args, **kwargs))
        state = os.fstat(made[-1].fileno())
        assert state.st_nlink == 0
        assert stat.S_IMODE(state.st_mode) == 0o600
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", watched)
    copy = Copy(iter(TABLE.to_batches()))
    assert len(made) == 1
    assert pa.Table.from_batches(copy.batches(["x"], 100)).equals(TABLE.select(["x"]))


@pytest.mark.slow
def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import pyarrow as pa, time; from shoal.sources.streams import Copy;"
        "Copy(iter(pa.table({'x': [1.0] * 100000}).to_batches())); print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_only_the_columns_that_are_read_are_copied():
    table = stream_of(TABLE.to_reader()).using(columns=["x"])
    assert {tuple(part[1].column_names) for part in table.parts(100)} == {("x",)}
    copy = table._parts[0].copies[0]
    assert pa.ipc.open_stream(pa.py_buffer(copy._map)).schema.names == ["x"]
