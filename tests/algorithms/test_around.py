"""KMeans where groups can hardly be told from noise: centres spread around the mean of all rows."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms.kmeans.around import best_reach, expected_spread, far_apart, moved_around, spread_around
from shoal.algorithms.kmeans.centre_round import bell_shells, distances
from shoal.algorithms.kmeans.kmeans import KMeans, one_mean
from shoal.algorithms.shared.clustering import RowCount
from shoal.queries import NoisyCounts, ReplayCurator
from shoal.queries.questions import Sums

WAYS = {"stay": spread_around, "move": moved_around}


def cost(X, centres):
    return ((X[:, np.newaxis, :] - centres) ** 2).sum(axis=2).min(axis=1).mean()


def share_of(curator):
    spent = sum((charge.amount for charge in curator.transcript.charges), Fraction(0))
    return spent / curator.budget.amount


@pytest.mark.parametrize(("n", "d"), [(2, 7), (5, 8), (8, 8), (9, 8), (16, 8), (40, 8)])
def test_directions_are_far_apart_and_balanced(n, d):
    found = far_apart(n, d, np.random.default_rng(0))
    assert found.shape == (n, d)
    assert (found**2).sum(axis=1) == pytest.approx(np.ones(n))
    between = found @ found.T - 2 * np.eye(n)
    if n <= d:  # a simplex
        assert between + np.eye(n) == pytest.approx(np.where(np.eye(n), 0.0, -1 / (n - 1)), abs=1e-9)
    assert between.max() < 0.95  # no two are one
    assert not np.array_equal(found, far_apart(n, d, np.random.default_rng(1)))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 16])
def test_the_reach_is_the_mean_of_the_largest(n):
    u, z = far_apart(n, 20, np.random.default_rng(0)), np.random.default_rng(1).normal(size=(20_000, 20))
    assert best_reach(n) == pytest.approx((z @ u.T).max(axis=1).mean(), rel=0.05)


def test_spread_centres_cost_less_than_one_mean_by_what_is_promised():
    """Whatever the spectrum: here three columns have nearly all of the variance."""
    rng = np.random.default_rng(2)
    X = rng.normal(0, np.r_[np.full(3, 0.5), np.full(17, 0.05)], (4000, 20))
    s, saved = np.sqrt(X.var(axis=0).mean()), []
    for seed in range(40):
        centres = best_reach(5) * s * far_apart(5, 20, np.random.default_rng(seed))
        saved.append(1 - cost(X, centres) / cost(X, np.zeros((1, 20))))
    assert np.mean(saved) == pytest.approx(best_reach(5) ** 2 / 20, rel=0.25)


def test_how_far_rows_lie_is_told_as_far_as_noise_lets_it():
    rng = np.random.default_rng(3)
    i = 60
    true = distances(20)[i] / np.sqrt(20)
    counts = 500 * bell_shells("ball", 20, 0.5)[i]

    def told(sd):
        noisy = (NoisyCounts(counts + rng.laplace(0, sd / np.sqrt(2), len(counts)), sd) for _ in range(40))
        return np.array([expected_spread(one, 500.0, 20) for one in noisy])

    assert told(10.0) == pytest.approx(np.full(40, true), rel=0.15)
    # Hidden by noise it is a guess below what lies evenly, and never wider than the domain.
    assert told(20_000.0) == pytest.approx(np.full(40, 0.25), abs=0.03)
    assert told(300.0).max() < np.sqrt(3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("way", WAYS)
def test_the_budget_is_spent_and_the_run_can_be_replayed(behind_gate, way, delta):
    X = np.random.default_rng(4).normal(0.2, 0.2, (400, 16))
    curator = behind_gate(X, epsilon=0.4, delta=delta)
    rows = RowCount(400.0, 400.0)
    found = WAYS[way](curator, 6, rows, Fraction(1))
    assert Fraction(98, 100) < share_of(curator) <= 1
    again = WAYS[way](ReplayCurator(curator.transcript), 6, rows, Fraction(1))
    assert np.array_equal(again.centres, found.centres)
    assert np.array_equal(again.sizes, found.sizes)
    assert len(np.unique(found.centres, axis=0)) == 6
    assert found.merged_into.tolist() == list(range(6))
    assert np.isfinite(found.predicted_sd)
    # Made-up rows lie as far from the mean as it was told.
    made = found.shown.draw(2000, np.random.default_rng(0))
    assert np.abs(made).max() <= 1
    assert found.shown.weights.sum() == pytest.approx(400)


def test_centres_that_stay_state_no_error_and_count_their_rows(behind_gate):
    X = np.random.default_rng(5).normal(0, 0.2, (3000, 10))
    found = spread_around(behind_gate(X, epsilon=20.0), 4, RowCount(3000.0, 3000.0), Fraction(1))
    assert np.isinf(found.centre_sd).all()
    nearest = ((X[:, np.newaxis] - found.centres) ** 2).sum(axis=2).argmin(axis=1)
    assert found.sizes == pytest.approx(np.bincount(nearest), abs=10)
    made = found.shown.draw(20_000, np.random.default_rng(0))
    assert made.var(axis=0) == pytest.approx(X.var(axis=0), rel=0.25)


def test_centres_are_spread_by_distance_and_not_by_the_box(behind_gate):
    """A column whose box is ten times as wide counts ten times as much: centres differ in it as in others."""
    X = np.random.default_rng(6).normal(0, 0.3, (3000, 8))
    bounds = ([-10.0] + [-1.0] * 7, [10.0] + [1.0] * 7)
    curator = behind_gate(X, epsilon=30.0, bounds=bounds, scaling="none")
    found = spread_around(curator, 8, RowCount(3000.0, 3000.0), Fraction(1))
    spread = (found.centres * curator.domain.column_scale).std(axis=0)
    assert spread[0] < 2 * spread[1:].max()
    assert cost(X, curator.domain.decode(found.centres)) < cost(X, X.mean(axis=0, keepdims=True))


def test_rows_of_groups_that_are_apart_move_their_centres(behind_gate):
    rng = np.random.default_rng(7)
    X = rng.uniform(-0.8, 0.8, (4, 12))[np.arange(1500) % 4] + rng.normal(0, 0.05, (1500, 12))
    rows = RowCount(1500.0, 1500.0)

    def mean_cost(way, epsilon):
        found = [way(behind_gate(X, epsilon=epsilon, seed=s), 4, rows, Fraction(1)) for s in range(8)]
        return np.mean([cost(X, one.centres) for one in found])

    one = mean_cost(one_mean, 0.3)
    assert mean_cost(spread_around, 0.3) < 0.97 * one
    assert mean_cost(moved_around, 0.3) < 0.6 * one


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize(("d", "epsilon", "moved"), [(8, 0.02, False), (8, 0.06, True), (20, 0.13, True)])
def test_kmeans_spreads_centres_and_says_so(behind_gate, d, epsilon, moved):
    X = np.random.default_rng(8).normal(0, 0.25, (1500, d))
    curator = behind_gate(X, epsilon=epsilon, n_rows=1500)
    found = KMeans(3).run(curator)
    first, second = curator.transcript.notes
    assert first.startswith("around:")
    assert "groups can hardly be told from noise" in first
    assert "spread around the mean of all rows, in random directions" in second
    assert ("moved to the rows" in second) is moved
    assert ("no groups could be told from noise" in second) is not moved
    assert found.centres.shape == (3, d)
    # With more rows nothing of it.
    richer = behind_gate(X, epsilon=5.0, n_rows=1500)
    KMeans(3).run(richer)
    assert not richer.transcript.notes[0].startswith("around")


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("model", [KMeans(1), KMeans("auto"), KMeans(3, counted=True)])
def test_one_mean_is_left_for_one_centre_and_where_they_are_counted(behind_gate, model):
    X = np.random.default_rng(9).normal(0, 0.25, (200, 8))
    curator = behind_gate(X, epsilon=0.05, n_rows=200)
    found = model.run(curator)
    assert curator.transcript.notes[0].startswith("one mean:")
    assert len(np.unique(found.centres, axis=0)) == 1
    assert sum(isinstance(entry.question, Sums) for entry in curator.transcript.entries) == 1


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("d", [8, 16])
def test_no_rows_at_all_get_centres(behind_gate, d):
    found = KMeans(3).run(behind_gate(np.zeros((0, d)), epsilon=0.1))
    assert found.centres.shape == (3, d)
    assert np.isfinite(found.centres).all()
    assert np.abs(found.centres).max() <= 1
