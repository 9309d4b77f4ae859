"""A round of private Lloyd beside scikit-learn's, faiss's and what the machine could do at best, in one run.

A round costs (time of 11 rounds - time of 1) / 10. All start from the same centres on the same float32 table,
with as many threads as there are cores. The contestants and the floors take turns; of every time the least
counts, because other work on the machine can only add to it. The floors:

* memory: to read the table once, in compiled loops that add it up;
* product: to multiply all rows with all centres by the machine's sgemm: whole, in tiles, or in tiles of a
  table that lies column by column, whichever takes least.

Peak extra memory is measured in a fresh process each, above the data itself. Where others use the machine,
`--processor` counts processor time over the number of threads instead of the clock: nobody's waiting counts
then, also not that of threads for each other.

    python benchmarks/lloyd.py [--repeats 5] [--quick] [--columns 2,8,32,128] [--clusters 5,20,100]
                               [--memory] [--processor]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numba
import numpy as np

from shoal import _compiling
from shoal.sources.rows import available_cores

if "--processor" in sys.argv:  # before libraries start their threads: waiting must not look like work
    os.environ |= {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}

try:
    import faiss
except ImportError:
    faiss = None

# Rows: as many as the table of the project's aims has; fewer where columns are many.
ROWS, ROWS_OF_MANY_COLUMNS = 1_000_000, 200_000
# What a round may cost, in units of the larger floor.
AIM = 2.0
# Kilobytes of a tile's product: it stays in the second cache.
TILE = 256


def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    """30 overlapping Gaussians in [-1, 1]^d: far from converged after 11 rounds."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (30, d))
    # Wider in many columns, where narrow groups would be told apart at once and Lloyd would stop.
    X = rng.normal(0, 0.25 if d < 32 else 1.0, (n, d)).astype(np.float32)
    X += centres[rng.integers(0, 30, n)].astype(np.float32)
    return np.clip(X, -1, 1)


def ours(X: np.ndarray, start: np.ndarray, rounds: int) -> None:
    fitted(X, len(start), rounds)


def fitted(X: np.ndarray, k: int, rounds: int):
    from shoal import DPLloyd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DPLloyd(k, epsilon=1000.0, bounds=(-1, 1), max_iter=rounds, random_state=0).fit(X)


def starts(X: np.ndarray, k: int) -> np.ndarray:
    """Return the public centres that private Lloyd starts from: its first question names them."""
    questions = (entry.question for entry in fitted(X[:1000], k, 1).release_.transcript)
    first = next(q for q in questions if hasattr(q, "partition"))
    return np.ascontiguousarray(first.partition.centres, dtype=np.float32)


