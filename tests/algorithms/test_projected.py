"""Clustering by random projection: it finds groups, spends what it says, and answers whatever it is given."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from shoal import Accountant, ProjectedKMeans, verify
from shoal.algorithms.projected.cube_tree import candidates, grow, leaves
from shoal.algorithms.projected.projected import ProjectedClustering
from shoal.algorithms.projected.recovery import Recovery, lift, shrunk, zero_of
from shoal.algorithms.shared.local_swap import local_swap
from shoal.audit.subject import Subject
from shoal.audit.suite import cases_for
from shoal.domain import Unit
from shoal.errors import InvalidInput, MostlyNoise
from shoal.estimators.explanation import explain
from shoal.queries import Ball, Box, Cubes, NoisySums, Projection
from shoal.queries.laws.laplace import Laplace
from shoal.queries.laws.noise import loss
from shoal.queries.questions import Histogram, Select, SparseHistogram, Sums
from shoal.queries.statistics.aggregates import RowChange


def groups(k, d, rows, seed=0, spread=0.05):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (k, d))
    return centres[rng.permutation(np.arange(rows) % k)] + rng.normal(0, spread, (rows, d)), centres


def error(model, centres):
    """The largest distance from a true centre to the nearest one found, a column."""
    gaps = ((model.cluster_centers_[:, None] - centres) ** 2).mean(axis=2)
    return np.sqrt(gaps.min(axis=0).max())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_it_finds_groups_in_many_columns(delta, neighbours):
    X, centres = groups(6, 60, 12_000)
    model = ProjectedKMeans(
        6, epsilon=4.0, delta=delta, neighbours=neighbours, bounds=(-1, 1), random_state=1
    ).fit(X)
    assert error(model, centres) < 0.1
    assert model.cluster_sizes_ == pytest.approx(np.full(6, 2000), abs=250)


@pytest.mark.parametrize("how", [{}, {"n_shifts": 2}, {"n_repeats": 2}], ids=str)
def test_the_published_route_finds_groups_with_much_budget(how):
    X, centres = groups(3, 20, 6000, spread=0.02)
    model = ProjectedKMeans(
        3, epsilon=50.0, route="published", n_swaps=6, bounds=(-1, 1), random_state=0, **how
    ).fit(X)
    assert error(model, centres) < 0.05


@pytest.mark.parametrize("route", ["practical", "published"])
def test_a_release_verifies_and_costs_the_budget(route, tmp_path):
    X, _ = groups(3, 12, 3000)
    model = ProjectedKMeans(3, epsilon=10.0, route=route, n_swaps=2, n_repeats=2, bounds=(-1, 1)).fit(X)
    spent = sum(charge.amount for charge in model.release_.transcript.charges)
    assert 9.5 < spent <= 10
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok


def test_shares_are_those_of_the_paper(behind_gate):
    # Algorithm 4: 1/6 for candidates, 1/6 for swaps, 2/6 for sizes and sums, 1/6 for the choice; all of 5/6.
    X, _ = groups(2, 3, 2000)
    curator = behind_gate(X, epsilon=30.0, n_rows=2000)
    algorithm = ProjectedClustering(2, route="published", n_repeats=2, n_swaps=3, n_levels=2, n_shifts=2)
    algorithm.run(curator)
    spent = {kind: Fraction(0) for kind in (SparseHistogram, Select, Histogram, Sums)}
    for entry in curator.transcript:
        if entry.charge is not None:
            spent[type(entry.question)] += entry.charge.amount
    assert float(spent[SparseHistogram]) == pytest.approx(30 / 5, rel=1e-5)
    assert float(spent[Sums]) == pytest.approx(30 / 5, rel=1e-5)
    assert float(spent[Histogram]) == pytest.approx(30 / 5, rel=1e-5)
    assert float(spent[Select]) == pytest.approx(2 * 30 / 5, rel=1e-5)  # swaps and the choice


def test_the_authors_recovery_costs_far_more_than_it_says():
    # Laplace noise for the sensitivity of one column, on all columns of rows in a ball; one is replaced.
    d, e = 784, Fraction(1, 100)
    change = RowChange(2**20, d, ball=True, extras=())
    published = (Laplace(e / change.width, d),)
    assert loss(published, change, Unit("replace"), "epsilon") == 2 * 28 * e  # 2 sqrt(d) times epsilon


def test_a_tree_asks_a_fixed_number_of_levels_and_counts_the_root_too(behind_gate):
    X, _ = groups(4, 2, 4000)
    curator, whole = behind_gate(X, epsilon=100.0), Projection(np.eye(2))
    tree = grow(curator, whole, 4, 4, Fraction(1, 2))
    asked = [entry for entry in curator.transcript if isinstance(entry.question, SparseHistogram)]
    assert len(asked) == len(tree) == 4
    assert sum(entry.charge.amount for entry in asked) == pytest.approx(50, rel=1e-5)
    # Children of the root hold all rows; below it a cube's rows are those of its children and of the rest.
    assert tree[0].counts.sum() == pytest.approx(4000, abs=40)
    for level in tree[1:]:
        assert level.counts.sum() <= 4000 + 200
        assert (level.parents < level.cubes.n_active).all()
    points, weights = leaves(tree)
    assert weights.sum() == pytest.approx(4000, rel=0.05)
    assert np.abs(points).max() <= 1
    middles = candidates(tree, 2)
    assert len(middles) == 1 + sum(len(level.keys) for level in tree)
    assert middles[0].tolist() == [0, 0]


def test_a_tree_of_noise_ends_early(behind_gate):
    curator = behind_gate(np.zeros((3, 2)), epsilon=0.1)
    assert grow(curator, Projection(np.eye(2)), 4, 2, Fraction(1)) == []
    assert len(curator.transcript.charges) == 1
    assert candidates([], 2).tolist() == [[0, 0]]


def test_a_cube_that_is_not_split_is_placed_beside_more_rows(behind_gate):
    # 40 rows cut off a group of 4,000 by the wall at 0: their own cube is not split, for want of rows.
    X = np.concatenate([np.full((4000, 1), 0.01), np.full((40, 1), -0.01)])
    curator = behind_gate(X, epsilon=3.0)
    tree = grow(curator, Projection(np.eye(1)), 6, 2, Fraction(1))
    points, weights = leaves(tree)
    assert weights.sum() == pytest.approx(4040, abs=100)
    assert np.abs(points[weights > 15]).max() < 0.05


def test_shifted_roots_hold_the_domain(behind_gate):
    X, _ = groups(2, 2, 1000)
    for shift in ([1.0, -1.0], [-1.0, 0.3]):
        tree = grow(behind_gate(X, epsilon=50.0), Projection(np.eye(2)), 3, 2, Fraction(1), np.array(shift))
        assert tree[0].counts.sum() == pytest.approx(1000, abs=30)
        assert isinstance(tree[0].cubes, Cubes)
        assert candidates(tree, 2)[0].tolist() == pytest.approx(shift, abs=1e-6)


def test_swaps_improve_the_centres(behind_gate):
    X, centres = groups(3, 2, 3000)
    curator, whole = behind_gate(X, epsilon=500.0), Projection(np.eye(2))
    bad = np.array([[0.9, 0.9], [0.9, -0.9], [-0.9, 0.9]])
    points = np.concatenate([centres, bad, np.random.default_rng(0).uniform(-1, 1, (20, 2))])
    found = local_swap(curator, whole, points, bad, 4, Fraction(1))
    assert sorted(map(tuple, found.round(4))) == sorted(map(tuple, centres.round(4)))
    assert len(curator.transcript.charges) == 5  # four swaps, and one of the five sets


def test_further_rounds_are_taken_where_rows_are_near_their_centres(behind_gate):
    pure, other = behind_gate(np.zeros((1, 50))), behind_gate(np.zeros((1, 50)), delta=1e-6)
    tight = Recovery(1e5, 1e5, Fraction(1, 2), spread=0.02)
    wide = Recovery(1e5, 1e5, Fraction(1, 2), spread=1.0)
    assert wide.rounds(pure, 10) == []
    assert Recovery(1e5, 1e5, Fraction(1, 2)).rounds(pure, 10) == []
    boxes, balls = tight.rounds(pure, 10), tight.rounds(other, 10)
    assert all(isinstance(shape, Box) and shape.radius < 0.5 for shape in boxes)
    assert all(isinstance(shape, Ball) for shape in balls)
    assert boxes
    assert balls


def test_what_noise_has_drowned_is_moved_back():
    rng = np.random.default_rng(0)
    true, counts = rng.normal(0.3, 0.2, (4, 2000)), np.array([1000.0, 1000.0, 500.0, 0.0])
    towards = np.zeros_like(true)
    for sum_sd in (1.0, 300.0, 3000.0):
        sums = true * counts[:, None] + rng.normal(0, sum_sd, true.shape)
        answer = NoisySums(sums, counts, sum_sd, 1.0)
        plain = np.clip(sums[:3] / counts[:3, None], -1, 1)
        found = shrunk(answer, towards)
        assert (found[3].mean() == pytest.approx(0.3, abs=0.02)) or sum_sd > 1  # amid the others
        before, after = ((plain - true[:3]) ** 2).mean(), ((found[:3] - true[:3]) ** 2).mean()
        assert (after < 0.6 * before) if sum_sd > 1 else np.allclose(found[:3], plain, rtol=0, atol=1e-12)
    nobody = NoisySums(np.ones((4, 2000)), np.zeros(4), 1.0, 1.0)
    assert np.array_equal(shrunk(nobody, towards), towards)


def test_points_are_lifted_to_where_they_came_from():
    rng = np.random.default_rng(0)
    metric = rng.uniform(0.1, 1, 8)
    for weights in (None, metric):
        projection = Projection.random(3, 8, rng, weights)
        image = rng.uniform(-0.3, 0.3, (5, 3))
        assert lift(projection, image, weights) @ projection.matrix.T == pytest.approx(image, abs=1e-5)


EDGES = {
    "one column": (groups(2, 1, 500)[0], 2),
    "zero rows": (np.zeros((0, 7)), 3),
    "one row": (np.full((1, 7), 0.4), 3),
    "all equal": (np.full((800, 7), 0.4), 3),
    "more clusters than cubes": (np.full((800, 2), 0.4), 40),
    "missing cells": (np.full((50, 7), np.nan), 2),
}


@pytest.mark.parametrize("route", ["practical", "published"])
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_edges_are_answered(name, route):
    X, k = EDGES[name]
    model = ProjectedKMeans(k, epsilon=2.0, route=route, bounds=(-1, 1), n_starts=2, n_swaps=2).fit(X)
    assert model.cluster_centers_.shape == (k, X.shape[1])
    assert (np.abs(model.cluster_centers_) <= 1).all()
    assert np.isfinite(model.cluster_sizes_).all()


@pytest.mark.parametrize("route", ["practical", "published"])
@pytest.mark.parametrize("public", [False, True])
def test_an_infeasible_epsilon_is_warned_of_and_answered(route, public):
    X, _ = groups(3, 10, 1000)
    model = ProjectedKMeans(
        3, epsilon=0.001, route=route, bounds=(-1, 1), n_swaps=2, n_rows=1000 if public else None
    )
    for seed in range(3):
        budget = Accountant(epsilon=0.001)
        with pytest.warns(MostlyNoise):
            model.set_params(budget=budget, random_state=seed).fit(X)
        assert budget.spent <= 0.001
    assert explain(model, [f"x{i}" for i in range(10)], rows=1000).mostly_noise


def test_a_feasible_one_is_not():
    X, _ = groups(3, 10, 3000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ProjectedKMeans(3, epsilon=20.0, bounds=(-1, 1), random_state=0).fit(X)
    plan = explain(model, [f"x{i}" for i in range(10)], rows=3000)
    assert not plan.mostly_noise
    assert sum(charge.amount for charge in plan.charges) <= 20


def test_distance_is_in_the_units_that_were_asked_for():
    rng = np.random.default_rng(0)
    across, up = rng.choice([-25.0, 25.0], 6000), rng.choice([-0.7, 0.7], 6000)
    X = np.column_stack([across + rng.normal(0, 1, 6000), up + rng.normal(0, 0.02, 6000)])
    apart = {}
    for scaling in ("bounds", "none"):
        model = ProjectedKMeans(
            2, epsilon=100.0, bounds=([-100, -1], [100, 1]), scaling=scaling, random_state=1
        ).fit(X)
        apart[scaling] = np.abs(np.diff(model.cluster_centers_, axis=0))[0]
    assert apart["none"][0] > 30 > 10 > apart["bounds"][0]
    assert apart["bounds"][1] > 1 > 0.5 > apart["none"][1]


def test_weights_are_summed_cube_by_cube():
    X, centres = groups(3, 10, 3000)
    weights = np.where(np.arange(3000) < 2500, 1.0, 0.5)
    model = ProjectedKMeans(3, epsilon=50.0, bounds=(-1, 1), max_weight=1.0, random_state=0)
    model.fit(X, sample_weight=weights)
    assert error(model, centres) < 0.05
    assert model.cluster_sizes_.sum() == pytest.approx(2750, rel=0.05)
    kinds = {type(entry.question) for entry in model.release_.transcript}
    assert Histogram in kinds
    assert SparseHistogram not in kinds


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"route": "shortest"}, "route is 'shortest'"),
        ({"n_directions": 62}, "n_directions is 62"),
        ({"n_directions": 0}, "n_directions is 0"),
        ({"n_levels": 21}, "n_levels is 21"),
        ({"n_shifts": 0}, "n_shifts is 0"),
        ({"n_swaps": "many"}, "n_swaps is 'many'"),
        ({"n_repeats": 1.5}, "n_repeats is 1.5"),
    ],
)
def test_bad_parameters_spend_nothing(how, words):
    budget = Accountant(epsilon=1)
    with pytest.raises(InvalidInput, match=words):
        ProjectedKMeans(2, epsilon=1.0, bounds=(-1, 1), budget=budget, **how).fit(np.zeros((5, 2)))
    assert budget.spent == 0


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_centres_of_few_columns_are_found_in_many(delta, tmp_path):
    # Text: 300 words, three topics of four words each, a row has about four.
    rng = np.random.default_rng(0)
    topic = rng.permutation(np.arange(9000) % 3)
    X = np.zeros((9000, 300))
    for j in range(3):
        X[topic == j, 4 * j : 4 * j + 4] = rng.uniform(5, 10, ((topic == j).sum(), 4))
    true = np.array([X[topic == j].mean(axis=0) for j in range(3)])
    how = {"delta": delta, "bounds": (0, 10), "n_directions": 8, "random_state": 0}
    model = ProjectedKMeans(3, epsilon=1.0, sparsity=4, **how).fit(X)
    assert ((model.cluster_centers_ > 0).sum(axis=1) <= 8).all()
    assert error(model, true) < 0.05
    # The same budget over all columns leaves more noise.
    assert error(model, true) < 0.7 * error(ProjectedKMeans(3, epsilon=1.0, **how).fit(X), true)
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok


def test_zero_is_the_tables_own(behind_gate):
    curator = behind_gate(np.zeros((1, 4)), bounds=([0, -1, 2, 5], [10, 1, 4, 5]))
    assert zero_of(curator).tolist() == [-1.0, 0.0, -1.0, 0.0]


def test_more_columns_than_there_are_cannot_be_picked():
    X, centres = groups(2, 3, 2000)
    model = ProjectedKMeans(2, epsilon=50.0, bounds=(-1, 1), sparsity=40, random_state=0).fit(X)
    assert error(model, centres) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"route": "published", "n_repeats": 2, "n_shifts": 2}, {"sparsity": 1}], ids=str
)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_question_loses_more_than_it_is_charged_on_any_canary(how, epsilon):
    # The audit tries every algorithm as it comes; these are the other ways.
    subject = Subject("projected", epsilon, how, seed=0)
    found = subject.exact(cases_for("projected", epsilon, every=True), subject.delta())
    assert found.passed, found.detail
    assert found.measured > 0.3 * epsilon


def test_as_many_directions_as_integers_have_names_for():
    # Two active cubes of 61 columns have more children than 64 bits can tell apart: the larger one is split.
    rng = np.random.default_rng(2)
    X = rng.choice([-0.5, 0.5], (2, 70))[rng.integers(0, 2, 3000)] + rng.normal(0, 0.02, (3000, 70))
    model = ProjectedKMeans(2, epsilon=50.0, bounds=(-1, 1), n_directions=61, n_levels=2, random_state=0).fit(
        X
    )
    asked = [e.question for e in model.release_.transcript if type(e.answer).__name__ == "SparseCounts"]
    assert len(asked) == 2
    assert model.cluster_centers_.shape == (2, 70)
