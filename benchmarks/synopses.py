"""Counts of random boxes by the three synopses: a grid, a masked grid and a private tree.

A box is a random share (10 %, 1 %, 0.1 %) of the domain, around a row or anywhere. The error is that of the
count, in rows: the median over boxes and fits. "stated" is the standard error that the synopsis gives itself,
and "within 2" how many true counts lie within two of them.

python benchmarks/synopses.py [--fits 5] [--boxes 200]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from shoal import GridSynopsis, MaskedGridSynopsis, PrivTreeSynopsis
from shoal.datasets.city import city_pickups
from shoal.datasets.synthetic import gaussians

KINDS = {"grid": GridSynopsis, "masked grid": MaskedGridSynopsis, "tree": PrivTreeSynopsis}
VOLUMES = (0.1, 0.01, 0.001)


def boxes(X: np.ndarray, bounds: np.ndarray, share: float, n: int, rng: np.random.Generator, *, rows: bool):
    """Draw boxes of a share of the domain, sides of random ratios, around rows or anywhere."""
    low, high = bounds
    d = len(low)
    ratio = rng.normal(0, 0.3, (n, d))
    sides = np.minimum(np.exp(ratio - ratio.mean(axis=1, keepdims=True)) * share ** (1 / d), 1.0)
    sides = sides * (high - low)
    middle = X[rng.integers(0, len(X), n)] if rows else rng.uniform(low, high, (n, d))
    return middle - sides / 2, middle + sides / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--boxes", type=int, default=200)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {"city, 1e5 x 2": city_pickups(n=100_000), "Gaussians, 1e5 x 5": gaussians(n=100_000, d=5)}
    for name, data in tables.items():
        X = np.asarray(data.X, dtype=np.float64)
        bounds = np.array(data.bounds)
        for epsilon in args.epsilons:
            print(f"\n{name}, epsilon {epsilon}: median error in rows; mean stated; within 2")
            made = {
                kind: [make(epsilon=epsilon, bounds=data.bounds).fit(X).release_ for _ in range(args.fits)]
                for kind, make in KINDS.items()
            }
            for around in ("rows", "anywhere"):
                for share in VOLUMES:
                    rng = np.random.default_rng(0)
                    asked = boxes(X, bounds, share, args.boxes, rng, rows=around == "rows")
                    true = [
                        np.count_nonzero(((a <= X) & (b >= X)).all(axis=1))
                        for a, b in zip(*asked, strict=True)
                    ]
                    line = f"  {share:6.1%} {around:8} ({np.median(true):7.0f} rows)"
                    for kind, releases in made.items():
                        found = np.array(
                            [[r.count(a, b) for a, b in zip(*asked, strict=True)] for r in releases]
                        )
                        error = np.abs(found[..., 0] - true)
                        inside = np.mean(error <= 2 * found[..., 1])
                        line += (
                            f" | {kind} {np.median(error):7.1f} {np.median(found[..., 1]):7.1f} {inside:4.0%}"
                        )
                    print(line, flush=True)


if __name__ == "__main__":
    main()
