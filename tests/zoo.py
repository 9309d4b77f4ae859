"""The zoo: one small instance of everything that can be fitted, each registry row, variant and route.

What must hold of all (a release verifies, replays, is saved and loaded, explained, pickled) is tested over
this one list, in `tests/test_zoo.py` and wherever else it is imported. There it is tested too that nothing is
missing: a new algorithm, option or route wants a line here, and has its tests by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import clone

from shoal import (
    Accountant,
    ConvergentKMeans,
    CoresetKMeans,
    DPLloyd,
    GeneticKMeans,
    GridKMeans,
    GridSynopsis,
    HybridKMeans,
    KMeans,
    KMedians,
    KVariates,
    LSHTreeKMeans,
    MaskedGridSynopsis,
    MergingKMeans,
    PrivateBounds,
    PrivateCoreset,
    PrivatePCA,
    PrivateScaler,
    PrivTreeSynopsis,
    ProjectedKMeans,
    SampleAggregateKMeans,
    SubClusterKMeans,
    SwapLloyd,
    TreeKMeans,
)
from shoal.errors import MostlyNoise

ROWS = 300
DELTA = 1e-6
# A grid of 2,500 cells per side is kept as the cells with many rows.
SPARSE = 2500
# Parameters that have no say in what is found, or only in how well: small ones, for speed.
QUICK = {"n_starts": 2, "population": 20, "survivors": 4, "max_generations": 3, "max_clusters": 5}


@dataclass(frozen=True)
class Member:
    """One instance, not fitted: what it was given, how many columns its table has, and the way it must go."""

    kind: Any
    given: dict[str, Any]
    columns: int = 2
    goes: str | None = None

    @property
    def model(self) -> Any:
        """Make the estimator."""
        known = self.kind._parameter_names()
        usual = {"n_clusters": 3, "n_components": 1, "epsilon": 5.0, "bounds": (-1, 1), **QUICK}
        return self.kind(**{**{name: value for name, value in usual.items() if name in known}, **self.given})

    @property
    def budget(self) -> tuple[float, float]:
        """What it spends: epsilon and delta."""
        return self.model.epsilon, self.model.delta

    @property
    def fitted(self) -> Any:
        """The estimator fitted on its table, once for all who look at it."""
        return _fitted(str(self))

    def __str__(self) -> str:
        given = "".join(
            f", {name}={value}" if not isinstance(value, Accountant) else f", {name}"
            for name, value in self.given.items()
        )
        return f"{self.kind.__name__}, {self.columns} columns{given}"


def table(columns: int, rows: int = ROWS) -> np.ndarray:
    """Four groups in the box from -1 to 1."""
    rng = np.random.default_rng(7)
    centres = rng.choice([-0.6, 0.6], (4, columns))
    return np.clip(centres[rng.integers(0, 4, rows)] + rng.normal(0, 0.08, (rows, columns)), -1, 1)


@cache
def _fitted(name: str) -> Any:
    member = next(m for m in (*MODELS, *SYNOPSES, *STEPS) if str(m) == name)
    return quietly(clone(member.model).fit, table(member.columns))


def quietly(call: Any, *given: Any) -> Any:
    """Call without a word about noise: on so few rows it is often large."""
    with catch_warnings():
        simplefilter("ignore", MostlyNoise)
        return call(*given)


def a(kind: Any, columns: int = 2, goes: str | None = None, **given: Any) -> Member:
    """Make a member."""
    return Member(kind, given, columns, goes)


MODELS = [
    # Every route of the flagship. It hangs on a noisy number of rows, so these are seeded.
    a(KMeans, goes="look", random_state=0, epsilon=0.03),
    a(KMeans, goes="look", random_state=0, epsilon=0.5),
    a(KMeans, goes="look", random_state=0),
    a(KMeans, goes="look", random_state=0, epsilon=50.0),
    a(KMeans, goes="look", random_state=0, columns=5),
    a(KMeans, goes="one mean", random_state=0, columns=8, epsilon=0.1, n_clusters=1),
    a(KMeans, goes="around", random_state=0, columns=8, epsilon=0.1),
    a(KMeans, goes="around", random_state=0, columns=8, epsilon=0.5),
    a(KMeans, goes="around", random_state=0, columns=13, epsilon=0.1),
    a(KMeans, goes="around", random_state=0, columns=16, epsilon=0.6, delta=DELTA),
    a(KMeans, goes="directions", random_state=0, columns=20, epsilon=1.5),
    a(KMeans, goes="directions", random_state=0, columns=20, epsilon=1.9),
    a(KMeans, goes="tree", random_state=0, columns=8, epsilon=1.2, bounds=(-1, 5)),
    a(KMeans, goes="tree", random_state=0, columns=8, epsilon=0.6, bounds=(-1, 5)),
    a(KMeans, goes="directions", random_state=0, columns=16, epsilon=1.0, delta=DELTA),
    a(KMeans, goes="directions", random_state=0, columns=14, n_clusters="auto", epsilon=1.0),
    a(KMeans, goes="tree", random_state=0, columns=8, epsilon=0.7),
    a(KMeans, goes="tree", random_state=0, columns=8),
    a(KMeans, goes="tree", random_state=0, columns=20),
    a(KMeans, goes="rounds along", random_state=0, columns=101, epsilon=50.0),
    a(KMeans, goes="tree", random_state=0, columns=16, epsilon=20.0, delta=DELTA),
    a(KMeans, goes="rounds along", random_state=0, columns=101, epsilon=50.0, delta=DELTA),
    a(KMeans, n_clusters=1),
    a(KMeans, n_clusters="auto"),
    a(KMeans, n_clusters="auto", columns=5, delta=DELTA, budget=Accountant(epsilon=50, delta=1e-4)),
    a(KMeans, bounds=None),
    a(TreeKMeans),
    a(TreeKMeans, n_clusters=1, delta=DELTA),
    a(SwapLloyd),
    a(SwapLloyd, columns=16, delta=DELTA, max_iter=3),
    a(SwapLloyd, n_clusters=4, start="packing"),
    a(DPLloyd),
    a(DPLloyd, n_clusters=1, max_iter=1),
    # What all have in common, tried on the plainest.
    a(DPLloyd, delta=DELTA, scaling="none"),
    a(DPLloyd, neighbours="replace", n_rows=ROWS),
    a(DPLloyd, neighbours="replace", delta=DELTA),
    a(DPLloyd, missing="drop"),
    a(DPLloyd, verbose=True),
    a(DPLloyd, bounds=None),
    a(DPLloyd, bounds=None, scaling="none", delta=DELTA),
    a(DPLloyd, random_state=3),
    a(DPLloyd, count_clipped=True),
    a(KMeans, count_clipped=True, bounds=None, delta=DELTA),
    a(DPLloyd, budget=Accountant(epsilon=50.0)),
    a(DPLloyd, max_iter="auto", spending="growing"),
    a(DPLloyd, max_iter="auto", n_rows=ROWS, delta=DELTA),
    a(DPLloyd, noise="linf", spending="growing", max_iter=3),
    a(DPLloyd, noise="laplace", init="uniform", division="plain"),
    a(DPLloyd, init=[[-0.5, -0.5], [0.0, 0.0], [0.5, 0.5]]),
    a(DPLloyd, noise="split"),
    a(DPLloyd, noise="split", delta=DELTA),
    a(DPLloyd, noise="gaussian", delta=DELTA),
    a(GridKMeans),
    a(GridKMeans, resolution="theta", delta=DELTA),
    a(GridKMeans, resolution="theta", starts="published"),
    a(GridKMeans, resolution=SPARSE),
    a(HybridKMeans),
    a(HybridKMeans, gate="published", resolution="theta", starts="published", noise="linf"),
    a(HybridKMeans, gate="always", noise="laplace"),
    a(HybridKMeans, gate="always", resolution=SPARSE, noise="split"),
    a(HybridKMeans, gate="improved", noise="gaussian", delta=DELTA),
    a(MergingKMeans, n_clusters=2),
    a(MergingKMeans, variant="average_k", noise="laplace"),
    a(MergingKMeans, variant="allocation_k", merge="kmeans", noise="linf"),
    a(MergingKMeans, variant="average_nk", merge="published", noise="split"),
    a(MergingKMeans, noise="gaussian", delta=DELTA),
    a(LSHTreeKMeans),
    a(LSHTreeKMeans, max_iter=0, noise="linf"),
    a(LSHTreeKMeans, n_clusters=1, max_iter=2, noise="laplace"),
    a(LSHTreeKMeans, noise="split"),
    a(LSHTreeKMeans, noise="gaussian", delta=DELTA, columns=16),
    a(ProjectedKMeans),
    a(ProjectedKMeans, sparsity=1, noise="linf"),
    a(ProjectedKMeans, n_directions=1, n_shifts=2, noise="split"),
    a(ProjectedKMeans, n_levels=2, noise="gaussian", delta=DELTA),
    a(ProjectedKMeans, route="published", n_swaps=2, n_shifts=2, n_repeats=2, noise="laplace", gamma=8.0),
    a(SampleAggregateKMeans, n_clusters=2),
    a(SampleAggregateKMeans, n_clusters=2, blocks="n^0.4", ranges="helper", align="sorted", noise="laplace"),
    a(SampleAggregateKMeans, blocks=9, ranges="tight", within=((-1, 0.5), (-0.5, 1)), noise="linf"),
    a(SampleAggregateKMeans, noise="split"),
    a(SampleAggregateKMeans, noise="gaussian", delta=DELTA),
    a(GeneticKMeans),
    a(GeneticKMeans, n_clusters=1, survivors=20, delta=DELTA),
    a(ConvergentKMeans),
    a(ConvergentKMeans, n_clusters=1, max_iter=1, n_candidates=1, noise="laplace"),
    a(ConvergentKMeans, noise="linf", max_iter=2),
    a(ConvergentKMeans, noise="split", max_iter=2),
    a(ConvergentKMeans, noise="gaussian", delta=DELTA, max_iter=2),
    a(ConvergentKMeans, published=True, allow_unproven=True),
    a(ConvergentKMeans, published=True, allow_unproven=True, empty_zone="stay"),
    a(SubClusterKMeans),
    a(SubClusterKMeans, n_clusters=2, max_iter=2, internal_k=5, move="sampled", noise="laplace"),
    a(SubClusterKMeans, n_clusters=2, max_iter=2, move="largest", noise="linf"),
    a(SubClusterKMeans, noise="split"),
    a(SubClusterKMeans, noise="gaussian", delta=DELTA),
    a(SubClusterKMeans, published=True, allow_unproven=True),
    a(KMedians),
    a(KMedians, noise="laplace", columns=8),
    a(KMedians, route="synopsis", resolution="k-aware", noise="linf"),
    a(KMedians, route="swap", resolution=SPARSE, noise="split"),
    a(KMedians, route="projected", columns=16),
    a(KMedians, route="coreset", epsilon=50.0, noise="gaussian", delta=DELTA),
    a(KVariates),
    a(KVariates, resolution="theta", delta=DELTA),
    a(KVariates, resolution=SPARSE, refine=True),
    a(KVariates, published=True, allow_unproven=True, sharpness=9.0),
    a(CoresetKMeans, n_clusters=2, epsilon=50.0),
    a(CoresetKMeans, n_clusters=2, epsilon=50.0, columns=3, delta=DELTA),
    a(CoresetKMeans, n_clusters=1, epsilon=50.0, search="published", refine=False),
    a(CoresetKMeans, n_clusters=1, epsilon=50.0, search="published", refine=False, shares="published"),
    a(CoresetKMeans, n_clusters=2, epsilon=50.0, bounds=None),
]

SYNOPSES = [
    a(GridSynopsis),
    a(GridSynopsis, resolution="k-aware", delta=DELTA),
    a(GridSynopsis, resolution=SPARSE),
    a(GridSynopsis, resolution=SPARSE, delta=DELTA, bounds=None),
    a(MaskedGridSynopsis),
    a(MaskedGridSynopsis, count_clipped=True),
    a(MaskedGridSynopsis, resolution=20, delta=DELTA, bounds=None),
    a(PrivTreeSynopsis),
    a(PrivTreeSynopsis, columns=8, delta=DELTA),
    a(PrivateCoreset, n_clusters=2, epsilon=50.0),
    a(PrivateCoreset, n_clusters=2, epsilon=50.0, count_clipped=True, bounds=None),
    a(PrivateCoreset, n_clusters=2, epsilon=50.0, search="published", refine=False, delta=DELTA),
    a(PrivateCoreset, n_clusters=2, epsilon=50.0, refine=False, shares="published"),
    a(PrivateCoreset, n_clusters=1, epsilon=50.0, columns=3, n_blocks=2),
]

STEPS = [
    a(PrivateBounds),
    a(PrivateBounds, delta=DELTA, neighbours="replace"),
    a(PrivateScaler),
    a(PrivateScaler, delta=DELTA, bounds=None, neighbours="replace"),
    a(PrivatePCA),
    a(PrivatePCA, neighbours="replace"),
    a(PrivatePCA, delta=DELTA, bounds=None, scaling="none", whiten=True),
]


def first_of_each(members: list[Member]) -> list[Member]:
    """Return one member of each class: the first, which is the plainest."""
    return list({member.kind: member for member in reversed(members)}.values())[::-1]
