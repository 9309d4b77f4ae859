"""A quick look at KMeans while it is worked on: tables that tuning may see, development seeds, exact noise.

    python benchmarks/flagship_dev.py s1,unequal2 .1,.25,1 4
    python benchmarks/flagship_dev.py small .25 8 --bounds tight,x10,x100,none --processes 2
    python benchmarks/flagship_dev.py d2 .1 4 --algorithm tree

TABLES are names, or a group: `all`, `small` (at most 10,000 rows), `d2`, `d3`, `d4-6`, `d7+`, `peers`,
`families`. Prints the ratio to non-private k-means (mean, standard error, median, worst), the processor's
seconds of a fit, and beside them what `benchmarks/flagship/baseline.jsonl.gz` has: KMeans before, and the
best other algorithm. Non-private costs are computed once and kept in the user's cache directory. Tables that
are held out are refused.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from shoal.bench.flagship.cells import DEVELOPMENT_SEEDS, OTHERS, Cell, boxes_of, measure  # noqa: E402
from shoal.bench.flagship.tables import TABLES  # noqa: E402

BASELINE = Path(__file__).parent / "flagship" / "baseline.jsonl.gz"
# Of the other algorithms, those that are ever the best.
CONTENDERS = ("tree", "hybrid", "grid", "swap", "lsh-tree", "lloyd", "projected", "merging")
TUNING = [table.name for table in TABLES.values() if not table.held_out]


def shape(name: str) -> tuple[int, int]:
    parameters = dict(TABLES[name].parameters)
    if parameters:
        return parameters["n"], parameters["d"]
    from shoal import datasets

    data = datasets.about(TABLES[name].data)
    columns = data.columns if hasattr(data, "columns") else data.names
    return data.n_rows, TABLES[name].columns or len(columns)


GROUPS = {
    "all": lambda _: True,
    "small": lambda name: shape(name)[0] <= 10_000,
    "d2": lambda name: shape(name)[1] == 2,
    "d3": lambda name: shape(name)[1] == 3,
    "d4-6": lambda name: 4 <= shape(name)[1] <= 6,
    "d7+": lambda name: shape(name)[1] >= 7,
    "peers": lambda name: bool(TABLES[name].peer),
    "families": lambda name: bool(TABLES[name].parameters),
}


def tables(text: str) -> list[str]:
    chosen: list[str] = []
    for word in text.split(","):
        chosen += [n for n in TUNING if GROUPS[word](n)] if word in GROUPS else [word]
    for name in chosen:
        if name not in TUNING:
            sys.exit(f"{name} is held out of tuning" if name in TABLES else f"there is no table {name!r}")
    return sorted(dict.fromkeys(chosen), key=lambda name: math.prod(shape(name)))


def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def task(job: tuple[Cell, int]) -> dict:
    return measure(*job)


def mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else math.nan


def geometric(values: list[float]) -> float:
    return math.exp(mean([math.log(value) for value in values])) if values else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables")
    parser.add_argument("epsilons", help="comma separated")
    parser.add_argument("seeds", type=int, help="how many")
    parser.add_argument(
        "--algorithm", default="auto", help="of the registry, comma separated; 'others' for all"
    )
    parser.add_argument("--bounds", default="tight", help="tight, x10, x100, latlon, none; comma separated")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--save", type=Path, help="append results to this .jsonl; what it has is not run again"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no fit after this long")
    args = parser.parse_args()
    algorithms = {"others": OTHERS, "contenders": CONTENDERS}.get(args.algorithm, args.algorithm.split(","))
    names, boxes = tables(args.tables), args.bounds.split(",")
    jobs = [
        (Cell(name, float(epsilon), box, algorithm, args.delta), DEVELOPMENT_SEEDS + args.first_seed + i)
        for name in names
        for box in boxes
        if box == "tight" or box in boxes_of(name)
        for i in range(args.seeds)
        for epsilon in args.epsilons.split(",")
        for algorithm in algorithms
    ]
    started, new = time.monotonic(), []
    have = (
        {(Cell(*(r[f] for f in Cell.__dataclass_fields__)), r["seed"]): r for r in read(args.save)}
        if args.save
        else {}
    )
    results = [have[job] for job in jobs if job in have]
    todo = [job for job in jobs if job not in have]

    def keep(record: dict) -> None:
        results.append(record)
        new.append(record)
        if args.save:
            with args.save.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def in_time(jobs):
        for job in jobs:
            if time.monotonic() - started < 60 * args.minutes:
                yield job

    if args.processes == 1:
        for job in in_time(todo):
            keep(task(job))
    else:
        with ProcessPoolExecutor(args.processes, multiprocessing.get_context("spawn")) as pool:
            step = 4 * args.processes
            for i in range(0, len(todo), step):
                for record in pool.map(task, list(in_time(todo[i : i + step]))):
                    keep(record)
    show(results)
    print(f"{len(new)} fits in {time.monotonic() - started:.0f} s; {len(jobs) - len(results)} left")


def key(record: dict) -> tuple:
    return tuple(record[fact] for fact in ("table", "box", "epsilon", "delta", "algorithm"))


def show(results: list[dict]) -> None:
    cells, before, totals = defaultdict(list), defaultdict(list), defaultdict(list)
    for r in results:
        cells[key(r)].append(r)
    for r in read(BASELINE):
        if "ratio" in r:
            before[key(r)].append(r["ratio"])
    heads = ("mean", "se", "median", "worst", "cpu", "before")
    print(f"{'table':11} {'box':6} {'eps':>5} {'algorithm':9}", *(f"{h:>8}" for h in heads), "  best other")
    for (*where, algorithm), found in cells.items():
        table, box, epsilon, _ = where
        ratios = [r["ratio"] for r in found if "ratio" in r]
        errors = {r["error"] for r in found if "error" in r}
        print(f"{table:11} {box:6} {epsilon:5g} {algorithm:9}", end=" ")
        if ratios:
            old = mean(before.get((*where, "auto"), []))
            others = {a: mean(before[(*where, a)]) for a in OTHERS if before.get((*where, a))}
            best = min(others, key=others.get) if others else ""
            m, other = mean(ratios), others.get(best, math.nan)
            se = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
            cpu = mean([r["cpu"] for r in found if "cpu" in r])
            figures = (m, se, statistics.median(ratios), max(ratios), cpu, old)
            mark = "  <-- worse" if m > 1.02 * other else ""
            print(*(f"{f:8.3f}" for f in figures), f"  {best} {other:.3f}{mark}", end=" ")
            totals[box, epsilon, algorithm].append((m, old, other))
        print("; ".join(errors)[:150], flush=True)
    print()
    for (box, epsilon, algorithm), rows in totals.items():
        print(f"{box:6} {epsilon:5g} {algorithm:9} geometric mean of {len(rows)} tables", end=" ")
        print(f"{geometric([m for m, *_ in rows]):.4f}", end="")
        for i, whom in ((1, "before"), (2, "the best other")):
            known = [row[0] / row[i] for row in rows if math.isfinite(row[i])]
            print(f"; to {whom} {geometric(known):.4f} ({len(known)})", end="")
        print()


if __name__ == "__main__":
    main()
