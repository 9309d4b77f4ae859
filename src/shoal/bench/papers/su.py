"""Su, Cao, Li, Bertino, Jin 2016: Differentially private k-means clustering."""

from __future__ import annotations

from shoal.algorithms.shared.su_error import smallest_epsilon
from shoal.bench.claims import Claim, better, bounds, near, no_worse, predicts, slope, steeper
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.reporting.store import Record

_SU = "Su et al. 2016"

# Su et al. run DPLloyd 100 times from each of 30 starts; here each of 3,000 runs draws its own start.
_DPLLOYD = Method.of("DPLloyd, Laplace", "lloyd", runs=3000, noise="laplace", max_iter=5)
_OURS = Method.of("DPLloyd", "lloyd", runs=3000, max_iter=5)
_EUG = Method.of("EUGkM", "grid", runs=10, resolution="theta")
_PG = Method.of("PGkM", "genetic", runs=100)
_GK = Method.of("GkM, Laplace", "sample-aggregate", runs=100, blocks="n^0.4", noise="laplace")
_GK3 = Method.of("GkM-3K, Laplace", "sample-aggregate", runs=100, blocks="3k", noise="laplace")
# With the noise that is better than the published one.
_GK_OURS = Method.of("GkM", "sample-aggregate", runs=100, blocks="n^0.4")
_GK3_OURS = Method.of("GkM-3K", "sample-aggregate", runs=100, blocks="3k")
_HYBRID = Method.of("Hybrid", "hybrid", runs=100, resolution="theta", gate="published", noise="laplace")

_SU_SETS = tuple(
    map(
        Data.of,
        ("s1", "gowalla_poi", "gowalla_nyc_checkins", "tiger_stand_in", "image_rgb", "adult", "lifesci"),
    )
)
_LOW = ("s1", "gowalla_poi", "gowalla_nyc_checkins", "tiger_stand_in", "image_rgb")
_HIGH = ("adult", "lifesci")
_SU_EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
_SU_NOTE = (
    "Gowalla's 107,091 places are not to be had: 32,510 places and the New York check-ins of the same "
    "network stand in. TIGER is a made-up two-cluster stand-in."
)
_GRID_81 = tuple(Data.of("gaussians", d=d, k=k) for d in range(2, 11) for k in range(2, 11))
_GRID_9 = tuple(f"gaussians d={d} k={k}" for d in (2, 6, 10) for k in (2, 6, 10))


