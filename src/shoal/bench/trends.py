"""Checks of claims about how results grow, what noise adds to them, and what was predicted of them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import numpy as np

from shoal._typing import Array
from shoal.bench.claims import Outcome, Verdict
from shoal.bench.results import Results

NO_NOISE = 1e6
"""An epsilon at which noise is far below what anybody measures: what is left is the algorithm's own error."""

# How often runs are drawn again to see how sure an exponent is.
_DRAWN = 200


def noise_dominates(label: str, epsilon: float, *, metric: str = "excess") -> Callable[[Results], Verdict]:
    """Check that most of a method's excess at an epsilon is gone without noise, table by table."""

    def check(results: Results) -> Verdict:
        own, told, most = results.where(method=label), [], []
        for series in own.distinct("series"):
            here = own.where(series=series)
            noisy, alone = (here.where(x=x).mean(metric) for x in (epsilon, NO_NOISE))
            if math.isfinite(noisy - alone):
                told.append(f"{series} {alone:.3g} of {noisy:.3g}")
                most.append(alone < noisy / 2)
        if not most:
            return Verdict("not run", f"no results of {label} at {epsilon:g} and without noise")
        why = f"excess without noise, of that at {epsilon:g}: {', '.join(told)}"
        return Verdict("holds" if all(most) else "in part" if any(most) else "does not hold", why)

    return check


def sooner(
    a: tuple[str, str], b: tuple[str, str], *, within: float = 1.1, metric: str = "nicv"
) -> Callable[[Results], Verdict]:
    """Check that one method's early result is near its late one, and another's is not, table by table.

    Parameters
    ----------
    a, b : (str, str)
        Labels of an early and a late result.
    within : float
        What near is.
    metric : str
        What is compared.
    """

    def check(results: Results) -> Verdict:
        told, right = [], []
        for series in results.distinct("series"):
            here = results.where(series=series)
            one, other = (
                here.where(method=early).mean(metric) / here.where(method=late).mean(metric)
                for early, late in (a, b)
            )
            if math.isfinite(one - other):
                told.append(f"{series} {one:.3g} and {other:.3g}")
                right.append(one <= within < other)
        if not right:
            return Verdict("not run", "no table has results of all four")
        why = f"early over late, {a[0]} and {b[0]}: {', '.join(told)}"
        return Verdict("holds" if all(right) else "in part" if any(right) else "does not hold", why)

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
            return Verdict("not run", "fewer than two values were run")
        found = float((across * up).sum() / (across**2).sum())
        outcome: Outcome = "holds" if low <= found <= high else "does not hold"
        return Verdict(outcome, f"exponent {found:.2f} (claimed {low:g} to {high:g})")

    return check


def steeper(
    a: tuple[str, str], b: tuple[str, str], *, metric: str = "excess", absolute: bool = False
) -> Callable[[Results], Verdict]:
    """Check that one method's metric grows faster with a fact than another's, or than with another fact.

    Parameters
    ----------
    a, b : (label, fact)
        A method and what it grows with: ``"k"`` or ``"columns"``.
    metric : str
        What grows.
    absolute : bool
        Hold what one group or column adds against each other, not the exponents of powers.
    """

    def check(results: Results) -> Verdict:
        # Only where both were run: a slow one that lacks the large tables must not seem to grow less.
        one_has, other_has = (set(results.where(method=label).distinct("series")) for label, _ in (a, b))
        both = Results(r for r in results if r["series"] in one_has & other_has)
        (first, one), (second, other) = (
            _growth(both, label, fact, metric, absolute=absolute) for label, fact in (a, b)
        )
        if not math.isfinite(first - second):
            return Verdict("not run", "too few values were run")
        what = "slope" if absolute else "exponent"
        why = f"{what} of {a[0]} in {a[1]} {first:.2g}, of {b[0]} in {b[1]} {second:.2g}"
        apart = float(np.std(one - other)) if len(one) and len(other) else math.nan
        if math.isfinite(apart):
            why += f" (their difference has a standard error of {apart:.2g})"
        if first <= second:
            return Verdict("does not hold", why)
        close = first - second < 2 * apart  # never where there was one run of each
        return Verdict("in part", f"{why}; too close to tell") if close else Verdict("holds", why)

    return check


_FACTS = ("columns", "k")


def _growth(results: Results, label: str, fact: str, metric: str, *, absolute: bool) -> tuple[float, Array]:
    """Return how a method's means grow with a fact, others held, and the same of runs drawn again."""
    cells = [cell for _, _, cell in results.where(method=label).cells()]
    runs = [(cell.records[0], cell.values(metric)) for cell in cells]
    runs = [(facts, values) for facts, values in runs if len(values)]
    if len({facts[fact] for facts, _ in runs}) < 2:
        return math.nan, np.empty(0)
    across = np.array([[facts[name] for name in _FACTS] for facts, _ in runs], dtype=np.float64)
    # The same results have the same verdict; two methods' runs are drawn apart, one method's together.
    rng = np.random.default_rng(zlib.crc32(label.encode()))
    drawn = np.array([rng.choice(values, (_DRAWN, len(values))).mean(axis=1) for _, values in runs])
    at = _FACTS.index(fact)
    again = np.array([_fitted(across, means, absolute)[at] for means in drawn.T])
    several = all(len(values) > 1 for _, values in runs)
    means = np.array([values.mean() for _, values in runs])
    return float(_fitted(across, means, absolute)[at]), again if several else np.empty(0)


def _fitted(across: Array, means: Array, absolute: bool) -> Array:
    """Return what means grow by with every fact, by least squares: of themselves, or of logarithms."""
    up = means > 0
    if not absolute and up.sum() < len(_FACTS):
        return np.full(len(_FACTS), math.nan)
    x, y = (across, means) if absolute else (np.log(across[up]), np.log(means[up]))
    x = x - x.mean(axis=0)  # a fact that is the same everywhere then has no part in it
    return np.asarray(np.linalg.lstsq(x, y - y.mean(), rcond=None)[0])


def predicts(label: str, predicted: str, measured: str, factor: float) -> Callable[[Results], Verdict]:
    """Check that a predicted value is within a factor of the measured one, in the median over the cells."""

    def check(results: Results) -> Verdict:
        ratios = [
            cell.mean(predicted) / cell.mean(measured) for _, _, cell in results.where(method=label).cells()
        ]
        ratios = [ratio for ratio in ratios if math.isfinite(ratio)]
        if not ratios:
            return Verdict("not run", "no centre moved")
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
            return Verdict("not run", "nothing was measured")
        why = f"measured / bound: median {np.median(shares):.2g}, at most {max(shares):.2g}"
        return Verdict("holds" if max(shares) <= 1 else "does not hold", why)

    return check
