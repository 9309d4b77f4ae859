"""Speed of the private coreset on made-up taxi pick-ups, and how it grows with rows.

python benchmarks/coreset.py [--rows 1e5 1e6 1e7] [--k 1 5] [--repeats 3] [--delta 1e-8]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings

import numpy as np

# Wall-clock aims, k = 5 in two columns; Feldman et al. 2017 took about 40 s and an hour, on 12 cores.
AIMS = {1_000_000: 4.0, 10_000_000: 15.0}


def timed(work) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--k", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--epsilon", type=float, default=0.8)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    from shoal import CoresetKMeans
    from shoal.datasets import load

    sizes = sorted(int(n) for n in args.rows)
    data = load("city_pickups", n=sizes[-1])
    X = np.asarray(data.X)
    CoresetKMeans(2, epsilon=1.0, bounds=data.bounds).fit(X[:2000])  # compile
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, epsilon {args.epsilon}, delta {args.delta}"
    )
    for k in args.k:
        logs = []
        for n in sizes:
            model = CoresetKMeans(k, epsilon=args.epsilon, delta=args.delta, bounds=data.bounds)
            runs = [timed(lambda m=model, n=n: m.fit(X[:n])) for _ in range(args.repeats)]
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


if __name__ == "__main__":
    main()
