"""Speed of the private coreset on made-up taxi pick-ups, and how it grows with rows.

python benchmarks/coreset.py [--rows 1e5 1e6 1e7] [--k 1 5] [--repeats 3] [--delta 1e-8]
python benchmarks/coreset.py --streamed --rows 1e6 1e7 1e8 --k 5 --repeats 1   # from files of Parquet

Streamed, the rows lie in files that are written before, a million at a time, the same ones again after eight
millions; the peak memory is that of the whole run.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import _compiling

# Wall-clock aims, k = 5 in two columns; Feldman et al. 2017 took about 40 s and an hour, on 12 cores.
AIMS = {1_000_000: 4.0, 10_000_000: 15.0}


# Rows written at a time, and how many such parts differ: to make one up takes seconds.
_WRITTEN, _DIFFERENT = 1_000_000, 8


@lru_cache(maxsize=_DIFFERENT)
def part(seed: int) -> np.ndarray:
    from shoal.datasets.city import city_pickups

    return np.asarray(city_pickups(n=_WRITTEN, seed=seed).X)


def written(folder: Path, n: int) -> Path:
    """Write n pick-ups into a file, and return where."""
    path = folder / f"{n}.parquet"
    with pq.ParquetWriter(path, pa.schema([("lon", pa.float64()), ("lat", pa.float64())])) as out:
        for start in range(0, n, _WRITTEN):
            rows = part(start // _WRITTEN % _DIFFERENT)[: n - start]
            out.write_table(pa.table({"lon": rows[:, 0], "lat": rows[:, 1]}))
    return path


def timed(work) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    _compiling.at_once()  # what is timed is not what a process begins with
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--k", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--epsilon", type=float, default=0.8)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--streamed", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    from shoal import CoresetKMeans
    from shoal.datasets import load

    sizes = sorted(int(n) for n in args.rows)
    data = load("city_pickups", n=2000 if args.streamed else sizes[-1])
    X = np.asarray(data.X)
    CoresetKMeans(2, epsilon=1.0, bounds=data.bounds).fit(X[:2000])  # compile
    sides = {name: (data.bounds[0][c], data.bounds[1][c]) for c, name in enumerate(("lon", "lat"))}
    bounds = sides if args.streamed else data.bounds
    folder = tempfile.TemporaryDirectory()
    tables = {n: written(Path(folder.name), n) if args.streamed else X[:n] for n in sizes}
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, epsilon {args.epsilon}, delta {args.delta}"
    )
    for k in args.k:
        logs = []
        for n in sizes:
            model = CoresetKMeans(k, epsilon=args.epsilon, delta=args.delta, bounds=bounds)
            runs = [timed(lambda m=model, n=n: m.fit(tables[n])) for _ in range(args.repeats)]
            wall, cpu = (statistics.median(times) for times in zip(*runs, strict=True))
            logs.append((np.log(n), np.log(wall), np.log(cpu)))
            aim = f" (aim {AIMS[n]:g})" if k == 5 and n in AIMS else ""
            print(
                f"k = {k}, {n:.0e} rows: {wall:.2f} s{aim}, {cpu:.2f} s of processor, {model.n_iter_} rounds"
            )
        if len(logs) > 1:
            x, wall, cpu = np.array(logs).T
            slopes = np.polyfit(x, wall, 1)[0], np.polyfit(x, cpu, 1)[0]
            print(
                f"k = {k}: time grows as n^{slopes[0]:.2f}, processor time as n^{slopes[1]:.2f}", flush=True
            )
    folder.cleanup()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
