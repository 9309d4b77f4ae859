"""Run experiments in spawned processes, keep every result at once, and go on where the last run stopped."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from shoal.bench import peers
from shoal.bench.experiment import Case, Experiment
from shoal.bench.experiments import EXPERIMENTS
from shoal.bench.measure import measure
from shoal.bench.plan import TOO_SLOW, Work, finished_runs, plan, references
from shoal.errors import ShoalError
from shoal.reporting.store import Record, Store


@dataclass(frozen=True)
class Limits:
    """Seconds that a run, and a method on a table, may take."""

    run: float = math.inf
    table: float = math.inf


QUICK_LIMITS = Limits(run=20.0, table=6.0)


class WorkerDied(ShoalError):
    """A worker process ended by itself, for want of memory perhaps."""


def run(
    experiments: Iterable[Experiment],
    *,
    results: Path,
    quick: bool = False,
    processes: int | None = None,
    only: tuple[str, ...] = (),
    fresh: bool = False,
    console: Console | None = None,
) -> int:
    """Run experiments and return the number of new results.

    Parameters
    ----------
    experiments : iterable of Experiment
        What to run.
    results : Path
        Directory of the result files.
    quick : bool
        Leave out what takes long.
    processes : int, optional
        Worker processes; as many as there are cores if not given.
    only : tuple of str
        Names of data sets to restrict to; all if empty.
    fresh : bool
        Set earlier results aside and begin anew.
    console : rich Console, optional
        Where progress is shown.

    Notes
    -----
    Interrupting keeps all finished runs; running again goes on with the others.
    """
    console = console or Console()
    processes = processes or os.cpu_count() or 1
    works = [plan(experiment, results, quick=quick, only=only, fresh=fresh) for experiment in experiments]
    works = [*references(works, results, quick=quick), *works]
    for work in works:
        for message in [work.store.complaint, *work.remarks]:
            if message:
                console.print(f"[yellow]{work.store.path.stem}[/]: {message}", highlight=False)
    # What is begun anew is run anew: nobody else's runs stand for it.
    known = {} if fresh else finished_runs(results, EXPERIMENTS)
    return _execute(works, processes, QUICK_LIMITS if quick else Limits(), console, known)


def pack(results: Path) -> None:
    """Pack every result file of a directory, for keeping."""
    for path in sorted(results.glob("*.jsonl")):
        Store(path).pack()


def _execute(
    works: list[Work], processes: int, limits: Limits, console: Console, known: dict[str, Record]
) -> int:
    total, written, taken = sum(len(work.cases) for work in works), 0, 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress, tempfile.TemporaryDirectory() as scratch:
        bar = progress.add_task("starting", total=total)
        for alone in (False, True):
            group = [work for work in works if work.alone == alone and work.cases]
            if not group:
                continue
            workers, threads = (1, None) if alone else (processes, 1)
            with pool_of(workers, threads, scratch) as pool:
                for work in group:
                    progress.update(bar, description=work.store.path.stem)
                    # Figures share methods, tables and values: what one has run stands in the other too.
                    if same := work.take_over(known):
                        taken += same
                        progress.advance(bar, same)
                    within = Limits() if work.patient else limits
                    for record in _as_finished(pool, work.cases, threads, 2 * workers, within):
                        if record is not None:
                            work.store.append(record)
                            written += 1
                            if not record.get("error"):
                                known[record["id"]] = record
                        progress.advance(bar)
    if taken:
        console.print(f"{taken} runs are the same as another experiment's, and were taken over")
    if written + taken < total:
        left = total - written - taken
        console.print(f"{left} runs of slow methods were left out; without --quick they are run")
    return written


@contextmanager
def pool_of(workers: int, threads: int | None, scratch: str) -> Iterator[ProcessPoolExecutor]:
    """Open worker processes with some threads each; when interrupted, what they do is dropped."""
    others = set(multiprocessing.active_children())
    # Spawned, never forked: a fork would copy threads' locks and the parent's memory.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _prepare, (threads, scratch))
    try:
        yield pool
    except BaseException:
        # Interrupted: what runs now is dropped, what has finished is on disk.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown()


def _prepare(threads: int | None, scratch: str) -> None:
    """Begin a worker: leave interrupts to the parent, and do not take the other workers' cores."""
    import sklearn.cluster  # noqa: F401 - before the limit, which holds for what is loaded
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(threads)
    peers.use_scratch(scratch)


def _end_with_parent() -> None:
    # A worker whose parent was killed would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _as_finished(
    pool: ProcessPoolExecutor, cases: list[Case], threads: int | None, ahead: int, limits: Limits
) -> Iterator[Record | None]:
    """Yield results as they come, with no more than `ahead` runs handed out, so that stopping is quick.

    A method that has had its seconds on a table gets one run of every kind there and no more, and none
    after a run that was stopped; None stands for those left out.
    """
    todo = iter(cases)
    running: set[Future[Record]] = set()
    spent: Counter[tuple[str, str]] = Counter()
    stopped: set[tuple[str, str]] = set()
    while True:
        while len(running) < ahead and (case := next(todo, None)) is not None:
            where = case.method.label, case.table
            if where in stopped or (case.run > 0 and spent[where] > limits.table):
                yield None
            else:
                running.add(pool.submit(measure, case, threads, limits.run))
        if not running:
            return
        finished, running = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            record = _result(future)
            where = record["method"], record["table"]
            spent[where] += record.get("seconds", 0.0)
            if str(record.get("error")).startswith(TOO_SLOW):
                stopped.add(where)
            yield record


def _result(future: Future[Record]) -> Record:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process died, perhaps for want of memory; finished runs are kept: run again with fewer "
            "--processes to go on"
        ) from error
