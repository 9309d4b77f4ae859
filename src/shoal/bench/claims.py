"""What papers claim, as values that can be judged on results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shoal.bench.results import Results, Summary
from shoal.reporting.store import Record

Outcome: TypeAlias = Literal[
    "holds", "in part", "does not hold", "depends on what the paper leaves open", "not run"
]

# A claim about most cells does not hold where more than this share of them is surely the other way.
_SURELY_AGAINST = 0.2


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and why."""

    outcome: Outcome
    why: str


@dataclass(frozen=True)
class Claim:
    """A published statement and how to check it.

    Parameters
    ----------
    text : str
        What the paper says.
    needs : tuple of str
        Labels of the methods that must have results.
    check : callable
        Judges the results.
    otherwise : (str, tuple of str, callable), optional
        Another reading of what the paper leaves open: what it is, labels of the methods that it needs, and
        how it is judged. Where the two come out differently, the verdict says so.
    reading : str
        What the first reading is, where there is another.

    Examples
    --------
    >>> Claim("a beats b", ("a", "b"), better("a", "b")).judge(Results([]))
    Verdict(outcome='not run', why='no results of a, b')
    """

    text: str
    needs: tuple[str, ...]
    check: Callable[[Results], Verdict]
    otherwise: tuple[str, tuple[str, ...], Callable[[Results], Verdict]] | None = None
    reading: str = ""

    def judge(self, results: Results) -> Verdict:
        """Return the verdict on some results."""
        first = _judged(self.needs, self.check, results)
        if self.otherwise is None:
            return first
        reading, needs, check = self.otherwise
        other = _judged(needs, check, results)
        told = f"{self.reading}: {first.outcome} ({first.why}); {reading}: {other.outcome} ({other.why})"
        if "not run" in (first.outcome, other.outcome) or first.outcome == other.outcome:
            return Verdict(first.outcome if other.outcome != "not run" else other.outcome, told)
        return Verdict("depends on what the paper leaves open", told)

    @property
    def methods(self) -> tuple[str, ...]:
        """Labels of all methods that it is about."""
        return self.needs if self.otherwise is None else (*self.needs, *self.otherwise[1])


def _judged(needs: tuple[str, ...], check: Callable[[Results], Verdict], results: Results) -> Verdict:
    absent = [label for label in needs if not len(results.where(method=label))]
    return Verdict("not run", f"no results of {', '.join(absent)}") if absent else check(results)


@dataclass(frozen=True)
class Where:
    """Which cells of a figure a claim is about: one for each table and value of what is varied.

    Parameters
    ----------
    data : tuple of str
        Which tables; all if empty.
    x : (float, float)
        From and to which value of what is varied.
    but : (str, float)
        A table that the claim leaves out below a value.
    given : callable, optional
        Says by the facts of a run (rows, columns, k, epsilon) whether its cell counts.
    """

    data: tuple[str, ...] = ()
    x: tuple[float, float] = (0.0, math.inf)
    but: tuple[str, float] = ("", 0.0)
    given: Callable[[Record], bool] | None = None

    def pairs(self, results: Results, a: str, b: str, metric: str) -> list[tuple[Summary, Summary]]:
        """Return the results of two methods in every cell that counts and has both."""
        return [(one, other) for _, one, other in self.named_pairs(results, a, b, metric)]

    def named_pairs(
        self, results: Results, a: str, b: str, metric: str
    ) -> list[tuple[str, Summary, Summary]]:
        """Return the same, each with the name of its table."""
        found = []
        for series, at, cell in results.cells():
            left_out = series == self.but[0] and at < self.but[1]
            if (self.data and series not in self.data) or not self.x[0] <= at <= self.x[1] or left_out:
                continue
            if self.given is not None and not self.given(cell.records[0]):
                continue
            one, other = (cell.where(method=label).summary(metric) for label in (a, b))
            if one is not None and other is not None:
                found.append((series, one, other))
        return found


def better(
    a: str, b: str, *, metric: str = "nicv", share: float = 0.5, **where: Any
) -> Callable[[Results], Verdict]:
    """Check that the mean of `a` is below that of `b` in more than a share of the cells.

    It holds where that is so, more than a fifth of the cells is surely this way, by two standard errors, and
    no more than a fifth is surely the other way. It does not hold where it is not so and no more than a
    fifth is surely this way. Else it holds in part: in some cells, or too close to tell in most.

    Parameters
    ----------
    a, b : str
        Labels of methods.
    metric : str
        What is compared.
    share : float
        More than this share of the cells must agree.
    **where
        As in :class:`Where`.
    """

    def check(results: Results) -> Verdict:
        named = Where(**where).named_pairs(results, a, b, metric)
        if not named:
            return Verdict("not run", f"no table has results of both {a} and {b}")
        pairs = [(one, other) for _, one, other in named]
        wins = sum(one.mean < other.mean for one, other in pairs)
        why = f"{a} is lower in {wins} of {len(pairs)} cells ({_ratios(pairs)})"
        return _by_cells(named, wins > share * len(pairs), why)

    return check


def _by_cells(named: list[tuple[str, Summary, Summary]], mostly: bool, why: str) -> Verdict:
    """Judge by what is sure: cells for, against, and undecided."""
    signs = [_sure(one, other) for _, one, other in named]
    if all(sign is None for sign in signs):  # one run each: nothing is sure
        return Verdict("holds" if mostly else "does not hold", why)
    most = _SURELY_AGAINST * len(named)
    against, agree = signs.count(1), signs.count(-1)
    if mostly and against <= most:
        if agree > most:
            return Verdict("holds", why)
        return Verdict("in part", f"{why}; too close to tell in most cells")
    if agree <= most:
        return Verdict("does not hold", why)
    tables = dict.fromkeys(series for series, _, _ in named)
    where = [
        f"{series} {agreed} for, {opposed} against"
        for series in tables
        if (agreed := sum(s == -1 for (name, *_), s in zip(named, signs, strict=True) if name == series))
        + (opposed := sum(s == 1 for (name, *_), s in zip(named, signs, strict=True) if name == series))
    ]
    return Verdict("in part", f"{why}; surely: {'; '.join(where)}")


