"""Runs inside a peer's own environment: requests in, centres out, as JSON lines. Needs numpy and the peer.

    python peer_worker.py NAME

Each line on standard input is a request:
    {"table": "scaled.npy", "n_clusters": 5, "epsilon": 1.0, "delta": 0.0, "seed": 7}
and is answered by one line on standard output:
    {"centres": [[...], ...], "seconds": 0.12}     or     {"error": "..."}
The table is an .npy file of float64 rows in [-1, 1]^d; the bounds are -1 and 1 in every column.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np


def diffprivlib(table: Any, n_clusters: int, epsilon: float, delta: float, seed: int | None) -> Any:
    """Fit diffprivlib's KMeans as released; it knows no delta."""
    if delta:
        raise ValueError("diffprivlib's KMeans is for pure epsilon: delta must be 0")
    from diffprivlib.models import KMeans  # type: ignore[import-not-found]

    d = table.shape[1]
    model = KMeans(n_clusters, epsilon=epsilon, bounds=(np.full(d, -1.0), np.full(d, 1.0)), random_state=seed)
    return model.fit(table).cluster_centers_


def google_lsh(table: Any, n_clusters: int, epsilon: float, delta: float, seed: int | None) -> Any:
    """Fit the LSH clustering of google/differential-privacy, from the folder that holds `clustering`."""
    sys.path.insert(0, os.environ["SHOAL_GOOGLE_CLUSTERING"])
    from clustering import (  # type: ignore[import-not-found]
        clustering_algorithm,
        clustering_params,
    )

    if seed is not None:
        np.random.seed(seed % 2**32)  # noqa: NPY002 - what it draws from
    # Rows are in [-1, 1]^d, so in the ball of this radius: public.
    rows = clustering_params.Data(datapoints=table, radius=float(np.sqrt(table.shape[1])))
    promise = clustering_params.DifferentialPrivacyParam(epsilon=epsilon, delta=delta)
    centres = clustering_algorithm.private_lsh_clustering(n_clusters, rows, promise).centers
    missing = n_clusters - len(centres)  # it may find fewer: others are where the first is
    return np.concatenate([centres, np.repeat(centres[:1], missing, axis=0)])


ADAPTERS: dict[str, Callable[[Any, int, float, float, int | None], Any]] = {
    "diffprivlib": diffprivlib,
    "google-lsh": google_lsh,
}


def main() -> None:
    """Answer requests until standard input ends."""
    fit = ADAPTERS[sys.argv[1]]
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a peer prints must not mix with the answers
    warnings.simplefilter("ignore")
    # The first fit in a process loads code; that is not what is measured. Should it fail, requests will too.
    with suppress(Exception):
        fit(np.linspace(-1.0, 1.0, 40).reshape(20, 2), 2, 1.0, 0.0, 0)
    loaded: tuple[Any, Any] = (None, None)
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if loaded[0] != request["table"]:
                loaded = (request["table"], np.load(request["table"]))
            started = time.perf_counter()
            asked = request["n_clusters"], request["epsilon"], request.get("delta", 0.0), request["seed"]
            centres = fit(loaded[1].copy(), *asked)
            seconds = time.perf_counter() - started
            answer = {"centres": np.asarray(centres, dtype=float).tolist(), "seconds": seconds}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
