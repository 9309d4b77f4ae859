"""Feldman, Xiang, Zhu, Rus 2017: Coresets for differentially private k-means clustering."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoal.bench.claims import Claim, Where
from shoal.bench.comparisons import better
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.results import Results
from shoal.bench.surely import Cells, Verdict, decide, error_of, mean_of, quotient, within
from shoal.bench.trends import drawn_again, points, slope, spread_of

_FELDMAN = "Feldman et al. 2017"
_DELTA = 1e-8  # "much less than 1/n"
# Table 2: k, then the smallest feasible epsilon for 1e5, 5e5 and 1e6 rows.
TABLE_2 = {1: (0.02, 0.01, 0.007), 5: (0.8, 0.3, 0.15), 10: (3.5, 1.0, 0.6)}

_CORESET = Method.of("Coreset", "coreset", neighbours="replace")
_PUBLISHED = Method.of(
    "Coreset, GoodRadius", "coreset", neighbours="replace", search="published", refine=False, strength=30.0
)
# The same, each round with 3 / (8 k ln n) of the budget, and rows that are left in the end ignored.
_SHARES = Method.of(
    "Coreset, published shares",
    "coreset",
    neighbours="replace",
    search="published",
    refine=False,
    strength=30.0,
    shares="published",
)
_KMEANS = Method.of("KMeans", "auto", neighbours="replace")
# Table 2 says from where on their coreset is of use; so does an error no larger than this, of the published
# search at their epsilon, and a larger one at a tenth of it.
_OF_USE = 0.3
# A correlation from which points are called linear.
_LINEAR = 0.9
_PLAIN = Method.of("Coreset, not refined", "coreset", neighbours="replace", refine=False, strength=30.0)
_BLOCKS = Method.of("Coresets of blocks", "coreset-blocks", neighbours="replace")
_GRID = Method.of("EUG grid", "grid", neighbours="replace", resolution="theta")
_MEDIANS = Method.of("KMedians on a grid", "medians", route="synopsis", neighbours="replace")
_TAXI = (Data.of("nyc_taxi_2015_01_2m"),)
_NOTE = (
    "Two million drop-offs drawn from the month's published raster stand in for the pick-ups. Seconds of the "
    "paper: about 40 for 1e6 rows and an hour for 1e7, on 12 cores."
)


def serves_from(epsilon: float, label: str = "Coreset, GoodRadius") -> Callable[[Results], Verdict]:
    """Check that the published search is of use at an epsilon, and no more at a tenth of it."""

    def check(results: Results) -> Verdict:
        own = results.where(method=label)
        at, below = (mean_of(own.where(x=epsilon * part), "cost_gap") for part in (1.0, 0.1))
        if not math.isfinite(at[0] - below[0]):
            return Verdict("not run", "no results of the published search at these epsilons")
        why = (
            f"error {at[0]:.2g} at {epsilon:g}, {below[0]:.2g} at a tenth; what is of use is our own word, "
            f"{_OF_USE:g}"
        )
        signs = within(*at, -math.inf, _OF_USE), within(*below, _OF_USE, math.inf)
        names = f"at {epsilon:g}", "at a tenth"
        return decide(at[0] <= _OF_USE < below[0], signs, why, names)

    return check


def with_logarithm(label: str) -> Callable[[Results], Verdict]:
    """Check that the number of points grows linearly with the logarithm of epsilon."""

    def check(results: Results) -> Verdict:
        x, runs = points(results.where(method=label), "points")
        if len(x) < 3:
            return Verdict("not run", "it was run at fewer than three epsilons")
        y, across = np.array([values.mean() for values in runs]), np.log(x)
        if np.ptp(y) == 0:
            return Verdict("does not hold", f"{y[0]:.0f} points at every epsilon", (Cells(0, 1, 0),))
        found = float(np.corrcoef(across, y)[0, 1])
        again = [float(np.corrcoef(across, means)[0, 1]) for means in drawn_again(runs)]
        why = f"correlation {found:.3f}, from {y.min():.0f} to {y.max():.0f} points"
        if (first := int(np.argmax(y > 0.99 * y.max()))) < len(y) - 1:
            why += f", and no more from epsilon = {x[first]:g} on"
        return decide(found > _LINEAR, [within(found, spread_of(again), _LINEAR, math.inf)], why)

    return check


def fewer(a: str, b: str, low: float, high: float) -> Callable[[Results], Verdict]:
    """Check how many times fewer points `a` has than `b`, and that none of its weights is negative."""

    def check(results: Results) -> Verdict:
        one, other = results.where(method=a), results.where(method=b)
        times, _ = quotient(mean_of(other, "points"), mean_of(one, "points"))
        if not math.isfinite(times):
            return Verdict("not run", f"no results of both {a} and {b}")
        negative = one.mean("negative"), other.mean("negative")
        why = f"{times:.3g} times fewer; negative weights: {negative[0]:.0%} of {a}, {negative[1]:.0%} of {b}"
        pairs = [pair for _, *pair in Where().pairs(results, b, a, "points")]
        found = [quotient(*((each.mean, error_of(each)) for each in pair)) for pair in pairs]
        signs = [-1 if negative[0] else within(*ratio, low, math.inf) for ratio in found]
        holds = low <= times and not negative[0]
        return decide(holds, signs, f"{why} (claimed {low:g} to {high:g} times)")

    return check


EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        Experiment(
            name=f"feldman-figure-3-k{k}",
            title=f"Run time of the private coreset against N, k = {k}",
            paper=f"{_FELDMAN}, figure 3",
            data=_TAXI,
            methods=(_CORESET, _PUBLISHED, _KMEANS),
            sweep=Sweep("n", (1e5, 3e5, 1e6, 2e6)),
            runs=10,
            metrics=("seconds",),
            epsilon=0.8,
            delta=_DELTA,
            k=k,
            alone=True,
            note=f"{_NOTE} Exponents are of this program, whose counts are compiled loops over all rows: "
            "what does not depend on them weighs more than in theirs.",
            narrower="up to 2e6 rows for 1e7",
            claims=(
                Claim(
                    "Run time grows like N to the power 1.6 to 1.7",
                    ("Coreset, GoodRadius",),
                    slope("Coreset, GoodRadius", 1.5, 1.8),
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
        methods=(_CORESET, _BLOCKS, _KMEANS),
        sweep=Sweep("n", (1e4, 3e4, 99_000)),
        runs=10,
        metrics=("seconds", "ratio"),
        delta=_DELTA,
        k=5,
        alone=True,
        note="Blocks of 10,000 rows share the cost of one, and each has half of epsilon, because a row that "
        "is replaced may change its block. The published GoodRadius is for two columns.",
        narrower="k = 5 alone, and 99,000 trips",
        claims=(
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
            methods=(_CORESET, _PLAIN, _PUBLISHED, _KMEANS),
            sweep=Sweep("epsilon", (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)),
            runs=10,
            metrics=("cost_gap", "points"),
            delta=_DELTA,
            k=k,
            quick=Quick(4, (0.02, 0.1, 0.5, 2.0)),
            note=_NOTE,
            narrower="one N for several, and fewer runs than 100",
            hours=0.5,
            claims=(
                Claim(
                    "The error becomes smaller when epsilon grows",
                    ("Coreset, GoodRadius",),
                    slope("Coreset, GoodRadius", -math.inf, 0.0, metric="cost_gap"),
                ),
                Claim(
                    "The size of the coreset is linear in the logarithm of epsilon",
                    ("Coreset, GoodRadius",),
                    with_logarithm("Coreset, GoodRadius"),
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
    *(
        Experiment(
            name=f"feldman-table-2-k{k}",
            title=f"The smallest epsilon that serves, k = {k}, 100,000 rows",
            paper=f"{_FELDMAN}, table 2",
            data=(Data.of("nyc_taxi_2015_01_100k"),),
            methods=(_PUBLISHED, _SHARES, _CORESET, _KMEANS),
            sweep=Sweep("epsilon", tuple(TABLE_2[k][0] * part for part in (0.1, 1 / 3, 1.0))),
            runs=10,
            metrics=("cost_gap",),
            delta=_DELTA,
            k=k,
            quick=Quick(4),
            note=_NOTE,
            narrower="100,000 rows, not 500,000 and 1,000,000 too",
            claims=(
                Claim(
                    f"From epsilon = {TABLE_2[k][0]:g} on the coreset serves, and not far below",
                    ("Coreset, GoodRadius",),
                    serves_from(TABLE_2[k][0]),
                    reading="the whole budget for the rounds that run",
                    otherwise=(
                        "3 / (8 k ln n) of it for each",
                        (_SHARES.label,),
                        serves_from(TABLE_2[k][0], _SHARES.label),
                    ),
                ),
            ),
        )
        for k in TABLE_2
    ),
    Experiment(
        name="feldman-figure-6",
        title="Error against k",
        paper=f"{_FELDMAN}, figure 6",
        data=_TAXI,
        methods=(_PUBLISHED, _CORESET, _KMEANS),
        sweep=Sweep("k", (1, 2, 3, 5, 8, 10)),
        runs=10,
        metrics=("cost_gap",),
        delta=_DELTA,
        quick=Quick(4),
        hours=0.4,
        note=_NOTE,
        narrower="one epsilon, 1, for several; 2e6 rows for 1e6",
        claims=(
            Claim(
                "The error becomes larger as there are more clusters",
                ("Coreset, GoodRadius",),
                slope("Coreset, GoodRadius", 0.0, math.inf, metric="cost_gap"),
            ),
        ),
    ),
    Experiment(
        name="feldman-figure-7",
        title="Against a coreset with signed weights, epsilon = 0.5",
        paper=f"{_FELDMAN}, figure 7",
        data=_TAXI,
        methods=(_PUBLISHED, _CORESET, _GRID, _MEDIANS, _KMEANS),
        sweep=Sweep("n", (1e5, 5e5, 1e6)),
        runs=10,
        metrics=("cost_gap", "points"),
        epsilon=0.5,
        delta=_DELTA,
        k=5,
        quick=Quick(4),
        hours=0.2,
        note="The coreset of Feldman et al. 2009, a grid of noisy counts around centres, is not to be had. "
        "KMedians on a noisy grid stands in for its error, and the flat grid of Su et al. for its size and "
        "signs: what holds of these need not hold of it.",
        claims=(
            Claim(
                "Smaller error than the coreset of 2009 (of which KMedians on a grid is a stand-in)",
                ("Coreset, GoodRadius", _MEDIANS.label),
                better("Coreset, GoodRadius", _MEDIANS.label, share=0.8),
            ),
            Claim(
                "Twenty to forty times fewer points, and no negative weights (against Su et al.'s grid)",
                ("Coreset, GoodRadius", "EUG grid"),
                fewer("Coreset, GoodRadius", "EUG grid", 20, 40),
            ),
            Claim(
                "A flat grid has a smaller error in two columns (ours)",
                ("Coreset", "EUG grid"),
                better("EUG grid", "Coreset"),
            ),
        ),
    ),
)
