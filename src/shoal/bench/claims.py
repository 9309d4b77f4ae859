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

Outcome: TypeAlias = Literal["holds", "does not hold", "not testable here"]


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
    check : callable, optional
        Judges the results.
    untestable : str
        Why there is no check, where there is none.

    Examples
    --------
    >>> Claim("a beats b", ("a", "b"), better("a", "b")).judge(Results([]))
    Verdict(outcome='not testable here', why='no results of a, b')
    """

    text: str
    needs: tuple[str, ...] = ()
    check: Callable[[Results], Verdict] | None = None
    untestable: str = ""

    def judge(self, results: Results) -> Verdict:
        """Return the verdict on some results."""
        if self.check is None:
            return Verdict("not testable here", self.untestable)
        absent = [label for label in self.needs if not len(results.where(method=label))]
        if absent:
            return Verdict("not testable here", f"no results of {', '.join(absent)}")
        return self.check(results)


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
        found = []
        for series, at, cell in results.cells():
            left_out = series == self.but[0] and at < self.but[1]
            if (self.data and series not in self.data) or not self.x[0] <= at <= self.x[1] or left_out:
                continue
            if self.given is not None and not self.given(cell.records[0]):
                continue
            one, other = (cell.where(method=label).summary(metric) for label in (a, b))
            if one is not None and other is not None:
                found.append((one, other))
        return found


def better(
    a: str, b: str, *, metric: str = "nicv", share: float = 0.5, **where: Any
) -> Callable[[Results], Verdict]:
    """Check that the mean of `a` is below that of `b` in more than a share of the cells.

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
        pairs = Where(**where).pairs(results, a, b, metric)
        if not pairs:
            return Verdict("not testable here", f"no table has results of both {a} and {b}")
        wins = sum(one.mean < other.mean for one, other in pairs)
        why = f"{a} is lower in {wins} of {len(pairs)} cells ({_ratios(pairs)})"
        return Verdict("holds" if wins > share * len(pairs) else "does not hold", why)

    return check


def no_worse(a: str, b: str, *, metric: str = "nicv", **where: Any) -> Callable[[Results], Verdict]:
    """Check that `a` is nowhere above `b` by more than two standard errors, but for one cell in ten."""

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not any(_sure(one, other) is not None for one, other in pairs):
            return Verdict("not testable here", f"no table has several runs of both {a} and {b}")
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
            return Verdict("not testable here", f"no table has results of both {a} and {b}")
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


def _ratios(pairs: list[tuple[Summary, Summary]]) -> str:
    ratios = [one.mean / other.mean if other.mean else math.inf for one, other in pairs]
    signs = [_sure(one, other) for one, other in pairs]
    text = f"median ratio {np.median(ratios):.3g}"
    if any(sign is not None for sign in signs):
        text += f"; by two standard errors lower in {signs.count(-1)}, higher in {signs.count(1)}"
    return text


def order(labels: tuple[str, ...], *, metric: str = "nicv") -> Callable[[Results], Verdict]:
    """Check that methods come in this order, best first, by the geometric mean over all cells."""

    def check(results: Results) -> Verdict:
        logs: dict[str, list[float]] = {label: [] for label in labels}
        for _, _, cell in results.cells():
            means = {label: cell.where(method=label).mean(metric) for label in labels}
            if all(mean > 0 for mean in means.values()):  # False for NaN: only cells that all have
                for label, mean in means.items():
                    logs[label].append(math.log(mean))
        if not logs[labels[0]]:
            return Verdict("not testable here", "no table has results of all of them")
        scores = {label: math.exp(float(np.mean(values))) for label, values in logs.items()}
        found = sorted(scores, key=lambda label: scores[label])
        why = "best first: " + ", ".join(f"{label} {scores[label]:.3g}" for label in found)
        for one, other in itertools.pairwise(found):
            signs = [_sure(*pair) for pair in Where().pairs(results, one, other, metric)]
            if any(sign is not None for sign in signs):
                why += (
                    f"; by two standard errors {one} is below {other} in {signs.count(-1)} of {len(signs)} "
                )
                why += f"cells, above in {signs.count(1)}"
        return Verdict("holds" if tuple(found) == labels else "does not hold", why)

    return check


