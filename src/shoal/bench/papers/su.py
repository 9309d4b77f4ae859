"""Su, Cao, Li, Bertino, Jin 2016: Differentially private k-means clustering."""

from __future__ import annotations

from itertools import product
from typing import Any

from shoal.algorithms.shared.su_error import smallest_epsilon
from shoal.bench.claims import Claim
from shoal.bench.comparisons import better, near, no_worse
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.trends import NO_NOISE, bounds, noise_dominates, predicts, slope, sooner, steeper
from shoal.reporting.store import Record

_SU = "Su et al. 2016"

# Su et al. run DPLloyd 100 times from each of 30 starts; here each run draws its own start.
_DPLLOYD = Method.of("DPLloyd-Impr", "lloyd", noise="laplace", max_iter=5, division="plain")
_UNIFORM = Method.of(
    "DPLloyd, uniform", "lloyd", noise="laplace", max_iter=5, division="plain", init="uniform"
)
_EUG = Method.of("EUGkM", "grid", resolution="theta", starts="published")
_EUG_OURS = Method.of("EUGkM, our search", "grid", resolution="theta")
_KMEANS = Method.of("KMeans", "auto")
_PG = Method.of("PGkM", "genetic")
# Half of the budget for the range, as published. How centres of blocks are brought into one order is not
# printed: sorted by a column, as GUPT's code does, or matched.
_AS_GUPT: dict[str, Any] = {"noise": "laplace", "ranges": "helper"}
_GK = Method.of("GkM", "sample-aggregate", blocks="n^0.4", align="sorted", **_AS_GUPT)
_GK3 = Method.of("GkM-3K", "sample-aggregate", blocks="3k", align="sorted", **_AS_GUPT)
_GK3_MATCHED = Method.of("GkM-3K, matched", "sample-aggregate", blocks="3k", **_AS_GUPT)
_HYBRID = Method.of(
    "Hybrid", "hybrid", resolution="theta", gate="published", noise="laplace", starts="published"
)

_STEP = Method.of(
    "EUGkM and one step", "hybrid", resolution="theta", gate="always", noise="laplace", starts="published"
)

_SU_SETS = tuple(
    map(
        Data.of,
        (
            "s1",
            "gowalla_poi",
            "gowalla_nyc_checkins",
            "tiger_stand_in",
            "image_rgb",
            "adult",
            "lifesci_columns",
        ),
    )
)
_LOW = ("s1", "gowalla_poi", "gowalla_nyc_checkins", "tiger_stand_in", "image_rgb")
_HIGH = ("adult", "lifesci_columns")
_SU_EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
_SU_NOTE = (
    "Gowalla's 107,091 places are not to be had: 32,510 places and the New York check-ins of the same "
    "network stand in. TIGER is a made-up two-cluster stand-in."
)
# What the paper leaves open, and what it does to the order of exponents (measured with other placements).
_GRID_NOTE = (
    "The paper says only 'well separated Gaussian clusters of equal size': here centres are at random, at "
    "least six standard deviations apart, which for two groups often leaves both to one packed start. An "
    "absolute excess grows with the squared diameter, 4 d, whatever is done."
)


def _coarse_first(d: int, k: int) -> tuple[int, int, int]:
    """Put the corners and the middle first, then what lies between: whoever stops early has a coarser map."""
    return max(next(i for i, step in enumerate((4, 2, 1)) if not (n - 2) % step) for n in (d, k)), d, k


# What "scales" is: how many times the excess grows, or by how much, as the colours of the figure show.
_POWERS, _ABSOLUTE = "as a power", "in absolute terms"
_GRID_81 = tuple(
    Data.of("gaussians", d=d, k=k)
    for d, k in sorted(product(range(2, 11), repeat=2), key=lambda pair: _coarse_first(*pair))
)
_GRID_9 = tuple(f"gaussians d={d} k={k}" for d in (2, 6, 10) for k in (2, 6, 10))


