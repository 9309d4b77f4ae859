"""Groups that are clear, and groups that are not: overlapping, missed, unequal."""

import numpy as np

from shoal.postprocess.clear_groups import clearness


def bells(centres, sizes, spread=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(c, spread, (n, 2)) for c, n in zip(centres, sizes, strict=True)])


def of(places, centres):
    return clearness(places, np.zeros_like(places), np.ones(len(places)), np.array(centres))


APART = [[-0.5, -0.5], [0.5, -0.5], [0.0, 0.6]]


def test_groups_that_lie_apart_are_clear():
    assert of(bells(APART, [300, 300, 300]), APART) > 50


def test_a_missed_group_is_not_clear():
    places = bells(APART, [300, 300, 300])
    assert of(places, [[-0.53, -0.5], [-0.47, -0.5], [0.25, 0.05]]) < 0.1


def test_groups_that_overlap_are_not_clear():
    near = [[-0.03, 0.0], [0.03, 0.0]]
    assert of(bells(near, [300, 300]), near) < 2


def test_a_group_of_few_rows_is_less_clear():
    assert of(bells(APART, [1000, 1000, 10]), APART) < of(bells(APART, [300, 300, 300]), APART) / 20


def test_rows_inside_wide_places_count_as_spread_along_every_direction():
    # Rows along a diagonal vary twice as much along it as along a column.
    line = np.linspace(-0.2, 0.2, 50)[:, np.newaxis] * np.ones(2)
    places = np.vstack([line - 1, line + 1])
    centres, ones = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.ones(100)
    diagonal = clearness(places, np.zeros_like(places), ones, centres)
    saved = 50 * 8.0
    assert np.isclose(diagonal, saved / (2 * (line[:, 0] ** 2).sum()))
    wide = clearness(places, np.full_like(places, 0.1), ones, centres)
    assert np.isclose(wide, saved / (2 * (line[:, 0] ** 2).sum() + 50 * 0.1))
