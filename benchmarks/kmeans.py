"""Speed and memory of KMeans beside one scikit-learn fit: 30 Gaussians, ten groups, epsilon 1.

Both get the same float32 table, and are timed alternately; medians are compared. Peak extra memory is
measured in a fresh process, above the table itself and after a small fit has loaded all that is needed.

    python benchmarks/kmeans.py [--repeats 5] [--rows 1000000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from families import gaussians, side_by_side
from lloyd import resident

# Columns, and the ratio to scikit-learn's time that is aimed for.
CASES = {2: 2.0, 10: 3.0}
# As a multiple of the float32 table.
MEMORY_AIM = 2.0


def ours(X: np.ndarray) -> None:
    from shoal import KMeans

    KMeans(10, epsilon=1.0, bounds=(-1, 1)).fit(X)


def theirs(X: np.ndarray) -> None:
    from sklearn.cluster import KMeans

    KMeans(10, n_init=1, random_state=0).fit(X)


def memory_of(which: str, n: int, d: int) -> None:
    fit = ours if which == "ours" else theirs
    # The same table, less most of its rows: what is loaded and compiled is no memory of the fit.
    X = gaussians(n, d)
    fit(X[:20_000].copy())
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak until here (Linux)
    before = resident("VmRSS")
    fit(X)
    print(json.dumps({"peak": (resident("VmHWM") - before) * 1024 / X.nbytes}))


def peak_extra(which: str, n: int, d: int) -> float:
    args = [sys.executable, __file__, "--memory-of", which, str(n), str(d)]
    return float(json.loads(subprocess.run(args, capture_output=True, check=True).stdout)["peak"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory-of", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.memory_of:
        which, n, d = args.memory_of
        memory_of(which, int(n), int(d))
        return
    for d, aim in CASES.items():
        X = gaussians(args.rows, d)
        title = f"{args.rows:.0e} x {d}, k = 10, epsilon 1"
        side_by_side(f"KMeans {title}", lambda X=X: ours(X), lambda X=X: theirs(X), args.repeats, aim)
        mine, other = (peak_extra(which, args.rows, d) for which in ("ours", "theirs"))
        print(f"  peak memory above the table: {mine:.2f} of it against {other:.2f} (aim {MEMORY_AIM})")


if __name__ == "__main__":
    main()
