"""Balcan, Dick, Liang, Mou, Zhang 2017: Differentially private clustering in high-dimensional spaces."""

from __future__ import annotations

import math
from collections.abc import Callable

from shoal.bench.claims import Claim, Verdict, better, order
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.results import Results

_BALCAN = "Balcan et al. 2017"

# As published but for the repairs (docs/proofs/projected.md), and as it comes.
_THEIRS = Method.of("Balcan et al.", "projected", route="published", neighbours="replace")
_OURS = Method.of("ProjectedKMeans", "projected", neighbours="replace")
_SULQ = Method.of("DPLloyd, Laplace", "lloyd", noise="laplace", neighbours="replace")
_SUGRID = Method.of("EUGkM", "grid", resolution="theta", neighbours="replace")
_SANDA = Method.of("GkM", "sample-aggregate", neighbours="replace")
_VARIATES = Method.of("k-variates++", "k-variates")

# Table 1: objectives over that of k-means++, 2.636e5.
_RATIOS = {"EUGkM": 1.001, "DPLloyd, Laplace": 1.11, "Balcan et al.": 1.13, "GkM": 10.7}
_MINUTES_AT_5_COLUMNS = 15


def _no_higher(expected: dict[str, float], slack: float = 0.1) -> Callable[[Results], Verdict]:
    """Check that every method's mean ratio to the best non-private cost is no higher than published."""

    def check(results: Results) -> Verdict:
        found = {label: results.where(method=label).mean("ratio") for label in expected}
        if not all(math.isfinite(ratio) for ratio in found.values()):
            return Verdict("not testable here", "there are no costs of the best non-private solution")
        told = ", ".join(
            f"{label} {found[label]:.3f} ({ratio:g} published)" for label, ratio in expected.items()
        )
        holds = all(ratio <= (1 + slack) * expected[label] for label, ratio in found.items())
        return Verdict("holds" if holds else "does not hold", told)

    return check


def _faster(label: str, times: float, seconds: float) -> Callable[[Results], Verdict]:
    """Check that a method is at least `times` faster than `seconds`."""

    def check(results: Results) -> Verdict:
        found = results.where(method=label).mean("seconds")
        told = f"{label} takes {found:.1f} s, {seconds / found:.0f} times less than {seconds:g} s"
        return Verdict("holds" if found * times <= seconds else "does not hold", told)

    return check


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="balcan-table-1",
        title="All approaches on a small mixture of Gaussians",
        paper=f"{_BALCAN}, table 1",
        data=(Data.of("balcan_gaussians", d=3, k=4),),
        methods=(_SUGRID, _SULQ, _THEIRS, _OURS, _VARIATES, _SANDA),
        sweep=Sweep("epsilon", (0.5,)),
        runs=50,
        quick=Quick(10),
        figures=("overview",),
        claims=(
            Claim(
                "Best first: Su's grid, SuLQ, theirs, k-variates++, sample and aggregate",
                ("EUGkM", "DPLloyd, Laplace", "Balcan et al.", "k-variates++", "GkM"),
                order(("EUGkM", "DPLloyd, Laplace", "Balcan et al.", "k-variates++", "GkM")),
            ),
            Claim(
                "The same without k-variates++",
                tuple(_RATIOS),
                order(tuple(_RATIOS)),
            ),
            Claim(
                "Objectives are 1.001, 1.11, 1.13 and 10.7 times that of k-means++, or less",
                tuple(_RATIOS),
                _no_higher(_RATIOS),
            ),
            Claim(
                "Sample and aggregate is worse than theirs",
                ("Balcan et al.", "GkM"),
                better("Balcan et al.", "GkM"),
            ),
        ),
        note="Published ratios to k-means++: Su's grid 1.001, SuLQ 1.11, theirs 1.13, k-variates++ 5.27, "
        "sample and aggregate 10.7. SuLQ starts from packed spheres here, which often catch it on these four "
        "groups. The authors' code spends more than epsilon (docs/proofs/projected.md); this does not.",
    ),
    Experiment(
        name="balcan-figure-2",
        title="MNIST against k, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 2",
        data=(Data.of("mnist"),),
        methods=(_THEIRS, _OURS, _VARIATES),
        sweep=Sweep("k", (2, 3, 4, 5)),
        runs=10,
        epsilon=0.5,
        claims=(
            Claim(
                "Theirs beats k-variates++",
                ("Balcan et al.", "k-variates++"),
                better("Balcan et al.", "k-variates++", share=0.9),
            ),
        ),
    ),
    Experiment(
        name="balcan-figure-3",
        title="CIFAR-10 features against k",
        paper=f"{_BALCAN}, figure 3",
        data=(Data.of("cifar10_resnet18_3class"),),
        methods=(_THEIRS, _OURS, _SULQ),
        sweep=Sweep("k", (2, 4, 8, 16, 32, 64)),
        runs=10,
        epsilon=0.5,
        quick=Quick(3, (2, 8)),
        note="Three classes of ResNet-18 features stand in for the paper's Inception features.",
        claims=(
            Claim(
                "Theirs beats SuLQ",
                ("Balcan et al.", "DPLloyd, Laplace"),
                better("Balcan et al.", "DPLloyd, Laplace", share=0.8),
            ),
        ),
    ),
    Experiment(
        name="balcan-figure-4",
        title="32 Gaussians against d, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 4",
        data=(Data.of("balcan_gaussians", k=32),),
        methods=(_THEIRS, _OURS, _SUGRID, _SULQ),
        sweep=Sweep("d", (5, 50, 500, 5000)),
        runs=10,
        epsilon=0.5,
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
        methods=(_THEIRS, _OURS, _SULQ),
        sweep=Sweep("k", (8, 16, 32, 64)),
        runs=10,
        epsilon=0.5,
        quick=Quick(3, (8, 16)),
        claims=(
            Claim(
                "Theirs beats SuLQ",
                ("Balcan et al.", "DPLloyd, Laplace"),
                better("Balcan et al.", "DPLloyd, Laplace", share=0.8),
            ),
        ),
    ),
    Experiment(
        name="balcan-time",
        title="Run time on 32 Gaussians in 5 columns, epsilon = 0.5",
        paper=f"{_BALCAN}, section 6.4",
        data=(Data.of("balcan_gaussians", k=32),),
        methods=(_THEIRS, _OURS, _SUGRID),
        sweep=Sweep("d", (5,)),
        runs=5,
        metrics=("seconds", "memory"),
        epsilon=0.5,
        alone=True,
        quick=Quick(3),
        note="Published: theirs within 15 minutes, Su's grid more than 5 hours.",
        claims=(
            Claim(
                "Ours is at least 60 times faster than theirs was",
                ("ProjectedKMeans",),
                _faster("ProjectedKMeans", 60, 60 * _MINUTES_AT_5_COLUMNS),
            ),
            Claim(
                "So is theirs, here",
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
