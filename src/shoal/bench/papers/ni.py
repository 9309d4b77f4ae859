"""Ni et al.: DP-KCCM, merging clusters and growing budgets."""

from __future__ import annotations

import math

from shoal.bench.claims import Claim
from shoal.bench.comparisons import better, order
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.trends import slope

_NI = "Ni et al. 2020"

_NI_SETS = tuple(
    map(Data.of, ("blood", "adult_train", "tripadvisor", "electrical", "google_reviews", "credit_card"))
)
_NI_METHODS = tuple(
    Method.of(variant, "merging", variant=variant, merge="published", noise="laplace")
    for variant in ("allocation_nk", "average_nk", "average_k", "allocation_k")
)
# Ours: merge the pair that costs least, so that centres without rows go first.
_WARD = Method.of("allocation_nk, Ward", "merging", variant="allocation_nk", merge="ward", noise="laplace")
_RUNS = "fewer runs, each from starts of its own, for 50 from each of 20 starts"
_NI_NOTE = (
    "Merging the closest pair, as published, merges centres where rows are and keeps those that found none."
)
_WARD_CLAIM = Claim(
    "Merging the pair that costs least (Ward) beats merging the closest pair (ours)",
    (_WARD.label, "allocation_nk"),
    better(_WARD.label, "allocation_nk", share=0.8),
)
_KMEANS = Method.of("KMeans", "auto")
_NI_CLAIMS = (
    Claim(
        "Best first: allocation_nk, average_nk, average_k, allocation_k",
        ("allocation_nk", "average_nk", "average_k", "allocation_k"),
        order(("allocation_nk", "average_nk", "average_k", "allocation_k")),
    ),
    Claim(
        "Merging with equal noise improves the utility: average_nk beats average_k",
        ("average_nk", "average_k"),
        better("average_nk", "average_k"),
    ),
    Claim(
        "Adaptive noise alone does not: average_k beats allocation_k",
        ("average_k", "allocation_k"),
        better("average_k", "allocation_k"),
    ),
    Claim(
        "Adaptive noise improves merging: allocation_nk beats average_nk",
        ("allocation_nk", "average_nk"),
        better("allocation_nk", "average_nk"),
    ),
    _WARD_CLAIM,
    Claim("KMeans beats all of them (ours)", ("KMeans", "allocation_k"), better("KMeans", "allocation_k")),
)
_IMPROVES = tuple(
    Claim(
        f"All improve as epsilon grows; here {method.label}",
        (method.label,),
        slope(method.label, -math.inf, 0.0, metric="nicv"),
    )
    for method in _NI_METHODS
)
_WITH_MORE = Sweep("k", (2, 3, 4, 5, 6, 7, 8))
_BY_K = (("9-10", 0.6, (_NI_SETS[0], _NI_SETS[2])), ("11-14", 0.2, (_NI_SETS[1], *_NI_SETS[3:])))
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="ni-figures-3-8",
        title="NICV against epsilon: merging and growing budgets",
        paper=f"{_NI}, figures 3 to 8",
        data=_NI_SETS,
        methods=(*_NI_METHODS, _WARD, _KMEANS),
        sweep=Sweep("epsilon", (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),
        runs=20,
        metrics=("nicv",),
        hours=0.2,
        quick=Quick(10),
        claims=(*_NI_CLAIMS, *_IMPROVES),
        note="Blood has 4 features here and Credit-card 23, the label apart; Adult is the training file, as "
        f"in the paper. {_NI_NOTE}",
        narrower=_RUNS,
    ),
    *(
        Experiment(
            name=f"ni-figures-{figures}",
            title=f"NICV against k, epsilon = {epsilon:g}",
            paper=f"{_NI}, figures {figures.replace('-', ' to ')}",
            data=data,
            methods=(*_NI_METHODS, _WARD, _KMEANS),
            sweep=_WITH_MORE,
            runs=20,
            metrics=("nicv",),
            epsilon=epsilon,
            quick=Quick(10),
            hours=0.1,
            note=_NI_NOTE,
            narrower=_RUNS,
            claims=_NI_CLAIMS,
        )
        for figures, epsilon, data in _BY_K
    ),
)
