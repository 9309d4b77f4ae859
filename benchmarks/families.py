"""Speed of the grid and the merging family, beside scikit-learn or their own passes.

python benchmarks/families.py [--repeats 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal import _compiling


def gaussians(n: int, d: int, seed: int = 30) -> np.ndarray:
    """Make 30 Gaussians in [-1, 1]^d with a fixed seed."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (30, d))
    return np.clip(centres[rng.integers(0, 30, n)] + rng.normal(0, 0.05, (n, d)), -1, 1).astype(np.float32)


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(title: str, ours, theirs, repeats: int, aim: float) -> None:
    ours(), theirs()  # warm up
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    mine, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"{title}: {mine:.2f} s against {other:.2f} s, ratio {mine / other:.2f} (aim {aim})", flush=True)


def passes(X: np.ndarray, k: int, rounds: int) -> None:
    """Do what Lloyd's rounds cost alone: the same questions, without what surrounds them."""
    from shoal.accounting import Accountant, budget_of
    from shoal.domain import Bounds, Domain
    from shoal.mechanisms import SystemEntropy
    from shoal.queries import LiveCurator, Voronoi
    from shoal.sources import MemorySource, Table

    table = Table(X)
    domain = Domain(Bounds.parse((-1, 1), table.n_columns))
    allowance = Accountant(epsilon=1).reserve(budget_of(1.0), "passes")
    curator = LiveCurator(MemorySource(table, domain), domain, allowance, SystemEntropy())
    cells = Voronoi(np.random.default_rng(0).uniform(-1, 1, (k, X.shape[1])))
    for _ in range(rounds):
        curator.sums(cells, share=Fraction(1, rounds))


def synopsis_memory() -> None:
    from shoal import GridSynopsis

    X = gaussians(100_000, 10)
    model = GridSynopsis(epsilon=1.0, bounds=(-1, 1))
    Path("/proc/self/clear_refs").write_text("5")
    took = seconds(lambda: model.fit(X))
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(json.dumps({"seconds": took, "peak_gb": peak / 2**20}))


def main() -> None:
    _compiling.at_once()  # what is timed is not what a process begins with
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--synopsis-memory", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.synopsis_memory:
        synopsis_memory()
        return
    from sklearn.cluster import KMeans

    from shoal import DPLloyd, GridKMeans, MergingKMeans

    X = gaussians(1_000_000, 2)
    side_by_side(
        "GridKMeans 1e6 x 2, k = 5, epsilon 1, 30 starts, against one scikit-learn fit",
        lambda: GridKMeans(5, epsilon=1.0, bounds=(-1, 1), n_starts=30, resolution="theta").fit(X),
        lambda: KMeans(5, n_init=1, random_state=0).fit(X),
        args.repeats,
        5.0,
    )
    side_by_side(
        "DPLloyd 1e6 x 2, k = 5, 5 rounds, against its passes",
        lambda: DPLloyd(5, epsilon=1.0, bounds=(-1, 1)).fit(X),
        lambda: passes(X, 5, 5),
        args.repeats,
        1.5,
    )
    side_by_side(
        "MergingKMeans 1e6 x 2, k = 5, 12 rounds of 15 centres, against its passes",
        lambda: MergingKMeans(5, epsilon=1.0, bounds=(-1, 1)).fit(X),
        lambda: passes(X, 15, 12),
        args.repeats,
        1.5,
    )
    out = subprocess.run(
        [sys.executable, __file__, "--synopsis-memory"], capture_output=True, text=True, check=True
    )
    found = json.loads(out.stdout)
    print(f"GridSynopsis 1e5 x 10: {found['seconds']:.1f} s, peak {found['peak_gb']:.2f} GB (aim 2)")


if __name__ == "__main__":
    main()
