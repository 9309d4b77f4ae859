"""Joshi and Thakkar: k-means with sub-clusters. The published versions are not differentially private."""

from __future__ import annotations

from shoal.bench.claims import Claim, gain
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep

_JOSHI = "Joshi and Thakkar"

_SMALL = tuple(map(Data.of, ("iris", "wine", "breast_cancer", "digits")))
_GUARANTEE = Method.of("KMeans-Guarantee, no guarantee", "convergent", published=True, allow_unproven=True)
_SUB = Method.of("SubCluster, no guarantee", "subcluster", published=True, allow_unproven=True)
_REPAIRED = (
    Method.of("KMeans-Guarantee, repaired", "convergent"),
    Method.of("SubCluster, repaired", "subcluster"),
)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="joshi-figure-3",
        title="CostGap against epsilon: SubCluster and KMeans-Guarantee",
        paper=f"{_JOSHI}, figure 3",
        data=_SMALL,
        methods=(_GUARANTEE, _SUB, *_REPAIRED, Method.of("DPLloyd", "lloyd")),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)),
        runs=30,
        metrics=("cost_gap",),
        quick=Quick(10, (0.1, 0.5, 1.0, 4.0)),
        note="The published versions are not differentially private; the repaired ones are.",
        claims=(
            Claim(
                "SubCluster's CostGap is 1.1, 4.13, 2.83 and 1 times smaller",
                ("SubCluster, no guarantee", "KMeans-Guarantee, no guarantee"),
                gain(
                    "SubCluster, no guarantee",
                    "KMeans-Guarantee, no guarantee",
                    {"iris": 1.1, "wine": 4.13, "breast_cancer": 2.83, "digits": 1.0},
                ),
            ),
        ),
    ),
    Experiment(
        name="joshi-figure-4",
        title="CostGap against epsilon for 2 to 5 sub-clusters",
        paper=f"{_JOSHI}, figure 4",
        data=_SMALL,
        methods=tuple(
            Method.of(
                f"SubCluster, {k} inner", "subcluster", published=True, allow_unproven=True, internal_k=k
            )
            for k in (2, 3, 4, 5)
        ),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)),
        runs=30,
        metrics=("cost_gap",),
    ),
)
