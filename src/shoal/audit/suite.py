"""Every audit, on one algorithm or on all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from shoal.audit.audited import AUDITED, estimator_of
from shoal.audit.canaries import CANARIES, Canary, canary
from shoal.audit.choices import audit_choosers, choices_exactly
from shoal.audit.distinguish import epsilon_resolved
from shoal.audit.exact import ExactLoss, audit_laws_exactly
from shoal.audit.filters import audit_filter
from shoal.audit.findings_store import Kept
from shoal.audit.laws import audit_samplers
from shoal.audit.observations import Fit, look
from shoal.audit.relevance import relevant
from shoal.audit.report import Finding, Report
from shoal.audit.runs import workers
from shoal.audit.subject import Job, Progress, Subject
from shoal.sources.rows import available_cores

# Strict, usual and weak: what `--all` is run at.
EPSILONS = (0.5, 1.0, 3.0)
# At least this is the confidence with which all lower bounds of a report hold together.
CONFIDENCE = 0.999
THE_GATE = "the gate's noise"
# Draws of noise, of choices and of filtered histograms; and where a minute must do.
_DRAWN, _HURRIED = (20_000, 1000, 3000), (2000, 200, 500)
# Seconds of a minute that are left to the black box: starting processes and the other audits take the rest.
BLACK_BOX_SECONDS = 30
# With fewer, nothing can be shown; with more, more is a matter of patience: --thorough.
FEWEST, MOST = 100, 2000


class Watch:
    """Whoever wants to know how far an audit is: this one does not care."""

    def begin(self, runs: int, kept: int) -> None:
        """Hear how many runs there will be, and how many findings there are already."""

    def say(self, text: str) -> None:
        """Hear what the audit can show."""

    def complain(self, text: str) -> None:
        """Hear that something was wrong with what was kept."""

    def advance(self, runs: int) -> None:
        """Hear how many more runs are done."""

    def finished(self, algorithm: str, epsilon: float, findings: Sequence[Finding]) -> None:
        """Hear what was found of an algorithm at one epsilon."""


def audit_algorithm(
    name: str,
    epsilon: float,
    *,
    runs: int = 2000,
    canaries: Sequence[str] | None = None,
    every: bool = False,
    parameters: Mapping[str, Any] | None = None,
    confidence: float | None = None,
    processes: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Put one algorithm through every audit.

    Parameters
    ----------
    name : str
        As in the registry.
    epsilon : float
        The claim. Algorithms that need it are given a delta of 1e-6.
    runs : int
        Runs on each table, a canary.
    canaries : sequence of str, optional
        Those that are about the algorithm (:mod:`shoal.audit.relevance`), if not given.
    every : bool
        Take all that it can be tried on instead.
    parameters : mapping, optional
        Further parameters of the estimator.
    confidence : float, optional
        With which a lower bound holds; if not given, all of this report hold together with 0.999.
    processes : int, optional
        Spawned processes; all cores if not given. In a script, keep the ``__main__`` guard.
    seed : int, optional
        To repeat the audit. A release is never seeded, so audit without one to be sure of it.
    progress : callable, optional
        Called with the number of runs done since the last call.

    Examples
    --------
    >>> report = audit_algorithm("lloyd", 1.0, runs=20, canaries=["empty"], processes=1, seed=0)
    >>> report.passed, [finding.audit for finding in report.findings]
    (True, ['black box', 'exact', 'law', 'replay', 'contents'])
    """
    pairs = cases_for(name, epsilon, canaries, every=every)
    sure = confidence or together(len(pairs))
    subject = Subject(name, epsilon, parameters or {}, seed)
    with workers(processes) as pool:
        jobs = subject.jobs(pairs, _exactly(name, epsilon, canaries), runs, sure, pool, progress)
        found = tuple(_timed(job.find) for job in jobs)
    return Report(found, runs, sure)


