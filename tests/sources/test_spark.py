"""Tables of Spark: what is released is what a table in memory gives, whatever its executors go through.

A job takes a good part of a second, so all of the zoo runs on a stand-in for a data frame; on a real cluster,
of two executors in processes of their own, what is done in its own way: to count, keep, deal out and fail.
"""

import gc
import os
import pickle
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import zoo
from engine_cases import ALL, BOUNDS, PEOPLE_IN_STRIPS, ROWS_BY_WORD, bits, frame, same, seeded
from frame_here import FrameHere
from needs import needs, spark
from shoal import Accountant, DPLloyd, KMeans, PrivateScaler, SampleAggregateKMeans, load
from shoal.cli import main
from shoal.domain import Bounds, Domain
from shoal.errors import EngineFailed, EngineUnavailable, InvalidInput, InvalidTable
from shoal.queries.gate.codec import digest
from shoal.queries.questions.coins import ByCells, part, thinned
from shoal.sources import open_table

if spark():
    import pyspark
    from pyspark.sql import SparkSession

psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.slow,
    needs("spark"),
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet"),
]


def named(rows):
    return pd.DataFrame(rows, columns=[f"c{j}" for j in range(rows.shape[1])])


# --- All of the zoo, in this process.


@pytest.fixture
def here(monkeypatch):
    from shoal.sources.engines import spark as engine

    monkeypatch.setattr(engine, "check_executors", lambda session: None)


@pytest.mark.parametrize("member", ALL, ids=str)
def test_all_of_the_zoo_gives_the_same_bits(here, member):
    table = named(zoo.table(member.columns))
    if getattr(member.model, "published", False) is True:
        with pytest.raises(InvalidInput, match="all rows in one place"):
            seeded(member).fit(FrameHere.of(table, 77))
        return
    same(seeded(member), table, FrameHere.of(table, 77))


def test_zones_give_the_same_bits_and_labels(here):
    table = frame()
    for model, given in ((PEOPLE_IN_STRIPS, {"sample_weight": "w"}), (ROWS_BY_WORD, {})):
        far = FrameHere.of(table, 77)
        found = same(model, table, far, **given)
        assert np.array_equal(found.predict(far), found.predict(table))


def test_many_partitions_are_added_up_in_two_steps(here):
    table = named(zoo.table(2))
    same(DPLloyd(3, epsilon=5.0, bounds=(-1, 1), random_state=0), table, FrameHere.of(table, 10))


def test_what_executors_keep_is_forgotten_after_a_fit(here):
    FrameHere.kept = 0
    table = named(zoo.table(2))
    model = SampleAggregateKMeans(2, epsilon=5.0, bounds=(-1, 1))
    zoo.quietly(model.fit, FrameHere.of(table, 77))
    gc.collect()
    deadline = time.monotonic() + 10
    while FrameHere.kept and time.monotonic() < deadline:
        time.sleep(0.01)
    assert FrameHere.kept == 0


def test_only_public_questions_travel(here, monkeypatch):
    # What goes out: the question with its terms, and no entropy, source, law or accountant, and no row.
    from shoal.sources.engines.spark import SparkGroups

    sent, reduce = [], SparkGroups.reduce

    def seen(self, partial, combine):
        sent.append(pickle.dumps((partial, combine)))
        return reduce(self, partial, combine)

    monkeypatch.setattr(SparkGroups, "reduce", seen)
    rows = zoo.table(2)
    KMeans(3, epsilon=1.0, bounds=(-1, 1)).fit(FrameHere.of(named(rows), 100))
    assert len(sent) > 2
    for blob in sent:
        assert not any(word in blob for word in (b"Entropy", b"Law", b"Accountant", b"spark", b"Source"))
        assert not any(row.tobytes() in blob for row in rows)


# --- A cluster.


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "localhost",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Nothing runs for long enough to be worth compiling well.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}


