"""Checks of claims that hold one method against another, cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.bench.claims import Where
from shoal.bench.results import Results, Summary
from shoal.bench.surely import Cells, Verdict, below, decide, error_of, mean_of, quotient, within

# How much worse a method may be that is "no worse" than another.
_NO_WORSE = 1.1


def better(
    a: str, b: str, *, metric: str = "nicv", share: float = 0.5, **where: Any
) -> Callable[[Results], Verdict]:
    """Check that the mean of `a` is below that of `b` in most cells, and in a share of the sure ones.

    Parameters
    ----------
    a, b : str
        Labels of methods.
    metric : str
        What is compared.
    share : float
        Of the cells that are sure, at least this share must be for it.
    **where
        As in :class:`~shoal.bench.claims.Where`.
    """

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not pairs:
            return Verdict("not run", f"no table has results of both {a} and {b}")
        wins = sum(one.mean < other.mean for _, one, other in pairs)
        why = f"{a} is lower in {wins} of {len(pairs)} cells ({_middle(pairs)})"
        signs = [below(one, other) for _, one, other in pairs]
        agree, against = signs.count(1), signs.count(-1)
        mostly = 2 * wins > len(pairs) and agree >= share * (agree + against)
        return decide(mostly, signs, why, [name for name, _, _ in pairs])

    return check


def no_worse(a: str, b: str, *, metric: str = "nicv", **where: Any) -> Callable[[Results], Verdict]:
    """Check that `a` is surely above `b` in no more than one cell in ten.

    A cell is for it where `a` is surely not above `b` by more than a tenth; where runs are too few or too
    scattered to say so, it is undecided.
    """

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not pairs:
            return Verdict("not run", f"no table has results of both {a} and {b}")
        signs = [
            -1 if below(other, one) == 1 else within(*_ratio(one, other), -math.inf, _NO_WORSE)
            for _, one, other in pairs
        ]
        why = f"{a} against {b} in {len(pairs)} cells: {_middle(pairs)}"
        return decide(signs.count(-1) <= 0.1 * len(pairs), signs, why, [name for name, _, _ in pairs])

    return check


def near(
    a: str, b: str, factor: float, *, metric: str = "nicv", **where: Any
) -> Callable[[Results], Verdict]:
    """Check that two methods are within a factor of each other, in the median over the cells."""

    def check(results: Results) -> Verdict:
        pairs = Where(**where).pairs(results, a, b, metric)
        if not pairs:
            return Verdict("not run", f"no table has results of both {a} and {b}")
        ratios = [_ratio(one, other) for _, one, other in pairs]
        middle = float(np.median([ratio for ratio, _ in ratios]))
        signs = [within(*ratio, 1 / factor, factor) for ratio in ratios]
        why = f"{a} against {b} in {len(pairs)} cells: {_middle(pairs)}, {factor:g} is called near"
        return decide(1 / factor <= middle <= factor, signs, why, [name for name, _, _ in pairs])

    return check


def _ratio(one: Summary, other: Summary) -> tuple[float, float]:
    return quotient((one.mean, error_of(one)), (other.mean, error_of(other)))


def _middle(pairs: list[tuple[str, Summary, Summary]]) -> str:
    ratios = [one.mean / other.mean if other.mean else math.inf for _, one, other in pairs]
    return f"median ratio {np.median(ratios):.3g}"


def order(labels: tuple[str, ...], *, metric: str = "nicv") -> Callable[[Results], Verdict]:
    """Check that methods come in this order, best first, by the geometric mean over all cells.

    It holds where every two neighbours in it are so, it does not where none are; else it holds in part.
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
        found, told, signs = [], [], []
        for a, b in itertools.pairwise(labels):
            own = [below(one, other) for _, one, other in Where().pairs(results, a, b, metric)]
            found.append(decide(scores[a] < scores[b], own, f"{a} before {b}").outcome)
            told.append(f"{a} before {b}: {found[-1]} ({Cells.of(own)})")
            signs += own
        ranks = ", ".join(f"{label} {scores[label]:.3g}" for label in sorted(scores, key=scores.__getitem__))
        same = found[0] if len(set(found)) == 1 else "in part"
        return Verdict(same, f"best first: {ranks}; {'; '.join(told)}", (Cells.of(signs),))

    return check


def gain(
    a: str | dict[str, str],
    b: str,
    expected: dict[str, float],
    *,
    metric: str = "cost_gap",
    slack: float = 0.25,
) -> Callable[[Results], Verdict]:
    """Check how many times smaller `a`, which may be another method on each table, is than `b`.

    It holds where that is so on every table, but for a slack.
    """

    def check(results: Results) -> Verdict:
        told, right, signs = [], [], []
        for series, factor in expected.items():
            here, label = results.where(series=series), a if isinstance(a, str) else a[series]
            found, error = quotient(*(mean_of(here.where(method=each), metric) for each in (b, label)))
            if not math.isfinite(found):
                return Verdict("not run", f"no results on {series}")
            told.append(f"{series} {found:.2f} (claimed {factor:g})")
            right.append(found >= (1 - slack) * factor)
            signs.append(within(found, error, (1 - slack) * factor, math.inf))
        return decide(all(right), signs, "gain: " + ", ".join(told), list(expected))

    return check
