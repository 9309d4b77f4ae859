"""Joshi and Thakkar: k-means with sub-clusters. The published versions are not differentially private."""

from __future__ import annotations

from shoal.bench.claims import Claim, Verdict, better, gain, no_worse
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.results import Results

_JOSHI = "Joshi and Thakkar"

_SMALL = tuple(map(Data.of, ("iris", "wine", "breast_cancer", "digits")))
_AS_IT_WAS = {"published": True, "allow_unproven": True, "max_iter": 10}
_GUARANTEE = Method.of("KMeans-Guarantee as published: no guarantee", "convergent", **_AS_IT_WAS)
_SUB = Method.of("SubCluster as published: no guarantee", "subcluster", **_AS_IT_WAS)
_REPAIRED = Method.of("KMeans-Guarantee, repaired", "convergent")
_SUB_REPAIRED = Method.of("SubCluster, repaired", "subcluster")
_LLOYD = Method.of("DPLloyd", "lloyd")
_INNER = {
    k: Method.of(f"SubCluster, {k} inner: no guarantee", "subcluster", internal_k=k, **_AS_IT_WAS)
    for k in (2, 3, 4, 5)
}
_NOTE = (
    "The published versions are **not differentially private**: for them epsilon says how noisy choices are, "
    "and no more. The repaired ones and DPLloyd are private. Each method has the same public bounds."
)


def _not_private(_: Results) -> Verdict:
    return Verdict(
        "does not hold",
        "on two tables that differ in one row, one outcome has probability 0 and 0.567; a test shows it "
        "(docs/proofs/published.md)",
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="joshi-figure-3",
        title="CostGap against epsilon: SubCluster and KMeans-Guarantee",
        paper=f"{_JOSHI}, figure 3",
        data=_SMALL,
        methods=(_GUARANTEE, _SUB, _REPAIRED, _SUB_REPAIRED, _LLOYD),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)),
        runs=30,
        metrics=("cost_gap",),
        quick=Quick(10, (0.1, 0.5, 1.0, 4.0)),
        note=_NOTE,
        claims=(
            Claim("The same differential privacy requirements are kept", (), _not_private),
            Claim(
                "SubCluster's CostGap is 1.1, 4.13, 2.83 and 1 times smaller",
                (_SUB.label, _GUARANTEE.label),
                gain(
                    _SUB.label,
                    _GUARANTEE.label,
                    {"iris": 1.1, "wine": 4.13, "breast_cancer": 2.83, "digits": 1.0},
                ),
            ),
            Claim(
                "SubCluster's CostGap is smaller than KMeans-Guarantee's or equal on every table",
                (_SUB.label, _GUARANTEE.label),
                no_worse(_SUB.label, _GUARANTEE.label, metric="cost_gap"),
            ),
            Claim(
                "(ours) With a guarantee, KMeans-Guarantee repaired has a smaller CostGap than DPLloyd",
                (_REPAIRED.label, _LLOYD.label),
                better(_REPAIRED.label, _LLOYD.label, metric="cost_gap"),
            ),
            Claim(
                "(ours) With a guarantee, SubCluster repaired has a smaller CostGap than DPLloyd",
                (_SUB_REPAIRED.label, _LLOYD.label),
                better(_SUB_REPAIRED.label, _LLOYD.label, metric="cost_gap"),
            ),
        ),
    ),
    Experiment(
        name="joshi-figure-4",
        title="CostGap against epsilon for 2 to 5 sub-clusters",
        paper=f"{_JOSHI}, figure 4",
        data=_SMALL,
        methods=tuple(_INNER.values()),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)),
        runs=30,
        metrics=("cost_gap",),
        quick=Quick(10, (0.1, 1.0, 4.0)),
        note=_NOTE,
        claims=(
            Claim(
                "4 sub-clusters are better than 2 on Wine and Breast Cancer",
                (_INNER[4].label, _INNER[2].label),
                better(_INNER[4].label, _INNER[2].label, metric="cost_gap", data=("wine", "breast_cancer")),
            ),
            Claim(
                "5 sub-clusters are better than 2 on Digits",
                (_INNER[5].label, _INNER[2].label),
                better(_INNER[5].label, _INNER[2].label, metric="cost_gap", data=("digits",)),
            ),
        ),
    ),
)
