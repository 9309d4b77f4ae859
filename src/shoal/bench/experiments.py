"""Our own experiments, and all of them by name."""

from __future__ import annotations

import difflib
from dataclasses import replace

from shoal.bench import papers
from shoal.bench.claims import Claim
from shoal.bench.comparisons import better, near
from shoal.bench.experiment import BASELINE, Data, Experiment, Method, Over, Quick, Sweep
from shoal.bench.methods import LOOSE, PEERS
from shoal.bench.trends import predicts, slope
from shoal.errors import InvalidInput

_EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
_FILES = (
    "s1", "s2", "a1", "a2", "d31", "birch_rg1", "gowalla_poi", "gowalla_nyc_checkins", "mopsi_finland",
    "image_rgb", "walking_accelerometer", "nyc_taxi_2015_01", "blood", "adult", "lifesci", "tripadvisor",
    "electrical", "credit_card", "google_reviews", "dim32", "kdd99_10pct", "mnist",
    "cifar10_resnet18_3class",
)  # fmt: skip
_TABLES = (
    *map(Data.of, _FILES),
    *map(Data.of, ("iris", "wine", "breast_cancer", "digits")),
    Data.of("gaussians", d=2, k=5),
    Data.of("gaussians", d=5, k=10),
    Data.of("gaussians", d=10, k=10),
    Data.of("tiger_stand_in"),
    Data.of("city_pickups", n=100_000),
)
_QUICK = Quick(
    runs=5,
    values=(0.1, 0.5, 1.0),
    data=(
        "s1", "gowalla_poi", "image_rgb", "nyc_taxi_2015_01", "adult", "lifesci", "credit_card", "iris",
        "digits", "gaussians d=2 k=5", "gaussians d=10 k=10", "city_pickups n=100000",
    ),
)  # fmt: skip
_LLOYDS = (Method.of("DPLloyd", "lloyd"), Method.of("DPLloyd, Laplace", "lloyd", noise="laplace"))
_BALCAN = Data.of("balcan_gaussians", n=20_000, k=8)
_PEERS_OF_AUTO = (
    Method.of("TreeKMeans", "tree", runs=10),
    Method.of("LSHTreeKMeans", "lsh-tree", runs=10),
    Method.of("GridKMeans", "grid", runs=10),
    Method.of("HybridKMeans", "hybrid", runs=10),
    Method.of("MergingKMeans", "merging", runs=10),
    Method.of("ProjectedKMeans", "projected", runs=10),
    Method.of("DPLloyd", "lloyd", runs=10),
    *(replace(peer, runs=10) for peer in PEERS),
)


def _time(over: Over, what: str, data: Data, values: tuple[float, ...], quick: Quick) -> Experiment:
    return Experiment(
        name=f"time-{over}",
        title=f"Run time and memory against the number of {what}, epsilon = 1",
        paper="ours",
        data=(data,),
        methods="all",
        sweep=Sweep(over, values),
        runs=5,
        hours=2.0,
        metrics=("seconds", "memory"),
        alone=True,
        quick=quick,
    )


