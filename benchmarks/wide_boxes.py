"""KMeans in bounds that are far too wide, on made-up tables of sizes and seeds that nothing else uses.

    python benchmarks/wide_boxes.py --save before.jsonl
    python benchmarks/wide_boxes.py --save after.jsonl --beside before.jsonl
    python benchmarks/wide_boxes.py --columns 2,3 --first 100 --boxes 1,10 --epsilons .1

Every table is fitted in its own box, in boxes so many times as wide that lie anywhere around it, and without
bounds (0). Prints the geometric mean of the ratio to non-private k-means, and over that of `--beside`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans as Plain  # noqa: E402

from shoal import KMeans, datasets  # noqa: E402
from shoal.bench.measure import nicv  # noqa: E402

FAMILIES = (
    "unequal", "hundred_to_one", "boxes", "rings", "corner", "crowded", "line", "heavy_tails",
    "broad_gaussians", "separated_gaussians",
)  # fmt: skip
# What a unit of a table without bounds is called: no power of two, and no number that others use.
OTHER_UNITS = 37.0


def table(number: int, columns: list[int]) -> tuple[str, dict[str, int]]:
    """Return the family and the parameters of a table."""
    rng = np.random.default_rng(777_000 + number)
    family, d = FAMILIES[number % len(FAMILIES)], int(rng.choice(columns))
    n, k = int(rng.choice([3000, 6000, 12_000, 25_000])), int(rng.integers(4, 13))
    d = min(d, 3) if family == "rings" else d
    return family, {"n": n, "d": d, "k": k, "seed": int(rng.integers(2**30))}


def fits(job: tuple) -> list[dict]:
    """Fit one table in every box."""
    warnings.simplefilter("ignore")
    number, given = job
    family, parameters = table(number, [int(word) for word in given.columns.split(",")])
    rows = np.ascontiguousarray(datasets.load(family, **parameters).scaled())
    k, d, seed = parameters["k"], rows.shape[1], parameters["seed"]
    best = nicv(rows, Plain(k, n_init=5, random_state=0).fit(rows).cluster_centers_)
    found = []
    for box in (float(word) for word in given.boxes.split(",")):
        unit = OTHER_UNITS if box == 0 else 1.0
        for epsilon in (float(word) for word in given.epsilons.split(",")):
            for i in range(given.seeds):
                place = np.random.default_rng(seed + i).uniform(-0.85, 0.85, d) * (box - 1)
                bounds = (place - box, place + box) if box else None
                model = KMeans(k, epsilon=epsilon, bounds=bounds, random_state=seed % 1_000_003 + i, n_jobs=1)
                centres = model.fit(rows * unit).cluster_centers_ / unit
                where = {"table": f"{family} {n_and(parameters)}", "columns": d, "box": box}
                found.append({**where, "epsilon": epsilon, "seed": i, "ratio": nicv(rows, centres) / best})
    return found


def n_and(parameters: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def means(records: list[dict]) -> dict[tuple, float]:
    """Return the mean ratio of every table, box and epsilon."""
    cells = defaultdict(list)
    for r in records:
        cells[r["table"], "up to 3" if r["columns"] <= 3 else "more", r["box"], r["epsilon"]].append(
            r["ratio"]
        )
    return {cell: float(np.mean(ratios)) for cell, ratios in cells.items()}


def main(given: argparse.Namespace) -> None:
    jobs = [(given.first + i, given) for i in range(given.tables)]
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        records = [record for part in pool.map(fits, jobs) for record in part]
    if given.save:
        given.save.write_text("".join(json.dumps(record) + "\n" for record in records))
    before = means(
        [json.loads(line) for line in given.beside.read_text().splitlines()] if given.beside else []
    )
    cells = defaultdict(list)
    for (name, *where), mean in means(records).items():
        cells[tuple(where)].append((mean, before.get((name, *where), math.nan)))
    print(
        f"{'columns':8} {'box':>5} {'epsilon':>7} {'tables':>6} {'cost':>8}  over before: mean, worst, best"
    )
    for (columns, box, epsilon), ratios in sorted(cells.items()):
        logs = np.log([ratio for ratio, _ in ratios])
        changes = np.array([math.log(ratio / old) for ratio, old in ratios if math.isfinite(old)])
        told = (
            [f"{x:.3f}" for x in np.exp([changes.mean(), changes.max(), changes.min()])]
            if len(changes)
            else []
        )
        print(f"{columns:8} {box:5g} {epsilon:7g} {len(ratios):6} {math.exp(logs.mean()):8.3f} ", *told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", default="2,3,4,5,6")
    parser.add_argument("--boxes", default="1,10,100")
    parser.add_argument("--epsilons", default=".1,.25")
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--beside", type=Path)
    main(parser.parse_args())
