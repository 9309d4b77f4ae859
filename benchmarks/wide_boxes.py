"""KMeans in bounds that are far too wide, on made-up tables of sizes and seeds that nothing else uses.

    python benchmarks/wide_boxes.py --save before.jsonl
    python benchmarks/wide_boxes.py --save after.jsonl --beside before.jsonl
    python benchmarks/wide_boxes.py --columns 2,3 --first 100 --boxes 1,10 --epsilons .1
    python benchmarks/wide_boxes.py --boxes 1 --per-group 90,200,400,800 --first 7300
    python benchmarks/wide_boxes.py --boxes 1 --per-table 20,40,60,80 --sizes 150,300,600,1000 --groups 4-5

Every table is fitted in its own box, in boxes so many times as wide that lie anywhere around it (with
`--away 0` it is in their middle), and without bounds (0); at these epsilons, or at those that give an even
group, or the whole table, so many rows x epsilon. Prints the geometric mean of the ratio to non-private
k-means; and over that of `--beside` the geometric mean of the ratio and of what it has above one ("excess"),
the worst and the best.
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
# What a ratio has above one is known to no better than that: two seeds, and ten starts without noise.
SURE = 2e-4


def table(
    number: int,
    columns: list[int],
    sizes: tuple[int, ...] = (3000, 6000, 12_000, 25_000),
    groups: tuple[int, int] = (4, 12),
) -> tuple[str, dict[str, int]]:
    """Return the family and the parameters of a table."""
    rng = np.random.default_rng(777_000 + number)
    family, d = FAMILIES[number % len(FAMILIES)], int(rng.choice(columns))
    n, k = int(rng.choice(sizes)), int(rng.integers(groups[0], groups[1] + 1))
    d = min(d, 3) if family == "rings" else d
    return family, {"n": n, "d": d, "k": k, "seed": int(rng.integers(2**30))}


def numbers(text: str, separator: str = ",") -> list[float]:
    return [float(word) for word in text.split(separator)]


def epsilons(given: argparse.Namespace, n: int, k: int) -> list[tuple[float, float]]:
    """Return what is asked for, and the epsilon of each for a table of n rows and k groups."""
    if given.per_group:
        return [(rows, rows * k / n) for rows in numbers(given.per_group)]
    if given.per_table:
        return [(rows, rows / n) for rows in numbers(given.per_table)]
    return [(epsilon, epsilon) for epsilon in numbers(given.epsilons)]


def fits(job: tuple) -> list[dict]:
    """Fit one table in every box."""
    warnings.simplefilter("ignore")
    number, given = job
    sizes, groups = tuple(map(int, numbers(given.sizes))), tuple(map(int, numbers(given.groups, "-")))
    family, parameters = table(number, [int(c) for c in numbers(given.columns)], sizes, groups)
    rows = np.ascontiguousarray(datasets.load(family, **parameters).scaled())
    k, d, seed = parameters["k"], rows.shape[1], parameters["seed"]
    best = nicv(rows, Plain(k, n_init=5, random_state=0).fit(rows).cluster_centers_)
    found = []
    for box in numbers(given.boxes):
        unit = OTHER_UNITS if box == 0 else 1.0
        for asked, epsilon in epsilons(given, len(rows), k):
            for i in range(given.seeds):
                place = np.random.default_rng(seed + i).uniform(-given.away, given.away, d) * (box - 1)
                bounds = (place - box, place + box) if box else None
                model = KMeans(k, epsilon=epsilon, bounds=bounds, random_state=seed % 1_000_003 + i, n_jobs=1)
                centres = model.fit(rows * unit).cluster_centers_ / unit
                where = {"table": f"{family} {n_and(parameters)}", "columns": d, "box": box}
                found.append({**where, "epsilon": asked, "seed": i, "ratio": nicv(rows, centres) / best})
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
    heads = f"{'columns':8} {'box':>5} {'epsilon':>7} {'tables':>6} {'cost':>8}"
    print(f"{heads}  over before: mean, excess, worst, best")
    for (columns, box, epsilon), ratios in sorted(cells.items()):
        logs = np.log([ratio for ratio, _ in ratios])
        both = np.array([pair for pair in ratios if math.isfinite(pair[1])]).reshape(-1, 2)
        changes, excess = np.log(both), np.log(np.maximum(both - 1, 0) + SURE)
        changes, excess = changes[:, 0] - changes[:, 1], excess[:, 0] - excess[:, 1]
        figures = [changes.mean(), excess.mean(), changes.max(), changes.min()] if len(both) else []
        told = [f"{x:.3f}" for x in np.exp(figures)]
        print(f"{columns:8} {box:5g} {epsilon:7g} {len(ratios):6} {math.exp(logs.mean()):8.3f} ", *told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", default="2,3,4,5,6")
    parser.add_argument("--boxes", default="1,10,100")
    parser.add_argument("--away", type=float, default=0.85, help="how far rows lie from the middle of boxes")
    parser.add_argument("--epsilons", default=".1,.25")
    parser.add_argument("--per-group", help="rows x epsilon of an even group, in place of epsilons")
    parser.add_argument("--per-table", help="rows x epsilon of the whole table, in place of epsilons")
    parser.add_argument("--sizes", default="3000,6000,12000,25000", help="rows of a table: one of these")
    parser.add_argument("--groups", default="4-12", help="groups of a table: one of these")
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--beside", type=Path)
    main(parser.parse_args())
