"""Which way of KMeans is the best where? Every way, forced, on tables that are made up here; exact noise.

    python benchmarks/routes.py directions,tree .03,.05,.07,.09 --columns 13-60
    python benchmarks/routes.py directions,look,tree .09,.15 --columns 7-12 --tables 20 --seeds 3
    python benchmarks/routes.py one-mean,around,auto 2,6,12,20 --rates --columns 7-12 --tables 18

Ways are those that the notes of a certificate name ("one mean" is one-mean here); auto is the one that KMeans
chooses. Noise is that of a centre, in radii, as `KMeans` predicts it: for each table epsilon is chosen so
that it comes to that; with `--rates` it is rows x epsilon a column instead. Where no directions can be
afforded, they are one mean. Tables are of the families of `shoal bench run flagship`, of low rank with skewed
columns, and small ones of tight groups, of sizes and seeds that nothing else uses (`--first` moves on to
others). Prints the ratio to non-private k-means of each way, the
geometric mean of all ways over the first, and in how many cells each is the best.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans as Plain  # noqa: E402

from shoal import datasets  # noqa: E402
from shoal.algorithms.kmeans import kmeans  # noqa: E402
from shoal.bench.flagship.tables import seed_of  # noqa: E402
from shoal.bench.measure import nicv  # noqa: E402
from shoal.estimators import KMeans  # noqa: E402

FAMILIES = (
    "low_rank",
    "separated_gaussians",
    "broad_gaussians",
    "overlapping",
    "unequal",
    "heavy_tails",
    "corner",
    "boxes",
    "tight",
)


def low_rank(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Make groups that differ along a few directions, in columns that lean to one side."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 6))
    places = rng.normal(0, 1.5, (k, rank))[rng.integers(k, size=n)] + rng.normal(0, 1, (n, rank))
    columns = places @ rng.normal(0, 1, (rank, d)) + rng.normal(0, 1, (n, d))
    skewed = np.exp(columns * rng.uniform(0.1, 0.5, d))
    return np.clip(2 * skewed / np.quantile(skewed, 0.999, axis=0) - 1, -1, 1)


def tight(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Make groups that are far apart for their spread, anywhere in the domain."""
    rng = np.random.default_rng(seed)
    spread, centres = rng.uniform(0.01, 0.1), rng.uniform(-0.9, 0.9, (k, d))
    return np.clip(centres[rng.integers(k, size=n)] + rng.normal(0, spread, (n, d)), -1, 1)


def table(
    family: str, number: int, columns: tuple[int, int], groups: int | None
) -> tuple[np.ndarray, int, str]:
    """Make the table of a number: its size follows from it."""
    rng = np.random.default_rng(seed_of("routes", family, number))
    d, k = int(rng.integers(columns[0], columns[1] + 1)), int(rng.integers(4, 13))
    n, k = int(1000 * 2 ** rng.uniform(0, 4.5)), groups or k
    if family == "low_rank":
        rows = low_rank(n, d, k, int(rng.integers(2**31)))
    elif family == "tight":
        n = n // 4 + 250
        rows = tight(n, d, k, int(rng.integers(2**31)))
    else:
        k = 2 if family == "overlapping" else k
        rows = datasets.load(family, n=n, d=d, k=k, seed=int(rng.integers(2**31))).scaled()
    return np.ascontiguousarray(rows), k, f"{family} {n:,} x {d}, {k} groups"


chosen = kmeans.KMeans.route


def forced(route: str, noises: list[float]) -> None:
    """Have KMeans go one way, or the one that it chooses, and tell how noisy it takes a centre to be."""

    def go(self, curator, rows, rest):
        noises.append(kmeans.round_noise(curator, self.n_clusters, rows, rest))
        if route == "auto":
            return chosen(self, curator, rows, rest)
        affordable = kmeans.affordable_cells(curator, self.n_clusters, rows, rest)
        return "one mean" if route == "directions" and not affordable else route, "forced"

    kmeans.KMeans.route = go


def ratio(rows: np.ndarray, k: int, best: float, epsilon: float, delta: float, seed: int) -> float:
    model = KMeans(k, epsilon=epsilon, delta=delta, bounds=(-1, 1), random_state=seed, n_jobs=1)
    return nicv(rows, model.fit(rows).cluster_centers_) / best


def cells(job: tuple) -> tuple[str, list[tuple[float, float, list[float]]]]:
    """Fit one table at every noise, every way."""
    warnings.simplefilter("ignore")
    family, number, columns, groups, routes, noises, seeds, delta, rates = job
    rows, k, name = table(family, number, columns, groups)
    best = nicv(rows, Plain(k, n_init=5, random_state=0).fit(rows).cluster_centers_)
    seen: list[float] = []
    forced("one mean", seen)
    ratio(rows, k, best, 1.0, delta, 0)
    found = []
    for noise in noises:
        epsilon, means = noise * rows.shape[1] / len(rows) if rates else seen[0] / noise, []
        for route in routes:
            forced(route, [])
            runs = [ratio(rows, k, best, epsilon, delta, 20_000 + s) for s in range(seeds)]
            means.append(float(np.mean(runs)))
        found.append((noise, epsilon, means))
    return name, found


def jobs(given: argparse.Namespace, routes: list[str]) -> Iterator[tuple]:
    low, _, high = given.columns.partition("-")
    noises = [float(word) for word in given.noises.split(",")]
    for i in range(given.tables):
        number = given.first + i // len(FAMILIES)
        family, columns = FAMILIES[i % len(FAMILIES)], (int(low), int(high))
        yield family, number, columns, given.groups, routes, noises, given.seeds, given.delta, given.rates


def main(given: argparse.Namespace) -> None:
    routes = [word.replace("-", " ") for word in given.routes.split(",")]
    logs, firsts = defaultdict(list), defaultdict(lambda: [0] * len(routes))
    with ProcessPoolExecutor(given.processes) as pool:
        for name, found in pool.map(cells, jobs(given, routes)):
            for noise, epsilon, means in found:
                logs[noise].append([math.log(mean / means[0]) for mean in means])
                firsts[noise][int(np.argmin(means))] += 1
                said = "  ".join(f"{r} {m:.3f}" for r, m in zip(routes, means, strict=True))
                print(f"{name:42} noise {noise:g} epsilon {epsilon:.3g}  {said}", flush=True)
    for noise, rows in sorted(logs.items()):
        over = np.exp(np.mean(rows, axis=0))
        said = "  ".join(
            f"{r} {o:.3f} (best in {b})" for r, o, b in zip(routes, over, firsts[noise], strict=True)
        )
        print(f"noise {noise:g}, {len(rows)} tables, to {routes[0]}: {said}")


if __name__ == "__main__":
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_it_is)
    parser.add_argument("routes")
    parser.add_argument("noises")
    parser.add_argument("--rates", action="store_true", help="give rows x epsilon a column for noises")
    parser.add_argument("--columns", default="13-60")
    parser.add_argument("--groups", type=int, help="in every table; 4 to 12 if not given")
    parser.add_argument("--tables", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--processes", type=int, default=1)
    main(parser.parse_args())
