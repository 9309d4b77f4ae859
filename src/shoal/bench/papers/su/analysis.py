"""Section 6: the errors that the analysis predicts, beside those measured."""

from __future__ import annotations

from shoal.bench.claims import Claim
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
from shoal.bench.papers.su.methods import (
    EUG,
    SU,
)
from shoal.bench.trends import bounds, predicts, slope

PREDICTED_GRID = Experiment(
    name="predicted-grid",
    title="EUGkM: the error of a centre, predicted by Su et al. (9) and measured",
    paper=f"{SU}, section 6.2",
    data=tuple(Data.of("gaussians", d=d, k=k) for d, k in ((2, 2), (2, 5), (3, 5), (5, 5))),
    methods=(EUG,),
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
)

PREDICTED_HYBRID = Experiment(
    name="predicted-hybrid",
    title="Hybrid: the error of its round of Lloyd, predicted by Su et al. (13) and measured",
    paper=f"{SU}, section 6.3",
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
)