def audit_all(
    *,
    algorithms: Iterable[str] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    runs: int | None = 20_000,
    canaries: Sequence[str] | None = None,
    every: bool = False,
    processes: int | None = None,
    seed: int | None = None,
    results: Path | None = None,
    fresh: Iterable[str] = (),
    watch: Watch | None = None,
) -> Report:
    """Put every algorithm through every audit, and the gate's noise as well.

    Other parameters are those of :func:`audit_algorithm`.

    Parameters
    ----------
    algorithms : iterable of str, optional
        Every algorithm, synopsis and step if not given (:data:`shoal.audit.audited.AUDITED`).
    runs : int, optional
        Runs on each table, a canary. None: as many as can be made in about a minute, here and now.
    results : Path, optional
        A file to keep findings in. Those that it has for as many runs are not made again, so an audit that
        was interrupted goes on; findings of controls that it has come into the report.
    fresh : iterable of str
        Algorithms to forget the findings of, because they were changed.
    watch : Watch, optional
        Who is told how far it is.
    """
    # Ours come last: they change most, and what is found of the others is kept.
    names = list(reversed(AUDITED)) if algorithms is None else list(algorithms)
    cases = [(n, e, cases_for(n, e, canaries, every=every)) for n in names for e in epsilons]
    sure, watching = together(sum(len(pairs) for *_, pairs in cases)), watch or Watch()
    hurry = runs is None
    runs = runs or runs_in_a_minute(cases, processes)
    watching.say(power_of(runs, sure, epsilons))
    kept = Kept(results, runs, sure)
    if kept.complaint:
        watching.complain(kept.complaint)
    kept.forget(fresh)
    with workers(processes) as pool:
        jobs = [job for epsilon in epsilons for job in noise_jobs(epsilon, hurry=hurry)]
        for name, epsilon, pairs in cases:
            subject = Subject(name, epsilon, {}, seed)
            exactly = _exactly(name, epsilon, canaries)
            jobs += subject.jobs(pairs, exactly, runs, sure, pool, watching.advance)
        found = list(_work(jobs, kept, watching))
    place = {name: i for i, name in enumerate(AUDITED)}
    found.sort(key=lambda finding: place.get(finding.algorithm, -1))
    found += kept.controls()
    return Report(tuple(found), runs, sure, kept.facts_of(found))


def _work(jobs: Sequence[Job], kept: Kept, watch: Watch) -> Iterator[Finding]:
    """Do what is not done yet, and keep every finding as it comes."""

    def known(job: Job) -> Finding | None:
        return kept.get(job.algorithm, job.epsilon, job.audit, job.case)

    todo = [job for job in jobs if known(job) is None]
    watch.begin(sum(job.runs for job in todo), len(jobs) - len(todo))
    for (name, epsilon), group in groupby(jobs, key=lambda job: (job.algorithm, job.epsilon)):
        found, anything_new = [], False
        for job in group:
            finding = known(job)
            if finding is None:
                finding, anything_new = _timed(job.find), True
                kept.add(finding)
            found.append(finding)
        if anything_new:
            watch.finished(name, epsilon, found)
        yield from found


