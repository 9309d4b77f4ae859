"""Every audit, on one algorithm or on all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

import shoal
from shoal.accounting import budget_of
from shoal.algorithms import REGISTRY, lookup
from shoal.audit.canaries import BOUNDS, CANARIES, SMALL, Canary, canary
from shoal.audit.choices import audit_choosers, choices_exactly
from shoal.audit.contents import audit_model_contents
from shoal.audit.distinguish import audit
from shoal.audit.exact import audit_laws_exactly
from shoal.audit.filters import audit_filter
from shoal.audit.gate import audit_answers
from shoal.audit.laws import audit_samplers
from shoal.audit.pairs import pair_loss
from shoal.audit.replay import audit_replay
from shoal.audit.report import Finding, Report, claims_only
from shoal.audit.runs import workers
from shoal.audit.sights import Fit
from shoal.errors import InvalidBudget, InvalidInput

EPSILONS = (0.5, 1.0, 3.0)
DELTA = 1e-6
# All lower bounds of a report hold together with this confidence.
CONFIDENCE = 0.999
THE_GATE = "the gate's noise"
# With so many, a mean over blocks has so little noise that no clamp cuts it off.
MANY_BLOCKS = 10_000
# Parameters that make an algorithm ask a question which it does not come to by itself on a small table.
OTHER_WAYS: dict[str, dict[str, Any]] = {"grid": {"resolution": 2500}}

Progress = Callable[[int], None]


def audit_algorithm(
    name: str,
    epsilon: float,
    *,
    runs: int = 2000,
    canaries: Sequence[str] | None = None,
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
        All that the algorithm can be tried on, if not given.
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
    pairs = cases_for(name, epsilon, canaries)
    sure = confidence or together(len(pairs))
    with workers(processes) as pool:
        subject = Subject(name, epsilon, parameters or {}, seed)
        found = tuple(subject.all(pairs, runs, sure, pool, progress))
    return Report(found, runs, sure)


def audit_all(
    *,
    algorithms: Iterable[str] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    runs: int = 20_000,
    canaries: Sequence[str] | None = None,
    processes: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Put every algorithm through every audit, and the gate's noise as well.

    Parameters are those of :func:`audit_algorithm`; all algorithms of the registry if none are named.
    """
    names = list(REGISTRY) if algorithms is None else list(algorithms)
    plan = [(name, epsilon, cases_for(name, epsilon, canaries)) for name in names for epsilon in epsilons]
    sure = together(sum(len(pairs) for *_, pairs in plan))
    found = [finding for epsilon in epsilons for finding in audit_noise(epsilon)]
    with workers(processes) as pool:
        for name, epsilon, pairs in plan:
            found += Subject(name, epsilon, {}, seed).all(pairs, runs, sure, pool, progress)
    return Report(tuple(found), runs, sure)


def together(cases: int) -> float:
    """Return the confidence of each of so many bounds with which all hold together.

    Examples
    --------
    >>> round(together(10), 6)
    0.9999
    """
    return 1 - (1 - CONFIDENCE) / max(1, cases)


def cases_for(name: str, epsilon: float, canaries: Sequence[str] | None = None) -> list[Canary]:
    """Return the canaries that an algorithm's estimator can be tried on."""
    knows = set(_estimator(name)._get_param_names())
    pairs = [canary(which, epsilon) for which in (CANARIES if canaries is None else canaries)]
    return [pair for pair in pairs if knows.issuperset(pair.needs)]


def audit_noise(epsilon: float) -> Iterator[Finding]:
    """Audit the gate's noise by itself: enumerated on a tiny lattice, and drawn on the real one."""
    losses = [*audit_laws_exactly(epsilon), *choices_exactly(epsilon)]
    for currency in ("epsilon", "rho"):
        some = [loss for loss in losses if loss.currency == currency]
        worst = max(some, key=lambda loss: loss.true / loss.charged)
        case, held = f"{len(some)} laws enumerated", all(loss.passed for loss in some)
        yield Finding(THE_GATE, epsilon, "exact", case, held, str(worst), worst.true, worst.charged, currency)
    laws = [*audit_samplers(epsilon), *audit_choosers(epsilon), audit_filter(Fraction(str(epsilon)))]
    odd = min(laws, key=lambda law: law.worst.p_value)
    case, held = f"{len(laws)} samplers", all(law.passed for law in laws)
    yield Finding(THE_GATE, epsilon, "law", case, held, f"the oddest {odd}")