@pytest.fixture(scope="module")
def started():
    """Start a master and two executors, in processes of their own, or return those that there are."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    names = set()

    def start():
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        found = builder.getOrCreate()
        names.add(found.sparkContext.applicationId)
        return found

    yield start
    start().stop()
    for name in names:
        shutil.rmtree(Path(pyspark.__file__).parent / "work" / name, ignore_errors=True)


@pytest.fixture
def session(started):
    return started()


def executors():
    """The processes of executors: of another machine, as far as the driver is concerned."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # some are gone by now
            if "CoarseGrainedExecutorBackend" in " ".join(one.cmdline()):
                found.append(one)
    return found


def spread(session, table, partitions=2):
    """Put a table on the cluster, some of it in each partition."""
    return session.createDataFrame(pa.Table.from_pandas(table, preserve_index=False)).repartition(partitions)


def test_people_categories_and_blocks_give_the_same_bits(session):
    table, levels = frame(), {"hue": ["red", "blue"]}
    model = SampleAggregateKMeans(
        2, epsilon=5.0, unit="who", max_rows=3, missing="drop", bounds=BOUNDS, levels=levels, random_state=0
    )
    same(model, table, spread(session, table))
    # The second may still be on its way when the first has done it all.
    end = time.monotonic() + 120
    while len(executors()) < 2 and time.monotonic() < end:
        time.sleep(0.5)
    assert len(executors()) == 2


def test_weights_and_people_in_several_zones_give_the_same_bits_and_labels(session):
    table = frame()
    far = spread(session, table)
    found = same(PEOPLE_IN_STRIPS, table, far, sample_weight="w")
    assert sorted(found.predict(far)) == sorted(found.predict(table))  # a shuffle keeps no order


def test_rows_that_are_held_stay_on_the_executors(session):
    # As a coreset holds them, which asks too much for a test: dealt out, joined, and some taken away.
    table = frame()[["a", "w"]]
    domain = Domain(Bounds.parse((-1, 1), 1), max_weight=2.0)

    def counted(chunk):
        return float((chunk.columns[0] * chunk.counts).sum(dtype=float)), int(chunk.counts.sum())

    def plus(one, other):
        return one[0] + other[0], one[1] + other[1]

    def positive(chunk):
        return part(chunk, chunk.columns[0] > 0)

    found = []
    for rows in (table, spread(session, table)):
        source = open_table(rows, weights="w", bounds={"a": (-1, 1)}).source(domain)
        held = source.regrouped(ByCells(5), partial(thinned, key=5))
        found.append((held.reduce(counted, plus), held.mapped(positive).reduce(counted, plus)))
    assert found[0] == found[1]
    assert found[0][0][1] > found[0][1][1] > 0


def test_times_zero_rows_and_many_partitions(session):
    table = pd.DataFrame({"n": np.arange(40) % 7, "t": pd.date_range("2024-01-01", periods=40, freq="h")})
    bounds = {"n": (0, 7), "t": ("2024-01-01", "2024-01-03")}
    model = DPLloyd(2, epsilon=5.0, bounds=bounds, max_iter=1, random_state=0)
    far = spread(session, table, 17)
    same(model, table, far)
    same(model, table[:0], far.where("n < 0"))
    same(model, table[:0], session.createDataFrame([], far.schema))


def test_a_step_maps_rows_on_the_executors_and_rows_are_labelled_here(session):
    table = frame()[["a", "b", "who"]]
    far, bounds = spread(session, table), {"a": (-1, 1), "b": (-1, 1)}
    step = PrivateScaler(epsilon=1.0, bounds=bounds, unit="who", random_state=0)
    one, other = clone(step).fit(table), clone(step).fit(far)
    mapped = other.transform(far)
    assert type(mapped).__module__.startswith("pyspark")
    columns = ["who", "b", "a"]  # a shuffle keeps no order
    got, wanted = (
        found.fillna("").sort_values(columns).astype(str)[columns].to_numpy()
        for found in (mapped.toArrow().to_pandas().astype(object), one.transform(table).astype(object))
    )
    assert np.array_equal(got, wanted)
    model = DPLloyd(2, epsilon=1.0, bounds=bounds, unit="who", max_iter=1, random_state=0).fit(table)
    assert sorted(model.predict(far)) == sorted(model.predict(table))


