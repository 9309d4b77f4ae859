"""Joshi and Thakkar: k-means with sub-clusters. The published versions are not differentially private."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from shoal.bench.claims import Claim, Where
from shoal.bench.comparisons import better, gain
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.results import Results
from shoal.bench.surely import Cells, Verdict, decide, error_of, quotient, within

_JOSHI = "Joshi and Thakkar"

_SMALL = tuple(map(Data.of, ("iris", "wine", "breast_cancer", "digits")))
_AS_IT_WAS = {"published": True, "allow_unproven": True, "max_iter": 10}
_GUARANTEE = Method.of("KMeans-Guarantee as published: no guarantee", "convergent", **_AS_IT_WAS)
_STAYS = Method.of("KMeans-Guarantee, stays: no guarantee", "convergent", empty_zone="stay", **_AS_IT_WAS)
_REPAIRED = Method.of("KMeans-Guarantee, repaired", "convergent")
_SUB_REPAIRED = Method.of("SubCluster, repaired", "subcluster")
_LLOYD = Method.of("DPLloyd", "lloyd")
_INNER = {
    k: Method.of(f"SubCluster, {k} inner: no guarantee", "subcluster", internal_k=k, **_AS_IT_WAS)
    for k in (2, 3, 4, 5)
}
# What the paper found best: 4 sub-clusters of a zone on Wine and Breast Cancer, 5 on Digits; on Iris they
# matter little.
_CHOSEN = {"iris": 3, "wine": 4, "breast_cancer": 4, "digits": 5}
_OF_TABLE = {table: _INNER[k].label for table, k in _CHOSEN.items()}
_SUBS = tuple(dict.fromkeys(_OF_TABLE.values()))
_GAINS = {"iris": 1.1, "wine": 4.13, "breast_cancer": 2.83, "digits": 1.0}
# How much larger a CostGap may be that is "no larger".
_NO_WORSE = 0.1
_KMEANS = Method.of("KMeans", "auto")
_NOTE = (
    "The published versions are **not differentially private**: for them epsilon says how noisy choices are, "
    "and no more. The repaired ones and DPLloyd are private. Each method has the same public bounds."
)


def _nowhere_worse(baseline: str) -> Callable[[Results], Verdict]:
    """Check that SubCluster, with the sub-clusters chosen for each table, is surely worse on none.

    One test for a table, over all its epsilons: of six, one is beyond two standard errors often enough. A
    table is for it where SubCluster is surely not worse by more than a tenth.
    """

    def check(results: Results) -> Verdict:
        told, signs = [], []
        for table, label in _OF_TABLE.items():
            pairs = Where(data=(table,)).pairs(results, label, baseline, "cost_gap")
            if not pairs:
                return Verdict("not run", f"some tables lack runs of {baseline}")
            ratios = [quotient((a.mean, error_of(a)), (b.mean, error_of(b))) for _, a, b in pairs]
            gap = sum(ratio - 1 for ratio, _ in ratios) / len(pairs)
            error = math.hypot(*(error for _, error in ratios)) / len(pairs)
            worse = within(gap, error, 0.0, math.inf) == 1
            signs.append(-1 if worse else within(gap, error, -math.inf, _NO_WORSE))
            told.append(f"{table} {gap:+.1%} ± {error:.1%}")
        return decide(-1 not in signs, signs, f"CostGap against the baseline's: {', '.join(told)}",
                      list(_OF_TABLE))  # fmt: skip

    return check


def _not_private(_: Results) -> Verdict:
    return Verdict(
        "does not hold",
        "on two tables that differ in one row, one outcome has probability 0 and 0.567; a test shows it "
        "(docs/proofs/published.md)",
        (Cells(0, 1, 0),),
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="joshi-figure-3",
        title="CostGap against epsilon: SubCluster and KMeans-Guarantee",
        paper=f"{_JOSHI}, figure 3",
        data=_SMALL,
        methods=(
            _GUARANTEE,
            _STAYS,
            *(
                replace(_INNER[k], only=tuple(table for table, chosen in _CHOSEN.items() if chosen == k))
                for k in sorted(set(_CHOSEN.values()))
            ),
            _REPAIRED,
            _SUB_REPAIRED,
            _LLOYD,
            _KMEANS,
        ),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)),
        runs=30,
        metrics=("cost_gap",),
        hours=0.1,
        quick=Quick(10, (0.1, 0.5, 1.0, 4.0)),
        note=f"{_NOTE} Sub-clusters of a zone as the paper chose them: "
        + ", ".join(f"{k} on {table}" for table, k in _CHOSEN.items())
        + ". No paper says what the baseline does where its sampling zone has no rows: it takes any row of "
        "the convergent zone, or stays; the certificate of each fit says how often that happens.",
        claims=(
            Claim("The same differential privacy requirements are kept", (), _not_private),
            Claim(
                "SubCluster's CostGap is 1.1, 4.13, 2.83 and 1 times smaller",
                (*_SUBS, _GUARANTEE.label),
                gain(_OF_TABLE, _GUARANTEE.label, _GAINS),
                reading="an empty sampling zone gives way to the whole convergent zone",
                otherwise=(
                    "a centre with an empty sampling zone stays",
                    (*_SUBS, _STAYS.label),
                    gain(_OF_TABLE, _STAYS.label, _GAINS),
                ),
            ),
            Claim(
                "SubCluster's CostGap is smaller than KMeans-Guarantee's or equal on every table",
                (*_SUBS, _GUARANTEE.label),
                _nowhere_worse(_GUARANTEE.label),
                reading="whole convergent zone",
                otherwise=("a centre stays", (*_SUBS, _STAYS.label), _nowhere_worse(_STAYS.label)),
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
        methods=(*_INNER.values(), _KMEANS),
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
