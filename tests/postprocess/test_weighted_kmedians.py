"""k-medians on released points: the least distance, robust to what lies far out."""

import numpy as np
import pytest
from scipy.optimize import minimize

from shoal.errors import InvalidInput
from shoal.postprocess.weighted_kmedians import spread, weighted_kmedians


def cost(points, weights, centres):
    return float(weights @ np.linalg.norm(points[:, None] - centres, axis=2).min(axis=1))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_median_is_the_least(d):
    rng = np.random.default_rng(d)
    points, weights = rng.normal(0, 0.3, (101, d)), rng.uniform(0, 2, 101)
    found = weighted_kmedians(points, weights, 1, rng, max_iter=500)
    best = minimize(
        lambda c: cost(points, weights, c[None]), points.mean(axis=0), method="Nelder-Mead", tol=1e-9
    )
    assert cost(points, weights, found.centres) <= best.fun * (1 + 1e-3)
    assert found.cost == pytest.approx(cost(points, weights, found.centres), rel=1e-3)
    assert found.masses == pytest.approx([weights.sum()])


def test_far_points_pull_less_than_at_a_mean():
    points = np.vstack([np.zeros((100, 2)), np.full((30, 2), 0.9)])
    found = weighted_kmedians(points, np.ones(130), 1, np.random.default_rng(0))
    assert np.abs(found.centres).max() < 0.01
    assert points.mean(axis=0)[0] > 0.2


def test_groups_are_found_in_own_units():
    rng = np.random.default_rng(1)
    # Two groups along the second column, which counts for nothing, and two along the first, which does.
    points = np.array([[-0.2, 0.9], [-0.2, -0.9], [0.2, 0.9], [0.2, -0.9]])
    found = weighted_kmedians(points, np.ones(4), 2, rng, column_scale=np.array([1.0, 0.0]))
    assert sorted(found.centres[:, 0].round(2)) == [-0.2, 0.2]


def test_grain_keeps_a_median_from_snapping_to_a_cell():
    cells = np.array([[-0.1], [0.1]])
    weights = np.array([60.0, 40.0])
    rng = np.random.default_rng(0)
    assert weighted_kmedians(cells, weights, 1, rng).centres[0, 0] == pytest.approx(-0.1, abs=0.01)
    # Rows lie evenly in the cells [-0.2, 0] and [0, 0.2]: the median is at -0.033.
    found = weighted_kmedians(cells, weights, 1, rng, grain=0.1 / np.sqrt(3))
    assert -0.06 < found.centres[0, 0] < -0.02


def test_few_points_and_none():
    rng = np.random.default_rng(0)
    same = weighted_kmedians(np.full((3, 2), 0.5), np.ones(3), 4, rng)
    assert same.centres == pytest.approx(np.full((4, 2), 0.5))
    nobody = weighted_kmedians(np.zeros((2, 2)), np.array([0.0, -1.0]), 3, rng)
    assert nobody.centres.shape == (3, 2)
    assert not nobody.masses.any()
    with pytest.raises(InvalidInput, match="at least 1"):
        weighted_kmedians(np.zeros((2, 2)), np.ones(2), 0, rng)


def test_seeds_are_drawn_by_weight_and_distance():
    rng = np.random.default_rng(0)
    points = np.array([[0.0], [0.01], [1.0]])
    picks = [tuple(sorted(spread(points, np.ones(3), 2, rng)[:, 0])) for _ in range(300)]
    assert np.mean([pick == (0.0, 0.01) for pick in picks]) < 0.03
    assert all(0.01 not in spread(points, np.array([1.0, 0.0, 1.0]), 2, rng) for _ in range(20))