_OURS = (
    Experiment(
        name="accuracy-pure",
        title="Every algorithm on every table, pure epsilon",
        paper="ours",
        data=_TABLES,
        methods="all",
        sweep=Sweep("epsilon", _EPSILONS),
        runs=20,
        hours=20.0,
        figures=("matrix", "curves"),
        quick=_QUICK,
        claims=(
            Claim(
                "L-infinity noise makes DPLloyd more accurate than the published Laplace noise",
                ("DPLloyd", "DPLloyd, Laplace"),
                better("DPLloyd", "DPLloyd, Laplace"),
            ),
            Claim(
                "Shoal's DPLloyd is more accurate than diffprivlib's at the same epsilon really spent",
                ("DPLloyd", "diffprivlib, true epsilon"),
                better("DPLloyd", "diffprivlib, true epsilon"),
            ),
        ),
    ),
    Experiment(
        name="against-others",
        title="KMeans, which chooses by itself, against the others, pure epsilon",
        paper="ours",
        data=(
            # The quick ones first, so that a run that is stopped has most tables.
            *map(Data.of, ("s1", "s2", "breast_cancer", "google_reviews", "tripadvisor", "gowalla_poi")),
            *map(Data.of, ("image_rgb", "lifesci", "walking_accelerometer", "electrical", "credit_card")),
            *(Data.of("gaussians", d=d, k=k) for d in (2, 5, 10) for k in (2, 5, 10)),
            *map(Data.of, ("digits", "nyc_taxi_2015_01", "adult", "a1", "d31", "dim32", "birch_rg1")),
        ),
        methods=(Method.of("KMeans", "auto"), *_PEERS_OF_AUTO),
        sweep=Sweep("epsilon", (0.1, 0.25, 1.0)),
        runs=20,
        hours=8.0,
        metrics=("ratio",),
        figures=("overview", "curves"),
        quick=Quick(5),
        note="The recipe was chosen on S1, Adult, Lifesci, Electrical, Image, NYC taxi, Gowalla, "
        "Credit card, Digits, Google reviews and some of the Gaussians, with other seeds; the other tables "
        "were not looked at.",
        claims=tuple(
            Claim(
                f"KMeans is at least as accurate as {method.label}",
                ("KMeans", method.label),
                better("KMeans", method.label),
            )
            for method in _PEERS_OF_AUTO
        ),
    ),
    Experiment(
        name="accuracy-delta",
        title="Every algorithm on every table, (epsilon, delta) with delta = 1e-6",
        paper="ours",
        data=_TABLES,
        methods="all",
        sweep=Sweep("epsilon", _EPSILONS),
        runs=20,
        hours=20.0,
        delta=1e-6,
        figures=("matrix", "curves"),
        quick=replace(_QUICK, runs=3, values=(0.1, 1.0)),
    ),
    Experiment(
        name="medians",
        title="Mean distance, not squared: k-medians by its four routes, and k-means",
        paper="ours",
        data=tuple(map(Data.of, ("s1", "gowalla_poi", "image_rgb", "adult", "lifesci"))),
        methods=(
            *(
                Method.of(f"KMedians, {route}", "medians", route=route)
                for route in ("gradient", "synopsis", "coreset", "swap")
            ),
            Method.of("GridKMeans", "grid"),
            Method.of("DPLloyd", "lloyd"),
            Method.of("scikit-learn", BASELINE),
        ),
        sweep=Sweep("epsilon", (0.1, 0.5, 1.0, 4.0)),
        runs=20,
        hours=1.0,
        metrics=("distance",),
        quick=Quick(5),
        claims=(
            Claim(
                "Medians of a grid lie nearer to the rows than its means do",
                ("KMedians, synopsis", "GridKMeans"),
                better("KMedians, synopsis", "GridKMeans", metric="distance"),
            ),
            Claim(
                "Descent from a start on a grid or a coreset lies nearer to the rows than either alone",
                ("KMedians, gradient", "KMedians, synopsis"),
                better("KMedians, gradient", "KMedians, synopsis", metric="distance"),
            ),
        ),
    ),
    Experiment(
        name="against-k",
        title="Accuracy against the number of groups, epsilon = 1",
        paper="ours",
        data=(Data.of("gaussians", d=5), Data.of("adult"), Data.of("city_pickups", n=100_000)),
        methods="all",
        sweep=Sweep("k", (2, 3, 5, 8, 12, 20, 30)),
        runs=20,
        hours=5.0,
        quick=Quick(3, (2, 5, 12, 30)),
    ),
    Experiment(
        name="against-d",
        title="Accuracy against the number of columns, epsilon = 1",
        paper="ours",
        data=(Data.of("gaussians", k=5), _BALCAN),
        methods="all",
        sweep=Sweep("d", (2, 3, 5, 8, 12, 20, 40, 100)),
        runs=20,
        hours=6.0,
        quick=Quick(3, (2, 5, 12, 40)),
    ),
    Experiment(
        name="against-n",
        title="Accuracy against the number of rows, epsilon = 1",
        paper="ours",
        data=(Data.of("gaussians", d=5, k=5), Data.of("city_pickups")),
        methods="all",
        sweep=Sweep("n", (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
        runs=20,
        hours=8.0,
        quick=Quick(3, (1_000, 10_000, 100_000)),
    ),
    Experiment(
        name="bounds",
        title="KMeans with public bounds, with loose ones, and with bounds that it has to find privately",
        paper="ours",
        data=tuple(
            map(Data.of, ("s1", "gowalla_poi", "image_rgb", "nyc_taxi_2015_01", "adult", "lifesci_columns"))
        ),
        methods=(
            Method.of("KMeans", "auto"),
            Method.of("KMeans, loose bounds", "auto", bounds=LOOSE),
            Method.of("KMeans, private bounds", "auto", bounds=None),
        ),
        sweep=Sweep("epsilon", (0.1, 0.25, 0.5, 1.0, 2.0)),
        runs=20,
        hours=0.3,
        metrics=("ratio",),
        quick=Quick(5),
        note="Loose bounds are ten times as wide in every column, around the same middle. Where bounds are "
        "not known, a part of epsilon goes to finding them, and columns are scaled by what was found. Cost "
        "is measured in the public bounds' scale in all three.",
        claims=(
            Claim(
                "Bounds that are ten times too wide cost less than a tenth, in the median cell (ours)",
                ("KMeans", "KMeans, loose bounds"),
                near("KMeans, loose bounds", "KMeans", 1.1),
            ),
            Claim(
                "So do bounds that are found privately, in the median cell (ours)",
                ("KMeans", "KMeans, private bounds"),
                near("KMeans, private bounds", "KMeans", 1.1),
            ),
        ),
    ),
    *(
        Experiment(
            name=f"many-columns-{kind}",
            title=f"100,000 rows, 100 columns, 64 groups, {said}",
            paper="ours",
            data=(Data.of("gaussians", d=100, k=64, n=100_000),),
            methods=(Method.of("KMeans", "auto"), *_LLOYDS, Method.of("LSHTreeKMeans", "lsh-tree")),
            sweep=Sweep("epsilon", (0.5, 1.0, 2.0, 4.0)),
            runs=10,
            hours=1.0,
            delta=delta,
            quick=Quick(3, (1.0,)),
            claims=(
                Claim(
                    "A tree of random cuts finds a better start than sphere packing",
                    ("LSHTreeKMeans", "DPLloyd"),
                    better("LSHTreeKMeans", "DPLloyd"),
                ),
            ),
        )
        for kind, said, delta in (("pure", "pure epsilon", 0.0), ("delta", "delta = 1e-6", 1e-6))
    ),
    _time("n", "rows", Data.of("city_pickups"), (1e4, 1e5, 1e6, 1e7), Quick(2, (1e4, 1e5, 1e6))),
    _time("d", "columns", _BALCAN, (2, 8, 32, 128, 512), Quick(2, (2, 8, 32, 128))),
    _time("k", "groups", Data.of("city_pickups", n=100_000), (2, 8, 32, 128), Quick(2, (2, 8, 32))),
    Experiment(
        name="predicted-lloyd",
        title="DPLloyd: the error of a round, predicted by Su et al. (7) and measured",
        paper="Su et al. 2016, section 6.1",
        data=tuple(Data.of("gaussians", d=d, k=k) for d, k in ((2, 2), (2, 5), (5, 5), (10, 5))),
        methods=_LLOYDS,
        sweep=Sweep("epsilon", (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
        runs=100,
        hours=0.2,
        metrics=("centre_error",),
        figures=("predicted",),
        quick=Quick(30),
        note="Mean squared distance of a centre to the exact mean of its cell after the last of five rounds. "
        "Centres kept for want of rows are left out.",
        claims=(
            Claim(
                "Equation (7) predicts the error of a DPLloyd round within a factor of two, for groups of "
                "similar size, as it assumes",
                ("DPLloyd, Laplace",),
                predicts("DPLloyd, Laplace", "predicted", "balanced_error", 2.0),
            ),
            Claim(
                "The squared error of DPLloyd falls like 1 / epsilon^2, for groups of similar size",
                ("DPLloyd, Laplace",),
                slope("DPLloyd, Laplace", -2.3, -1.7, metric="balanced_error"),
            ),
            Claim(
                "A round with L-infinity noise has a smaller error than with Laplace noise (ours)",
                ("DPLloyd", "DPLloyd, Laplace"),
                better("DPLloyd", "DPLloyd, Laplace", metric="centre_error", share=0.8),
            ),
        ),
    ),
)

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (*_OURS, *papers.EXPERIMENTS)}


def lookup(name: str) -> Experiment:
    """Return an experiment by name, or say which names are near.

    Examples
    --------
    >>> lookup("su-figure-1").sweep.over
    'epsilon'
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(EXPERIMENTS)}"
    raise InvalidInput(f"there is no experiment {name!r}; {hint}")
