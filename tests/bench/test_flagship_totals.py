"""Coverage of total intervals is counted as it is said."""

import numpy as np

from shoal.bench.flagship.totals import covered, foretold, matched


def test_refits_are_matched_as_a_whole_and_not_one_by_one():
    # Both of the others are nearest to the first centre: one by one it would get both.
    centres, others = np.array([[0.0], [10.0]]), np.array([[1.0], [2.0]])
    assert matched(centres, others).tolist() == [[1.0], [2.0]]
    assert matched(centres[::-1], others).tolist() == [[2.0], [1.0]]


def test_intervals_of_the_right_width_cover_what_they_promise():
    rng = np.random.default_rng(0)
    true, sd = rng.uniform(-1, 1, (5, 2)), 0.01
    refits = [rng.permutation(true + rng.normal(0, sd, true.shape)) for _ in range(200)]
    total = np.zeros(2)
    for _ in range(200):
        centres = true + rng.normal(0, sd, true.shape)
        stable = np.array([True] * 4 + [False])
        total += covered(centres, centres - 1.96 * sd, centres + 1.96 * sd, stable, refits)
    assert total[1] == 200 * 8
    assert 0.93 < total[0] / total[1] < 0.97


def test_a_prediction_may_err_to_both_sides():
    measured = np.array([1.0, 1.0, 1.0, 1.0])
    assert foretold(np.array([1.4, 0.7, 1.6, 0.6]), measured) == 0.5