def runs_in_a_minute(
    cases: Sequence[tuple[str, float, Sequence[Canary]]], processes: int | None = None
) -> int:
    """Try every case a few times, and return how many runs on each table fit in about a minute.

    Parameters
    ----------
    cases : sequence of (str, float, sequence of Canary)
        Names, epsilons and the pairs of each.
    processes : int, optional
        Processes that they will be made in; all cores if not given.
    """
    seconds = 0.0
    for name, epsilon, pairs in cases:
        subject = Subject(name, epsilon, {}, None)
        delta = subject.delta()  # which also loads the code
        for pair in pairs:
            fit = Fit(subject.estimator(pair, delta))
            look(fit, pair.D, None, {})
            start = time.perf_counter()
            for table in (pair.D, pair.D_prime):
                look(fit, table, None, {})
            seconds += time.perf_counter() - start
    fitting = BLACK_BOX_SECONDS * (processes or available_cores()) / max(seconds, 1e-9)
    return max(FEWEST, min(MOST, int(fitting) // FEWEST * FEWEST))


def power_of(runs: int, confidence: float, epsilons: Sequence[float]) -> str:
    """Say what a number of runs can show at most.

    Examples
    --------
    >>> power_of(400, 0.9999, [1.0])
    '400 runs on each table: a leak shows up to an epsilon of 2.98, with confidence 0.9999'
    >>> power_of(20, 0.9999, [1.0, 3.0])
    '20 runs on each table: none can show an epsilon above 3: make more (--thorough)'
    """
    most, so_many = epsilon_resolved(runs, confidence), f"{runs:,} runs on each table"
    if most <= max(epsilons):
        return f"{so_many}: none can show an epsilon above {max(epsilons):g}: make more (--thorough)"
    return f"{so_many}: a leak shows up to an epsilon of {most:.2f}, with confidence {confidence:.7g}"


def together(cases: int) -> float:
    """Return the confidence that each bound of a number of cases needs for all to hold together.

    In whole nines, so that one case more or less does not make all that was found before worthless.

    Examples
    --------
    >>> [round(together(n), 8) for n in (1, 10, 11, 500)]
    [0.999, 0.9999, 0.99999, 0.999999]
    """
    error = (1 - CONFIDENCE) / max(1, cases)
    return 1 - 10.0 ** math.floor(math.log10(error) + 1e-9)


def cases_for(
    name: str, epsilon: float, canaries: Sequence[str] | None = None, *, every: bool = False
) -> list[Canary]:
    """Return the canaries that an algorithm is to be told apart on: the named, the relevant, or every one."""
    wanted = canaries or (tuple(CANARIES) if every else relevant(name))
    knows = set(estimator_of(name)._parameter_names())
    return [pair for which in wanted if knows.issuperset((pair := canary(which, epsilon)).needs)]


def _exactly(name: str, epsilon: float, canaries: Sequence[str] | None) -> list[Canary]:
    # One run on each will do, so there is no need to choose.
    return cases_for(name, epsilon, canaries, every=True)


def noise_jobs(epsilon: float, *, hurry: bool = False) -> Iterator[Job]:
    """Audit the gate's noise by itself: enumerated on a tiny lattice, and drawn on the real one.

    In a hurry a tenth is drawn.
    """
    for currency in ("epsilon", "rho"):
        case = f"all laws enumerated, {currency}"
        yield Job(THE_GATE, epsilon, "exact", case, partial(_enumerated, epsilon, case, currency))
    yield Job(THE_GATE, epsilon, "law", "all samplers", partial(_sampled, epsilon, "all samplers", hurry))


def _enumerated(epsilon: float, case: str, currency: str) -> Finding:
    some = [loss for loss in _losses(epsilon) if loss.currency == currency]
    worst, held = max(some, key=lambda loss: loss.true / loss.charged), all(loss.passed for loss in some)
    text = f"{worst} (the sharpest of {len(some)})"
    return Finding(THE_GATE, epsilon, "exact", case, held, text, worst.true, worst.charged, currency)


@lru_cache(maxsize=1)
def _losses(epsilon: float) -> tuple[ExactLoss, ...]:
    return (*audit_laws_exactly(epsilon), *choices_exactly(epsilon))


def _sampled(epsilon: float, case: str, hurry: bool) -> Finding:
    noise, choices, filtered = _HURRIED if hurry else _DRAWN
    laws = [
        *audit_samplers(epsilon, draws=noise),
        *audit_choosers(epsilon, draws=choices),
        audit_filter(Fraction(str(epsilon)), draws=filtered),
    ]
    odd = min(laws, key=lambda law: law.worst.p_value)
    held, text = all(law.passed for law in laws), f"the oddest of {len(laws)} {odd}"
    return Finding(THE_GATE, epsilon, "law", case, held, text)


def _timed(find: Callable[[], Finding]) -> Finding:
    start = time.perf_counter()
    return replace(find(), seconds=time.perf_counter() - start)