def gain(
    a: str, b: str, expected: dict[str, float], *, metric: str = "cost_gap", slack: float = 0.25
) -> Callable[[Results], Verdict]:
    """Check how many times smaller `a` is than `b` on each table, within a relative slack."""

    def check(results: Results) -> Verdict:
        told, holds = [], True
        for series, factor in expected.items():
            here = results.where(series=series)
            found = here.where(method=b).mean(metric) / here.where(method=a).mean(metric)
            if not math.isfinite(found):
                return Verdict("not testable here", f"no results on {series}")
            told.append(f"{series} {found:.2f} (claimed {factor:g})")
            holds &= found >= (1 - slack) * factor
        return Verdict("holds" if holds else "does not hold", "gain: " + ", ".join(told))

    return check


def slope(label: str, low: float, high: float, *, metric: str = "seconds") -> Callable[[Results], Verdict]:
    """Check that a metric grows like a power of what is varied, with an exponent between `low` and `high`."""

    def check(results: Results) -> Verdict:
        own = results.where(method=label)
        steps = []
        for series in own.distinct("series"):
            points = [(x, cell.mean(metric)) for _, x, cell in own.where(series=series).cells()]
            logs = np.log([(x, y) for x, y in points if x > 0 and y > 0]).reshape(-1, 2)
            # One exponent for all tables, each at a height of its own.
            steps.append(logs - logs.mean(axis=0) if len(logs) > 1 else np.empty((0, 2)))
        across, up = np.concatenate(steps).T
        if not (across**2).sum() > 0:
            return Verdict("not testable here", "fewer than two values were run")
        found = float((across * up).sum() / (across**2).sum())
        outcome: Outcome = "holds" if low <= found <= high else "does not hold"
        return Verdict(outcome, f"exponent {found:.2f} (claimed {low:g} to {high:g})")

    return check


def steeper(
    a: tuple[str, str], b: tuple[str, str], *, metric: str = "excess"
) -> Callable[[Results], Verdict]:
    """Check that one method's metric grows faster with a fact than another's, or than with another fact.

    Parameters
    ----------
    a, b : (label, fact)
        A method and what it grows with: ``"k"`` or ``"columns"``.
    metric : str
        What grows.
    """

    def growth(results: Results, label: str, fact: str) -> float:
        cells = [cell for _, _, cell in results.where(method=label).cells()]
        points = [(cell.records[0][fact], cell.mean(metric)) for cell in cells]
        points = [(x, y) for x, y in points if y > 0]
        if len({x for x, _ in points}) < 2:
            return math.nan
        logs = np.log(np.array(points, dtype=np.float64))
        return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])

    def check(results: Results) -> Verdict:
        first, second = growth(results, *a), growth(results, *b)
        if not math.isfinite(first - second):
            return Verdict("not testable here", "too few values were run")
        why = f"exponent of {a[0]} in {a[1]} {first:.2f}, of {b[0]} in {b[1]} {second:.2f}"
        return Verdict("holds" if first > second else "does not hold", why)

    return check


def predicts(label: str, predicted: str, measured: str, factor: float) -> Callable[[Results], Verdict]:
    """Check that a predicted value is within a factor of the measured one, in the median over the cells."""

    def check(results: Results) -> Verdict:
        ratios = [
            cell.mean(predicted) / cell.mean(measured) for _, _, cell in results.where(method=label).cells()
        ]
        ratios = [ratio for ratio in ratios if math.isfinite(ratio)]
        if not ratios:
            return Verdict("not testable here", "no centre moved")
        middle = float(np.median(ratios))
        outcome: Outcome = "holds" if 1 / factor <= middle <= factor else "does not hold"
        return Verdict(
            outcome,
            f"predicted / measured: median {middle:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}",
        )

    return check


def bounds(label: str, bound: str, measured: str) -> Callable[[Results], Verdict]:
    """Check that the mean of what was measured is below a bound in every cell."""

    def check(results: Results) -> Verdict:
        cells = [cell for _, _, cell in results.where(method=label).cells()]
        shares = [cell.mean(measured) / cell.mean(bound) for cell in cells]
        shares = [share for share in shares if math.isfinite(share)]
        if not shares:
            return Verdict("not testable here", "nothing was measured")
        why = f"measured / bound: median {np.median(shares):.2g}, at most {max(shares):.2g}"
        return Verdict("holds" if max(shares) <= 1 else "does not hold", why)

    return check
