"""Checks of claims about how results grow, what noise adds to them, and what was predicted of them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from shoal._typing import Array
from shoal.bench.results import Results
from shoal.bench.surely import LEAST_RUNS, Sign, Verdict, decide, mean_of, quotient, within

NO_NOISE = 1e6
"""An epsilon at which noise is far below what anybody measures: what is left is the algorithm's own error."""

# How often runs, and tables, are drawn again to see how sure an exponent is.
_DRAWN = 200


def noise_dominates(label: str, epsilon: float, *, metric: str = "excess") -> Callable[[Results], Verdict]:
    """Check that most of a method's excess at an epsilon is gone without noise, on every table."""

    def check(results: Results) -> Verdict:
        own, told, most, signs = results.where(method=label), [], [], []
        for series in own.distinct("series"):
            here = own.where(series=series)
            noisy, alone = (mean_of(here.where(x=x), metric) for x in (epsilon, NO_NOISE))
            left, error = quotient(alone, noisy)
            if math.isfinite(left):
                told.append(f"{series} {alone[0]:.3g} of {noisy[0]:.3g}")
                most.append(left < 1 / 2)
                signs.append(within(left, error, -math.inf, 1 / 2))
        if not most:
            return Verdict("not run", f"no results of {label} at {epsilon:g} and without noise")
        why = f"excess without noise, of that at {epsilon:g}: {', '.join(told)}"
        return decide(all(most), signs, why)

    return check


def sooner(
    a: tuple[str, str], b: tuple[str, str], *, near: float = 1.1, metric: str = "nicv"
) -> Callable[[Results], Verdict]:
    """Check that one method's early result is near its late one, and another's is not, on every table.

    Parameters
    ----------
    a, b : (str, str)
        Labels of an early and a late result.
    near : float
        How many times the late result the early one is at most.
    metric : str
        What is compared.
    """

    def check(results: Results) -> Verdict:
        told, right, signs = [], [], []
        for series in results.distinct("series"):
            here = results.where(series=series)
            one, other = (
                quotient(*(mean_of(here.where(method=label), metric) for label in pair)) for pair in (a, b)
            )
            if math.isfinite(one[0] - other[0]):
                told.append(f"{series} {one[0]:.3g} and {other[0]:.3g}")
                right.append(one[0] <= near < other[0])
                signs.append(_both(within(*one, 0.0, near), within(*other, near, math.inf)))
        if not right:
            return Verdict("not run", "no table has results of all four")
        why = f"early over late, {a[0]} and {b[0]}: {', '.join(told)}"
        return decide(all(right), signs, why)

    return check


def _both(one: Sign, other: Sign) -> Sign:
    """Return the sign of two conditions, both of which must be met."""
    return None if one is None or other is None else min(one, other)


def slope(label: str, low: float, high: float, *, metric: str = "seconds") -> Callable[[Results], Verdict]:
    """Check that a metric grows like a power of what is varied, with an exponent between `low` and `high`.

    One exponent for all tables, each at a height of its own; and one for each table, to see where it is sure.
    """

    def check(results: Results) -> Verdict:
        own = results.where(method=label)
        tables = [points(own.where(series=series), metric) for series in own.distinct("series")]
        tables = [(x, runs) for x, runs in tables if len(x) > 1]
        if not tables:
            return Verdict("not run", f"fewer than two values were run {LEAST_RUNS} times")
        found = _exponent([(x, np.array([v.mean() for v in runs])) for x, runs in tables])
        signs = [within(*_exponent_of(x, runs), low, high) for x, runs in tables]
        why = f"exponent {found:.2f} (claimed {low:g} to {high:g})"
        return decide(low <= found <= high, signs, why)

    return check


def points(results: Results, metric: str) -> tuple[Array, list[Array]]:
    """Return the values of what is varied, and the runs at each that has enough of them."""
    cells = [(x, cell.values(metric)) for _, x, cell in results.cells()]
    cells = [(x, v) for x, v in cells if x > 0 and len(v) >= LEAST_RUNS and v.mean() > 0]
    return np.array([x for x, _ in cells]), [values for _, values in cells]


def _exponent(tables: list[tuple[Array, Array]]) -> float:
    logs = [np.log(table) for table in map(np.stack, tables)]
    across, up = np.concatenate([both - both.mean(axis=1, keepdims=True) for both in logs], axis=1)
    return float((across * up).sum() / (across**2).sum())


