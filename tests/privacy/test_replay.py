"""An algorithm sees only the curator's answers: without rows, the same answers give the same result."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms import Clustering, Lloyd, WithPrivateBounds
from shoal.algorithms.convergent import Convergent
from shoal.algorithms.coreset.coreset import CoresetKMeans
from shoal.algorithms.genetic import Genetic
from shoal.algorithms.grid import GridKMeans, GridSketch, GridSynopsis
from shoal.algorithms.hybrid import Hybrid
from shoal.algorithms.k_variates import KVariates
from shoal.algorithms.kmeans.kmeans import KMeans
from shoal.algorithms.kmeans.tree import TreeKMeans
from shoal.algorithms.lsh_tree.lsh_tree import LSHTree
from shoal.algorithms.medians import Medians
from shoal.algorithms.merging import Merging
from shoal.algorithms.projected.projected import ProjectedClustering
from shoal.algorithms.sample_aggregate import SampleAggregate
from shoal.algorithms.subcluster import SubCluster
from shoal.algorithms.swap import SwapLloyd
from shoal.algorithms.synopses.masked_grid import MaskedGridSynopsis
from shoal.algorithms.synopses.privtree import PrivTreeSynopsis
from shoal.algorithms.synopses.synopsis import GroupsOn
from shoal.audit import replays
from shoal.domain import Bounds
from shoal.errors import ReplayMismatch
from shoal.queries import ReplayCurator, Voronoi

ALGORITHMS = [
    KMeans(4),
    KMeans(1),
    KMeans("auto", n_starts=2, max_clusters=6),
    TreeKMeans(3),
    TreeKMeans(1, n_starts=2),
    SwapLloyd(4),
    SwapLloyd(3, max_iter=2, start="lsh-tree"),
    Lloyd(4),
    Lloyd(4, max_iter="auto"),
    Lloyd(3, max_iter=3, noise="laplace", spending="growing"),
    Lloyd(3, noise="split"),
    Lloyd(1, max_iter=1),
    WithPrivateBounds(Lloyd(3)),
    GridKMeans(4),
    GridKMeans(3, GridSketch("k-aware"), n_starts=4),
    GridKMeans(3, GridSketch(2500), n_starts=2),  # sparse
    GroupsOn(3, GridSynopsis(3), n_starts=2),
    GroupsOn(3, MaskedGridSynopsis(), n_starts=2),
    GroupsOn(3, PrivTreeSynopsis(), n_starts=2),
    WithPrivateBounds(GroupsOn(2, MaskedGridSynopsis(20), n_starts=2)),
    Hybrid(4, gate="improved"),
    Hybrid(4, gate="always", noise="laplace"),
    Merging(3),
    Merging(3, variant="average_k", noise="laplace"),
    Merging(2, merge="kmeans"),
    LSHTree(4),
    LSHTree(3, max_iter=0, n_starts=2),
    LSHTree(1, max_iter=2, noise="laplace"),
    ProjectedClustering(3, n_starts=2),
    ProjectedClustering(2, sparsity=1, n_starts=2),
    ProjectedClustering(3, n_directions=1, n_starts=2, n_shifts=2),
    ProjectedClustering(3, route="published", n_swaps=2, n_shifts=2, n_repeats=2, noise="laplace"),
    SampleAggregate(2),
    SampleAggregate(2, "3k", "helper", noise="laplace"),
    CoresetKMeans(2),
    KVariates(3),
    KVariates(3, GridSketch(2500), refine=True),
    CoresetKMeans(1, search="published", refine=False, n_starts=2),
    WithPrivateBounds(CoresetKMeans(2, n_starts=2)),
    Genetic(3, population=20, survivors=4),
    Genetic(1, population=5, survivors=5, max_generations=2),
    Convergent(3),
    Medians(3, "synopsis", n_starts=2),
    Medians(2, "swap", n_starts=2, sketch=GridSketch(2500)),  # sparse
    Medians(3, "gradient", noise="laplace"),
    Medians(2, "coreset", n_starts=2),
    SubCluster(3),
    SubCluster(2, max_iter=2, internal_k=5, move="sampled", noise="laplace"),
    SubCluster(2, max_iter=2, move="largest"),
    Convergent(1, max_iter=1, n_candidates=1, noise="laplace"),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_replay_is_bit_identical(algorithm, delta, behind_gate, blobs):
    bounds = Bounds.not_known(2) if isinstance(algorithm, WithPrivateBounds) else (-1, 1)
    replays(algorithm, behind_gate(blobs, delta=delta, bounds=bounds), blobs)


def test_gaussian_replays(behind_gate, blobs):
    replays(Lloyd(4, noise="gaussian"), behind_gate(blobs, delta=1e-6), blobs)


class StartsFromARow(Lloyd):
    """Cheats: begins at rows it was handed behind the curator's back."""

    rows: np.ndarray

    def run(self, curator):
        centres = self.rows[: self.n_clusters].copy()
        answer = curator.sums(Voronoi(centres), cost=Fraction(1))
        return Clustering(centres + 0 * answer.sums, answer.counts, answer.sums, 0.0, 1, 0.0, curator.domain)


class AsksMoreWhenFull(Lloyd):
    """Cheats: the number of questions depends on the exact number of rows."""

    def run(self, curator):
        n = getattr(curator, "_source", None)
        if n is not None and n.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b) > 1000:
            curator.sums(Voronoi(np.zeros((1, 2))), cost=Fraction(1, 8))
        answer = curator.sums(Voronoi(np.zeros((1, 2))), cost=Fraction(1, 2))
        return Clustering(answer.sums, answer.counts, answer.sums, 0.0, 1, 0.0, curator.domain)


def test_a_cheat_that_keeps_rows_is_caught(behind_gate, blobs):
    cheat = StartsFromARow(4)
    object.__setattr__(cheat, "rows", blobs)
    with pytest.raises(ReplayMismatch, match="depends on more"):
        replays(cheat, behind_gate(blobs), blobs)


def test_a_cheat_that_reaches_behind_the_curator_is_caught(behind_gate, blobs):
    with pytest.raises(ReplayMismatch):
        replays(AsksMoreWhenFull(1), behind_gate(blobs), blobs)


def test_asking_fewer_questions_is_caught(behind_gate, blobs):
    curator = behind_gate(blobs)
    Lloyd(2, max_iter=3).run(curator)
    replay = ReplayCurator(curator.transcript)
    with pytest.raises(ReplayMismatch):
        Lloyd(2, max_iter=2).run(replay)
    fresh = ReplayCurator(curator.transcript)
    fresh.public_rng("starting centres")
    with pytest.raises(ReplayMismatch, match="fewer"):
        fresh.finish()
