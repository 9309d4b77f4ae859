"""Balcan, Dick, Liang, Mou, Zhang 2017: Differentially private clustering in high-dimensional spaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shoal.bench.claims import Claim
from shoal.bench.comparisons import better, order
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.methods import ON_ROWS
from shoal.bench.results import Results
from shoal.bench.surely import Cells, Verdict, decide, mean_of, within

_BALCAN = "Balcan et al. 2017"

# As published but for the repairs (docs/proofs/projected.md), and as it comes.
_REPLACE: dict[str, Any] = {"neighbours": "replace"}
_THEIRS = Method.of("Balcan et al.", "projected", route="published", noise="laplace", **_REPLACE)
_OURS = Method.of("ProjectedKMeans", "projected", **_REPLACE)
# The supplement does not say where SuLQ starts: packed as in Su et al., or k-means++ on the rows.
_LLOYD: dict[str, Any] = {"noise": "laplace", "max_iter": 5, "division": "plain", **_REPLACE}
_SULQ = Method.of("SuLQ, packed starts", "lloyd", **_LLOYD)
_SULQ_ROWS = Method.of(f"SuLQ, {ON_ROWS}: no guarantee", "lloyd", init=ON_ROWS, **_LLOYD)
_SUGRID = Method.of("EUGkM", "grid", resolution="theta", starts="published", **_REPLACE)
# How Su's grid was searched is not said in the supplement: from packed starts as in Su et al., or better.
_SUGRID_SEARCHED = Method.of("EUGkM, our search", "grid", resolution="theta", **_REPLACE)
_SANDA = Method.of(
    "GkM", "sample-aggregate", blocks="n^0.4", align="sorted", noise="laplace", ranges="helper", **_REPLACE
)
# The published k-variates++ sets its noise by a formula of constants of the rows, which we could not recover:
# so that noise hides at epsilon which row one centre was drawn at, or as little as ln N, here that of 100,000
# rows, which no such formula exceeds by much. Neither has a guarantee; the repaired one has.
_UNPROVEN: dict[str, Any] = {"published": True, "allow_unproven": True, **_REPLACE}
_VARIATES = Method.of("k-variates++ as published, epsilon: no guarantee", "k-variates", **_UNPROVEN)
_VARIATES_SHARP = Method.of(
    "k-variates++ as published, ln N: no guarantee", "k-variates", sharpness=11.5, **_UNPROVEN
)
_VARIATES_REPAIRED = Method.of("k-variates++, repaired", "k-variates", **_REPLACE)
_LN_N = "noise of ln N"
_KMEANS = Method.of("KMeans", "auto", **_REPLACE)

# Table 1: objectives over that of k-means++, 2.636e5; whose they are, and under which reading.
_RATIOS = (1.001, 1.11, 1.13, 10.7)
_SEARCHED = (_SUGRID_SEARCHED.label, _SULQ_ROWS.label, "Balcan et al.", "GkM")
_PACKED = ("EUGkM", _SULQ.label, "Balcan et al.", "GkM")
_MINUTES_AT_5_COLUMNS = 15
# Fifty of them take longer in hundreds of columns than all private fits.
_FEW_STARTS = 10
# Of the public bounds of the Gaussians (shoal.datasets).
_HALF_WIDTH = 55.0


def _no_higher(expected: dict[str, float], slack: float = 0.1) -> Callable[[Results], Verdict]:
    """Check that every method's mean ratio to the best non-private cost is no higher than published."""

    def check(results: Results) -> Verdict:
        found = {label: mean_of(results.where(method=label), "ratio") for label in expected}
        if not all(math.isfinite(ratio) for ratio, _ in found.values()):
            return Verdict("not run", "there are no costs of the best non-private solution")
        told = ", ".join(
            f"{label} {found[label][0]:.3f} ({ratio:g} published)" for label, ratio in expected.items()
        )
        most = {label: (1 + slack) * ratio for label, ratio in expected.items()}
        right = all(found[label][0] <= most[label] for label in most)
        signs = [within(*found[label], -math.inf, most[label]) for label in most]
        return decide(right, signs, told, list(expected))

    return check


def _possible(published: float) -> Callable[[Results], Verdict]:
    """Check that a published objective, in the Gaussians' own units, is no lower than the best one known."""

    def check(results: Results) -> Verdict:
        best = results.values("best")
        if not len(best):
            return Verdict("not run", "there are no costs of the best non-private solution")
        # Bounds are [-5, 105] in every column: a unit of scaled rows is 55 of theirs.
        found = float(best.min()) * results.records[0]["rows"] * _HALF_WIDTH**2
        why = f"the best known of the rows made here is {found:.4g}; n d is 3e5"
        holds = published >= 0.95 * found
        return Verdict("holds" if holds else "does not hold", why, (Cells.of([1 if holds else -1]),))

    return check


