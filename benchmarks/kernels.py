"""The loop of a round alone, on one chunk and one thread, beside scikit-learn, faiss and the matrix product.

`benchmarks/lloyd.py` times whole rounds; where others use the machine, differences of them drown in noise.
Pieces of some milliseconds find a quiet moment: each is run for a while, by the processor's time, and the
least counts. The product is the machine's sgemm in tiles that stay in cache, of rows or of columns, whichever
takes less.

    python benchmarks/kernels.py [--seconds 1.0]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from itertools import product

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
from lloyd import TILE, table

from shoal import _compiling
from shoal.domain import STEPS
from shoal.queries import kernels

try:
    import faiss
except ImportError:
    faiss = None


def least(work, seconds: float) -> float:
    work()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def measured(d: int, k: int, seconds: float) -> dict[str, float]:
    """Return nanoseconds a row."""
    from sklearn.cluster import KMeans

    n = max(8192, min(65_536, 2**20 // d))
    X = table(n, d)
    start = X[:k].copy()
    columns = np.ascontiguousarray(np.round(X.T * STEPS) / STEPS, dtype=np.float32)
    steps = np.round(start * STEPS).astype(np.int64)
    rows = min(n, max(64, TILE * 256 // k))
    tiles, across, points = np.empty((rows, k), np.float32), np.empty((k, rows), np.float32), start.T.copy()

    def tiled() -> None:
        for at in range(0, n - rows + 1, rows):
            np.matmul(X[at : at + rows], points, out=tiles)

    def turned() -> None:
        for at in range(0, n - rows + 1, rows):
            np.matmul(start, columns[:, at : at + rows], out=across)

    def of_sklearn(rounds: int) -> None:
        KMeans(k, init=start, n_init=1, max_iter=rounds, tol=0, algorithm="lloyd").fit(X)

    def of_faiss(rounds: int) -> None:
        how = {"niter": rounds, "max_points_per_centroid": n, "min_points_per_centroid": 1}
        faiss.Kmeans(d, k, **how).train(X, init_centroids=start)

    def rounds_of(fit) -> float:
        return (least(lambda: fit(11), seconds) - least(lambda: fit(1), seconds)) / 10

    found = {"shoal": least(lambda: kernels.assign_sums(columns, steps), seconds)}
    found["sklearn"] = rounds_of(of_sklearn)
    found["faiss"] = rounds_of(of_faiss) if faiss else np.nan
    found["product"] = min(least(tiled, seconds), least(turned, seconds)) * n / (n // rows * rows)
    return {name: time_taken / n * 1e9 for name, time_taken in found.items()}


def main() -> None:
    _compiling.at_once()  # what is timed is not what a process begins with
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each piece")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "ns a row, one thread\n"
        "cols   k |   shoal  sklearn    faiss  product | of product  of sklearn  of faiss"
    )
    for d, k in product([2, 8, 32, 128], [5, 20, 100]):
        ns = measured(d, k, args.seconds)
        ratios = [ns["shoal"] / ns[other] for other in ("product", "sklearn", "faiss")]
        print(
            f"{d:>4} {k:>3} | {ns['shoal']:7.1f} {ns['sklearn']:8.1f} "
            f"{ns['faiss']:8.1f} {ns['product']:8.1f} | "
            f"{ratios[0]:10.2f} {ratios[1]:11.2f} {ratios[2]:9.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
