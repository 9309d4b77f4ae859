"""Which synopsis, and how small a price, predicts best what a release will cost: for the studio's look.

    python benchmarks/studio_preview.py [repeats]

For each table, kind of synopsis and price: one look, rows made up from it, and the excess cost of KMeans at
a few levels on these rows (what the studio shows), beside the excess on the table itself. Printed is how far
apart the two are, as a share of the cost without privacy, over levels and repeats: middle and worst; and how
much more the groups found on made-up rows cost on the table. Tables are made up or public: nobody's.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans as PlainKMeans

from shoal import GridSynopsis, KMeans, MaskedGridSynopsis, PrivTreeSynopsis
from shoal.datasets import load
from shoal.studio.workshop import level_of
from shoal.studio.workshop.preparing import Trial

TABLES = {
    "city": {"n": 100_000},
    "small city": {"n": 10_000},
    "gaussians, 2": {"d": 2, "k": 8, "n": 50_000},
    "gaussians, 4": {"d": 4, "k": 8, "n": 50_000},
    "gaussians, 8": {"d": 8, "k": 5, "n": 50_000},
    "wine": {},
}
KINDS = {"grid": GridSynopsis, "masked grid": MaskedGridSynopsis, "tree": PrivTreeSynopsis}
PRICES = (0.05, 0.1, 0.2)
LEVELS = (0.1, 0.5, 2.0)


def cost(X, centres, half):
    total = 0.0
    for start in range(0, len(X), 4096):
        gap = (X[start : start + 4096, np.newaxis] - centres) / half
        total += float((gap**2).sum(axis=2).min(axis=1).sum())
    return total / len(X)


def main(repeats: int = 2) -> None:
    warnings.simplefilter("ignore")
    print(
        f"{'table':<14}{'synopsis':<13}{'price':>6}{'off, middle':>13}{'worst':>8}{'groups cost':>13}{'s':>7}"
    )
    for name, how in TABLES.items():
        table = load(
            {"small city": "city_pickups", "city": "city_pickups"}.get(name, name.split(",")[0]), **how
        )
        X, bounds, k = table.X, table.bounds, table.k
        half = np.where(bounds[1] > bounds[0], (bounds[1] - bounds[0]) / 2, 1.0)
        plain = PlainKMeans(k, n_init=4, random_state=0).fit(X / half)
        least = cost(X, plain.cluster_centers_ * half, half)
        true = {}
        for epsilon in LEVELS:
            fits = [KMeans(k, epsilon=epsilon, bounds=bounds, random_state=i).fit(X) for i in range(3)]
            true[epsilon] = np.median([cost(X, fit.cluster_centers_, half) / least - 1 for fit in fits])
        print(f"{name}: true excess {', '.join(f'{e:g}: {100 * v:.1f} %' for e, v in true.items())}")
        for kind, made in KINDS.items():
            for price in PRICES:
                off, groups, start = [], [], time.process_time()
                for seed in range(repeats):
                    try:
                        look = made(epsilon=price, bounds=bounds, random_state=seed).fit(X).release_
                        trial = Trial(look, k, seed)
                    except (MemoryError, ValueError):
                        continue
                    for epsilon in LEVELS:
                        said = np.median([trial.excess(run) for run in trial.runs(level_of(epsilon))[:3]])
                        off.append(abs(said - true[epsilon]))
                    there = PlainKMeans(min(k, len(trial.X)), n_init=4, random_state=0).fit(trial.X / half)
                    groups.append(cost(X, there.cluster_centers_ * half, half) / least - 1)
                if off:
                    seconds = time.process_time() - start
                    print(
                        f"{name:<14}{kind:<13}{price:>6g}{100 * np.median(off):>11.1f} %"
                        f"{100 * max(off):>6.0f} %{100 * np.median(groups):>11.1f} %{seconds:>7.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
