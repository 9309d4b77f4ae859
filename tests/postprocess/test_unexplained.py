"""Rows that no bell explains: small groups are found together, and noise is not taken for them."""

import numpy as np
import pytest

from shoal.postprocess.unexplained import chance_of_the_middle, unexplained_rows

N_BOXES, SD = 400, 14.0


def counts(rows, seed):
    return rows + np.random.default_rng(seed).laplace(0, SD / np.sqrt(2), len(rows))


def small_groups(n_groups, size):
    rows = np.zeros(N_BOXES)
    rows[np.arange(n_groups) * 31] = size
    return rows


def test_small_groups_are_expected_where_they_are_and_nowhere_else():
    rows = small_groups(6, 60.0)
    found = np.mean(
        [
            unexplained_rows(counts(rows, seed), np.full(N_BOXES, SD**2), np.ones(N_BOXES), 360, 80, 8000)[0]
            for seed in range(20)
        ],
        axis=0,
    )
    assert found[rows > 0].mean() > 30
    assert found[rows == 0].mean() < 1


def test_noise_is_not_taken_for_rows():
    found = [
        unexplained_rows(
            counts(np.zeros(N_BOXES), seed), np.full(N_BOXES, SD**2), np.ones(N_BOXES), 0, 80, 8000
        )[0]
        for seed in range(20)
    ]
    # What all boxes together are expected to have, of 8,000 rows.
    assert np.mean([one.sum() for one in found]) < 40


def test_a_large_rest_overflows_nothing():
    rest = np.array([1e6, -1e6, 0.0, 5.0])
    found, told = unexplained_rows(rest, np.full(4, 2.0), np.ones(4), 1e6, 10.0, 1e6)
    assert np.isfinite(found).all()
    assert np.isfinite(told)
    assert found[0] == pytest.approx(1e6, rel=0.05)
    assert found[1] < 1


def test_of_two_boxes_with_one_count_the_larger_is_expected_to_have_more():
    rest, volumes = np.array([20.0, 20.0, -3.0, 4.0]), np.array([8.0, 1.0, 1.0, 1.0])
    found, _ = unexplained_rows(rest, np.full(4, SD**2), volumes, 30.0, 30.0, 500.0)
    assert found[0] > found[1] > found[2]


def test_rows_are_in_the_middle_only_where_boxes_that_meet_there_are_alike():
    touching = np.zeros(64, bool)
    touching[[27, 28, 35, 36]] = True  # of eight by eight
    middle, even = np.where(touching, 250.0, 0.0), np.full(64, 1000 / 64)
    given = np.full(64, SD**2), np.ones(64), touching, 1000.0, 20.0
    assert chance_of_the_middle(counts(middle, 0), *given) > 0.9
    assert chance_of_the_middle(counts(even, 0), *given) < 0.01
    assert chance_of_the_middle(counts(even, 0), given[0], given[1], np.zeros(64, bool), 1000.0, 20.0) == 0
