"""Balcan, Dick, Liang, Mou, Zhang 2017: Differentially private clustering in high-dimensional spaces."""

from __future__ import annotations

from shoal.bench.claims import Claim, better, order
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep

_BALCAN = "Balcan et al. 2017"

_THEIRS = Method.of("Balcan et al.", "projected", neighbours="replace")
_SULQ = Method.of("DPLloyd, Laplace", "lloyd", noise="laplace", neighbours="replace")
_SUGRID = Method.of("EUGkM", "grid", resolution="theta", neighbours="replace")
_SANDA = Method.of("GkM", "sample-aggregate", neighbours="replace")
_VARIATES = Method.of("k-variates++", "k-variates")

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="balcan-table-1",
        title="All approaches on a small mixture of Gaussians",
        paper=f"{_BALCAN}, table 1",
        data=(Data.of("balcan_gaussians", d=3, k=4),),
        methods=(_SUGRID, _SULQ, _THEIRS, _VARIATES, _SANDA),
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
        ),
        note="What must hold is the order and the ratios to k-means++: 1.001, 1.11, 1.13, 5.27, 10.7.",
    ),
    Experiment(
        name="balcan-figure-2",
        title="MNIST against k, epsilon = 0.5",
        paper=f"{_BALCAN}, figure 2",
        data=(Data.of("mnist"),),
        methods=(_THEIRS, _VARIATES),
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
        methods=(_THEIRS, _SULQ),
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
        methods=(_THEIRS, _SUGRID, _SULQ),
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
        methods=(_THEIRS, _SULQ),
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
)
