"""A tiny experiment that needs no files, and made-up results."""

import pytest

from shoal.bench.claims import Claim
from shoal.bench.comparisons import better
from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep

LLOYD = Method.of("DPLloyd", "lloyd")
LAPLACE = Method.of("DPLloyd, Laplace", "lloyd", noise="laplace")
LATER = Method.of("Later", "not-there-yet")


@pytest.fixture
def tiny():
    return Experiment(
        name="tiny",
        title="A tiny experiment",
        paper="nobody",
        data=(Data.of("gaussians", n=400, d=2, k=2), Data.of("iris")),
        methods=(LLOYD, LAPLACE, LATER),
        sweep=Sweep("epsilon", (0.5, 4.0)),
        runs=2,
        figures=("overview", "curves"),
        quick=Quick(1, (4.0,), ("iris",)),
        claims=(Claim("less noise is better", ("DPLloyd",), better("DPLloyd", "DPLloyd, Laplace")),),
    )


@pytest.fixture
def made_up():
    """Make a record as a worker would, with some facts changed."""

    def make(method="a", series="s", x=1.0, run=0, **facts):
        return {
            "id": f"{method}-{series}-{x}-{run}",
            "table": f"{series} / 2 groups",
            "series": series,
            "x": x,
            "data": "gaussians",
            "parameters": {},
            "k": 2,
            "method": method,
            "algorithm": "lloyd",
            "method_parameters": {},
            "epsilon": x,
            "delta": 0.0,
            "run": run,
            "seed": 1,
            "when": "2026-01-02T03:04:05+00:00",
            "versions": {"shoal": "0"},
            "machine": "2 cores",
            "rows": 100,
            "columns": 2,
            **facts,
        }

    return make
