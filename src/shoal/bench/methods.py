"""From a method's name to centres: the registry's algorithms, scikit-learn's k-means, and peers."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import shoal.estimators
from shoal.algorithms import REGISTRY, Status
from shoal.bench import peers
from shoal.bench.blocks import BlockCoresets
from shoal.bench.experiment import BASELINE, Method
from shoal.datasets import Dataset
from shoal.errors import ShoalWarning

Points = npt.NDArray[np.floating[Any]]

# Beside each algorithm's default: the noise that was published, to show what other noise gains.
_VARIANTS: dict[str, tuple[Method, ...]] = {
    "lloyd": (
        Method.of("DPLloyd", "lloyd"),
        Method.of("DPLloyd, Laplace", "lloyd", noise="laplace"),
    ),
}
# Starts of Lloyd that are read off the rows: no guarantee, to compare with.
ON_ROWS = "k-means++ on the rows"
# Bounds ten times as wide as the public ones, around the same middle.
LOOSE, _TIMES = "loose", 10.0
# A coreset of every block of rows, joined.
BLOCKS = "coreset-blocks"
ONE_START = Method.of("scikit-learn, one start", BASELINE, n_init=1)
PEERS = (
    Method.of("diffprivlib", "peer:diffprivlib"),
    Method.of("diffprivlib, true epsilon", "peer:diffprivlib", true_epsilon=True),
)
# Run where a user has it.
DELTA_PEERS = (Method.of("Google LSH", "peer:google-lsh"),)


@dataclass(frozen=True, eq=False)
class Fit:
    """Centres in the scaled units of [-1, 1]^d, how long they took, and the fitted model if it is ours."""

    centres: Points
    seconds: float
    model: Any = None


def everything(delta: float = 0.0) -> tuple[Method, ...]:
    """Return every algorithm that has a guarantee, as it comes, and the peers under pure epsilon.

    Examples
    --------
    >>> [method.label for method in everything()][0]
    'KMeans'
    """
    methods: list[Method] = []
    for name, info in REGISTRY.items():
        if info.status is not Status.CLAIMED_ONLY:
            methods += _VARIANTS.get(name, (Method.of(info.estimator, name),))
    there = tuple(method for method in DELTA_PEERS if not waiting(method))
    return (*methods, *(PEERS if delta == 0 else there))


def waiting(method: Method) -> str:
    """Say what a method waits for; empty if it can be run.

    Examples
    --------
    >>> waiting(Method.of("DPLloyd", "lloyd")), waiting(Method.of("a better one", "not-there-yet"))
    ('', "algorithm 'not-there-yet'")
    """
    if method.algorithm == BASELINE:
        return ""
    if method.algorithm.startswith("peer:"):
        name = method.algorithm.removeprefix("peer:")
        return "" if peers.installed(name) else f"peer {name!r} (shoal bench peers setup)"
    make = _estimator(method.algorithm)
    if make is None:
        return f"algorithm {method.algorithm!r}"
    lacking = dict(method.parameters).keys() - make(1, epsilon=1.0).get_params().keys()
    return f"parameter {sorted(lacking)[0]!r} of {make.__name__}" if lacking else ""


def _estimator(algorithm: str) -> Any:
    """Return the estimator of an algorithm, or of one to compare with; None if there is none."""
    if algorithm == BLOCKS:
        return BlockCoresets
    info = REGISTRY.get(algorithm)
    return getattr(shoal.estimators, info.estimator, None) if info else None


def fit(
    method: Method,
    data: Dataset,
    k: int,
    *,
    epsilon: float | None,
    delta: float,
    seed: int | None,
    threads: int | None,
) -> Fit:
    """Fit a method to a table. Every method gets the same public bounds and the same scaling."""
    parameters = dict(method.parameters)
    if method.algorithm == BASELINE:
        from sklearn.cluster import KMeans

        started = time.perf_counter()
        model = KMeans(k, random_state=seed, **parameters).fit(data.scaled())
        return Fit(model.cluster_centers_, time.perf_counter() - started)
    if epsilon is None:
        raise ValueError(f"{method.label} needs an epsilon")
    if method.algorithm.startswith("peer:"):
        name = method.algorithm.removeprefix("peer:")
        centres, seconds = peers.fit(name, data, k, epsilon=epsilon, delta=delta, seed=seed, **parameters)
        return Fit(centres, seconds)
    if parameters.get("init") == ON_ROWS:
        from sklearn.cluster import kmeans_plusplus

        parameters["init"] = kmeans_plusplus(np.asarray(data.X, dtype=np.float64), k, random_state=seed)[0]
    if parameters.get("bounds") == LOOSE:
        low, high = data.bounds
        half = _TIMES * (high - low) / 2
        parameters["bounds"] = (low + high) / 2 - half, (low + high) / 2 + half
    make = _estimator(method.algorithm)
    common = {"delta": delta, "bounds": data.bounds, "random_state": seed, "n_jobs": threads}
    model = make(k, epsilon=epsilon, **(common | parameters))
    with warnings.catch_warnings():
        # That an answer is mostly noise is what a benchmark is there to show.
        warnings.simplefilter("ignore", ShoalWarning)
        started = time.perf_counter()
        model.fit(data.X)
        seconds = time.perf_counter() - started
    lower, upper = data.bounds
    half = (upper - lower) / 2
    return Fit((model.cluster_centers_ - (lower + half)) / np.where(half > 0, half, 1.0), seconds, model)