def _above_threshold(run: Record) -> bool:
    return float(run["epsilon"]) >= smallest_epsilon(run["rows"], run["columns"], run["k"])


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="su-figure-1",
        title="NICV against epsilon on the six external tables",
        paper=f"{_SU}, figure 1",
        data=_SU_SETS,
        methods=(_DPLLOYD, _OURS, _EUG, _PG, _GK, _GK_OURS, _GK3, _GK3_OURS),
        sweep=Sweep("epsilon", _SU_EPSILONS),
        runs=100,
        metrics=("nicv",),
        quick=Quick(10, (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)),
        note=_SU_NOTE,
        claims=(
            *(
                Claim(
                    f"GkM is by far the worst; here against {other}",
                    (_GK.label, other),
                    better(other, _GK.label, share=0.9),
                )
                for other in ("PGkM", _GK3.label, "DPLloyd, Laplace", "EUGkM")
            ),
            Claim("GkM-3K is near PGkM", (_GK3.label, "PGkM"), near(_GK3.label, "PGkM", 1.5)),
            Claim(
                "DPLloyd, the best interactive method, beats PGkM except on S1 below epsilon 0.15",
                ("DPLloyd, Laplace", "PGkM"),
                better("DPLloyd, Laplace", "PGkM", share=0.9, but=("s1", 0.15)),
            ),
            Claim(
                "DPLloyd, the best interactive method, beats GkM-3K",
                ("DPLloyd, Laplace", _GK3.label),
                better("DPLloyd, Laplace", _GK3.label, share=0.8),
            ),
            Claim(
                "L-infinity noise makes GkM-3K more accurate than the published Laplace noise (ours)",
                (_GK3_OURS.label, _GK3.label),
                better(_GK3_OURS.label, _GK3.label, share=0.8),
            ),
            Claim(
                "EUGkM beats DPLloyd on S1 at epsilon 0.1 and 0.5",
                ("EUGkM", "DPLloyd, Laplace"),
                better("EUGkM", "DPLloyd, Laplace", share=0.99, data=("s1",), x=(0.1, 0.5)),
            ),
            Claim(
                "EUGkM beats DPLloyd on the low-dimensional tables at small epsilon",
                ("EUGkM", "DPLloyd, Laplace"),
                better("EUGkM", "DPLloyd, Laplace", share=0.8, data=_LOW, x=(0, 0.5)),
            ),
            Claim(
                "DPLloyd beats EUGkM on Adult and Lifesci at almost all epsilon",
                ("EUGkM", "DPLloyd, Laplace"),
                better("DPLloyd, Laplace", "EUGkM", share=0.8, data=_HIGH),
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
            _OURS,
            _EUG,
            *(
                Method.of(f"EUGkM, theta = {theta}", "grid", runs=10, resolution="theta", theta=theta)
                for theta in (5, 20, 50)
            ),
            _PG,
            _GK3,
        ),
        sweep=Sweep("epsilon", (1.0,)),
        runs=100,
        metrics=("excess",),
        figures=("heatmap",),
        quick=Quick(5, data=_GRID_9),
        claims=(
            Claim(
                "DPLloyd scales worse with k than with d",
                ("DPLloyd, Laplace",),
                steeper(("DPLloyd, Laplace", "k"), ("DPLloyd, Laplace", "columns")),
            ),
            Claim(
                "EUGkM is more sensitive to d than DPLloyd",
                ("EUGkM", "DPLloyd, Laplace"),
                steeper(("EUGkM", "columns"), ("DPLloyd, Laplace", "columns")),
            ),
            Claim(
                "DPLloyd is more sensitive to k than EUGkM",
                ("EUGkM", "DPLloyd, Laplace"),
                steeper(("DPLloyd, Laplace", "k"), ("EUGkM", "k")),
            ),
        ),
    ),
    Experiment(
        name="su-figure-3",
        title="GkM against the number of blocks",
        paper=f"{_SU}, figure 3",
        data=_SU_SETS,
        methods=tuple(
            Method.of(f"GkM, {blocks} blocks", "sample-aggregate", runs=100, blocks=blocks, noise="laplace")
            for blocks in (10, 30, 100, 300, 1000)
        ),
        sweep=Sweep("epsilon", (0.1, 0.3, 1.0)),
        runs=100,
        metrics=("nicv",),
        quick=Quick(10),
        note="N^0.4 is between 30 (S1) and 114 (the check-ins) blocks.",
        claims=(
            Claim(
                "N^0.4 blocks are too few: smaller blocks, and more of them, do better",
                ("GkM, 30 blocks", "GkM, 300 blocks"),
                better("GkM, 300 blocks", "GkM, 30 blocks", share=0.8),
            ),
            Claim(
                "The error of GkM is dominated by its noise, not by aggregation",
                untestable="the aggregate without noise is never released; the gate does not give it",
            ),
        ),
    ),
    Experiment(
        name="su-figure-4",
        title="Lloyd against the non-private genetic search",
        paper=f"{_SU}, figure 4",
        data=_SU_SETS,
        methods=(_PG,),
        sweep=Sweep("epsilon", (1e3,)),
        runs=30,
        metrics=("nicv",),
        note="At epsilon = 1000 the genetic search is as good as non-private.",
        claims=(
            Claim(
                "Lloyd converges in fewer iterations than the genetic search",
                untestable="needs results by iteration, which the genetic search does not give",
            ),
        ),
    ),
    Experiment(
        name="su-figure-5",
        title="Hybrid against EUGkM and DPLloyd",
        paper=f"{_SU}, figure 5",
        data=_SU_SETS,
        methods=(_DPLLOYD, _EUG, _HYBRID),
        sweep=Sweep("epsilon", _SU_EPSILONS),
        runs=100,
        metrics=("nicv",),
        quick=Quick(10, (0.05, 0.2, 0.7, 2.0)),
        note=_SU_NOTE
        + " The paper: Gowalla at 0.7 Hybrid 0.02172, EUGkM 0.02174; Adult at 0.05 EUGkM 0.370.",
        claims=(
            *(
                Claim(
                    f"Hybrid beats both on Adult and Lifesci in most cases; here {other}",
                    ("Hybrid", other),
                    better("Hybrid", other, data=_HIGH),
                )
                for other in ("EUGkM", "DPLloyd, Laplace")
            ),
            Claim(
                "Hybrid is no worse than EUGkM above its threshold, equation (15)",
                ("Hybrid", "EUGkM"),
                no_worse("Hybrid", "EUGkM", given=_above_threshold),
            ),
            Claim(
                "Hybrid is never much worse than EUGkM on the low-dimensional tables",
                ("Hybrid", "EUGkM"),
                better("Hybrid", "EUGkM", share=0.4, data=_LOW),
            ),
        ),
    ),
    Experiment(
        name="su-figure-6",
        title="Hybrid against EUGkM over d and k, epsilon = 1",
        paper=f"{_SU}, figure 6",
        data=_GRID_81,
        methods=(_EUG, _HYBRID),
        sweep=Sweep("epsilon", (1.0,)),
        runs=100,
        metrics=("excess",),
        figures=("heatmap",),
        quick=Quick(10, data=_GRID_9),
        claims=(
            Claim(
                "Hybrid is more scalable than EUGkM in d",
                ("Hybrid", "EUGkM"),
                steeper(("EUGkM", "columns"), ("Hybrid", "columns")),
            ),
        ),
    ),
    Experiment(
        name="su-figure-7",
        title="Run time of DPLloyd and EUGkM, epsilon = 0.1",
        paper=f"{_SU}, figure 7",
        data=_SU_SETS,
        methods=(_DPLLOYD, _OURS, _EUG),
        sweep=Sweep("epsilon", (0.1,)),
        runs=10,
        metrics=("seconds",),
        figures=("overview",),
        alone=True,
        quick=Quick(3),
        claims=(
            Claim(
                "DPLloyd is much faster than EUGkM",
                ("DPLloyd, Laplace", "EUGkM"),
                better("DPLloyd, Laplace", "EUGkM", metric="seconds", share=0.8),
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
        runs=100,
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
        runs=100,
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
