"""One fit of the flagship's run: a table in a box, an algorithm at its defaults, an epsilon and a seed.

A ratio is the NICV over the best of ten non-private starts, both in the box that the table is judged in: its
own tight one, or the globe.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import shoal.estimators
from shoal._typing import Array
from shoal.algorithms import REGISTRY, Status
from shoal.bench.flagship.tables import OTHER_UNITS, TABLES, lookup, loose_box, rows_of
from shoal.bench.measure import nicv, stop_after
from shoal.datasets.files import cache_directory
from shoal.errors import InvalidInput, ShoalError, ShoalWarning
from shoal.reporting.store import Record

Boxed: TypeAlias = tuple[Array, dict[str, Any]]

BOXES = ("tight", "x10", "x100", "middle", "latlon", "none")
"""The table's own bounds; 10 and 100 times as wide with rows aside; 100 with rows in the middle; others."""
FLAGSHIP = "auto"
# Every other algorithm of ours that promises something and finds means, at its defaults.
OTHERS = tuple(
    name
    for name, info in REGISTRY.items()
    if info.status is not Status.CLAIMED_ONLY and name not in {FLAGSHIP, "medians"}
)
# Seeds that development may use, and those of the run; the gate draws exact noise from either.
DEVELOPMENT_SEEDS, PICKING_SEEDS, FINAL_SEEDS = 10_000, 500_000, 1_000_000


@dataclass(frozen=True)
class Cell:
    """What is fitted, but for the seed.

    Examples
    --------
    >>> Cell("s1", 0.25).key
    's1 tight 0.25 0 auto'
    """

    table: str
    epsilon: float
    box: str = "tight"
    algorithm: str = FLAGSHIP
    delta: float = 0.0
    n_clusters: int | str | None = None

    @property
    def key(self) -> str:
        """All of it in one line."""
        asked = "" if self.n_clusters is None else f" {self.n_clusters}"
        return f"{self.table} {self.box} {self.epsilon:g} {self.delta:g} {self.algorithm}{asked}"


def measure(cell: Cell, seed: int, threads: int | None = 1, limit: float = math.inf) -> Record:
    """Fit once, and return the ratio to non-private k-means and the seconds of processor time.

    An error is a result too, and so is a fit that takes longer than `limit` seconds.
    """
    record: Record = {**asdict(cell), "seed": seed}
    try:
        rows, options = boxed(cell.table, cell.box)
        base = denominator(cell.table, cell.box)
        _warm_up(cell.algorithm)
        stop_after(limit)  # not before: an alarm during an import breaks every later fit of the process
        k = cell.n_clusters or rows_of(cell.table)[1]
        make = getattr(shoal.estimators, REGISTRY[cell.algorithm].estimator)
        model = make(k, epsilon=cell.epsilon, delta=cell.delta, random_state=seed, n_jobs=threads, **options)
        with warnings.catch_warnings():
            # That an answer is mostly noise is what is measured here.
            warnings.simplefilter("ignore", ShoalWarning)
            start = time.process_time()
            model.fit(rows)
            record["cpu"] = round(time.process_time() - start, 4)
        centres = np.asarray(model.cluster_centers_, dtype=np.float64)
        record["ratio"] = round(_cost(cell, centres) / base, 6)
        if cell.n_clusters == "auto":
            costs = np.asarray(model.cost_curve_.cost)
            record |= {"chosen": len(centres), "rises": bool((np.diff(costs) > 0).any())}
    except Exception as error:  # one failure must not cost the other results
        record["error"] = f"{type(error).__name__}: {error}"[:300]
    finally:
        stop_after(math.inf)
    return record


@cache
def _warm_up(algorithm: str) -> None:
    """Load what an algorithm needs, compiled code too, in few columns and in many."""
    for columns in (2, 8):
        make = getattr(shoal.estimators, REGISTRY[algorithm].estimator)
        small = np.random.default_rng(0).random((100, columns))
        with warnings.catch_warnings(), suppress(ShoalError):  # the fit that follows will say it too
            warnings.simplefilter("ignore", ShoalWarning)
            make(2, epsilon=1.0, bounds=(0, 1), random_state=0).fit(small)