def test_a_killed_executor_and_a_task_that_runs_twice_change_nothing(session, tmp_path):
    rows = named(np.random.default_rng(0).normal(0, 0.3, (2000, 4)))
    model = DPLloyd(4, epsilon=1.0, bounds=(-1, 1), max_iter=2, random_state=0)
    far = spread(session, rows, 4).mapInArrow(
        _dies_once(tmp_path / "died"), "c0 double, c1 double, c2 double, c3 double"
    )
    before, killed = {one.pid for one in executors()}, []

    def kill(charge):
        if not killed:
            killed.append(min(before))
            # In the middle of the answer that this charge is for; what it kept is lost.
            threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()

    live = clone(model)
    live.on_charge = kill
    zoo.quietly(live.fit, far)
    assert (tmp_path / "died").exists()
    assert killed[0] not in {one.pid for one in executors()}
    assert bits(live) == bits(zoo.quietly(clone(model).fit, rows))


def _dies_once(mark):
    def rows(batches):
        for batch in batches:
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), 9)
            yield batch

    return rows


# --- What goes wrong.


def refused(error, says, X, **given):
    budget = Accountant(epsilon=2.0)
    weight = given.pop("sample_weight", None)
    model = DPLloyd(2, **{"epsilon": 1.0, "bounds": {"a": (-1, 1), "b": (-1, 1)}, "budget": budget, **given})
    with pytest.raises(error, match=says) as caught:
        model.fit(X, sample_weight=weight)
    assert caught.value.__cause__ is None
    assert budget.spent == 0
    return str(caught.value)


def test_errors_come_before_the_budget(session):
    far = spread(session, frame())
    refused(InvalidTable, "name of one of its columns", far, max_weight=1.0, sample_weight=[1.0])
    refused(InvalidTable, "column 'whom', which the table does not have", far, unit="whom")
    secret = "37 Elm Street"

    def broken(batches):
        raise ValueError(secret)

    said = refused(
        EngineFailed, "nothing was spent", far.select("a", "b").mapInArrow(broken, "a double, b double")
    )
    assert secret not in said


def test_files_that_spark_cannot_read(session, tmp_path):
    table = pa.table({"a": np.linspace(-1, 1, 1000), "b": np.linspace(-1, 1, 1000)})
    for name, other in (
        ("cut", None),
        ("mixed", table.set_column(0, "a", pa.array(["one"] * 1000))),
    ):
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(table, folder / "1.parquet")
        if other is None:
            (folder / "2.parquet").write_bytes((folder / "1.parquet").read_bytes()[:-100])
        else:
            pq.write_table(other, folder / "2.parquet")
        far = session.read.schema("a double, b double").parquet(str(folder))
        refused(EngineFailed, r"could not do their part.*nothing was spent", far)


