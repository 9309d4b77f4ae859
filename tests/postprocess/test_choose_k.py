"""How many groups: bells stay whole, groups that could be noise do not count."""

import numpy as np
import pytest

from shoal.postprocess.choose_k import cost_curve


def curve_of(places, weights, *, sd=1.0, n_points=None, most=6):
    n = len(weights) if n_points is None else n_points
    rng, around = np.random.default_rng(0), np.full(places.shape, 1e-5)
    return cost_curve(places, around, weights, sd, n, most, rng, column_scale=np.ones(places.shape[1]))


@pytest.fixture
def bells():
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(m, 0.05, (300, 2)) for m in (-0.6, 0.0, 0.6)])


def test_costs_are_those_of_the_points(bells):
    curve = curve_of(bells, np.full(900, 20.0))
    assert curve.cost[0] == pytest.approx(((bells - bells.mean(axis=0)) ** 2).sum(axis=1).mean() + 2e-5)
    assert curve.chosen == 3
    assert (np.diff(curve.cost) < 0).all()


def test_the_noise_of_a_cost_is_the_stated_one(bells):
    rng = np.random.default_rng(2)
    sd, weights = 3.0, np.full(900, 20.0)
    squares = ((bells - bells.mean(axis=0)) ** 2).sum(axis=1) + 2e-5
    costs = [(weights + rng.normal(0, sd, 900)) @ squares / weights.sum() for _ in range(2000)]
    assert curve_of(bells, weights, sd=sd, most=1).sd[0] == pytest.approx(np.std(costs), rel=0.1)


def test_a_group_that_could_be_noise_does_not_count(bells):
    weights = np.full(900, 20.0)
    places = np.concatenate([bells, [[0.9, -0.9]]])
    assert curve_of(places, np.append(weights, 12.0)).chosen == 3
    assert curve_of(places, np.append(weights, 4000.0)).chosen == 4


def test_nothing_but_noise_is_one_group():
    curve = curve_of(np.zeros((4, 2)), np.array([-1.0, 0.5, 0.2, -0.1]))
    assert curve.chosen == 1
    assert "<- chosen" in str(curve)


def test_a_number_with_a_light_group_is_never_chosen():
    # Two places weigh enough, a third does not, and there is nowhere else for its centre.
    places, weights = np.array([[-0.5], [0.5], [0.9]]), np.array([90.0, 90.0, 3.0])
    curve = curve_of(places, weights, n_points=50, most=3)
    assert curve.chosen == 2
    assert not np.isfinite(curve.length[2])


def test_one_more_group_never_costs_more():
    """K-means may stop at a worse place with more centres: many tight groups, of which noise hides some."""
    rng = np.random.default_rng(0)
    rises = 0
    for _ in range(6):
        centres = rng.uniform(-0.9, 0.9, (10, 5))
        places = np.repeat(centres, 6, axis=0) + rng.normal(0, 0.02, (60, 5))
        weights = np.maximum(rng.normal(60, 40, 60), 1.0)
        given = places, np.full((60, 5), 1e-4), weights, 20.0, 400.0, 12, rng
        curve = cost_curve(*given, n_starts=1, column_scale=np.ones(5))
        rises += int((np.diff(curve.cost) > 0).any())
    assert rises == 0


def one_lump(kind, n=4000, d=2):
    """Places of rows without clear groups, in the middle: a bell, even rows, or long tails."""
    rng = np.random.default_rng(3)
    if kind == "even":
        return rng.uniform(-0.5, 0.5, (n, d))
    drawn = rng.laplace(0, 0.08, (n, d)) if kind == "long tails" else rng.normal(0, 0.08, (n, d))
    return np.clip(drawn, -1, 1)


@pytest.mark.parametrize(("kind", "clear"), [("bell", True), ("even", False), ("long tails", False)])
def test_without_clear_groups_half_of_the_cost_is_saved_unless_rows_are_one_bell(kind, clear):
    places = one_lump(kind)
    given = places, np.full(places.shape, 1e-4), np.full(len(places), 50.0), 1.0, len(places), 8
    curve = cost_curve(*given, np.random.default_rng(0), n_starts=2, column_scale=np.ones(2))
    assert curve.clear == clear
    if clear:
        assert curve.chosen == 1
    else:
        assert curve.cost[curve.chosen - 1] <= curve.cost[0] / 2 < curve.cost[curve.chosen - 2]
        assert "no clear groups" in curve.why


def test_a_bell_is_one_group_though_noise_leaves_a_little_of_a_row_far_away():
    places = one_lump("bell")
    far = np.random.default_rng(5).choice([-1.0, 1.0], (60, 2)) * 0.95
    weights = np.repeat([2.0, 0.1], [len(places), len(far)])
    both = np.vstack([places, far])
    given = both, np.full(both.shape, 1e-4), weights, 1.0, 2 * len(both), 8
    curve = cost_curve(*given, np.random.default_rng(0), n_starts=2, column_scale=np.ones(2))
    assert (curve.chosen, curve.clear) == (1, True)


def test_without_clear_groups_noise_is_not_cut():
    places = one_lump("even", n=60)
    given = places, np.full(places.shape, 1e-4), np.full(60, 10.0), 40.0, 60, 8
    curve = cost_curve(*given, np.random.default_rng(0), n_starts=2, column_scale=np.ones(2))
    assert (curve.chosen, curve.clear) == (1, True)
