"""Tables of Dask: what is released is what a table in memory gives, whatever its workers go through."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import zoo
from engine_cases import ALL, BOUNDS, PEOPLE_IN_STRIPS, ROWS_BY_WORD, bits, frame, same, seeded, strips
from shoal import Accountant, CoresetKMeans, DPLloyd, KMeans, PrivateScaler, SampleAggregateKMeans
from shoal.domain import Bounds, Domain, Unit
from shoal.errors import EngineFailed, EngineUnavailable, InvalidInput, InvalidTable
from shoal.sources import open_table
from shoal.sources.engines.dask import DaskGroups
from shoal.sources.engines.files import EngineFiles

dask = pytest.importorskip("dask", reason="no dask (pip install -e '.[dask]')")
distributed = pytest.importorskip("distributed", reason="no distributed (pip install -e '.[dask]')")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
psutil = pytest.importorskip("psutil")  # which Dask brings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("dask"),
    # Some tests want threads of this process beside the cluster; Dask 2025.1 warns of that.
    pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler"),
]


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers, in processes of their own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as found:
        yield found


@pytest.mark.parametrize("member", ALL, ids=str)
def test_all_of_the_zoo_gives_the_same_bits(member):
    # In this process, where a fit takes a fraction of a second; the next test is on the cluster.
    rows = zoo.table(member.columns)
    if getattr(member.model, "published", False) is True:
        with pytest.raises(InvalidInput, match="all rows in one place"):
            seeded(member).fit(da.from_array(rows, chunks=(77, 1)))
        return
    with dask.config.set(scheduler="synchronous"):
        same(seeded(member), rows, da.from_array(rows, chunks=(77, 1)))


@pytest.mark.parametrize("member", zoo.first_of_each(ALL), ids=str)
def test_a_cluster_gives_the_same_bits(client, member):
    rows = zoo.table(member.columns)
    same(seeded(member), rows, da.from_array(rows, chunks=(140, 1)))


def complete(model, given):
    more = {"max_weight": 2.0} if given else {}
    return model.set_params(bounds=BOUNDS, levels={"hue": ["red", "blue"]}, random_state=0, **more)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (KMeans(3, epsilon=5.0, unit="who", max_rows=2), {}),
        (CoresetKMeans(2, epsilon=50.0), {"sample_weight": "w"}),
        (CoresetKMeans(2, epsilon=50.0, scaling="none"), {}),
        (SampleAggregateKMeans(2, epsilon=5.0), {"sample_weight": "w"}),
    ],
    ids=str,
)
def test_people_weights_categories_and_held_rows_give_the_same_bits(model, given):
    table = frame(600, 150)
    with dask.config.set(scheduler="synchronous"):
        same(complete(model, given), table, dd.from_pandas(table, npartitions=5), **given)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (DPLloyd(3, epsilon=5.0, unit="who", max_rows=2, missing="drop"), {"sample_weight": "w"}),
        (SampleAggregateKMeans(2, epsilon=5.0, unit="who", max_rows=3), {}),
    ],
    ids=str,
)
def test_people_are_brought_together_by_the_workers_of_a_cluster(client, model, given):
    table = frame(600, 150)
    same(complete(model, given), table, dd.from_pandas(table, npartitions=5), **given)


def test_zones_give_the_same_bits_and_labels(client, tmp_path):
    table, rows = frame(), np.round(zoo.table(2), 1)
    far = dd.from_pandas(table, npartitions=3)
    found = same(PEOPLE_IN_STRIPS, table, far, sample_weight="w")
    assert np.array_equal(found.predict(far), found.predict(table))
    in_array = DPLloyd(4, epsilon=5.0, bounds=(-1, 1), zones=strips(("x0", "x1")), max_iter=1, random_state=0)
    with dask.config.set(scheduler="synchronous"):  # of these nothing is shuffled
        same(ROWS_BY_WORD, table, far)
        table.to_parquet(tmp_path / "t.parquet", row_group_size=100)
        same(ROWS_BY_WORD, table, EngineFiles(tmp_path / "t.parquet", engine="dask"))
        found, blocks = same(in_array, rows, da.from_array(rows, chunks=(77, 1))), da.from_array(rows)
        assert np.array_equal(found.predict(blocks), found.predict(rows))


def test_cuts_and_types_of_partitions_do_not_matter(client):
    # A partition may hold another type than the frame says, where some of its cells are missing.
    table = pd.DataFrame({"n": np.arange(40) % 7, "t": pd.date_range("2024-01-01", periods=40, freq="h")})
    parts = [table[:13].astype({"n": object}), table[13:14], table[14:].astype({"n": "float64"})]
    mixed = dd.from_delayed([dask.delayed(part) for part in parts], meta=table[:0], verify_meta=False)
    bounds = {"n": (0, 7), "t": ("2024-01-01", "2024-01-03")}
    model = DPLloyd(2, epsilon=5.0, bounds=bounds, random_state=0)
    same(model, table, mixed)
    same(model, table[:0], dd.from_pandas(table[:0], npartitions=1))


def test_nobody_is_held_by_the_driver(client):
    # Each worker has some people, as many rows are kept as in memory, and none comes back.
    table = frame(400, 40)
    opened = open_table(dd.from_pandas(table, npartitions=4), unit="who", bounds={"a": (-1, 1)})
    domain = Domain(Bounds.parse((-1, 1), 1), unit=Unit(max_rows=2, column="who"), schema=opened.schema)
    source = opened.source(domain, key=7)
    in_memory = open_table(table, unit="who", bounds={"a": (-1, 1)}).source(domain, key=7)
    assert source.reduce(_rows, _plus) == in_memory.reduce(_rows, _plus)
    places = client.who_has()
    assert len({worker for workers in places.values() for worker in workers}) == 2


def _rows(chunk):
    return np.sort(chunk.columns[0]).sum(dtype=float), chunk.n_rows


def _plus(one, other):
    return one[0] + other[0], one[1] + other[1]


def test_only_public_questions_travel(monkeypatch):
    # What goes out is pickled: the question with its terms, and no entropy, source, law or accountant.
    sent, reduce = [], DaskGroups.reduce

    def seen(self, partial, combine):
        sent.append(pickle.dumps((partial, combine)))
        return reduce(self, partial, combine)

    monkeypatch.setattr(DaskGroups, "reduce", seen)
    rows = zoo.table(2)
    with dask.config.set(scheduler="synchronous"):
        KMeans(3, epsilon=1.0, bounds=(-1, 1)).fit(da.from_array(rows, chunks=(100, 2)))
    assert len(sent) > 2
    for blob in sent:
        assert not any(word in blob for word in (b"Entropy", b"Law", b"Accountant", b"dask", b"Source"))
        assert not any(row.tobytes() in blob for row in rows)


def test_a_killed_worker_changes_nothing(client):
    rows = np.random.default_rng(0).normal(0, 0.3, (20_000, 4))
    model = DPLloyd(4, epsilon=1.0, bounds=(-1, 1), max_iter=4, random_state=0)
    client.wait_for_workers(2)
    victim = next(iter(client.scheduler_info()["workers"]))
    pid, killed = client.run(os.getpid, workers=[victim])[victim], []

    def kill(charge):
        if not killed:
            # In the middle of the answer that this charge is for; what it kept is lost.
            threading.Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()
            killed.append(pid)

    live = clone(model)
    live.on_charge = kill
    zoo.quietly(live.fit, da.from_array(rows, chunks=(1000, 4)))
    while psutil.pid_exists(pid):  # it was
        time.sleep(0.1)
    assert killed == [pid]
    assert bits(live) == bits(zoo.quietly(clone(model).fit, rows))
    client.wait_for_workers(2)  # its nanny starts another


def test_a_pipeline_stays_on_the_workers(client):
    rows = zoo.table(2)
    steps = (
        PrivateScaler(epsilon=1.0, bounds=(-1, 1), random_state=0),
        DPLloyd(3, epsilon=1.0, bounds=(-1, 1), random_state=0),
    )
    one, other = (
        make_pipeline(*map(clone, steps)).fit(table) for table in (rows, da.from_array(rows, chunks=(90, 2)))
    )
    assert bits(one[-1]) == bits(other[-1])
    mapped = other[0].transform(da.from_array(rows, chunks=(90, 2)))
    assert isinstance(mapped, da.Array)
    assert np.array_equal(mapped.compute(), one[0].transform(rows))
    assert np.array_equal(other.predict(da.from_array(rows, chunks=(90, 2))), one.predict(rows))
    table = frame()[["a", "b", "who"]]
    step = PrivateScaler(epsilon=1.0, bounds={"a": (-1, 1), "b": (-1, 1)}, unit="who", random_state=0)
    mapped = (
        clone(step).fit(dd.from_pandas(table, npartitions=3)).transform(dd.from_pandas(table, npartitions=3))
    )
    here, there = clone(step).fit(table).transform(table), mapped.compute()
    assert list(here) == list(there)
    for name in here:  # by lists: what a missing person is, differs from one pandas to another
        mine, theirs = ([None if pd.isna(cell) else cell for cell in one[name]] for one in (here, there))
        assert mine == theirs


def test_a_thread_has_one_task_and_its_worker_holds_what_it_takes(client, monkeypatch):
    told, who_has = [], distributed.Client.who_has

    def heard(self):
        told.append(who_has(self))
        return told[-1]

    monkeypatch.setattr(distributed.Client, "who_has", heard)
    groups = DaskGroups([dask.delayed(i) for i in range(12)]).mapped(lambda i: [i])
    for _ in range(3):  # the first pass does not know yet who holds what
        assert sorted(groups.reduce(list, lambda one, more: [*one, *more])) == list(range(12))
    # As it was when loads were dealt: an idle worker may take a task later, and then holds copies too.
    where = told[-1]
    places = [{where[item.key][0] for item in load} for load in groups._loads]
    assert all(len(place) == 1 for place in places)
    assert len(places) == len(set.union(*places)) < 12  # workers of one thread: one load each


@pytest.mark.parametrize(
    ("where", "loads"),
    [
        ("aaaabbbb", ["0123", "4567"]),
        ("aabaabbb", ["0134", "2567"]),
        ("cccccaaa", ["01", "234", "567"]),  # c has two threads
        ("aa?abbbb", ["013", "2", "4567"]),  # nobody is known to hold one
        ("????????", list("01234567")),
        ("c", ["0"]),
        ("AAAABBBB", ["01", "23", "45", "67"]),  # of 256 MB each, of which two at a time are enough
        ("CCCCCAAA", ["0", "1", "2", "34", "5", "67"]),
    ],
)
def test_a_load_has_one_holder_and_every_thread_has_one(monkeypatch, where, loads):
    class Cluster:
        def who_has(self):
            return {str(i): (worker.lower(),) for i, worker in enumerate(where) if worker != "?"}

        def nbytes(self, *, summary):
            assert not summary
            return {str(i): 2**28 if worker.isupper() else 1000 for i, worker in enumerate(where)}

        def nthreads(self):
            return {"a": 1, "b": 1, "c": 2}

    monkeypatch.setattr("shoal.sources.engines.dask._client", Cluster)
    groups = DaskGroups([SimpleNamespace(key=str(i)) for i in range(len(where))], kept=True)
    groups._deal()
    assert ["".join(item.key for item in load) for load in groups._loads] == loads


def test_loads_are_dealt_anew_when_a_worker_comes_or_goes(monkeypatch):
    class Cluster:
        threads: ClassVar = {"a": 1, "b": 1}

        def who_has(self):
            return {"0": ("a",), "1": ("b" if "b" in self.threads else "a",)}

        def nbytes(self, *, summary):
            return {}

        def nthreads(self):
            return self.threads

    monkeypatch.setattr("shoal.sources.engines.dask._client", Cluster)
    groups = DaskGroups([SimpleNamespace(key="0"), SimpleNamespace(key="1")], kept=True)
    groups._deal()
    assert len(groups._loads) == 2
    Cluster.threads = {"a": 1}
    groups._deal()
    assert len(groups._loads) == 1


# --- What goes wrong.


def test_errors_come_before_the_budget(client):
    budget = Accountant(epsilon=2.0)
    table = frame()
    bad = dd.from_delayed(
        [dask.delayed(table), dask.delayed(table.drop(columns="b"))], meta=table[:0], verify_meta=False
    )
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    with pytest.raises(InvalidTable, match="has no column 'b'"):
        DPLloyd(2, epsilon=1.0, bounds=bounds, budget=budget).fit(bad)
    with pytest.raises(InvalidTable, match="name of one of its columns"):
        DPLloyd(2, epsilon=1.0, bounds=bounds, budget=budget, max_weight=1.0).fit(
            dd.from_pandas(table, npartitions=2), sample_weight=table["w"]
        )
    secret = "37 Elm Street"
    broken = dd.from_pandas(table, npartitions=2).map_partitions(_break, secret, meta=table[:0])
    with pytest.raises(EngineFailed, match=r"ValueError.*nothing was spent") as caught:
        DPLloyd(2, epsilon=1.0, bounds=bounds, budget=budget).fit(broken)
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None
    assert budget.spent == 0


def test_files_that_dask_cannot_read(tmp_path):
    table = pd.DataFrame({"a": np.linspace(-1, 1, 500), "b": np.linspace(-1, 1, 500)})
    table.to_parquet(tmp_path / "1.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    budget = Accountant(epsilon=2.0)
    model = DPLloyd(2, epsilon=1.0, bounds={"a": (-1, 1), "b": (-1, 1)}, budget=budget)
    with dask.config.set(scheduler="synchronous"):
        for spoil in (
            lambda path: path.write_bytes(whole[:-100]),
            lambda path: table[["a"]].to_parquet(path),
        ):
            spoil(tmp_path / "2.parquet")
            with pytest.raises(EngineFailed, match=r"could not do their part.*nothing was spent"):
                model.fit(dd.read_parquet(tmp_path))
        assert budget.spent == 0
        # Text in one part, where the others say numbers: cells that are missing, as anywhere.
        table.astype({"a": str}).to_parquet(tmp_path / "2.parquet")
        assert model.fit(dd.read_parquet(tmp_path)).cluster_centers_.shape == (2, 2)


def _break(_, what):
    raise ValueError(what)


def test_a_cluster_that_goes_away_says_what_was_spent(client):
    budget, charges = Accountant(epsilon=2.0), []
    model = DPLloyd(2, epsilon=1.0, bounds=(-1, 1), max_iter=4, budget=budget)

    def leave(charge):
        charges.append(charge)
        if len(charges) == 3:
            client.close()

    model.on_charge = leave
    with pytest.raises(EngineFailed, match="was spent"):
        model.fit(da.from_array(zoo.table(2), chunks=(100, 2)))
    assert 0 < budget.spent < 1
    assert budget.spent == sum(charge.amount for charge in charges)


def test_a_scheduler_that_is_not_there_and_one_without_workers(monkeypatch):
    from shoal.sources.engines import dask as engine

    monkeypatch.setattr(engine, "_PATIENCE", 1)
    with pytest.raises(EngineUnavailable, match=r"no scheduler of Dask answers at 127\.0\.0\.1:9"):
        engine.client_at("127.0.0.1:9")
    with (
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as own,
        distributed.Client(own),
        pytest.raises(EngineUnavailable, match="has no workers that answer"),
    ):
        DPLloyd(2, epsilon=1.0, bounds=(-1, 1)).fit(da.zeros((10, 2)))


@pytest.mark.parametrize("version", [None, "0.0.1"])
def test_a_worker_without_shoal_or_with_another(tmp_path, version):
    # A worker that finds another package of the name first, or one that cannot be imported.
    (tmp_path / "shoal").mkdir()
    says = "raise ImportError" if version is None else f"__version__ = {version!r}"
    (tmp_path / "shoal" / "__init__.py").write_text(says)
    with distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as own:
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", own.scheduler_address, "--no-nanny"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        try:
            with distributed.Client(own) as client:
                client.wait_for_workers(1, timeout=120)
                said = "has no Shoal" if version is None else r"has shoal 0\.0\.1"
                with pytest.raises(EngineUnavailable, match=said):
                    DPLloyd(2, epsilon=1.0, bounds=(-1, 1)).fit(da.zeros((10, 2)))
        finally:
            worker.terminate()
            worker.wait()