def _rounds(what: str, n: int) -> str:
    return f"{what}, {n} round{'s' * (n > 1)}"


def _above_threshold(run: Record) -> bool:
    return float(run["epsilon"]) >= smallest_epsilon(run["rows"], run["columns"], run["k"])


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="su-figure-1",
        title="NICV against epsilon on the six external tables",
        paper=f"{_SU}, figure 1",
        data=_SU_SETS,
        methods=(_DPLLOYD, _UNIFORM, _EUG, _PG, _GK, _GK3, _GK3_MATCHED, _KMEANS),
        sweep=Sweep("epsilon", _SU_EPSILONS),
        runs=20,
        metrics=("nicv",),
        quick=Quick(10, (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)),
        hours=2.0,
        note=f"{_SU_NOTE} 20 runs, each from starts of its own, where the paper has 100 from each of 30 "
        "starts.",
        claims=(
            *(
                Claim(
                    f"GkM is by far the worst; here against {other}",
                    (_GK.label, other),
                    better(other, _GK.label, share=0.9),
                )
                for other in ("PGkM", _GK3.label, "DPLloyd-Impr", "EUGkM")
            ),
            Claim("GkM-3K is near PGkM", (_GK3.label, "PGkM"), near(_GK3.label, "PGkM", 1.5)),
            Claim(
                "DPLloyd, the best interactive method, beats PGkM except on S1 below epsilon 0.15",
                ("DPLloyd-Impr", "PGkM"),
                better("DPLloyd-Impr", "PGkM", share=0.9, but=("s1", 0.15)),
            ),
            Claim(
                "PGkM beats DPLloyd on S1 below epsilon 0.15",
                ("DPLloyd-Impr", "PGkM"),
                better("PGkM", "DPLloyd-Impr", data=("s1",), x=(0, 0.149)),
            ),
            Claim(
                "DPLloyd, the best interactive method, beats GkM-3K",
                ("DPLloyd-Impr", _GK3.label),
                better("DPLloyd-Impr", _GK3.label, share=0.8),
                reading="centres of blocks sorted by a column, as GUPT's code does",
                otherwise=(
                    "matched to public points",
                    ("DPLloyd-Impr", _GK3_MATCHED.label),
                    better("DPLloyd-Impr", _GK3_MATCHED.label, share=0.8),
                ),
            ),
            Claim(
                "Packed starts (DPLloyd-Impr) are better than uniform ones",
                ("DPLloyd-Impr", _UNIFORM.label),
                better("DPLloyd-Impr", _UNIFORM.label, share=0.5),
            ),
            Claim(
                "KMeans beats every one of them (ours); here EUGkM",
                ("KMeans", "EUGkM"),
                better("KMeans", "EUGkM", share=0.8),
            ),
            Claim(
                "EUGkM beats DPLloyd on S1 at epsilon 0.1 and 0.5",
                ("EUGkM", "DPLloyd-Impr"),
                better("EUGkM", "DPLloyd-Impr", share=0.99, data=("s1",), x=(0.1, 0.5)),
            ),
            Claim(
                "EUGkM beats DPLloyd on the low-dimensional tables at small epsilon",
                ("EUGkM", "DPLloyd-Impr"),
                better("EUGkM", "DPLloyd-Impr", share=0.8, data=_LOW, x=(0, 0.5)),
            ),
            Claim(
                "DPLloyd beats EUGkM on Adult and Lifesci at almost all epsilon",
                ("EUGkM", "DPLloyd-Impr"),
                better("DPLloyd-Impr", "EUGkM", share=0.8, data=_HIGH),
            ),
        ),
    ),
    Experiment(
        name="su-figure-2",
        title="Excess NICV over d and k, epsilon = 1",
        paper=f"{_SU}, figure 2",
        data=_GRID_81,
        methods=(
            _DPLLOYD,
            _EUG,
            *(
                Method.of(
                    f"EUGkM, theta = {theta}", "grid", resolution="theta", theta=theta, starts="published"
                )
                for theta in (5, 20, 50)
            ),
            _PG,
            _GK3,
            _KMEANS,
        ),
        sweep=Sweep("epsilon", (1.0,)),
        runs=20,
        metrics=("excess",),
        figures=("heatmap",),
        quick=Quick(5, data=_GRID_9),
        hours=6.0,
        note=_GRID_NOTE,
        claims=(
            Claim(
                "DPLloyd scales worse with k than with d",
                ("DPLloyd-Impr",),
                steeper(("DPLloyd-Impr", "k"), ("DPLloyd-Impr", "columns")),
                reading=_POWERS,
                otherwise=(
                    _ABSOLUTE,
                    ("DPLloyd-Impr",),
                    steeper(("DPLloyd-Impr", "k"), ("DPLloyd-Impr", "columns"), absolute=True),
                ),
            ),
            Claim(
                "EUGkM is more sensitive to d than DPLloyd",
                ("EUGkM", "DPLloyd-Impr"),
                steeper(("EUGkM", "columns"), ("DPLloyd-Impr", "columns")),
                reading=_POWERS,
                otherwise=(
                    _ABSOLUTE,
                    ("EUGkM", "DPLloyd-Impr"),
                    steeper(("EUGkM", "columns"), ("DPLloyd-Impr", "columns"), absolute=True),
                ),
            ),
            Claim(
                "DPLloyd is more sensitive to k than EUGkM",
                ("EUGkM", "DPLloyd-Impr"),
                steeper(("DPLloyd-Impr", "k"), ("EUGkM", "k")),
                reading=_POWERS,
                otherwise=(
                    _ABSOLUTE,
                    ("EUGkM", "DPLloyd-Impr"),
                    steeper(("DPLloyd-Impr", "k"), ("EUGkM", "k"), absolute=True),
                ),
            ),
            *(
                Claim(
                    f"theta = 10 works well in most cases; here against {theta}",
                    ("EUGkM", f"EUGkM, theta = {theta}"),
                    better("EUGkM", f"EUGkM, theta = {theta}", metric="excess"),
                )
                for theta in (5, 20, 50)
            ),
        ),
    ),
    Experiment(
        name="su-figure-3",
        title="GkM against the number of blocks",
        paper=f"{_SU}, figure 3",
        data=_SU_SETS,
        methods=(
            *(
                Method.of(
                    f"GkM, {blocks} blocks", "sample-aggregate", blocks=blocks, align="sorted", **_AS_GUPT
                )
                for blocks in (10, 30, 100, 300, 1000)
            ),
            _KMEANS,
        ),
        sweep=Sweep("epsilon", (0.1, 0.3, 1.0, NO_NOISE)),
        runs=20,
        metrics=("nicv",),
        quick=Quick(10),
        hours=1.0,
        note="N^0.4 is between 30 (S1) and 114 (the check-ins) blocks. At an epsilon of a million there is "
        "no noise to speak of: what is left is the error of aggregation.",
        claims=(
            Claim(
                "N^0.4 blocks are too few: smaller blocks, and more of them, do better",
                ("GkM, 30 blocks", "GkM, 300 blocks"),
                better("GkM, 300 blocks", "GkM, 30 blocks", share=0.8, x=(0, 1)),
            ),
            Claim(
                "The error of GkM is dominated by its noise, not by aggregation, up to epsilon 1",
                ("GkM, 30 blocks",),
                noise_dominates("GkM, 30 blocks", 1.0),
            ),
        ),
    ),
    Experiment(
        name="su-figure-4",
        title="Lloyd against the non-private genetic search, by iteration",
        paper=f"{_SU}, figure 4",
        data=_SU_SETS,
        methods=(
            *(
                Method.of(_rounds("Lloyd", n), "lloyd", max_iter=n, noise="laplace", division="plain")
                for n in (1, 3, 5, 10)
            ),
            *(Method.of(_rounds("genetic", n), "genetic", max_generations=n) for n in (1, 3, 8, 20)),
            _KMEANS,
        ),
        sweep=Sweep("epsilon", (NO_NOISE,)),
        runs=20,
        metrics=("nicv",),
        figures=("overview",),
        hours=0.2,
        quick=Quick(10),
        note="At an epsilon of a million both are as good as non-private.",
        claims=(
            Claim(
                "Lloyd converges in fewer iterations than the genetic search: 3 of its rounds beat 3",
                ("Lloyd, 3 rounds", "genetic, 3 rounds"),
                better("Lloyd, 3 rounds", "genetic, 3 rounds", share=0.8),
            ),
            Claim(
                "Within 3 rounds Lloyd is near what 10 reach; the genetic search needs more than 8",
                ("Lloyd, 3 rounds", "Lloyd, 10 rounds", "genetic, 8 rounds", "genetic, 20 rounds"),
                sooner(("Lloyd, 3 rounds", "Lloyd, 10 rounds"), ("genetic, 8 rounds", "genetic, 20 rounds")),
            ),
        ),
    ),
    Experiment(
        name="su-figure-5",
        title="Hybrid against EUGkM and DPLloyd",
        paper=f"{_SU}, figure 5",
        data=_SU_SETS,
        methods=(_DPLLOYD, _EUG, _HYBRID, _STEP, _KMEANS),
        sweep=Sweep("epsilon", _SU_EPSILONS),
        runs=20,
        metrics=("nicv",),
        quick=Quick(10, (0.05, 0.2, 0.7, 2.0)),
        hours=2.0,
        note=_SU_NOTE
        + " The paper: Gowalla at 0.7 Hybrid 0.02172, EUGkM 0.02174; Adult at 0.05 EUGkM 0.370.",
        claims=(
            *(
                Claim(
                    f"Hybrid beats both on Adult and Lifesci in most cases; here {other}",
                    ("Hybrid", other),
                    better("Hybrid", other, data=_HIGH),
                )
                for other in ("EUGkM", "DPLloyd-Impr")
            ),
            Claim(
                "Hybrid is no worse than EUGkM above its threshold, equation (15)",
                ("Hybrid", "EUGkM"),
                no_worse("Hybrid", "EUGkM", given=_above_threshold),
            ),
            Claim(
                "Hybrid is never much worse than EUGkM on the low-dimensional tables",
                ("Hybrid", "EUGkM"),
                no_worse("Hybrid", "EUGkM", data=_LOW),
            ),
            Claim(
                "One round of DPLloyd after EUGkM helps on Adult at epsilon 0.05 (0.370 to 0.244 published)",
                (_STEP.label, "EUGkM"),
                better(_STEP.label, "EUGkM", data=("adult",), x=(0, 0.05)),
            ),
            Claim(
                "Below its threshold, equation (15), Hybrid is EUGkM",
                ("Hybrid", "EUGkM"),
                no_worse("Hybrid", "EUGkM", given=lambda run: not _above_threshold(run)),
            ),
        ),
    ),
    Experiment(
        name="su-figure-6",
        title="Hybrid against EUGkM over d and k, epsilon = 1",
        paper=f"{_SU}, figure 6",
        data=_GRID_81,
        methods=(_EUG, _HYBRID, _KMEANS),
        sweep=Sweep("epsilon", (1.0,)),
        runs=20,
        metrics=("excess",),
        figures=("heatmap",),
        quick=Quick(10, data=_GRID_9),
        hours=1.0,
        note=_GRID_NOTE,
        claims=(
            Claim(
                "Hybrid is more scalable than EUGkM in d",
                ("Hybrid", "EUGkM"),
                steeper(("EUGkM", "columns"), ("Hybrid", "columns")),
                reading=_POWERS,
                otherwise=(
                    _ABSOLUTE,
                    ("Hybrid", "EUGkM"),
                    steeper(("EUGkM", "columns"), ("Hybrid", "columns"), absolute=True),
                ),
            ),
            Claim(
                "Hybrid is more scalable than EUGkM in k",
                ("Hybrid", "EUGkM"),
                steeper(("EUGkM", "k"), ("Hybrid", "k")),
                reading=_POWERS,
                otherwise=(
                    _ABSOLUTE,
                    ("Hybrid", "EUGkM"),
                    steeper(("EUGkM", "k"), ("Hybrid", "k"), absolute=True),
                ),
            ),
        ),
    ),
    Experiment(
        name="su-figure-7",
        title="Run time of DPLloyd and EUGkM, epsilon = 0.1",
        paper=f"{_SU}, figure 7",
        data=_SU_SETS,
        methods=(_DPLLOYD, _EUG, _KMEANS),
        sweep=Sweep("epsilon", (0.1,)),
        runs=10,
        metrics=("seconds",),
        figures=("overview",),
        alone=True,
        quick=Quick(3),
        claims=(
            Claim(
                "DPLloyd is much faster than EUGkM",
                ("DPLloyd-Impr", "EUGkM"),
                better("DPLloyd-Impr", "EUGkM", metric="seconds", share=0.8),
            ),
        ),
    ),
    Experiment(
        name="predicted-grid",
        title="EUGkM: the error of a centre, predicted by Su et al. (9) and measured",
        paper=f"{_SU}, section 6.2",
        data=tuple(Data.of("gaussians", d=d, k=k) for d, k in ((2, 2), (2, 5), (3, 5), (5, 5))),
        methods=(_EUG,),
        sweep=Sweep("epsilon", (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
        runs=20,
        metrics=("centre_error",),
        figures=("predicted",),
        quick=Quick(20),
        note="Mean squared distance of a centre to the exact mean of the rows in its cells. Centres of fewer "
        "rows than noise are left out. Equation (10), the grain of the grid, is a bound, no prediction.",
        claims=(
            Claim(
                "Equation (9) predicts what the noise adds to the error of EUGkM within a factor of two, for "
                "groups of similar size, as it assumes",
                ("EUGkM",),
                predicts("EUGkM", "predicted", "balanced_noise", 2.0),
            ),
            Claim(
                "Equations (9) and (10) together bound the error of EUGkM",
                ("EUGkM",),
                bounds("EUGkM", "bound", "centre_error"),
            ),
        ),
    ),
    Experiment(
        name="predicted-hybrid",
        title="Hybrid: the error of its round of Lloyd, predicted by Su et al. (13) and measured",
        paper=f"{_SU}, section 6.3",
        data=tuple(Data.of("gaussians", d=d, k=k) for d, k in ((2, 2), (2, 5), (3, 5), (5, 5))),
        methods=(
            Method.of("Hybrid, always refined", "hybrid", resolution="theta", gate="always", noise="laplace"),
        ),
        sweep=Sweep("epsilon", (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
        runs=20,
        metrics=("centre_error",),
        figures=("predicted",),
        quick=Quick(20),
        note="Mean squared distance of a centre to the exact mean of its cell. Centres kept for want of rows "
        "are left out.",
        claims=(
            Claim(
                "Equation (13) predicts the error of Hybrid's round within a factor of two, for groups of "
                "similar size, as it assumes",
                ("Hybrid, always refined",),
                predicts("Hybrid, always refined", "predicted", "balanced_error", 2.0),
            ),
            Claim(
                "The squared error of Hybrid's round falls like 1 / epsilon^2, for groups of similar size",
                ("Hybrid, always refined",),
                slope("Hybrid, always refined", -2.3, -1.7, metric="balanced_error"),
            ),
        ),
    ),
)
