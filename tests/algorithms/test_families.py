"""What the families of Su et al. and Ni et al. say of their own errors, and in which units they measure."""

import warnings

import numpy as np
import pytest

from shoal import (
    Accountant,
    ConvergentKMeans,
    CoresetKMeans,
    DPLloyd,
    GeneticKMeans,
    GridKMeans,
    HybridKMeans,
    KMeans,
    KMedians,
    LSHTreeKMeans,
    MergingKMeans,
    SampleAggregateKMeans,
    SubClusterKMeans,
    SwapLloyd,
    TreeKMeans,
)
from shoal.algorithms.grid import GridKMeans as Grid
from shoal.algorithms.grid import GridSketch
from shoal.algorithms.merging import Merging, merged_sd
from shoal.algorithms.shared.clustering import Clustering
from shoal.errors import MostlyNoise
from shoal.estimators.explanation import explain
from shoal.postprocess.evidence import smallest_count
from shoal.postprocess.merge import merge_weights

BOUNDS = {"bounds": (-1, 1)}
FAMILY = {
    "lloyd": lambda **how: DPLloyd(2, **BOUNDS, **how),
    "grid": lambda **how: GridKMeans(2, n_starts=4, **BOUNDS, **how),
    "sparse grid": lambda **how: GridKMeans(2, n_starts=4, resolution=2500, **BOUNDS, **how),
    "hybrid, grid alone": lambda **how: HybridKMeans(2, n_starts=4, gate="published", **BOUNDS, **how),
    "hybrid, refined": lambda **how: HybridKMeans(2, n_starts=4, gate="always", **BOUNDS, **how),
    "merging": lambda **how: MergingKMeans(2, **BOUNDS, **how),
    "auto": lambda **how: KMeans(2, n_starts=4, **BOUNDS, **how),
    "tree": lambda **how: TreeKMeans(2, n_starts=4, **BOUNDS, **how),
    "swap": lambda **how: SwapLloyd(2, **BOUNDS, **how),
    "lsh-tree": lambda **how: LSHTreeKMeans(2, n_starts=4, **BOUNDS, **how),
    "lsh-tree, tree alone": lambda **how: LSHTreeKMeans(2, n_starts=4, max_iter=0, **BOUNDS, **how),
    "sample-aggregate": lambda **how: SampleAggregateKMeans(2, **BOUNDS, **how),
    "coreset": lambda **how: CoresetKMeans(2, n_starts=4, **BOUNDS, **how),
    "genetic": lambda **how: GeneticKMeans(2, population=20, survivors=4, **BOUNDS, **how),
    "convergent": lambda **how: ConvergentKMeans(2, **BOUNDS, **how),
    "subcluster": lambda **how: SubClusterKMeans(2, **BOUNDS, **how),
    "medians, grid": lambda **how: KMedians(2, **BOUNDS, **how),
    "medians, descent": lambda **how: KMedians(2, route="gradient", **BOUNDS, **how),
}


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("name", FAMILY)
def test_an_infeasible_epsilon_is_warned_of_and_answered(name, public, blobs):
    if name == "coreset" and public:
        pytest.skip("is refused: tests/algorithms/test_coreset.py")
    model = FAMILY[name](epsilon=0.001, n_rows=len(blobs) if public else None)
    # Several times: a number of rows that is paid for is itself noise, and large as often as not.
    for seed in range(4):
        budget = Accountant(epsilon=0.001)
        with pytest.warns(MostlyNoise):
            model.set_params(budget=budget, random_state=seed).fit(blobs)
        assert model.cluster_centers_.shape == (2, 2)
        assert (np.abs(model.cluster_centers_) <= 1).all()
        assert (model.cluster_sizes_ >= 0).all()
        assert budget.spent <= 0.001
    assert explain(model, ["a", "b"], rows=len(blobs)).mostly_noise


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILY)
def test_a_feasible_one_is_not(name, blobs):
    # Two rows a pair of groups and a large epsilon: a baseline needs it.
    pair = np.tile(blobs[np.abs(blobs[:, 0] - blobs[:, 1]) < 0.6].round(2), (4, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FAMILY[name](epsilon=50.0, random_state=0).fit(pair)
    assert model.score(pair) > -0.2 * len(pair)
    assert not explain(model, ["a", "b"], rows=len(pair)).mostly_noise


def test_a_sparse_grid_on_which_nothing_stands_out_says_so():
    # Every row is alone in its cell of 5 ** 10: all are dropped, and what is kept was empty.
    rows = np.random.default_rng(0).uniform(-1, 1, (20_000, 10))
    for seed in range(5):
        with pytest.warns(MostlyNoise):
            GridKMeans(3, epsilon=1.0, resolution=5, n_starts=2, random_state=seed, **BOUNDS).fit(rows)


MEASURED = {
    "grid": lambda **how: GridKMeans(2, resolution=40, n_starts=8, **how),
    "sparse grid": lambda **how: GridKMeans(2, resolution=2500, n_starts=8, **how),
    "hybrid": lambda **how: HybridKMeans(2, gate="always", n_starts=8, **how),
    "lsh-tree": lambda **how: LSHTreeKMeans(2, n_starts=8, **how),
    "merging, published": lambda **how: MergingKMeans(2, merge="published", **how),
    "merging, Ward": lambda **how: MergingKMeans(2, merge="ward", **how),
    "merging, k-means": lambda **how: MergingKMeans(2, merge="kmeans", **how),
    "sample-aggregate": lambda **how: SampleAggregateKMeans(2, blocks=20, **how),
    "coreset": lambda **how: CoresetKMeans(2, n_starts=4, **how),
    "genetic": lambda **how: GeneticKMeans(2, population=40, survivors=4, **how),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_distance_is_in_the_units_that_were_asked_for(name):
    # Metres across far outweigh degrees up in their own units; by their bounds it is the other way round.
    rng = np.random.default_rng(0)
    across, up = rng.choice([-25.0, 25.0], 6000), rng.choice([-0.7, 0.7], 6000)
    X = np.column_stack([across + rng.normal(0, 1, 6000), up + rng.normal(0, 0.02, 6000)])
    apart = {}
    for scaling in ("bounds", "none"):
        model = MEASURED[name](
            epsilon=500.0, bounds=([-100, -1], [100, 1]), scaling=scaling, n_rows=6000, random_state=1
        ).fit(X)
        apart[scaling] = np.abs(np.diff(model.cluster_centers_, axis=0))[0]
    assert apart["none"][0] > 30 > 10 > apart["bounds"][0]
    assert apart["bounds"][1] > 1 > 0.5 > apart["none"][1]


def clustering(centres, sizes, sum_sd, count_sd, domain):
    least = smallest_count(count_sd)
    counts = np.maximum(sizes, least)[:, np.newaxis]
    sd = np.sqrt(sum_sd**2 + (centres * count_sd) ** 2) / counts
    sd = np.where((sizes >= least)[:, np.newaxis], sd, np.inf)
    return Clustering(centres, sizes, sd, count_sd, 1, 0.1, domain)


def test_the_error_of_a_merged_centre_is_that_of_its_noise(behind_gate):
    # Drawn many times: parts with noisy sums and counts, merged as Ni et al. merge.
    rng, domain = np.random.default_rng(0), behind_gate(np.zeros((1, 1))).domain
    true, rows = np.array([[-0.5], [-0.3], [0.6]]), np.array([400.0, 150.0, 500.0])
    sum_sd, count_sd = 8.0, 6.0
    labels = np.array([0, 0, 1])
    drawn, said = [], []
    for _ in range(2000):
        sizes = rows + rng.normal(0, count_sd, 3)
        centres = (true * rows[:, None] + rng.normal(0, sum_sd, (3, 1))) / sizes[:, None]
        merged = np.array([(centres[:2, 0] @ sizes[:2]) / sizes[:2].sum(), centres[2, 0]])[:, None]
        drawn.append(merged)
        said.append(merged_sd(clustering(centres, sizes, sum_sd, count_sd, domain), merged, labels, sizes))
    assert np.allclose(np.std(drawn, axis=0), np.mean(said, axis=0), rtol=0.08)


def test_a_merged_centre_that_rests_on_no_rows_has_no_error_to_be_had(behind_gate):
    domain = behind_gate(np.zeros((1, 1))).domain
    centres, sizes = np.array([[-0.5], [-0.4], [0.5], [0.7]]), np.array([500.0, -3.0, 2.0, -1.0])
    found = clustering(centres, sizes, 8.0, 6.0, domain)
    least = smallest_count(6.0)
    merged = np.array([[(-0.5 * 500 - 0.4 * least) / (500 + least)], [0.6]])
    weights = merge_weights(sizes, least, "published")
    sd = merged_sd(found, merged, np.array([0, 0, 1, 1]), weights)
    alone = merged_sd(found, centres, np.arange(4), weights)
    assert np.isinf(sd[1, 0])
    assert np.isinf(alone[1:]).all()
    # The part without rows pulls the other: that is error, not precision.
    assert sd[0, 0] > np.hypot(8.0, 6.0 * merged[0, 0]) / (500 + least)


@pytest.mark.parametrize("how", ["ward", "kmeans"])
def test_centres_without_rows_go_first_and_pull_nobody(how, behind_gate):
    # Three groups in the middle and centres all over: the closest pairs are those with rows.
    groups = np.array([[-0.2, -0.2], [0.2, -0.2], [0.0, 0.2]])
    X = np.repeat(groups, 2000, axis=0)
    found = {
        merge: Merging(3, factor=4, merge=merge).run(behind_gate(X, epsilon=4.0, seed=2)).centres
        for merge in ("published", how)
    }
    gaps = {
        name: np.linalg.norm(groups[:, None] - c[None], axis=2).min(axis=1).max() for name, c in found.items()
    }
    assert gaps[how] < 0.05 < gaps["published"]


def test_rows_alone_make_a_merged_centre_certain(behind_gate):
    # One group far off, and far too many centres: those that found no rows must not look precise.
    X = np.full((3000, 1), 0.9)
    found = Merging(2, factor=4).run(behind_gate(X, epsilon=2.0))
    on_rows = found.sizes > 6 * found.size_sd
    assert np.isfinite(found.centre_sd[on_rows]).all()
    assert np.isinf(found.centre_sd[~on_rows]).all()


def test_a_sparse_grid_of_no_rows_has_hardly_any(behind_gate):
    # Fifteen empty cells of about 15 rows each are kept; their public mean is taken off again.
    total, lifted = [], []
    for seed in range(20):
        curator = behind_gate(np.zeros((0, 10)), seed=seed)
        found = Grid(3, GridSketch(5), n_starts=2).run(curator)
        total.append(found.sizes.sum())
        lifted.append(curator.transcript.entries[1].answer.counts.sum())
    assert np.mean(lifted) > 150
    assert np.mean(total) < 0.4 * np.mean(lifted)


def test_sizes_of_a_sparse_grid_are_right_within_their_error(behind_gate):
    rng = np.random.default_rng(1)
    centres = rng.uniform(-0.7, 0.7, (3, 10))
    label = rng.choice(3, 8000, p=[0.6, 0.3, 0.1])
    X = np.clip(centres[label] + rng.normal(0, 0.03, (8000, 10)), -1, 1)
    gaps = []
    for seed in range(8):
        found = Grid(3, GridSketch(5), n_starts=8).run(behind_gate(X, epsilon=0.5, seed=seed))
        nearest = ((X[:, None] - found.centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        gaps.append((found.sizes - np.bincount(nearest, minlength=3)) / found.size_sd)
    assert np.abs(gaps).max() < 4
    assert np.abs(np.sum(gaps, axis=1)).mean() < 4
