"""Feldman, Xiang, Zhu, Rus 2017: Coresets for differentially private k-means clustering."""

from __future__ import annotations

from shoal.bench.claims import Claim, better, slope
from shoal.bench.experiment import Data, Experiment, Method, Sweep

_FELDMAN = "Feldman et al. 2017"

_CORESET = Method.of("Coreset", "coreset", neighbours="replace")
EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="feldman-figure-3",
        title="Run time of the private coreset against N",
        paper=f"{_FELDMAN}, figure 3",
        data=(Data.of("nyc_taxi_2015_01_2m"),),
        methods=(_CORESET,),
        sweep=Sweep("n", (1e5, 3e5, 1e6, 2e6)),
        runs=3,
        metrics=("seconds",),
        delta=1e-6,
        k=5,
        alone=True,
        claims=(
            Claim("Run time grows like N to the power 1.6 to 1.7", ("Coreset",), slope("Coreset", 1.5, 1.8)),
        ),
    ),
    Experiment(
        name="feldman-figure-4",
        title="Run time in four columns",
        paper=f"{_FELDMAN}, figure 4",
        data=(Data.of("nyc_taxi_2015_01"),),
        methods=(_CORESET,),
        sweep=Sweep("n", (1e4, 3e4, 99_000)),
        runs=3,
        metrics=("seconds",),
        delta=1e-6,
        k=5,
        alone=True,
    ),
    *(
        Experiment(
            name=f"feldman-figure-5-k{k}",
            title=f"Error against epsilon, k = {k}",
            paper=f"{_FELDMAN}, figure 5 and table 2",
            data=(Data.of("nyc_taxi_2015_01_2m"),),
            methods=(_CORESET,),
            sweep=Sweep("epsilon", (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)),
            runs=10,
            delta=1e-6,
            k=k,
            claims=(
                Claim(
                    "Smallest feasible epsilon (table 2)",
                    untestable="waiting for the coreset, which has to say what is feasible",
                ),
            ),
        )
        for k in (1, 5, 10)
    ),
    Experiment(
        name="feldman-figure-6",
        title="Error against k",
        paper=f"{_FELDMAN}, figure 6",
        data=(Data.of("nyc_taxi_2015_01_2m"),),
        methods=(_CORESET,),
        sweep=Sweep("k", (1, 2, 3, 5, 8, 10)),
        runs=10,
        delta=1e-6,
    ),
    Experiment(
        name="feldman-figure-7",
        title="Against the k-median coreset of Feldman et al. 2009, epsilon = 0.5",
        paper=f"{_FELDMAN}, figure 7",
        data=(Data.of("nyc_taxi_2015_01_2m"),),
        methods=(_CORESET, Method.of("k-median coreset", "medians")),
        sweep=Sweep("n", (1e5, 5e5, 1e6)),
        runs=10,
        epsilon=0.5,
        delta=1e-6,
        k=5,
        claims=(
            Claim(
                "Smaller error than the coreset of 2009",
                ("Coreset", "k-median coreset"),
                better("Coreset", "k-median coreset", share=0.8),
            ),
        ),
    ),
)
