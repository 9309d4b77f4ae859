"""The black-box test: try to tell two neighbouring tables apart better than the claim allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.accounting import budget_of
from shoal.audit.columns import columns_of
from shoal.audit.events import Scores, choose
from shoal.audit.observations import RAISED, Fit, Statistics
from shoal.audit.runs import Mechanism, Runs, collect, workers
from shoal.errors import InvalidInput

# On each table: half of them choose an event, and the others must show it.
FEWEST_RUNS = 20
# Confidence by which events are chosen: that of many bounds at once, so that rare events are not preferred.
STRICT = 1 - 1e-6


@dataclass(frozen=True)
class Audit:
    """What a black-box test found.

    Parameters
    ----------
    epsilon_lower : float
        With the stated confidence, the mechanism's true epsilon for this pair is at least this.
    epsilon_claimed, delta : float
        What it is said to be.
    event : str
        The event that was tested, in words.
    hits : tuple of int
        In how many of the tested runs it came up: on the table where it is likelier, and on the other.
    tested : int
        Runs on each table that the event was tested on; it was chosen on as many others.
    confidence : float
        The probability with which the lower bound holds.
    seconds_per_run : float
        Wall time over all runs.
    """

    epsilon_lower: float
    epsilon_claimed: float
    delta: float
    event: str
    hits: tuple[int, int]
    tested: int
    confidence: float
    seconds_per_run: float

    @property
    def passed(self) -> bool:
        """Whether no leak was detected. That is not a proof that there is none."""
        return self.epsilon_lower <= self.epsilon_claimed

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        word = "not detected" if self.passed else "leaks"
        return f"{word}: lower bound {self.epsilon_lower:.2f}, claimed {self.epsilon_claimed:g}"

    def __str__(self) -> str:
        likelier, other = self.hits
        return (
            f"{self.verdict} ({self.event}: {likelier} against {other} of {self.tested} runs, "
            f"confidence {self.confidence:.7g})"
        )


def audit(
    mechanism: Any,
    D: Any,
    D_prime: Any,
    epsilon: float,
    *,
    delta: float = 0.0,
    runs: int = 2000,
    confidence: float = 0.95,
    statistics: Statistics | None = None,
    processes: int | None = 1,
    seed: int | None = None,
    pool: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Try to tell two neighbouring tables apart by what a mechanism does with them.

    The mechanism is run many times on each table. On one half of the runs the most telling event is chosen:
    a threshold on, or an exact value of, any number in the output (as it comes, sorted, summed, its lowest
    bit, or a learned combination of all), its shape, an exception, or a text that was logged, printed or
    warned of. On the other half that single event is tested, so its bound holds however it was chosen.

    Parameters
    ----------
    mechanism : callable or estimator
        ``mechanism(table)`` returns anything, or raises; an estimator is fitted.
    D, D_prime : table
        Two tables that the claim calls neighbours.
    epsilon, delta : float
        The claim.
    runs : int
        How often to run on each table. 2,000 find gross leaks; 200,000 resolve an epsilon of 1 to about 0.05.
    confidence : float
        With which the lower bound holds.
    statistics : mapping of str to callable, optional
        More to look at: functions of the output, by name.
    processes : int, optional
        Spawned processes, None for all cores; 1 runs here. Others need a mechanism that can be pickled, and
        in a script the ``if __name__ == "__main__":`` guard.
    seed : int, optional
        To repeat an audit: then ``mechanism(table, seed_of_the_run)`` is called.
    pool : Executor, optional
        Processes to use again, instead of starting new ones.
    progress : callable, optional
        Called with the number of runs done since the last call.

    Returns
    -------
    Audit
        With `passed`, `epsilon_lower`, `epsilon_claimed` and the event.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.audit import audit
    >>> def noisy_count(table, seed):
    ...     return len(table) + np.random.default_rng(seed).laplace(scale=0.2)
    >>> result = audit(noisy_count, np.zeros((9, 1)), np.zeros((10, 1)), epsilon=1.0, seed=0)
    >>> result.passed
    False
    >>> print(result.verdict)
    leaks: lower bound 3..., claimed 1
    """
    budget_of(epsilon, delta)
    if runs < FEWEST_RUNS:
        raise InvalidInput(f"runs is {runs!r}; at least {FEWEST_RUNS} are needed to show anything")
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence is {confidence!r}; it must lie between 0 and 1, as 0.95 does")
    start = time.perf_counter()
    with workers(processes, pool) as crew:
        both = collect(
            _callable(mechanism),
            (D, D_prime),
            runs,
            seed=seed,
            statistics=statistics,
            pool=crew,
            progress=progress,
        )
    seconds = (time.perf_counter() - start) / (2 * runs)
    _check_it_ran(both)
    return judge(*both, epsilon, delta=delta, confidence=confidence, seconds_per_run=seconds)


def judge(
    here: Runs, there: Runs, epsilon: float, *, delta: float, confidence: float, seconds_per_run: float
) -> Audit:
    """Choose an event on the first half of the runs and test it on the second."""
    half = here.n // 2
    columns = [column for column in columns_of(here, there, learn_from=half // 2) if column.varies]
    # So many events are tried that a lucky one would win: those that would pass a strict test are not lucky.
    event = choose(columns, half, Scores(half, delta, max(confidence, STRICT)))
    tested = here.n - half
    hits, lower, words = (0, 0), 0.0, "no run differed from another"
    if event is not None:
        hits = event.hits(half)
        bound = Scores(tested, delta, confidence)(*(np.array([h]) for h in hits))
        lower = max(0.0, float(bound[0]))
        where = "the first table" if event.here_first else "the second table"
        words = f"{event.describe({**here.texts, **there.texts})}, likelier on {where}"
    return Audit(lower, float(epsilon), float(delta), words, hits, tested, confidence, seconds_per_run)


def _callable(mechanism: Any) -> Mechanism:
    if hasattr(mechanism, "fit") and not callable(mechanism):
        return Fit(mechanism)
    if not callable(mechanism):
        raise InvalidInput(f"the mechanism is {mechanism!r}; pass a function of a table, or an estimator")
    made: Mechanism = mechanism
    return made


def _check_it_ran(both: tuple[Runs, Runs]) -> None:
    # Raising on one table only is a leak; raising always means that nothing was audited.
    layouts = [layout for runs in both for layout in runs.layouts]
    if all(any(part.path == RAISED for part in layout) for layout in layouts):
        errors = [text for text in both[0].texts.values() if ": " in text]
        raise InvalidInput(f"the mechanism raised in every run, so nothing was audited: {errors[0]}")


def epsilon_resolved(runs: int, confidence: float = 0.95) -> float:
    """Return the largest lower bound that a number of runs can prove: that of an event seen always and never.

    Examples
    --------
    >>> round(epsilon_resolved(2000), 1)
    5.6
    """
    half = runs - runs // 2
    return float(Scores(half, 0.0, confidence)(np.array([half]), np.array([0]))[0]) if half else -math.inf
