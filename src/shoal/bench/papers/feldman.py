"""Feldman, Xiang, Zhu, Rus 2017: Coresets for differentially private k-means clustering."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoal.accounting import budget_of
from shoal.algorithms.coreset.coreset import CoresetSketch, smallest_epsilon
from shoal.bench.claims import Claim, Outcome, Verdict, better, slope
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.results import Results
from shoal.domain import Unit

_FELDMAN = "Feldman et al. 2017"
_DELTA = 1e-8  # "much less than 1/n"
_ROWS = (100_000, 500_000, 1_000_000)
# Table 2: k, then the smallest feasible epsilon for each number of rows.
TABLE_2 = {1: (0.02, 0.01, 0.007), 5: (0.8, 0.3, 0.15), 10: (3.5, 1.0, 0.6)}
_BLOCK_ROWS = 10_000

_CORESET = Method.of("Coreset", "coreset", neighbours="replace")
_PUBLISHED = Method.of(
    "Coreset, GoodRadius", "coreset", neighbours="replace", search="published", refine=False, strength=30.0
)
_PLAIN = Method.of("Coreset, not refined", "coreset", neighbours="replace", refine=False, strength=30.0)
_BLOCKS = Method.of("Coresets of blocks", "coreset-blocks", neighbours="replace")
_GRID = Method.of("EUG grid", "grid", neighbours="replace", resolution="theta")
_TAXI = (Data.of("nyc_taxi_2015_01_2m"),)
_NOTE = (
    "Two million drop-offs drawn from the month's published raster stand in for the pick-ups. Seconds of the "
    "paper: about 40 for 1e6 rows and an hour for 1e7, on 12 cores."
)


def feasible(n_rows: float, k: int) -> float:
    """Return our smallest feasible epsilon, for the relation and a delta as in the paper.

    Examples
    --------
    >>> round(feasible(1e5, 5), 2)
    0.06
    """
    return smallest_epsilon(n_rows, CoresetSketch(k), budget_of(1.0, _DELTA), Unit("replace"))


def below_table_2(results: Results) -> Verdict:
    """Compare the smallest feasible epsilon, by formula, with the published ones."""
    told, lower = [], True
    for k, published in TABLE_2.items():
        ours = [feasible(n, k) for n in _ROWS]
        lower &= all(mine < theirs for mine, theirs in zip(ours, published, strict=True))
        told.append(f"k = {k}: " + " / ".join(f"{e:.2g}" for e in ours))
    error = [
        f"{cell.mean('cost_gap'):.2f} at {x:g}"
        for _, x, cell in results.where(method="Coreset").cells()
        if math.isfinite(cell.mean("cost_gap"))
    ]
    measured = f"; error measured here: {', '.join(error)}" if error else ""
    why = f"ours, replace, delta = {_DELTA:g}: {'; '.join(told)}{measured}"
    return Verdict("does not hold" if lower else "holds", why)


def blocks_feasible(_: Results) -> Verdict:
    """Say at which epsilon a block of the published size can stand for itself."""
    least = {k: feasible(_BLOCK_ROWS, k) for k in TABLE_2}
    why = ", ".join(f"k = {k} needs {epsilon:.2g}" for k, epsilon in least.items())
    return Verdict("holds" if least[5] <= 1 else "does not hold", f"in a block of {_BLOCK_ROWS} rows {why}")


def with_logarithm(label: str) -> Callable[[Results], Verdict]:
    """Check that the number of points grows linearly with the logarithm of epsilon."""

    def check(results: Results) -> Verdict:
        points = [(math.log(x), c.mean("points")) for _, x, c in results.where(method=label).cells()]
        points = [(x, y) for x, y in points if math.isfinite(y)]
        if len({y for _, y in points}) < 3:
            return Verdict("not testable here", "fewer than three sizes were seen")
        x, y = np.array(points).T
        found = float(np.corrcoef(x, y)[0, 1])
        outcome: Outcome = "holds" if found > 0.9 else "does not hold"
        return Verdict(outcome, f"correlation {found:.3f}, from {y.min():.0f} to {y.max():.0f} points")

    return check


def fewer(a: str, b: str, low: float, high: float) -> Callable[[Results], Verdict]:
    """Check how many times fewer points `a` has than `b`, and that none of its weights is negative."""

    def check(results: Results) -> Verdict:
        one, other = results.where(method=a), results.where(method=b)
        times = other.mean("points") / one.mean("points")
        if not math.isfinite(times):
            return Verdict("not testable here", f"no results of both {a} and {b}")
        signs = one.mean("negative"), other.mean("negative")
        why = f"{times:.3g} times fewer; negative weights: {signs[0]:.0%} of {a}, {signs[1]:.0%} of {b}"
        holds = low <= times and signs[0] == 0
        return Verdict("holds" if holds else "does not hold", f"{why} (claimed {low:g} to {high:g} times)")

    return check


EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        Experiment(
            name=f"feldman-figure-3-k{k}",
            title=f"Run time of the private coreset against N, k = {k}",
            paper=f"{_FELDMAN}, figure 3",
            data=_TAXI,
            methods=(_CORESET, _PUBLISHED),
            sweep=Sweep("n", (1e5, 3e5, 1e6, 2e6)),
            runs=3,
            metrics=("seconds",),
            epsilon=0.8,
            delta=_DELTA,
            k=k,
            alone=True,
            note=_NOTE,
            claims=(
                Claim(
                    "Run time grows like N to the power 1.6 to 1.7", ("Coreset",), slope("Coreset", 1.5, 1.8)
                ),
                Claim(
                    "Run time grows no faster than N (ours)", ("Coreset",), slope("Coreset", -math.inf, 1.05)
                ),
            ),
        )
        for k in (1, 5)
    ),
    Experiment(
        name="feldman-figure-4",
        title="Run time and error in four columns, epsilon = 1",
        paper=f"{_FELDMAN}, figure 4 and section 4.5",
        data=(Data.of("nyc_taxi_2015_01"),),
        methods=(_CORESET, _BLOCKS),
        sweep=Sweep("n", (1e4, 3e4, 99_000)),
        runs=3,
        metrics=("seconds", "ratio"),
        delta=_DELTA,
        k=5,
        alone=True,
        claims=(
            Claim("Blocks of 10,000 rows serve at epsilon = 1 for k = 5", (), blocks_feasible),
            Claim(
                "Cutting the rows into blocks costs accuracy: all rows at once are better (ours)",
                ("Coreset", "Coresets of blocks"),
                better("Coreset", "Coresets of blocks", x=(2e4, math.inf)),
            ),
        ),
    ),
    *(
        Experiment(
            name=f"feldman-figure-5-k{k}",
            title=f"Error and size of the coreset against epsilon, k = {k}",
            paper=f"{_FELDMAN}, figure 5 and table 2",
            data=_TAXI,
            methods=(_CORESET, _PLAIN, _PUBLISHED),
            sweep=Sweep("epsilon", (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)),
            runs=10,
            metrics=("cost_gap", "points"),
            delta=_DELTA,
            k=k,
            quick=Quick(4, (0.02, 0.1, 0.5, 2.0)),
            note=_NOTE,
            claims=(
                Claim(
                    "Nothing below these is feasible, N = 1e5 / 5e5 / 1e6: "
                    + "; ".join(f"k = {n}: {' / '.join(map(str, row))}" for n, row in TABLE_2.items()),
                    (),
                    below_table_2,
                ),
                Claim(
                    "The error becomes smaller when epsilon grows",
                    ("Coreset",),
                    slope("Coreset", -math.inf, 0.0, metric="cost_gap"),
                ),
                Claim(
                    "The size of the coreset is linear in the logarithm of epsilon",
                    ("Coreset",),
                    with_logarithm("Coreset"),
                ),
                Claim(
                    "Choices among windows beat the published GoodRadius (ours)",
                    ("Coreset, not refined", "Coreset, GoodRadius"),
                    better("Coreset, not refined", "Coreset, GoodRadius"),
                ),
                Claim(
                    "Means of the rows around the points make the coreset better (ours)",
                    ("Coreset", "Coreset, not refined"),
                    better("Coreset", "Coreset, not refined"),
                ),
            ),
        )
        for k in (1, 5, 10)
    ),
    Experiment(
        name="feldman-figure-6",
        title="Error against k",
        paper=f"{_FELDMAN}, figure 6",
        data=_TAXI,
        methods=(_CORESET,),
        sweep=Sweep("k", (1, 2, 3, 5, 8, 10)),
        runs=10,
        metrics=("cost_gap",),
        delta=_DELTA,
        quick=Quick(4),
        note=_NOTE,
        claims=(
            Claim(
                "The error becomes larger as there are more clusters",
                ("Coreset",),
                slope("Coreset", 0.0, math.inf, metric="cost_gap"),
            ),
        ),
    ),
    Experiment(
        name="feldman-figure-7",
        title="Against a coreset with signed weights, epsilon = 0.5",
        paper=f"{_FELDMAN}, figure 7",
        data=_TAXI,
        methods=(_CORESET, _GRID, Method.of("k-median coreset", "medians")),
        sweep=Sweep("n", (1e5, 5e5, 1e6)),
        runs=10,
        metrics=("cost_gap", "points"),
        epsilon=0.5,
        delta=_DELTA,
        k=5,
        quick=Quick(4),
        note="Feldman et al. 2009, whose coreset is a grid of noisy counts around centres, is not to be had; "
        "KMedians on a noisy grid stands in for it, and the flat grid of Su et al. for size and signs.",
        claims=(
            Claim(
                "Smaller error than the coreset of 2009",
                ("Coreset", "k-median coreset"),
                better("Coreset", "k-median coreset", share=0.8),
            ),
            Claim(
                "Twenty to forty times fewer points than a grid, and no negative weights",
                ("Coreset", "EUG grid"),
                fewer("Coreset", "EUG grid", 20, 40),
            ),
            Claim(
                "A flat grid has a smaller error in two columns (ours)",
                ("Coreset", "EUG grid"),
                better("EUG grid", "Coreset"),
            ),
        ),
    ),
)