def no_worse(a: str, b: str, *, metric: str = "nicv", **where: Any) -> Callable[[Results], Verdict]:
    """Check that `a` is nowhere above `b` by more than two standard errors, but for one cell in ten."""

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not any(_sure(one, other) is not None for one, other in pairs):
            return Verdict("not run", f"no table has several runs of both {a} and {b}")
        worse = sum(_sure(one, other) == 1 for one, other in pairs)
        outcome: Outcome = "holds" if worse <= 0.1 * len(pairs) else "does not hold"
        return Verdict(outcome, f"{a} against {b} in {len(pairs)} cells: {_ratios(pairs)}")

    return check


def near(
    a: str, b: str, factor: float, *, metric: str = "nicv", **where: Any
) -> Callable[[Results], Verdict]:
    """Check that two methods are within a factor of each other, in the median over the cells."""

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not pairs:
            return Verdict("not run", f"no table has results of both {a} and {b}")
        middle = float(np.median([one.mean / other.mean for one, other in pairs]))
        outcome: Outcome = "holds" if 1 / factor <= middle <= factor else "does not hold"
        return Verdict(outcome, f"{a} against {b} in {len(pairs)} cells: {_ratios(pairs)}")

    return check


def _sure(one: Summary, other: Summary) -> int | None:
    """Return -1 or 1 where the first is lower or higher by two standard errors, else 0; None for one run."""
    error = math.hypot(one.se, other.se)
    if math.isnan(error):
        return None
    gap = one.mean - other.mean
    return 0 if abs(gap) <= 2 * error else (1 if gap > 0 else -1)


def _often_against(pairs: list[tuple[Summary, Summary]]) -> bool:
    return sum(_sure(one, other) == 1 for one, other in pairs) > _SURELY_AGAINST * len(pairs)


def _ratios(pairs: list[tuple[Summary, Summary]]) -> str:
    ratios = [one.mean / other.mean if other.mean else math.inf for one, other in pairs]
    signs = [_sure(one, other) for one, other in pairs]
    text = f"median ratio {np.median(ratios):.3g}"
    if any(sign is not None for sign in signs):
        text += f"; surely lower in {signs.count(-1)}, surely higher in {signs.count(1)}"
        text += f", undecided in {len(signs) - signs.count(-1) - signs.count(1)}"
    return text


def order(labels: tuple[str, ...], *, metric: str = "nicv") -> Callable[[Results], Verdict]:
    """Check that methods come in this order, best first, by the geometric mean over all cells.

    It holds in part where neighbours in the order are surely the other way round in more than a fifth of
    the cells, or where some neighbours are in order and others are not.
    """

    def check(results: Results) -> Verdict:
        logs: dict[str, list[float]] = {label: [] for label in labels}
        for _, _, cell in results.cells():
            means = {label: cell.where(method=label).mean(metric) for label in labels}
            if all(mean > 0 for mean in means.values()):  # False for NaN: only cells that all have
                for label, mean in means.items():
                    logs[label].append(math.log(mean))
        if not logs[labels[0]]:
            return Verdict("not run", "no table has results of all of them")
        scores = {label: math.exp(float(np.mean(values))) for label, values in logs.items()}
        found = sorted(scores, key=lambda label: scores[label])
        told = [f"{label} {scores[label]:.3g}" for label in found]
        for i, (one, other) in enumerate(itertools.pairwise(found)):
            signs = [_sure(*pair) for pair in Where().pairs(results, one, other, metric)]
            if any(sign is not None for sign in signs):
                told[i] += (
                    f" (surely below the next in {signs.count(-1)} of {len(signs)} cells, above in "
                    f"{signs.count(1)})"
                )
        why = "best first: " + ", ".join(told)
        right = [
            (a, b)
            for a, b in itertools.pairwise(labels)
            if scores[a] < scores[b] and not _often_against(Where().pairs(results, a, b, metric))
        ]
        if len(right) == len(labels) - 1:
            return Verdict("holds", why)
        if not right:
            return Verdict("does not hold", why)
        return Verdict("in part", f"{why}; as claimed: {', '.join(f'{a} before {b}' for a, b in right)}")

    return check


def gain(
    a: str | dict[str, str],
    b: str,
    expected: dict[str, float],
    *,
    metric: str = "cost_gap",
    slack: float = 0.25,
) -> Callable[[Results], Verdict]:
    """Check how many times smaller `a`, which may be another method on each table, is than `b`."""

    def check(results: Results) -> Verdict:
        told, right = [], []
        for series, factor in expected.items():
            here, label = results.where(series=series), a if isinstance(a, str) else a[series]
            found = here.where(method=b).mean(metric) / here.where(method=label).mean(metric)
            if not math.isfinite(found):
                return Verdict("not run", f"no results on {series}")
            told.append(f"{series} {found:.2f} (claimed {factor:g})")
            right.append(found >= (1 - slack) * factor)
        outcome: Outcome = "holds" if all(right) else "in part" if any(right) else "does not hold"
        return Verdict(outcome, "gain: " + ", ".join(told))

    return check
