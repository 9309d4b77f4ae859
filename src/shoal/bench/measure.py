"""One run: load the table, fit, and measure how good, how long and how large. Runs in a worker process."""

from __future__ import annotations

import ctypes
import math
import signal
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shoal import _compiling, datasets
from shoal.bench.experiment import BASELINE, Case
from shoal.bench.methods import Points, fit
from shoal.bench.probe import centre_error, held_points
from shoal.datasets import Dataset
from shoal.reporting.facts import machine, versions
from shoal.reporting.store import Record

# Above this many cells times groups, k-means is started only from the first run's centres, to save time.
POLISH_ALL = 5_000_000
_CHUNK = 1 << 22


class TooSlow(Exception):
    """A run took longer than it was given."""


def measure(case: Case, threads: int | None, limit: float) -> Record:
    """Run a case and return its record. An error is a result too: it is kept and shown."""
    record = describe(case)
    try:
        data = _table(case.data.name, case.data.parameters, case.rows)
        _warm_up(case, threads)
        stop_after(limit)  # not before: an alarm during an import breaks every later fit of the process
        before = _reset_peak()
        found = fit(
            case.method, data, case.k, epsilon=case.epsilon, delta=case.delta, seed=case.seed, threads=threads
        )
        peak = _peak_mb()
        scaled = _scaled(case.data.name, case.data.parameters, case.rows)
        squared, distance = costs(scaled, found.centres)
        record |= {
            "rows": data.n_rows,
            "columns": data.n_columns,
            "nicv": _finite(squared),
            "distance": _finite(distance),
            "seconds": found.seconds,
        }
        if not case.method.algorithm.startswith("peer:"):  # a peer's memory is in another process
            record |= {"peak_mb": peak, "memory": max(peak - before, 0.0)}
        if case.method.algorithm != BASELINE and (case.run == 0 or scaled.size * case.k <= POLISH_ALL):
            record["polished"] = _finite(polish(scaled, found.centres))
        if case.probe and found.model is not None:
            record |= centre_error(found.model, scaled) | held_points(found.model)
    except Exception as error:  # one method's failure must not cost the others' results
        record["error"] = f"{type(error).__name__}: {error}"
    finally:
        stop_after(math.inf)
    return record


def stop_after(seconds: float) -> None:
    """Raise `TooSlow` in the main thread after a while; after infinity: never."""
    if hasattr(signal, "setitimer"):  # not on Windows, where slow runs take their time

        def stop(*_: object) -> None:
            raise TooSlow(f"took longer than {seconds:g} seconds")

        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 0 if math.isinf(seconds) else seconds)


def describe(case: Case) -> Record:
    """Return what is known of a run before it is run."""
    return {
        "id": case.id,
        "table": case.table,
        "series": case.series,
        "x": case.x,
        "data": case.data.name,
        "parameters": dict(case.data.parameters),
        "k": case.k,
        "method": case.method.label,
        "algorithm": case.method.algorithm,
        "method_parameters": dict(case.method.parameters),
        "epsilon": case.epsilon,
        "delta": case.delta,
        "run": case.run,
        "seed": "system" if case.seed is None else case.seed,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
    }


def nicv(scaled: Points, centres: Points) -> float:
    """Return the mean squared distance to the nearest centre.

    Examples
    --------
    >>> nicv(np.array([[0.0], [1.0]]), np.array([[0.0]]))
    0.5
    """
    return costs(scaled, centres)[0]


def costs(scaled: Points, centres: Points) -> tuple[float, float]:
    """Return the mean squared distance to the nearest centre, and the mean distance.

    Examples
    --------
    >>> costs(np.array([[0.0], [0.5]]), np.array([[0.0]]))
    (0.125, 0.25)
    """
    if not len(scaled):
        return math.nan, math.nan
    squared, plain = 0.0, 0.0
    step = max(1, _CHUNK // max(centres.shape))
    for start in range(0, len(scaled), step):
        rows = np.asarray(scaled[start : start + step], dtype=np.float64)
        # |x - c|^2 = |x|^2 - 2 x c + |c|^2; far from cancelling, since rows lie in [-1, 1]^d.
        gaps = (rows**2).sum(axis=1)[:, np.newaxis] - 2 * rows @ centres.T + (centres**2).sum(axis=1)
        nearest = np.maximum(gaps.min(axis=1), 0.0)
        squared, plain = squared + float(nearest.sum()), plain + float(np.sqrt(nearest).sum())
    return squared / len(scaled), plain / len(scaled)


def polish(scaled: Points, centres: Points) -> float:
    """Return the NICV of non-private k-means started from some centres: a candidate for the best known."""
    import warnings

    from sklearn.cluster import KMeans

    start = np.asarray(centres, dtype=scaled.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of centres that coincide
        model = KMeans(len(start), init=start, n_init=1).fit(scaled)
    return nicv(scaled, model.cluster_centers_)


@lru_cache(maxsize=2)
def _table(name: str, parameters: tuple[tuple[str, int], ...], rows: int | None) -> Dataset:
    data = datasets.load(name, **dict(parameters))
    return data if rows is None else data.sample(rows)


@lru_cache(maxsize=1)
def _scaled(name: str, parameters: tuple[tuple[str, int], ...], rows: int | None) -> Points:
    return _table(name, parameters, rows).scaled()


_warm: set[Any] = set()


def _warm_up(case: Case, threads: int | None) -> None:
    # The first fits in a process do without compiled loops, or load them; that is not what is measured.
    if case.method in _warm or case.method.algorithm.startswith("peer:"):
        return
    _compiling.at_once()
    small = datasets.load("gaussians", n=200, d=2, k=2)
    fit(case.method, small, 2, epsilon=case.epsilon, delta=case.delta, seed=0, threads=threads)
    _warm.add(case.method)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _reset_peak() -> float:
    """Begin to measure peak memory anew; return what is in use, in megabytes."""
    # Elsewhere than on Linux the peak is that of the whole process so far.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not hide what is needed now
        Path("/proc/self/clear_refs").write_text("5")
    return _peak_mb()


def _peak_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 1024