def boxed(name: str, box: str) -> Boxed:
    """Return a table's rows and how an estimator is told of their box.

    Examples
    --------
    >>> rows, options = boxed("gauss2_2", "x10")
    >>> rows.shape, [len(bound) for bound in options["bounds"]]
    ((10000, 2), [2, 2])
    """
    rows, _ = rows_of(name)
    d = rows.shape[1]
    if box == "tight":
        return rows, {"bounds": (-1.0, 1.0)}
    if box == "none":
        return _other_units(name), {}
    if box == "latlon":
        if not lookup(name).on_the_globe:
            raise InvalidInput(f"{name} has no columns of longitude and latitude")
        return _globe(name), {"bounds": (-1.0, 1.0)}
    if box == "middle":
        return rows, {"bounds": (-100.0, 100.0)}
    if box not in BOXES:
        raise InvalidInput(f"there is no box {box!r}; there are {', '.join(BOXES)}")
    return rows, {"bounds": loose_box(name, float(box[1:]), d)}


def boxes_of(name: str) -> tuple[str, ...]:
    """Return the boxes that a table is judged in: the loose ones only up to six columns."""
    if rows_of(name)[0].shape[1] > 6:
        return ("tight",)
    return tuple(box for box in BOXES if box != "latlon" or TABLES[name].on_the_globe)


def denominator(name: str, box: str = "tight") -> float:
    """Return the NICV of the best of ten non-private starts; computed once, then kept in a file."""
    where = f"{name} latlon" if box == "latlon" else name
    known = _known()
    if where not in known:
        from sklearn.cluster import KMeans

        rows, k = (_globe(name) if box == "latlon" else rows_of(name)[0]), rows_of(name)[1]
        known[where] = float(KMeans(k, n_init=10, random_state=0).fit(rows).inertia_ / len(rows))
        path = _denominators_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = json.loads(path.read_text()) if path.is_file() else {}
        path.write_text(json.dumps({**stored, where: known[where]}, indent=1))
    return known[where]


def spread_ratio(name: str) -> float:
    """Return what the rows cost around their mean, over the best of ten non-private starts."""
    rows, _ = rows_of(name)
    return float(rows.var(axis=0).sum()) / denominator(name)


def one_mean_ratio(name: str, epsilon: float, runs: int = 200) -> float:
    """Return the mean ratio of one noisy, shrunken mean that has the whole budget.

    To compare with, not to release: floating-point noise of the same law as the gate's, for the box of a row
    and its count. What a mean costs is the spread of the rows and its own squared error.
    """
    rows, _ = rows_of(name)
    n, d = rows.shape
    middle = rows.mean(axis=0)
    spread = float(((rows - middle) ** 2).sum(axis=1).mean())
    rng = np.random.default_rng(runs)
    noise = rng.gamma(d + 2, 1 / epsilon, (runs, 1)) * rng.uniform(-1, 1, (runs, d + 1))
    counts = np.maximum(n + noise[:, d:], 1.0)
    means = np.clip((n * middle + noise[:, :d]) / counts, -1, 1)
    unsure = d * (d + 2) * (d + 3) / 3 / (epsilon * counts[:, 0]) ** 2
    length = (means**2).sum(axis=1)
    means *= np.maximum(0.0, 1 - unsure / np.maximum(length, 1e-300))[:, np.newaxis]
    cost = spread + float(((means - middle) ** 2).sum(axis=1).mean())
    return cost / denominator(name)


def _cost(cell: Cell, centres: Array) -> float:
    if cell.box == "latlon":
        return nicv(_globe(cell.table), centres)
    return nicv(rows_of(cell.table)[0], centres / OTHER_UNITS if cell.box == "none" else centres)


@lru_cache(maxsize=2)
def _other_units(name: str) -> Array:
    return rows_of(name)[0] * OTHER_UNITS


@lru_cache(maxsize=2)
def _globe(name: str) -> Array:
    data = lookup(name).dataset()
    reach = [180.0 if "longitude" in column else 90.0 for column in lookup(name).on_the_globe]
    return np.ascontiguousarray(data.X / np.array(reach), dtype=np.float64)


def _denominators_file() -> Path:
    return cache_directory() / "flagship-denominators.json"


@lru_cache(maxsize=1)
def _known() -> dict[str, float]:
    path = _denominators_file()
    known = json.loads(path.read_text()) if path.is_file() else {}
    return {where: value for where, value in known.items() if math.isfinite(value)}