def _faster(label: str, times: float, seconds: float) -> Callable[[Results], Verdict]:
    """Check that a method is at least `times` faster than `seconds`."""

    def check(results: Results) -> Verdict:
        found, error = mean_of(results.where(method=label), "seconds")
        told = f"{label} takes {found:.1f} s, {seconds / found:.0f} times less than {seconds:g} s"
        most = seconds / times
        return decide(found <= most, [within(found, error, 0.0, most)], told)

    return check


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="balcan-table-1",
        title="All approaches on a small mixture of Gaussians",
        paper=f"{_BALCAN}, table 1",
        data=(Data.of("balcan_gaussians", d=3, k=4),),
        methods=(
            _SUGRID,
            _SUGRID_SEARCHED,
            _SULQ,
            _SULQ_ROWS,
            _THEIRS,
            _OURS,
            _VARIATES,
            _VARIATES_SHARP,
            _VARIATES_REPAIRED,
            _SANDA,
            _KMEANS,
        ),
        sweep=Sweep("epsilon", (0.5,)),
        runs=20,
        hours=0.2,
        quick=Quick(10),
        figures=("overview",),
        claims=(
            Claim(
                "Best first: Su's grid, SuLQ, theirs, sample and aggregate",
                _SEARCHED,
                order(_SEARCHED),
                reading="SuLQ from k-means++ on the rows, and the grid searched as well as we can",
                otherwise=("both from packed spheres, as in Su et al.", _PACKED, order(_PACKED)),
            ),
            Claim(
                "k-variates++ lies between theirs and sample and aggregate",
                ("Balcan et al.", _VARIATES.label, "GkM"),
                order(("Balcan et al.", _VARIATES.label, "GkM")),
                reading="noise of epsilon",
                otherwise=(
                    _LN_N,
                    ("Balcan et al.", _VARIATES_SHARP.label, "GkM"),
                    order(("Balcan et al.", _VARIATES_SHARP.label, "GkM")),
                ),
            ),
            Claim(
                "The objective of k-means++ is 2.636e5 for 100,000 rows of four unit Gaussians in three "
                "columns",
                (_SUGRID.label,),
                _possible(2.636e5),
            ),
            Claim(
                "Objectives are 1.001, 1.11, 1.13 and 10.7 times that of k-means++, or less",
                _SEARCHED,
                _no_higher(dict(zip(_SEARCHED, _RATIOS, strict=True))),
                reading="SuLQ from k-means++ on the rows, and the grid searched as well as we can",
                otherwise=(
                    "both from packed spheres, as in Su et al.",
                    _PACKED,
                    _no_higher(dict(zip(_PACKED, _RATIOS, strict=True))),
                ),
            ),
            Claim(
                "Sample and aggregate is worse than theirs",
                ("Balcan et al.", "GkM"),
                better("Balcan et al.", "GkM"),
            ),
        ),
        note="Published ratios to k-means++: Su's grid 1.001, SuLQ 1.11, theirs 1.13, k-variates++ 5.27, "
        "sample and aggregate 10.7. The supplement gives no epsilon for this table; 0.5, which it has "
        "elsewhere, is taken. It has 2.636e5 for k-means++, less than n d = 3e5, which no four separate "
        "unit Gaussians in three columns can have: the table was not of the data described. Nor can the "
        "rule theta = 10 give Su's grid 1.001 at 0.5: under replace it has 23 cells per side, and grain "
        "alone costs 1.23. The authors' code spends more than epsilon (docs/proofs/projected.md); this "
        "does not.",
    ),
    Experiment(
        name="balcan-figure-2",
        title="MNIST against k, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 2",
        data=(Data.of("mnist"),),
        methods=(_THEIRS, _OURS, _VARIATES, _VARIATES_SHARP, _KMEANS),
        sweep=Sweep("k", (2, 3, 4, 5)),
        runs=10,
        epsilon=0.5,
        starts=_FEW_STARTS,
        hours=1.0,
        note="How noisy the published k-variates++ is follows from constants of the rows by a formula "
        "that we could not recover: two readings stand for it, brought back into the bounds, which helps it.",
        claims=(
            Claim(
                "Theirs beats k-variates++",
                ("Balcan et al.", _VARIATES.label),
                better("Balcan et al.", _VARIATES.label, share=0.9),
                reading="noise of epsilon",
                otherwise=(
                    _LN_N,
                    ("Balcan et al.", _VARIATES_SHARP.label),
                    better("Balcan et al.", _VARIATES_SHARP.label, share=0.9),
                ),
            ),
        ),
    ),
    Experiment(
        name="balcan-figure-3",
        title="CIFAR-10 features against k",
        paper=f"{_BALCAN}, figure 3",
        data=(Data.of("cifar10_resnet18_3class"),),
        methods=(_THEIRS, _OURS, _SULQ, _SULQ_ROWS, _KMEANS),
        sweep=Sweep("k", (2, 4, 8, 16, 32, 64)),
        runs=10,
        epsilon=0.5,
        starts=_FEW_STARTS,
        quick=Quick(3, (2, 8)),
        hours=0.5,
        narrower="15,000 rows of three classes and 512 ResNet-18 features stand in for 100,000 rows and 160 "
        "Inception features",
        claims=(
            Claim(
                "Theirs beats SuLQ (here on a stand-in with 15,000 rows)",
                ("Balcan et al.", _SULQ.label),
                better("Balcan et al.", _SULQ.label, share=0.8),
                reading="SuLQ from packed spheres",
                otherwise=(
                    "from k-means++ on the rows",
                    ("Balcan et al.", _SULQ_ROWS.label),
                    better("Balcan et al.", _SULQ_ROWS.label, share=0.8),
                ),
            ),
        ),
    ),
    Experiment(
        name="balcan-figure-4",
        title="32 Gaussians against d, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 4",
        data=(Data.of("balcan_gaussians", k=32),),
        methods=(_THEIRS, _OURS, _SUGRID, _SULQ, _SULQ_ROWS, _KMEANS),
        sweep=Sweep("d", (5, 50, 500, 5000)),
        runs=10,
        epsilon=0.5,
        starts=_FEW_STARTS,
        hours=6.0,
        note="5,000 columns take 4 GB and two minutes a run; EUGkM is a grid of one cell from 50 columns on.",
        quick=Quick(3, (5, 50)),
        claims=(
            Claim(
                "Su's grid wins at d = 5",
                ("Balcan et al.", "EUGkM"),
                better("EUGkM", "Balcan et al.", x=(5, 5)),
            ),
        ),
    ),
    Experiment(
        name="balcan-figure-5",
        title="8 to 64 Gaussians in 100 columns, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 5",
        data=(Data.of("balcan_gaussians", d=100),),
        methods=(_THEIRS, _OURS, _SULQ, _SULQ_ROWS, _KMEANS),
        sweep=Sweep("k", (8, 16, 32, 64)),
        runs=10,
        epsilon=0.5,
        starts=_FEW_STARTS,
        hours=0.5,
        note="Runs scatter where groups are missed: medians stand beside means in the table. The "
        "experiments of the paper's main body are not in its supplement and are not run.",
        quick=Quick(3, (8, 16)),
        claims=(
            Claim(
                "Theirs beats SuLQ",
                ("Balcan et al.", _SULQ.label),
                better("Balcan et al.", _SULQ.label, share=0.8),
                reading="SuLQ from packed spheres",
                otherwise=(
                    "from k-means++ on the rows",
                    ("Balcan et al.", _SULQ_ROWS.label),
                    better("Balcan et al.", _SULQ_ROWS.label, share=0.8),
                ),
            ),
        ),
    ),
    Experiment(
        name="balcan-time",
        title="Run time on 32 Gaussians in 5 columns, epsilon = 0.5",
        paper=f"{_BALCAN}, section 6.4",
        data=(Data.of("balcan_gaussians", k=32),),
        methods=(_THEIRS, _OURS, _SUGRID, _KMEANS),
        sweep=Sweep("d", (5,)),
        runs=10,
        metrics=("seconds", "memory"),
        figures=("overview",),
        epsilon=0.5,
        alone=True,
        quick=Quick(3),
        note="Published: theirs within 15 minutes, Su's grid more than 5 hours.",
        claims=(
            Claim(
                "ProjectedKMeans is at least 60 times faster than theirs was (ours)",
                ("ProjectedKMeans",),
                _faster("ProjectedKMeans", 60, 60 * _MINUTES_AT_5_COLUMNS),
            ),
            Claim(
                "So is theirs, as it is run here (ours)",
                ("Balcan et al.",),
                _faster("Balcan et al.", 60, 60 * _MINUTES_AT_5_COLUMNS),
            ),
            Claim(
                "Su's grid is slower than theirs",
                ("Balcan et al.", "EUGkM"),
                better("Balcan et al.", "EUGkM", metric="seconds"),
            ),
        ),
    ),
)
