"""How long `shoal fit` of a small file takes: right after installing, and when its loops are on disk.

Cold: no compiled loop is kept yet (a fresh folder for them). Warm: all are. A busy machine adds to the
seconds on the wall, and less to those of the processor; the least of some runs counts. Then: which libraries
were loaded, by the share of that time.

    python benchmarks/first_call.py [--repeats 5] [--algorithm auto]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

# Seconds on a quiet machine.
AIMS = {"cold": 5.0, "warm": 2.0}


def small_file(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(2, 0.5, (1500, 2)), rng.normal(8, 0.5, (1500, 2))])
    np.savetxt(folder / "small.csv", X, delimiter=",", header="x,y", comments="")
    return folder / "small.csv"


def fit(file: Path, loops: Path, algorithm: str, *options: str) -> tuple[float, float, str]:
    """Return seconds on the wall, seconds of the processor, and what was said of imports."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, *options, "-m", "shoal", "fit", str(file), "--k", "2", "--epsilon", "1"]
        command += ["--bounds", "x=0:10", "--bounds", "y=0:10", "--algorithm", algorithm]
        command += ["--out", f"{out}/release"]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(loops)}
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, done.stderr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--algorithm", default="auto")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = small_file(folder)
        fit(file, folder / "warm", args.algorithm)
        print("      wall  processor   aim, in seconds; least of", args.repeats)
        for kind in ("cold", "warm"):
            times = [
                fit(file, folder / (f"cold{i}" if kind == "cold" else "warm"), args.algorithm)[:2]
                for i in range(args.repeats)
            ]
            wall, processor = (min(column) for column in zip(*times, strict=True))
            print(f"{kind} {wall:5.2f} {processor:10.2f} {AIMS[kind]:5.1f}", flush=True)
        loaded: Counter[str] = Counter()
        lines = fit(file, folder / "warm", args.algorithm, "-X", "importtime")[2].splitlines()
        for line in lines:
            if found := re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)", line):
                loaded[found[2]] += int(found[1])
    whole = sum(loaded.values())
    print(
        "imports, share of their time:", ", ".join(f"{n} {t / whole:.0%}" for n, t in loaded.most_common(8))
    )


if __name__ == "__main__":
    main()
