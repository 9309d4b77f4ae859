"""Private Lloyd against scikit-learn's, an iteration at a time and side by side in one run.

An iteration costs (time of 21 iterations - time of 1) / 20; the two are timed alternately, five times, and
the medians are compared. Peak extra memory is measured in a fresh process each, above the data itself.

    python benchmarks/lloyd.py [--repeats 5] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

# (rows, columns, clusters) and the ratio aimed for.
CASES = [(1_000_000, 2, 5, 0.5), (1_000_000, 2, 20, 0.5), (1_000_000, 16, 32, 0.8), (200_000, 128, 100, 1.2)]
MEMORY_AIM = 1.2


def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    """30 overlapping Gaussians in [-1, 1]^d: far from converged after 21 iterations."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (30, d))
    # Wider in many columns, where narrow groups would be told apart at once and Lloyd would stop.
    X = rng.normal(0, 0.25 if d < 64 else 1.0, (n, d)).astype(np.float32)
    X += centres[rng.integers(0, 30, n)].astype(np.float32)
    return np.clip(X, -1, 1)


def ours(X: np.ndarray, k: int, iterations: int) -> None:
    from shoal import DPLloyd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DPLloyd(k, epsilon=1000.0, bounds=(-1, 1), max_iter=iterations, random_state=0).fit(X)


def theirs(X: np.ndarray, k: int, iterations: int) -> None:
    from sklearn.cluster import KMeans

    start = X[np.random.default_rng(0).choice(len(X), k, replace=False)]
    model = KMeans(k, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.n_iter_ == iterations, "scikit-learn converged early: the comparison would be unfair"


def seconds(fit, *args) -> float:
    start = time.perf_counter()
    fit(*args)
    return time.perf_counter() - start


def per_iteration(fit, X: np.ndarray, k: int) -> float:
    return (seconds(fit, X, k, 21) - seconds(fit, X, k, 1)) / 20


def peak_extra(which: str, n: int, d: int, k: int) -> float:
    """Peak memory of one fit above data and imports, as a multiple of the float32 data."""
    out = subprocess.run(
        [sys.executable, __file__, "--memory-of", which, f"{n},{d},{k}"], capture_output=True, check=True
    )
    return float(json.loads(out.stdout)["peak"])


def memory_of(which: str, case: str) -> None:
    n, d, k = map(int, case.split(","))
    fit = ours if which == "ours" else theirs
    fit(table(2000, d), k, 1)  # imports and compiled kernels
    X = table(n, d)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the table (Linux)
    before = resident("VmRSS")
    fit(X, k, 2)
    print(json.dumps({"peak": (resident("VmHWM") - before) * 1024 / X.nbytes}))


def resident(which: str) -> int:
    """Kilobytes held now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        memory_of(*args.memory_of)
        return
    print("ms an iteration, median of", args.repeats, "(scikit-learn on the same float32 table)")
    print("     rows  cols    k    shoal  sklearn  ratio   aim   memory: shoal sklearn")
    for n, d, k, aim in CASES:
        n = n // 10 if args.quick else n
        X = table(n, d)
        ours(X, k, 1), theirs(X, k, 1)  # warm up: compile, load, touch pages
        pairs = [(per_iteration(ours, X, k), per_iteration(theirs, X, k)) for _ in range(args.repeats)]
        mine, other = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
        memory = peak_extra("ours", n, d, k), peak_extra("theirs", n, d, k)
        print(
            f"{n:>9} {d:>5} {k:>4} {mine:8.2f} {other:8.2f} {mine / other:6.2f} {aim:5.1f}   "
            f"{memory[0]:13.2f} {memory[1]:7.2f}",
            flush=True,
        )
    print(f"memory: peak above the table, as a multiple of the float32 table; aim {MEMORY_AIM}")


if __name__ == "__main__":
    main()
