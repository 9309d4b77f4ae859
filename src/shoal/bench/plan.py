"""What is to be run: the cases of an experiment, without those that are done, waiting or not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal import datasets
from shoal.bench.experiment import BASELINE, STARTS, Case, Experiment, Method
from shoal.bench.methods import ONE_START, everything, waiting
from shoal.errors import ChecksumMismatch, DataUnavailable
from shoal.reporting.store import Record, Store

REFERENCES = "references"
# k-means starts for the best non-private solution known, at most, when quick.
QUICK_STARTS = 10
# How the error of a run begins that was stopped for taking too long.
TOO_SLOW = "TooSlow"


@dataclass
class Work:
    """What is to be run for one experiment, what already was, and what has to wait."""

    store: Store
    cases: list[Case]
    alone: bool = False
    relative: bool = False
    starts: int = STARTS
    patient: bool = False
    remarks: list[str] = field(default_factory=list)

    def take_over(self, known: Mapping[str, Record]) -> int:
        """Keep runs that another experiment has made, under the names they have here; return how many."""
        same = [case for case in self.cases if case.id in known]
        for case in same:
            named = {"series": case.series, "x": case.x, "method": case.method.label}
            self.store.append({**known[case.id], **named})
        self.cases = [case for case in self.cases if case.id not in known]
        return len(same)


def finished_runs(results: Path, experiments: Iterable[str]) -> dict[str, Record]:
    """Return every finished run of some experiments by its id."""
    stores = (Store(results / f"{name}.jsonl") for name in experiments)
    return {record["id"]: record for store in stores for record in store.read() if not record.get("error")}


def methods_of(experiment: Experiment) -> tuple[Method, ...]:
    """Return the methods of an experiment; "all" is what there is now."""
    if experiment.methods != "all":
        return experiment.methods
    every = everything(experiment.delta)
    if experiment.alone:
        # Time does not depend on the noise: one variant of each, beside scikit-learn.
        first = {method.algorithm: method for method in reversed(every)}
        return (ONE_START, *(method for method in every if first[method.algorithm] == method))
    return every


def awaited(experiment: Experiment) -> tuple[str, ...]:
    """Return what an experiment still waits for."""
    return tuple(dict.fromkeys(reason for method in methods_of(experiment) if (reason := waiting(method))))


def plan(
    experiment: Experiment, results: Path, *, quick: bool, only: tuple[str, ...] = (), fresh: bool = False
) -> Work:
    """Return what is left to run of an experiment: without what is done, waiting or not at hand."""
    work = Work(
        Store(results / f"{experiment.name}.jsonl"),
        [],
        alone=experiment.alone,
        relative=experiment.relative,
        starts=experiment.starts,
    )
    if fresh:
        work.store.retire()
    if reasons := awaited(experiment):
        work.remarks.append(f"waiting for {', '.join(reasons)}")
    ready = [method for method in methods_of(experiment) if not waiting(method)]
    if all(method.algorithm == BASELINE for method in ready):
        return work  # a baseline alone shows nothing
    usable = {}
    for data in experiment.tables(quick=quick):
        if (not only or data.name in only) and data.name not in usable:
            usable[data.name] = _available(data.name, work)
    finished = {record["id"] for record in work.store.read() if _counts(record, quick=quick)}
    for case in experiment.cases(tuple(ready), quick=quick):
        if usable.get(case.data.name) and case.id not in finished:
            finished.add(case.id)
            work.cases.append(case)
    if done := len(finished) - len(work.cases):
        work.remarks.append(f"{done} runs are done already")
    return work


def references(works: Iterable[Work], results: Path, *, quick: bool) -> list[Work]:
    """Return the non-private k-means runs that the others are compared with, one for each table."""
    store = Store(results / f"{REFERENCES}.jsonl")
    have: dict[str, int] = {}
    for record in store.read():
        if not record.get("error"):
            starts = record["method_parameters"].get("n_init", 0)
            have[record["table"]] = max(starts, have.get(record["table"], 0))
    cases = {}
    for work in works:
        starts = min(QUICK_STARTS, work.starts) if quick else work.starts
        method = Method.of(f"k-means, {starts} starts", BASELINE, n_init=starts)
        for case in work.cases if work.relative else ():
            if have.get(case.table, 0) < starts:
                cases[case.table] = replace(
                    case, method=method, epsilon=None, delta=0.0, run=0, probe=False, seeded=True, x=None
                )
    return [Work(store, list(cases.values()), patient=True)] if cases or store.complaint else []


def _counts(record: Record, *, quick: bool) -> bool:
    # What failed is tried again, but what was too slow only by those who have time.
    return not record.get("error") or (quick and record["error"].startswith(TOO_SLOW))


def _available(name: str, work: Work) -> bool:
    try:
        datasets.provide(name)
    except (DataUnavailable, ChecksumMismatch) as error:
        work.remarks.append(f"{name} skipped: {error}")
        return False
    return True
