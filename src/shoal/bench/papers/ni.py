"""Ni et al.: DP-KCCM, merging clusters and growing budgets."""

from __future__ import annotations

from shoal.bench.claims import Claim, better, order
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep

_NI = "Ni et al."

_NI_SETS = tuple(
    map(Data.of, ("blood", "adult", "tripadvisor", "electrical", "google_reviews", "credit_card"))
)
_NI_METHODS = tuple(
    Method.of(variant, "merging", variant=variant, merge="published", noise="laplace")
    for variant in ("allocation_nk", "average_nk", "average_k", "allocation_k")
)
# Ours: merge the pair that costs least, so that centres without rows go first.
_WARD = Method.of("allocation_nk, Ward", "merging", variant="allocation_nk", merge="ward", noise="laplace")
_NI_NOTE = (
    "Merging the closest pair, as published, merges centres where rows are and keeps those that found none."
)
_WARD_CLAIM = Claim(
    "Merging the pair that costs least (Ward) beats merging the closest pair (ours)",
    (_WARD.label, "allocation_nk"),
    better(_WARD.label, "allocation_nk", share=0.8),
)
_NI_CLAIM = Claim(
    "Best first: allocation_nk, average_nk, average_k, allocation_k",
    ("allocation_nk", "average_nk", "average_k", "allocation_k"),
    order(("allocation_nk", "average_nk", "average_k", "allocation_k")),
)
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="ni-figures-3-8",
        title="NICV against epsilon: merging and growing budgets",
        paper=f"{_NI}, figures 3 to 8",
        data=_NI_SETS,
        methods=(*_NI_METHODS, _WARD),
        sweep=Sweep("epsilon", (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),
        runs=1000,
        metrics=("nicv",),
        quick=Quick(10),
        claims=(_NI_CLAIM, _WARD_CLAIM),
        note="Blood has 4 features here and Credit-card 23, the label apart; Adult is both files. "
        f"{_NI_NOTE}",
    ),
    Experiment(
        name="ni-figures-9-14",
        title="NICV against k, epsilon = 0.6",
        paper=f"{_NI}, figures 9 to 14",
        data=_NI_SETS,
        methods=(*_NI_METHODS, _WARD),
        sweep=Sweep("k", (2, 3, 4, 5, 6, 7, 8)),
        runs=1000,
        metrics=("nicv",),
        epsilon=0.6,
        quick=Quick(10),
        note=_NI_NOTE,
        claims=(_NI_CLAIM, _WARD_CLAIM),
    ),
)
