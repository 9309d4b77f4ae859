"""Private bounds on made-up columns: how many rows they keep, and how much wider they are than the rows.

    python benchmarks/bounds.py [--repeats 4]

What was chosen in `algorithms/shared/bounds.py` was measured by this, with these seeds; nothing was
fitted to a real table.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from shoal import PrivateBounds

SHARE = 0.1  # of epsilon, as KMeans spends on bounds that are not given


def tables(rng: np.random.Generator) -> dict[str, np.ndarray]:
    n = 20_000
    centres = rng.uniform(1e5, 9e5, (15, 2))
    return {
        "both signs": rng.uniform(-0.9, 0.85, (n, 2)),
        "few rows": rng.uniform(-0.9, 0.85, (5000, 2)),
        "groups in a million": centres[rng.integers(0, 15, 5000)] + rng.normal(0, 3e4, (5000, 2)),
        "a city": np.column_stack([rng.normal(-73.97, 0.03, 10**5), rng.normal(40.75, 0.03, 10**5)]),
        "heavy tails": 10 * rng.standard_t(2, (n, 2)),
        "log-normal": np.exp(rng.normal(5, 1, (n, 2))),
        "six units": np.column_stack(
            [
                rng.uniform(17, 90, n),
                rng.exponential(1e5, n),
                rng.integers(1, 16, n),
                rng.exponential(100, n) * (rng.random(n) < 0.05),
                rng.uniform(1, 99, n),
                rng.normal(0, 1, n),
            ]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=4)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    print(f"{'table':20} {'epsilon':>7}  kept: worst, mean  width: median, worst (of 99.9 % of the rows)")
    for name, X in tables(np.random.default_rng(5)).items():
        usual = np.quantile(X, 0.9995, axis=0) - np.quantile(X, 0.0005, axis=0)
        for epsilon in (0.1, 0.25, 1.0):
            kept, width = [], []
            for seed in range(repeats):
                lower, upper = PrivateBounds(epsilon=epsilon * SHARE, random_state=seed).fit(X).bounds_
                kept.append(((lower <= X) & (upper >= X)).mean(axis=0).min())
                width.append(((upper - lower) / usual).max())
            print(
                f"{name:20} {epsilon:7}  {min(kept):.3f} {np.mean(kept):.3f}  "
                f"{np.median(width):.3g} {max(width):.3g}"
            )


if __name__ == "__main__":
    main()
