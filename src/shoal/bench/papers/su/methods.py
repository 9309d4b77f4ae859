"""The algorithms of Su et al. with the parameters of the paper, and the tables of its table 1."""

from __future__ import annotations

from typing import Any

from shoal.bench.experiment import Data, Method

SU = "Su et al. 2016"

LLOYD = Method.of("DPLloyd-Impr", "lloyd", noise="laplace", max_iter=5, division="plain")
UNIFORM = Method.of(
    "DPLloyd, uniform", "lloyd", noise="laplace", max_iter=5, division="plain", init="uniform"
)
EUG = Method.of("EUGkM", "grid", resolution="theta", starts="published")
GENETIC = Method.of("PGkM", "genetic")
# Half of the budget for the range, as published. How centres of blocks are brought into one order is not
# printed: sorted by a column, as GUPT's code does, or matched.
AS_GUPT: dict[str, Any] = {"noise": "laplace", "ranges": "helper"}
GUPT = Method.of("GkM", "sample-aggregate", blocks="n^0.4", align="sorted", **AS_GUPT)
GUPT_3K = Method.of("GkM-3K", "sample-aggregate", blocks="3k", align="sorted", **AS_GUPT)
GUPT_3K_MATCHED = Method.of("GkM-3K, matched", "sample-aggregate", blocks="3k", **AS_GUPT)
_ON_A_GRID: dict[str, Any] = {"resolution": "theta", "noise": "laplace", "starts": "published"}
HYBRID = Method.of("Hybrid", "hybrid", gate="published", **_ON_A_GRID)
STEP = Method.of("EUGkM and one step", "hybrid", gate="always", **_ON_A_GRID)
KMEANS = Method.of("KMeans", "auto")

LOW = ("s1", "gowalla_poi", "gowalla_nyc_checkins", "tiger_stand_in", "image_rgb")
HIGH = ("adult", "lifesci_columns")
TABLES = tuple(map(Data.of, (*LOW, *HIGH)))
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
FEWER_RUNS = "fewer runs, each from starts of its own, for 100 from each of 30 starts"
STAND_INS = (
    "Gowalla's 107,091 places are not to be had: 32,510 places and the New York check-ins of the same "
    "network stand in. TIGER is a made-up two-cluster stand-in."
)
