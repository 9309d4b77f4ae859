"""KMeans in many columns with few rows: directions are found, groups are looked for along them."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.algorithms.kmeans.centre_round import common_step
from shoal.algorithms.kmeans.directions import _Image, _steepest, affordable_cells
from shoal.algorithms.kmeans.kmeans import KMeans
from shoal.algorithms.kmeans.middle import Middle
from shoal.algorithms.shared.clustering import RowCount
from shoal.queries import NoisySums, ReplayCurator


def overlapping(n, d, k, seed=0):
    """Groups that differ along three directions, low in most columns, as counts and amounts are."""
    rng = np.random.default_rng(seed)
    hidden = (rng.normal(0, 1.5, (k, 3)))[np.arange(n) % k] + rng.normal(0, 0.6, (n, 3))
    X = hidden @ rng.normal(0, 0.7, (3, d)) + rng.normal(0, 0.6, (n, d))
    X[:, : d // 2] = np.exp(0.5 * X[:, : d // 2])
    return 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1


def cost(X, centres):
    return ((X[:, np.newaxis, :] - centres) ** 2).sum(axis=2).min(axis=1).mean()


def share_of(curator):
    spent = sum((charge.amount for charge in curator.transcript.charges), Fraction(0))
    return spent / curator.budget.amount


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_groups_are_found_along_directions_and_the_budget_is_spent(behind_gate, delta):
    X = overlapping(700, 30, 3)
    one = cost(X, X.mean(axis=0, keepdims=True))
    costs = []
    for seed in range(4):
        curator = behind_gate(X, epsilon=1.2, delta=delta, seed=seed)
        found = KMeans(3, n_starts=4, delta=delta).run(curator)
        assert curator.transcript.notes[0].startswith("directions:")
        assert Fraction(98, 100) < share_of(curator) <= 1
        again = KMeans(3, n_starts=4, delta=delta).run(ReplayCurator(curator.transcript))
        assert np.array_equal(again.centres, found.centres)
        costs.append(cost(X, found.centres))
    # Three exact means would save 45 % of it.
    assert np.mean(costs) < 0.85 * one


def test_random_directions_find_groups_where_no_others_could_be_found(behind_gate):
    rng = np.random.default_rng(5)
    centres = rng.uniform(-0.8, 0.8, (4, 40))
    X = centres[np.arange(2000) % 4] + rng.normal(0, 0.05, (2000, 40))
    one = cost(X, X.mean(axis=0, keepdims=True))
    costs = []
    for seed in range(4):
        curator = behind_gate(X, epsilon=0.39, seed=seed)
        found = KMeans(4).run(curator)
        assert "3 random directions" in curator.transcript.notes[1]
        assert Fraction(98, 100) < share_of(curator) <= 1
        again = KMeans(4).run(ReplayCurator(curator.transcript))
        assert np.array_equal(again.centres, found.centres)
        costs.append(cost(X, found.centres))
    assert np.mean(costs) < 0.75 * one


def test_directions_span_what_sets_groups_apart(behind_gate):
    rng = np.random.default_rng(1)
    along = rng.normal(size=20)
    along /= np.linalg.norm(along)
    X = 0.1 + np.outer(rng.choice([-0.8, 0.8], 4000), along) + rng.normal(0, 0.05, (4000, 20))
    about = Middle(np.full(20, 0.1), np.full(20, 0.2), off=True, narrow=False, aside=False)
    curator = behind_gate(X, epsilon=20.0)
    mean, axes = _steepest(
        curator, about, 1.0, 3, RowCount(4000.0, 4000.0), Fraction(1), np.random.default_rng(0)
    )
    assert axes.shape == (2, 20)
    assert axes @ axes.T == pytest.approx(np.eye(2), abs=1e-9)
    assert ((axes @ along) ** 2).sum() > 0.98
    assert mean == pytest.approx(X.mean(axis=0), abs=0.02)


def test_directions_are_those_of_distance_and_not_of_the_box(behind_gate):
    """A column that counts ten times as much is where rows vary, though its box is as wide as others."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (3000, 14)) * np.r_[10.0, np.ones(13)]
    curator = behind_gate(X, epsilon=30.0, bounds=([-10] + [-1] * 13, [10] + [1] * 13), scaling="none")
    scale = curator.domain.column_scale
    about = Middle(np.zeros(14), 0.5 / scale, off=False, narrow=False, aside=False)
    radius = 1.1 * np.sqrt(14) * 0.5
    _, axes = _steepest(
        curator, about, radius, 2, RowCount(3000.0, 3000.0), Fraction(1), np.random.default_rng(0)
    )
    assert abs(axes[0, 0]) > 0.95


def test_a_point_of_the_image_is_in_its_own_cell():
    rng = np.random.default_rng(3)
    axes, _ = np.linalg.qr(rng.normal(size=(6, 2)))
    image = _Image(axes.T, rng.uniform(-0.2, 0.2, 6), np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0]))
    places = rng.uniform(-0.3, 0.3, (40, 2))
    columns = image.lifted(places).T.astype(np.float32)
    assert np.array_equal(image.nearest(places).assign(columns, None), np.arange(40))


def test_what_all_steps_have_in_common_is_known_better_than_each():
    rng = np.random.default_rng(4)
    step, radii = rng.normal(0, 0.1, 30), np.full((5, 30), 0.5)
    sums = 200 * step / radii + rng.normal(0, 60.0, (5, 30))
    together = common_step(NoisySums(sums, np.full(5, 200.0), 60.0, 1.0), radii, 1000.0)[0]
    each = sums[0] * 0.5 / 200
    assert np.sum((together - step) ** 2) < 0.3 * np.sum((each - step) ** 2)
    nothing = NoisySums(rng.normal(0, 60.0, (5, 30)), np.full(5, 200.0), 60.0, 1.0)
    assert np.sum(common_step(nothing, radii, 1000.0) ** 2) < 0.02


def test_cells_are_no_more_than_noise_lets_stand_out(behind_gate):
    def cells(n, epsilon, k=10, at_least=None, **known):
        curator = behind_gate(np.zeros((0, 40)), epsilon=epsilon)
        rows = RowCount(float(n), float(at_least or n))
        return affordable_cells(curator, k, rows, Fraction(1), **known)

    assert cells(1000, 0.4) == 0
    assert cells(1000, 0.6) == 1  # random directions
    assert cells(1000, 0.6, at_least=600) == 0
    assert cells(1000, 0.8, known=True) == 4
    assert cells(1000, 0.6, known=True) == 0
    assert cells(1000, 4.0) == 5
    assert cells(1000, 4.0, k=2) == 2
    assert cells(1000, 4.0, k=1) == 0


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize(("n", "d", "epsilon"), [(700, 8, 0.12), (3000, 10, 0.05), (1500, 12, 0.1)])
def test_rows_away_from_the_middle_cost_about_what_one_mean_does(behind_gate, n, d, epsilon):
    """Boxes that are cut in a few columns each cost two to three times as much there."""
    X = overlapping(n, d, 4)
    one = cost(X, X.mean(axis=0, keepdims=True))
    costs = [
        cost(X, KMeans(4, n_starts=4).run(behind_gate(X, epsilon=epsilon, seed=seed)).centres)
        for seed in range(6)
    ]
    assert np.mean(costs) < 1.2 * one


def test_no_rows_at_all_get_centres(behind_gate):
    found = KMeans(3, n_starts=2).run(behind_gate(np.zeros((0, 16)), epsilon=5.0, n_rows=500))
    assert found.centres.shape == (3, 16)
    assert np.isfinite(found.centres).all()
