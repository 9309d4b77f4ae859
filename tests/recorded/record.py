"""Thirty seeded fits and what they released: a move in the house must not change a bit of it.

    python tests/recorded/record.py            # compare with what is stored
    python tests/recorded/record.py --write    # store anew; the commit says which fits changed, and why

Not part of `make test`: last bits of mathematical functions differ between processors, and a bit may decide
which of two centres is taken. Compare on the machine that the fits were recorded on (`--write` on the commit
before the move, run again after it).
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shoal

STORED = Path(__file__).parent / "fits.json"
# What a fitted model may hold: everything that is an array or a number is compared.
_PARTS = ("centres", "sizes", "merged_into", "points", "weights", "lower", "upper", "counts")


def blobs(d: int, k: int, n: int) -> np.ndarray:
    """Return k groups in [0, 10]^d."""
    rng = np.random.default_rng([d, k, n])
    centres = rng.uniform(1, 9, (k, d))
    return np.clip(centres[rng.integers(0, k, n)] + rng.normal(0, 0.3, (n, d)), 0, 10)


def fits() -> dict[str, Callable[[], Any]]:
    """Return the fits by name."""
    two, five, many = blobs(2, 4, 4000), blobs(5, 3, 3000), blobs(20, 3, 4000)
    people = {"x": two[:, 0], "y": two[:, 1], "who": (np.arange(len(two)) // 3).astype(str)}

    def table() -> Any:
        import pandas as pd

        return pd.DataFrame(people)

    def fit(name: str, X: Any, *args: Any, weight: Any = None, **kwargs: Any) -> Callable[[], Any]:
        kwargs = {"epsilon": 1.0, "bounds": (0, 10), "random_state": 0} | kwargs
        if kwargs["bounds"] is None:
            del kwargs["bounds"]

        def run() -> Any:
            model = getattr(shoal, name)(*args, **kwargs)
            rows = X() if callable(X) else X
            return model.fit(rows) if weight is None else model.fit(rows, sample_weight=weight)

        return run

    return {
        "KMeans": fit("KMeans", two, 4),
        "KMeans at a tenth": fit("KMeans", two, 4, epsilon=0.1),
        "KMeans, 5 columns": fit("KMeans", five, 3),
        "KMeans, 20 columns": fit("KMeans", many, 3),
        "KMeans, 20 columns, delta": fit("KMeans", many, 3, delta=1e-6),
        "KMeans, auto": fit("KMeans", two, "auto", max_clusters=6),
        "KMeans, bounds not known": fit("KMeans", two, 4, bounds=None),
        "KMeans, replace": fit("KMeans", two, 4, neighbours="replace", n_rows=4000),
        "KMeans, people": fit("KMeans", table, 4, unit="who", max_rows=2),
        "KMeans, weights": fit("KMeans", two, 4, max_weight=2.0, weight=np.linspace(0, 2, 4000)),
        "TreeKMeans": fit("TreeKMeans", five, 3),
        "SwapLloyd": fit("SwapLloyd", five, 3, delta=1e-6),
        "DPLloyd": fit("DPLloyd", two, 4),
        "DPLloyd, own units": fit("DPLloyd", two, 4, scaling="none", bounds=([0, 0], [10, 20])),
        "GridKMeans": fit("GridKMeans", two, 4),
        "HybridKMeans": fit("HybridKMeans", two, 4),
        "LSHTreeKMeans": fit("LSHTreeKMeans", many, 3),
        "ProjectedKMeans": fit("ProjectedKMeans", many, 3),
        "ProjectedKMeans, published": fit("ProjectedKMeans", many, 3, route="published"),
        "MergingKMeans": fit("MergingKMeans", five, 3),
        "CoresetKMeans": fit("CoresetKMeans", two, 3),
        "KVariates": fit("KVariates", two, 4),
        "SampleAggregateKMeans": fit("SampleAggregateKMeans", two, 3),
        "GeneticKMeans": fit("GeneticKMeans", two, 3),
        "ConvergentKMeans": fit("ConvergentKMeans", two, 3),
        "SubClusterKMeans": fit("SubClusterKMeans", two, 3),
        "KMedians": fit("KMedians", two, 4),
        "KMedians, swap": fit("KMedians", two, 3, route="swap"),
        "GridSynopsis": fit("GridSynopsis", two),
        "MaskedGridSynopsis": fit("MaskedGridSynopsis", two),
        "PrivTreeSynopsis": fit("PrivTreeSynopsis", two),
        "PrivateCoreset": fit("PrivateCoreset", two, 3),
        "PrivateBounds": fit("PrivateBounds", two, bounds=None),
        "PrivateScaler": fit("PrivateScaler", two),
        "PrivatePCA": fit("PrivatePCA", five, 2),
    }


def released(model: Any) -> dict[str, str]:
    """Return a digest of every array and number that a fitted model holds."""
    found: dict[str, Any] = {}
    holders = [("", model)] + ([("release_.", model.release_)] if hasattr(model, "release_") else [])
    for prefix, holder in holders:
        names = [n for n in vars(holder) if n.endswith("_")] if not prefix else list(_PARTS)
        for name in names:
            value = getattr(holder, name, None)
            if isinstance(value, np.ndarray | float | int) and np.asarray(value).dtype != object:
                array = np.ascontiguousarray(value)
                digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
                found[prefix + name] = f"{array.dtype} {array.shape} {digest}"
    return found


def main(write: bool) -> int:
    """Run all fits and compare or store; return how many differ."""
    warnings.simplefilter("ignore")
    stored = {} if write else json.loads(STORED.read_text())
    now, differ = {}, 0
    for name, run in fits().items():
        now[name] = released(run())
        if not write and now[name] != stored.get(name):
            differ += 1
            was = stored.get(name, {})
            print(f"{name}: {sorted(k for k in now[name] | was if now[name].get(k) != was.get(k))} differ")
    if write:
        STORED.write_text(json.dumps(now, indent=1) + "\n")
    print(f"{len(now)} fits, {differ} differ from what is stored")
    return differ


if __name__ == "__main__":
    sys.exit(bool(main("--write" in sys.argv)))