def of_sklearn(X: np.ndarray, start: np.ndarray, rounds: int) -> None:
    from sklearn.cluster import KMeans

    model = KMeans(len(start), init=start, n_init=1, max_iter=rounds, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.n_iter_ == rounds, "scikit-learn converged early: the comparison would be unfair"


def of_faiss(X: np.ndarray, start: np.ndarray, rounds: int) -> None:
    faiss.omp_set_num_threads(available_cores())
    how = {"niter": rounds, "max_points_per_centroid": len(X), "min_points_per_centroid": 1}
    faiss.Kmeans(X.shape[1], len(start), **how).train(X, init_centroids=start)


def in_threads(work: Callable[[slice], None], n: int) -> None:
    cores = available_cores()
    step = -(-n // cores)
    list(_pool().map(work, [slice(at, min(at + step, n)) for at in range(0, n, step)]))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores())


@numba.njit(nogil=True, fastmath=True)
def _total(values: np.ndarray) -> float:
    total = np.float32(0)
    for i in range(values.size):
        total += values[i]
    return total


def memory_floor(X: np.ndarray, _start: np.ndarray) -> None:
    in_threads(lambda rows: _total(X[rows].reshape(-1)), len(X))


def whole_product(X: np.ndarray, start: np.ndarray) -> None:
    np.matmul(X, start.T, out=_out(len(X), len(start)))


def tiled_product(X: np.ndarray, start: np.ndarray) -> None:
    """Multiply tile by tile, each thread into a buffer that stays in its cache."""
    from threadpoolctl import threadpool_limits

    rows, points = max(64, TILE * 256 // len(start)), np.ascontiguousarray(start.T)

    def part(where: slice) -> None:
        out = np.empty((rows, len(start)), dtype=np.float32)
        for at in range(where.start, where.stop, rows):
            tile = X[at : min(at + rows, where.stop)]
            np.matmul(tile, points, out=out[: len(tile)])

    with threadpool_limits(1, "blas"):
        in_threads(part, len(X))


def turned_product(X: np.ndarray, start: np.ndarray) -> None:
    """Multiply tile by tile, columns of the table along the lanes."""
    from threadpoolctl import threadpool_limits

    rows, turned = max(64, TILE * 256 // len(start)), X.T

    def part(where: slice) -> None:
        out = np.empty((len(start), rows), dtype=np.float32)
        for at in range(
            where.start, where.stop - rows + 1, rows
        ):  # a last tile that is not whole is left out
            np.matmul(start, turned[:, at : at + rows], out=out)

    with threadpool_limits(1, "blas"):
        in_threads(part, len(X))


@cache
def _out(n: int, k: int) -> np.ndarray:
    return np.empty((n, k), dtype=np.float32)


def seconds(work, *args) -> float:
    if "--processor" in sys.argv:
        start = time.process_time()
        work(*args)
        return (time.process_time() - start) / available_cores()
    start = time.perf_counter()
    work(*args)
    return time.perf_counter() - start


def measured(n: int, d: int, k: int, repeats: int) -> dict[str, float]:
    """Return milliseconds a round of each contestant, and the floors."""
    X = table(n, d)
    start = starts(X, k)
    fits = {"shoal": ours, "sklearn": of_sklearn} | ({"faiss": of_faiss} if faiss else {})
    floors = {"memory": memory_floor, "whole": whole_product, "tiled": tiled_product}
    for fit in fits.values():
        fit(X[:5000], start, 1)  # imports, compiled loops
    least: dict[tuple[str, int], float] = {}

    def keep(name: str, rounds: int, time_taken: float) -> None:
        least[name, rounds] = min(time_taken, least.get((name, rounds), np.inf))

    across = np.asfortranarray(X)
    for _ in range(repeats):
        for name, fit in fits.items():
            keep(name, 1, seconds(fit, X, start, 1))
            keep(name, 11, seconds(fit, X, start, 11))
        for name, floor in floors.items():
            for _ in range(3):
                keep(name, 1, seconds(floor, X, start))
        for _ in range(3):
            keep("turned", 1, seconds(turned_product, across, start))
    _out.cache_clear()
    found = {name: (least[name, 11] - least[name, 1]) * 100 for name in fits}
    product = min(least[name, 1] for name in ("whole", "tiled", "turned"))
    return found | {"memory": least["memory", 1] * 1e3, "product": product * 1e3}


def peak_extra(which: str, n: int, d: int, k: int) -> float:
    """Peak memory of one fit above data and imports, as a multiple of the float32 data."""
    out = subprocess.run(
        [sys.executable, __file__, "--memory-of", which, f"{n},{d},{k}"], capture_output=True, check=True
    )
    return float(json.loads(out.stdout)["peak"])


def memory_of(which: str, case: str) -> None:
    n, d, k = map(int, case.split(","))
    fit = ours if which == "ours" else of_sklearn
    X = table(n, d)
    start = starts(X, k)
    fit(table(2000, d), start, 1)  # imports and compiled loops
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the table (Linux)
    before = resident("VmRSS")
    fit(X, start, 2)
    print(json.dumps({"peak": (resident("VmHWM") - before) * 1024 / X.nbytes}))


def resident(which: str) -> int:
    """Kilobytes held now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which))


def main() -> None:
    _compiling.at_once()  # what is timed is not what a process begins with
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--columns", default="2,8,32,128")
    parser.add_argument("--clusters", default="5,20,100")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too, beside scikit-learn")
    parser.add_argument(
        "--processor", action="store_true", help="processor time, on a machine that is shared"
    )
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        memory_of(*args.memory_of)
        return
    if faiss is None:
        print("faiss is left out: it is not installed (pip install 'shoal[bench]')")
    clock = "of processor time a round" if args.processor else "a round"
    print(f"ms {clock}, least of {args.repeats}, {available_cores()} threads; aim: at most {AIM:g} floors")
    print(
        "     rows cols   k |   shoal  sklearn    faiss |  memory  product | of floor  of sklearn  of faiss"
    )
    for d in map(int, args.columns.split(",")):
        for k in map(int, args.clusters.split(",")):
            n = (ROWS if d < 128 else ROWS_OF_MANY_COLUMNS) // (10 if args.quick else 1)
            ms = measured(n, d, k, args.repeats)
            floor, other = max(ms["memory"], ms["product"]), ms.get("faiss", np.nan)
            line = (
                f"{n:>9} {d:>4} {k:>3} | {ms['shoal']:7.2f} {ms['sklearn']:8.2f} {other:8.2f} | "
                f"{ms['memory']:7.2f} {ms['product']:8.2f} | {ms['shoal'] / floor:8.2f} "
                f"{ms['shoal'] / ms['sklearn']:10.2f} {ms['shoal'] / other:9.2f}"
            )
            if args.memory:
                line += f"   memory {peak_extra('ours', n, d, k):.2f} {peak_extra('sklearn', n, d, k):.2f}"
            print(line, flush=True)
    if args.memory:
        print("memory: peak above the table, as a multiple of the float32 table, ours and scikit-learn's")


if __name__ == "__main__":
    main()
