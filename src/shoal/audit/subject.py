"""One algorithm, synopsis or step at one epsilon, and every audit that can be tried on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from shoal.accounting import budget_of
from shoal.audit.audited import estimator_of, parameters_of
from shoal.audit.canaries import BOUNDS, SMALL, Canary, canary
from shoal.audit.contents import audit_model_contents
from shoal.audit.distinguish import audit
from shoal.audit.gate import audit_answers
from shoal.audit.observations import Fit
from shoal.audit.pairs import pair_loss
from shoal.audit.recorded import recorded
from shoal.audit.replay import audit_replay
from shoal.audit.report import Finding, claims_only
from shoal.errors import InvalidBudget, InvalidInput

DELTA = 1e-6
# Blocks: at epsilon 1 the noise of their mean is under a thousandth of the range: no clamp cuts it off.
MANY_BLOCKS = 10_000
# Parameters that make an algorithm ask a question which it does not come to by itself on a small table.
OTHER_WAYS: dict[str, dict[str, Any]] = {"grid": {"resolution": 2500}}

NOISE, REPLAYED, SEARCHED = "noise in its answers", "a run without its rows", "pickle, texts, certificate"

Progress: TypeAlias = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """A finding that is yet to be made: what it will be called, and how many runs it takes."""

    algorithm: str
    epsilon: float
    audit: str
    case: str
    find: Callable[[], Finding]
    runs: int = 0


@dataclass(frozen=True)
class Subject:
    """An algorithm at one epsilon, with everything that can be tried on it."""

    name: str
    epsilon: float
    parameters: Mapping[str, Any]
    seed: int | None

    def jobs(
        self,
        pairs: Sequence[Canary],
        exactly: Sequence[Canary],
        runs: int,
        confidence: float,
        pool: Executor | None,
        progress: Progress | None,
    ) -> Iterator[Job]:
        """Give all audits, to be done one after the other: `pairs` told apart, `exactly` computed."""
        delta = cache(self.delta)
        plain = cache(lambda: self.estimator(canary("corner"), delta(), n_clusters=2))
        for pair in pairs:
            tell = partial(self._tell, pair, delta, runs, confidence, pool, progress)
            yield self._job("black box", pair.name, tell, runs=2 * runs)
        if exactly:
            yield self._job("exact", canaries_tried(exactly), lambda: self.exact(exactly, delta()))
        yield self._job("law", NOISE, lambda: self.law(plain(), fits=min(400, max(100, runs // 10))))
        yield self._job("replay", REPLAYED, lambda: self.replay(plain()))
        yield self._job("contents", SEARCHED, lambda: self.contents(plain()))
        if (other := OTHER_WAYS.get(self.name, self.parameters)) != self.parameters:
            asked = replace(self, parameters={**self.parameters, **other})
            some = exactly or [canary("corner")]
            yield asked._job("exact", canaries_tried(some), lambda: asked.exact(some, delta()))
            model = partial(asked.estimator, canary("corner"), n_clusters=2)
            yield asked._job("replay", REPLAYED, lambda: asked.replay(model(delta=delta())))

    def _tell(self, pair: Canary, delta: Callable[[], float], *how: Any) -> Finding:
        return self.black_box(pair, delta(), *how)

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
            record = recorded(Fit(self.estimator(pair, delta)).quietly(pair.D, self.seed))
            _, domains = record.again()
            losses[pair.name] = pair_loss(record.transcript, pair.D, pair.D_prime, domains)
            amount = float(record.transcript.budget.amount)
        where, worst = max(losses.items(), key=lambda found: found[1].true)
        held = all(replace(loss, charged=min(loss.charged, amount)).passed for loss in losses.values())
        text = f"{worst} ({where}, the sharpest of {len(pairs)})"
        values = worst.true, amount, worst.currency
        return self._finding("exact", canaries_tried(pairs), held, text, *values)

    def law(self, model: Any, fits: int) -> Finding:
        """Test the noise in the algorithm's answers."""
        if "blocks" in model.get_params():
            model = clone(model).set_params(blocks=MANY_BLOCKS)
        try:
            found = audit_answers(model, 2, fits=fits, seed=self.seed)
        except InvalidInput as error:
            return self._finding("law", NOISE, True, error)
        values = found.measured, found.charged, found.currency
        return self._finding("law", NOISE, found.passed, found, *values)

    def replay(self, model: Any) -> Finding:
        """Repeat a run without its rows."""
        rows = np.random.default_rng(0).uniform(*BOUNDS, (80, 2))
        found = audit_replay(model, rows, self.seed)
        return self._finding("replay", REPLAYED, found.passed, found)

    def contents(self, model: Any) -> Finding:
        """Search a fitted model."""
        found = audit_model_contents(model, seed=self.seed)
        return self._finding("contents", SEARCHED, found.passed, found)

    def estimator(self, pair: Canary, delta: float, **more: Any) -> Any:
        """Make the estimator as sharp as a canary wants it."""
        cls = estimator_of(self.name)
        # What is there as published may be tried as well: that it is caught shows that the audit works.
        row = {**parameters_of(self.name), "allow_unproven": claims_only(self.name)}
        wanted = {**pair.parameters(self.epsilon), "delta": delta, **row, **self.parameters, **more}
        model = cls(**{key: value for key, value in wanted.items() if key in cls._parameter_names()})
        if getattr(model, "max_iter", None) == "auto" and not _takes_auto(model):
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
        return Finding(self.name, self.epsilon, audit, self._case(case), passed, str(detail), *values)

    def _job(self, audit: str, case: str, find: Callable[[], Finding], runs: int = 0) -> Job:
        return Job(self.name, self.epsilon, audit, self._case(case), find, runs)

    def _case(self, case: str) -> str:
        return case + "".join(f", {name}={value}" for name, value in self.parameters.items())


def canaries_tried(pairs: Sequence[Canary]) -> str:
    """Say how many canaries there were, or which one."""
    return pairs[0].name if len(pairs) == 1 else f"{len(pairs)} canaries"


def _takes_auto(model: Any) -> bool:
    # Whether an algorithm chooses its own number of rounds is its own affair.
    try:
        model._algorithm(budget_of(model.epsilon, model.delta))
    except InvalidInput:
        return False
    return True
