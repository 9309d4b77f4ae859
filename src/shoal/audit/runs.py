"""Many runs of a mechanism on two tables, in this process or in spawned ones, as columns of numbers."""

from __future__ import annotations

import contextlib
import math
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.audit.observations import Layout, Part, Statistics, look
from shoal.errors import InvalidInput, ShoalError
from shoal.sources.rows import available_cores

Mechanism: TypeAlias = Callable[..., Any]

# Enough runs to make a message worth sending, few enough to show progress.
BATCH = 50


@dataclass
class Runs:
    """What was seen of many runs: a matrix for each layout that occurred, and the runs it belongs to."""

    n: int
    layouts: dict[Layout, tuple[list[int], list[Array]]] = field(
        default_factory=lambda: defaultdict(lambda: ([], []))
    )
    texts: dict[float, str] = field(default_factory=dict)

    def arrays(self) -> dict[Part, Array]:
        """Return, for each part, an array with one line per run; runs without that part hold NaN."""
        found: dict[Part, Array] = {}
        for layout, (runs, rows) in self.layouts.items():
            matrix, start = np.stack(rows), 0
            for part in layout:
                size = math.prod(part.shape)
                array = found.setdefault(part, np.full((self.n, *part.shape), np.nan))
                array[runs] = matrix[:, start : start + size].reshape(len(matrix), *part.shape)
                start += size
        return found

    def layout_codes(self) -> dict[Layout, list[int]]:
        """Return which runs had which layout."""
        return {layout: runs for layout, (runs, _) in self.layouts.items()}


@dataclass
class _Batch:
    table: int
    start: int
    seeds: list[int | None]


_Seen: TypeAlias = tuple[int, list[tuple[int, Layout, Array]], dict[float, str]]


def _watch(mechanism: Mechanism, table: Any, batch: _Batch, statistics: Statistics) -> _Seen:
    seen: list[tuple[int, Layout, Array]] = []
    texts: dict[float, str] = {}
    known: dict[Layout, Layout] = {}  # one object for equal layouts, so that a message holds it once
    for i, seed in enumerate(batch.seeds, batch.start):
        sight = look(mechanism, table, seed, statistics)
        layout = tuple(sight.parts)
        seen.append((i, known.setdefault(layout, layout), np.concatenate(sight.values)))
        texts.update(sight.texts)
    return batch.table, seen, texts


@contextlib.contextmanager
def workers(processes: int | None, pool: Executor | None = None) -> Iterator[Executor | None]:
    """Start spawned processes: all cores if None; None is yielded for 1, which means this process.

    Forked ones would inherit locks and random states in the middle of their work. A pool that is there
    already is used as it is.
    """
    if pool is not None:
        yield pool
        return
    if processes is not None and processes < 1:
        raise InvalidInput(f"processes is {processes!r}; it must be at least 1, or None for all cores")
    n = available_cores() if processes is None else processes
    if n == 1:
        yield None
        return
    started = ProcessPoolExecutor(n, mp_context=get_context("spawn"))
    try:
        yield started
    finally:
        started.shutdown(cancel_futures=True)


def collect(
    mechanism: Mechanism,
    tables: tuple[Any, Any],
    runs: int,
    *,
    seed: int | None = None,
    statistics: Statistics | None = None,
    pool: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Runs, Runs]:
    """Run a mechanism `runs` times on each of two tables.

    With a seed, every run gets its own number made of the seed, the table and its place: the same whatever
    the processes.
    """
    both, looked = (Runs(runs), Runs(runs)), statistics or {}
    # The two tables take turns, so that nothing that changes with time can look like a leak.
    todo = [
        _Batch(which, start, [_seed(seed, which, i) for i in range(start, min(start + BATCH, runs))])
        for start in range(0, runs, BATCH)
        for which in (0, 1)
    ]

    def note(result: _Seen) -> None:
        which, seen, texts = result
        for i, layout, values in seen:
            places, rows = both[which].layouts[layout]
            places.append(i)
            rows.append(values)
        both[which].texts.update(texts)
        if progress is not None:
            progress(len(seen))

    if pool is None:
        for batch in todo:
            note(_watch(mechanism, tables[batch.table], batch, looked))
        return both
    _check_picklable(mechanism, looked)
    futures = [pool.submit(_watch, mechanism, tables[batch.table], batch, looked) for batch in todo]
    try:
        for future in as_completed(futures):
            note(future.result())
    except BrokenProcessPool:
        raise ShoalError(
            "a worker process died. If the audit is started by a script, put it under "
            "`if __name__ == '__main__':`, or use processes=1"
        ) from None
    finally:
        for future in futures:
            future.cancel()
    return both


def _seed(seed: int | None, which: int, i: int) -> int | None:
    if seed is None:
        return None
    return int(np.random.SeedSequence([seed, which, i]).generate_state(1)[0] >> 1)


def _check_picklable(mechanism: Mechanism, statistics: Statistics) -> None:
    try:
        pickle.dumps((mechanism, dict(statistics)))
    except Exception as error:  # pickle raises whatever an object's own methods raise
        raise InvalidInput(
            f"the mechanism cannot be sent to another process ({error}): define it at the top of a module, "
            "or use processes=1"
        ) from None