def _exponent_of(x: Array, runs: list[Array]) -> tuple[float, float]:
    """Return the exponent on one table, and its standard error."""
    found = _exponent([(x, np.array([values.mean() for values in runs]))])
    return found, spread_of([_exponent([(x, means)]) for means in drawn_again(runs) if (means > 0).all()])


def drawn_again(runs: list[Array], seed: int = 0) -> Array:
    """Return the means of cells with their runs drawn again and again, one line for each time."""
    rng = np.random.default_rng(seed)  # the same results have the same verdict
    return np.array([rng.choice(values, (_DRAWN, len(values))).mean(axis=1) for values in runs]).T


def spread_of(again: Sequence[float]) -> float:
    """Return the standard error of what was found with runs drawn again, NaN where nothing was."""
    found = [value for value in again if math.isfinite(value)]
    return float(np.std(found)) if found else math.nan


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
        cells = [
            (cell.records[0], [cell.where(method=label).values(metric) for label, _ in (a, b)])
            for _, _, cell in results.cells()
        ]
        cells = [(facts, runs) for facts, runs in cells if min(map(len, runs)) >= LEAST_RUNS]
        across = np.array([[facts[name] for name in _FACTS] for facts, _ in cells], dtype=np.float64)
        at = [_FACTS.index(fact) for _, fact in (a, b)]
        if not len(cells) or not np.ptp(across, axis=0)[at].all():
            return Verdict("not run", f"too few tables were run {LEAST_RUNS} times")
        # Tables are drawn again with their runs: on others of the same make it would grow otherwise. Two
        # methods' runs are drawn apart, one method's together.
        drawn = [
            drawn_again([runs[i] for _, runs in cells], zlib.crc32(label.encode()))
            for i, (label, _) in enumerate((a, b))
        ]
        tables = np.random.default_rng(0).integers(len(cells), size=(_DRAWN, len(cells)))
        again = [
            _apart(across[pick], [every[i][pick] for every in drawn], at, absolute)[2]
            for i, pick in enumerate(tables)
            if np.ptp(across[pick], axis=0)[at].all()
        ]
        means = [np.array([runs[i].mean() for _, runs in cells]) for i in (0, 1)]
        first, second, gap = _apart(across, means, at, absolute)
        if not math.isfinite(gap):
            return Verdict("not run", "there is no excess to speak of")
        what, error = "slope" if absolute else "exponent", spread_of(again)
        why = (
            f"{len(cells)} tables: {what} of {a[0]} in {a[1]} {first:.2g}, of {b[0]} in {b[1]} {second:.2g} "
            f"(their difference has a standard error of {error:.2g})"
        )
        return decide(first > second, [within(gap, error, 0.0, math.inf)], why)

    return check


_FACTS = ("columns", "k")


def _apart(across: Array, means: list[Array], at: list[int], absolute: bool) -> tuple[float, float, float]:
    """Return how two methods' means grow, each with its own fact and others held, and the difference."""
    first, second = (float(_fitted(across, own, absolute)[i]) for own, i in zip(means, at, strict=True))
    return first, second, first - second


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
        ratios = _quotients(results.where(method=label), predicted, measured)
        if not ratios:
            return Verdict("not run", "no centre moved")
        values = [ratio for ratio, _ in ratios]
        middle = float(np.median(values))
        why = f"predicted / measured: median {middle:.2f}, from {min(values):.2f} to {max(values):.2f}"
        signs = [within(*ratio, 1 / factor, factor) for ratio in ratios]
        return decide(1 / factor <= middle <= factor, signs, why)

    return check


def bounds(label: str, bound: str, measured: str) -> Callable[[Results], Verdict]:
    """Check that the mean of what was measured is below a bound in every cell."""

    def check(results: Results) -> Verdict:
        ratios = _quotients(results.where(method=label), measured, bound)
        if not ratios:
            return Verdict("not run", "nothing was measured")
        shares = [share for share, _ in ratios]
        why = f"measured / bound: median {np.median(shares):.2g}, at most {max(shares):.2g}"
        return decide(max(shares) <= 1, [within(*ratio, -math.inf, 1.0) for ratio in ratios], why)

    return check


def _quotients(results: Results, one: str, other: str) -> list[tuple[float, float]]:
    """Return the quotient of two metrics in every cell that has both, and its standard error."""
    found = [quotient(mean_of(cell, one), mean_of(cell, other)) for _, _, cell in results.cells()]
    return [ratio for ratio in found if math.isfinite(ratio[0])]
