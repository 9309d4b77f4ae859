"""Run the flagship's parts in worker processes; what is done is kept, and not done again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from shoal import datasets
from shoal.bench.flagship.cells import measure
from shoal.bench.flagship.found import FlagshipStore, Found
from shoal.bench.flagship.judge import judge
from shoal.bench.flagship.parts import PARTS, Job, Scope
from shoal.bench.flagship.tables import TABLES, lookup
from shoal.bench.runner import pool_of
from shoal.errors import ChecksumMismatch, DataUnavailable
from shoal.reporting.store import Record

# Seconds after which a fit is stopped: some of the other algorithms take minutes in many columns.
LIMIT = 60.0


def run(
    *,
    results: Path,
    parts: Iterable[str] = tuple(PARTS),
    tuning: bool = False,
    held_out: bool = False,
    only: tuple[str, ...] = (),
    quick: bool = False,
    runs: int | None = None,
    processes: int | None = None,
    fresh: bool = False,
    console: Console | None = None,
) -> int:
    """Run parts of the flagship's run, write what they show, and return the number of new results.

    Parameters
    ----------
    results : Path
        Directory of ``flagship.jsonl.gz``, or ``flagship-tuning.jsonl.gz``, and the text beside it.
    parts : iterable of str
        Which; see `PARTS`.
    tuning, held_out : bool
        Only tables that tuning may see, with development's seeds; or only those that it may not.
    only : tuple of str
        Names of tables to restrict to; all if empty.
    quick : bool
        Fewer runs.
    runs : int, optional
        No more runs of what is compared than these; more go on later.
    processes : int, optional
        Worker processes; as many as there are cores if not given.
    fresh : bool
        Set earlier results aside and begin anew.
    console : rich Console, optional
        Where progress is shown.
    """
    console = console or Console()
    tables = tuple(lookup(name).name for name in only)
    scope = Scope.of(tuning=tuning, held_out=held_out, only=tables, quick=quick, runs=runs)
    scope = _at_hand(scope, console)
    store = FlagshipStore(results / ("flagship-tuning.jsonl" if tuning else "flagship.jsonl"))
    if fresh:
        store.retire()
    found = Found(store.read())
    written = 0
    workers = processes or os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as scratch, pool_of(workers, 1, scratch) as pool:
        for part in parts:
            while jobs := PARTS[part](scope, found):
                console.print(f"{part}: {len(jobs)} fits", highlight=False)
                # Asked as late as can be: what was too slow once is not tried with every seed.
                todo, running = (job for job in jobs if not found.done(*job)), set[Future[Record]]()
                while True:
                    while len(running) < 2 * workers and (job := next(todo, None)) is not None:
                        running.add(pool.submit(_measure, job))
                    if not running:
                        break
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        record = future.result()
                        store.append(record)
                        found.add(record)
                        written += 1
    results.mkdir(parents=True, exist_ok=True)
    store.pack()
    (results / f"{store.path.stem}.md").write_text(judge(scope, found, tuple(parts)))
    return written


def _measure(job: Job) -> Record:
    return measure(*job, limit=LIMIT)


def _at_hand(scope: Scope, console: Console) -> Scope:
    """Leave tables out whose data cannot be had, and say so."""
    there = []
    for name in scope.tables:
        try:
            datasets.provide(TABLES[name].data)
        except (DataUnavailable, ChecksumMismatch) as error:
            console.print(f"[yellow]{name}[/] skipped: {error}", highlight=False)
        else:
            there.append(name)
    return replace(scope, tables=tuple(there))