def test_files_are_read_by_the_executors(session, tmp_path):
    table = pa.table({"a": np.linspace(-1, 1, 1000), "b": np.linspace(1, -1, 1000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=250)
    asked = [
        "--k",
        "2",
        "--epsilon",
        "1",
        "--bounds",
        "a=-1:1",
        "--bounds",
        "b=-1:1",
        "--set",
        "random_state=1",
    ]
    asked = ["fit", str(tmp_path / "t.parquet"), *asked, "--algorithm", "lloyd"]
    for engine, out in (([], "here"), (["--engine", "spark"], "there")):
        done = CliRunner().invoke(main, [*asked, "--out", str(tmp_path / out), *engine])
        assert done.exit_code == 0, done.output
    one, other = (load(tmp_path / out) for out in ("here", "there"))
    assert digest(one.transcript) == digest(other.transcript)
    assert session.range(3).count() == 3  # it was there before, so it is there after
    # A page in the middle is damaged: found as rows are read, in the words of whoever read it.
    raw = bytearray((tmp_path / "t.parquet").read_bytes())
    raw[len(raw) // 3 : len(raw) // 2] = bytes(len(raw) // 2 - len(raw) // 3)
    (tmp_path / "t.parquet").write_bytes(raw)
    done = CliRunner().invoke(main, [*asked, "--out", str(tmp_path / "none"), "--engine", "spark"])
    assert done.exit_code != 0
    assert "it is damaged" in done.output
    assert "nothing was spent" in done.output


@pytest.mark.parametrize("version", [None, "0.0.1"])
def test_an_executor_without_shoal_or_with_another(session, tmp_path, version):
    (tmp_path / "shoal").mkdir()
    says = "raise ImportError" if version is None else f"__version__ = {version!r}"
    (tmp_path / "shoal" / "__init__.py").write_text(says)
    environment = session.sparkContext.environment
    before = dict(environment)
    environment["PYTHONPATH"] = str(tmp_path)  # of the Python that executors start
    try:
        said = "no Shoal" if version is None else r"shoal 0\.0\.1"
        refused(EngineFailed, f"an executor of Spark has {said}.*nothing was spent", spread(session, frame()))
    finally:
        environment.clear()
        environment.update(before)


def test_no_java_and_no_master(session, monkeypatch):
    from shoal.sources.engines.spark_session import session_at

    for address, says in (
        ("127.0.0.1:9", "no master of Spark answers"),
        ("nowhere", "give spark://host:port"),
    ):
        with pytest.raises((EngineUnavailable, InvalidInput), match=says), session_at(address):
            pass
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineUnavailable, match=r"runs on Java.*nothing was spent"), session_at(None):
        pass


@pytest.fixture
def patience(session):
    """Say how many seconds to wait for executors."""
    yield lambda seconds: session.conf.set("spark.shoal.patience", str(seconds))
    with suppress(Exception):  # it was stopped
        session.conf.unset("spark.shoal.patience")


def test_executors_that_are_not_free(session, patience):
    far = spread(session, frame())
    patience("soon")
    refused(InvalidInput, "is 'soon'; it must be a number of seconds", far)
    patience(2)
    context = session.sparkContext

    def sleeps(batches):
        time.sleep(600)
        yield from batches

    tasks = session.range(0, 2, 1, 2).mapInArrow(sleeps, "id long")

    def keep_busy():
        context.addJobTag("busy")
        with suppress(Exception):  # it is cancelled
            tasks.collect()

    busy = threading.Thread(target=keep_busy)
    busy.start()
    while _tasks_at_work(context) < 2:
        time.sleep(0.05)
    refused(EngineUnavailable, r"no executor of Spark took up work in 2 seconds.*nothing was spent", far)
    context.cancelJobsWithTag("busy")
    busy.join()


def _tasks_at_work(context):
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


def breaks_off(X, do, says):
    """Fit, do something when the second answer has been paid for, and see what is told of it."""
    budget, charges = Accountant(epsilon=2.0), []
    model = DPLloyd(2, epsilon=1.0, bounds={"a": (-1, 1), "b": (-1, 1)}, max_iter=3, budget=budget)

    def told(charge):
        charges.append(charge)
        if len(charges) == 2:
            do()

    model.on_charge = told
    with pytest.raises(EngineFailed, match=says) as caught:
        model.fit(X)
    assert caught.value.__cause__ is None
    assert len(charges) == 2
    assert 0 < budget.spent < 1
    assert budget.spent == sum(charge.amount for charge in charges)


def allow(session, executors):
    """Let the master start no more than so many executors."""
    context = session.sparkContext
    none = context._jvm.scala.Predef.Map().empty()
    assert context._jsc.sc().requestTotalExecutors(executors, 0, none)


def test_executors_that_go_in_the_middle_and_cannot_be_had(session, patience):
    def take_away():
        patience(8)
        allow(session, 0)
        for one in executors():
            one.kill()

    try:
        says = r"no executor of Spark took up work in 8 seconds: .*; 0\.66\d* of epsilon = 1 was spent"
        breaks_off(spread(session, frame()), take_away, says)
    finally:
        allow(session, 2)


def test_a_session_that_is_stopped_in_the_middle(session):
    # The last: whoever wants a session after it, starts one.
    far = spread(session, frame())
    breaks_off(far, session.stop, r"the session of Spark was stopped: .*; 0\.66\d* of epsilon = 1 was spent")
    refused(EngineUnavailable, r"the session of Spark was stopped: .*nothing was spent", far)
