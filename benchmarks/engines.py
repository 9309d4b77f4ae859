"""How a fit grows with the workers of Dask or Spark: passes, bytes moved, rows a second, bytes per person.

    python benchmarks/engines.py                       # 1e7 x 16; one, two and four workers of one thread
    python benchmarks/engines.py --engine spark --rows 1e6 --workers 1 2

    python benchmarks/engines.py --processor           # Dask, where others use the machine too

Rows are made by the workers, so that what is timed is counting them, not sending them. Figures are of this
machine as it is: the load is printed beside them. With --processor a pass takes as long as the busiest worker
and the process of scheduler and client are at work, one after the other: about what it would take if nobody
else were there.
"""

import argparse
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from shoal import DPLloyd
from shoal.domain import Bounds, Domain
from shoal.queries import Value, Voronoi
from shoal.sources import open_table
from shoal.sources.columns import Piece, Words
from shoal.sources.people import Keeper

# Rows a partition: 64 megabytes of doubles at 16 columns.
_PARTITION = 500_000
_REPEATS = 9
# Makes a table of so many rows and columns; tells how many bytes have come from workers so far, and how many
# seconds each worker's processor has been at work.
Cluster = tuple[Callable[[int, int], Any], Callable[[], int], Callable[[], list[float]]]


def one(sums: Value, cells: Voronoi, chunk: object) -> np.ndarray:
    """Count a chunk, as a round of Lloyd does."""
    return sums.exact_totals(cells, chunk, None)


@contextmanager
def dask(n: int) -> Iterator[Cluster]:
    """Start n workers of Dask."""
    import dask.array as da
    from distributed import Client, LocalCluster

    def table(rows: int, d: int) -> Any:
        return da.random.default_rng(0).uniform(-1, 1, (rows, d), chunks=(_PARTITION, d))

    with (
        LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        told = partial(client.run, lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        yield table, lambda: sum(told().values()), lambda: list(client.run(time.process_time).values())


@contextmanager
def spark(n: int) -> Iterator[Cluster]:
    """Start n executors of Spark, in processes of their own."""
    from pyspark.sql import SparkSession

    from shoal.sources.engines import spark as engine

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local-cluster[{n},1,3072]")
    for name in ("ui.enabled", "ui.showConsoleProgress"):
        builder = builder.config(f"spark.{name}", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    came, items = [0], engine.items

    def weighed(rows: Any) -> Iterator[Any]:
        for item, trouble in rows:
            came[0] += len(item or b"")
            yield from items([(item, trouble)])

    def table(rows: int, d: int) -> Any:
        numbers = session.range(0, rows, 1, max(1, rows // _PARTITION))
        return numbers.selectExpr(*(f"2 * rand({j}) - 1 AS c{j}" for j in range(d)))

    engine.items = weighed
    try:
        yield table, lambda: came[0], list
    finally:
        engine.items = items
        session.stop()


def pass_times(table: Any, d: int, k: int, worked: Callable[[], list[float]] | None) -> list[float]:
    """Time passes over rows that workers hold on the lattice; by processors where `worked` is given."""
    source = open_table(table).source(Domain(Bounds.parse((-1, 1), d)))
    cells = Voronoi(np.random.default_rng(1).uniform(-1, 1, (k, d)))
    found = []
    for _ in range(_REPEATS + 1):  # the first loads the kernels
        before, here, start = worked() if worked else [], time.process_time(), time.perf_counter()
        source.reduce(partial(one, Value(), cells), np.add)
        wall, here = time.perf_counter() - start, time.process_time() - here
        each = [b - a for a, b in zip(before, worked() if worked else [], strict=True)]
        found.append(max(each) + here if each else wall)
    return found[1:]


def bytes_per_person(people: int) -> float:
    """Bytes that one worker holds for each of its people, with one row each kept."""
    names = Words(np.arange(people), [f"person {i}" for i in range(people)])
    piece = Piece(0, [np.random.default_rng(0).uniform(size=people)], names)
    tracemalloc.start()
    keeper = Keeper(1, key=1)
    keeper.add(piece)
    keeper.places()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / people


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=["dask", "spark"], default="dask")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--processor", action="store_true")
    given = parser.parse_args()
    if given.processor and given.engine != "dask":
        parser.error("--processor is for Dask: executors of Spark do not tell")
    rows, base = int(given.rows), None
    print(f"{rows:g} rows x {given.columns}, {given.groups} groups; {os.cpu_count()} cores")
    for n in given.workers:
        with {"dask": dask, "spark": spark}[given.engine](n) as (table, moved, worked):
            load = os.getloadavg()[0]
            times = pass_times(
                table(rows, given.columns), given.columns, given.groups, worked if given.processor else None
            )
            before, passes = moved(), []
            model = DPLloyd(given.groups, epsilon=1.0, bounds=(-1, 1), max_iter=5)
            model.on_charge = passes.append
            model.fit(table(rows // 10, given.columns))
            sent = moved() - before
        best = float(np.median(times)) if given.processor else min(times)
        base = base or best * n
        print(f"{n} workers: {best:.2f} s a pass (median {np.median(times):.2f}), {rows / best:.3g} rows/s,")
        print(
            f"    {base / (best * n):.0%} of linear; load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
        )
        print(f"    DPLloyd: {len(passes)} passes, {sent / len(passes):,.0f} bytes a pass")
        sys.stdout.flush()
    print(f"{bytes_per_person(100_000):.0f} bytes held per person, one row kept")


if __name__ == "__main__":
    main()