@dataclass(frozen=True)
class Subject:
    """An algorithm at one epsilon, with everything that can be tried on it."""

    name: str
    epsilon: float
    parameters: Mapping[str, Any]
    seed: int | None

    def all(
        self,
        pairs: Sequence[Canary],
        runs: int,
        confidence: float,
        pool: Executor | None,
        progress: Progress | None,
    ) -> Iterator[Finding]:
        """Give the findings of all audits, one after the other."""
        delta = self.delta()
        for pair in pairs:
            yield _timed(partial(self.black_box, pair, delta, runs, confidence, pool, progress))
        if pairs:
            yield _timed(lambda: self.exact(pairs, delta))
        plain = self.estimator(canary("corner"), delta, n_clusters=2)
        yield _timed(lambda: self.law(plain, fits=min(400, max(100, runs // 10))))
        yield _timed(lambda: self.replay(plain))
        yield _timed(lambda: self.contents(plain))
        if (other := OTHER_WAYS.get(self.name, self.parameters)) != self.parameters:
            asked = replace(self, parameters={**self.parameters, **other})
            yield _timed(lambda: asked.exact(pairs or [canary("corner")], delta))
            yield _timed(lambda: asked.replay(asked.estimator(canary("corner"), delta, n_clusters=2)))

    def black_box(
        self,
        pair: Canary,
        delta: float,
        runs: int,
        confidence: float,
        pool: Executor | None = None,
        progress: Progress | None = None,
    ) -> Finding:
        """Try to tell a pair apart."""
        found = audit(
            self.estimator(pair, delta),
            pair.D,
            pair.D_prime,
            self.epsilon,
            delta=delta,
            runs=runs,
            confidence=confidence,
            seed=self.seed,
            pool=pool,
            progress=progress,
        )
        return self._finding("black box", pair.name, found.passed, found, found.epsilon_lower, self.epsilon)

    def exact(self, pairs: Sequence[Canary], delta: float) -> Finding:
        """Compute what the questions of one run lose on each pair."""
        losses, amount = {}, 0.0
        for pair in pairs:
            release = Fit(self.estimator(pair, delta)).quietly(pair.D, self.seed).release_
            losses[pair.name] = pair_loss(release.transcript, pair.D, pair.D_prime, release.domain)
            amount = float(release.transcript.budget.amount)
        where, worst = max(losses.items(), key=lambda found: found[1].true)
        held = all(replace(loss, charged=min(loss.charged, amount)).passed for loss in losses.values())
        text = f"{worst} ({where}, the sharpest of {len(pairs)})"
        return self._finding(
            "exact", f"{len(pairs)} canaries", held, text, worst.true, amount, worst.currency
        )

    def law(self, model: Any, fits: int) -> Finding:
        """Test the noise in the algorithm's answers."""
        if "blocks" in model.get_params():
            model = clone(model).set_params(blocks=MANY_BLOCKS)
        try:
            found = audit_answers(model, 2, fits=fits, seed=self.seed)
        except InvalidInput as error:
            return self._finding("law", "no additive noise", True, error)
        values = found.measured, found.charged, found.currency
        return self._finding("law", f"{found.draws} draws", found.passed, found, *values)

    def replay(self, model: Any) -> Finding:
        """Repeat a run without its rows."""
        rows = np.random.default_rng(0).uniform(*BOUNDS, (80, 2))
        found = audit_replay(model, rows, self.seed)
        return self._finding("replay", "a run without its rows", found.passed, found)

    def contents(self, model: Any) -> Finding:
        """Search a fitted model."""
        found = audit_model_contents(model, seed=self.seed)
        return self._finding("contents", "pickle, texts, certificate", found.passed, found)

    def estimator(self, pair: Canary, delta: float, **more: Any) -> Any:
        """Make the estimator as sharp as a canary wants it."""
        cls = _estimator(self.name)
        # What is there as published may be tried as well: that it is caught shows that the audit works.
        row = {**dict(lookup(self.name).parameters), "allow_unproven": claims_only(self.name)}
        wanted = {**pair.parameters(self.epsilon), "delta": delta, **row, **self.parameters, **more}
        model = cls(**{key: value for key, value in wanted.items() if key in cls._get_param_names()})
        if wanted.get("max_iter") == "auto" and not _takes_auto(model):
            model.set_params(max_iter=SMALL["max_iter"])
        return model

    def delta(self) -> float:
        """Return 0, or a small delta where the algorithm is not made for pure budgets."""
        try:
            Fit(self.estimator(canary("empty"), 0.0)).quietly(np.zeros((0, 2)))
        except InvalidBudget:
            return DELTA
        return 0.0

    def _finding(self, audit: str, case: str, passed: bool, detail: object, *values: Any) -> Finding:
        how = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return Finding(self.name, self.epsilon, audit, case + how, passed, str(detail), *values)


def _timed(find: Callable[[], Finding]) -> Finding:
    start = time.perf_counter()
    return replace(find(), seconds=time.perf_counter() - start)


def _takes_auto(model: Any) -> bool:
    # Whether an algorithm chooses its own number of rounds is its own affair.
    try:
        model._algorithm(budget_of(model.epsilon, model.delta))
    except InvalidInput:
        return False
    return True


def _estimator(name: str) -> Any:
    return getattr(shoal, lookup(name).estimator)
