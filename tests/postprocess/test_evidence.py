"""What could be noise: every rule is wrong as often as it says, and not oftener."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from shoal.postprocess.evidence import (
    HALF_A_CELL,
    SURE,
    Noisy,
    combine,
    laplace_rate,
    lower_bound,
    noise_floor,
    shrink,
    soft,
    upper_bound,
)

spreads = st.floats(0.1, 1e4)


@given(spreads, spreads)
def test_two_values_are_better_than_one(a, b):
    both = combine(Noisy(3.0, a), Noisy(5.0, b))
    assert 3.0 <= both.value <= 5.0
    assert both.variance == pytest.approx(1 / (1 / a + 1 / b))
    assert abs(both.value - 3.0) * a == pytest.approx(abs(both.value - 5.0) * a * a / b, rel=1e-6)


def test_what_is_not_known_does_not_count_and_arrays_combine_as_numbers():
    assert combine(Noisy(3.0, math.inf), Noisy(5.0, 2.0)).value == 5.0
    both = combine(Noisy.of(np.array([3.0, 7.0]), 1.0), Noisy.of(np.array([5.0, 5.0]), 1.0))
    assert both.value.tolist() == [4.0, 6.0]


@given(spreads)
def test_a_standard_deviation_survives_being_squared_to_the_last_bit(sd):
    # Thresholds of stored releases are computed again when they are verified.
    assert Noisy.of(0.0, sd).sd == sd
    assert upper_bound(Noisy.of(0.0, sd)) == -lower_bound(Noisy.of(0.0, sd)) == SURE * sd


def test_a_bound_is_wrong_as_often_as_its_name_says():
    assert laplace.sf(SURE * math.sqrt(2)) == pytest.approx(0.030, abs=5e-4)
    assert norm.sf(SURE) == pytest.approx(0.023, abs=5e-4)


@given(st.integers(10, 10**9), spreads, st.sampled_from([1e-6, 0.005, HALF_A_CELL, 2.0]))
def test_of_n_empty_cells_as_many_pass_as_may(n, sd, false_alarms):
    floor = noise_floor(n, sd, false_alarms)
    assert n * laplace.sf(floor / sd * math.sqrt(2)) == pytest.approx(false_alarms, rel=1e-6)
    averaged = noise_floor(n, sd, false_alarms, "normal")
    assert n * norm.sf(averaged / sd) <= false_alarms


def test_a_floor_is_above_nothing_however_many_false_alarms_are_allowed():
    assert noise_floor(1, 1.0, 100.0) > 0


@given(st.floats(1e-3, 30))
def test_the_rate_of_a_discrete_law_is_that_of_its_variance(rate):
    q = math.exp(-rate)
    assert laplace_rate(math.sqrt(2 * q) / (1 - q)) == pytest.approx(rate, rel=1e-6)


def test_shrunk_steps_err_less_than_steps_as_they_are_and_than_none():
    rng = np.random.default_rng(0)
    true, noise = rng.normal(0, 1, (200, 3)), np.linspace(0.1, 4, 200)[:, np.newaxis]
    steps = true + rng.normal(0, np.sqrt(noise), true.shape)
    errors = [((share * steps - true) ** 2).sum() for share in (shrink(steps, noise), 1.0, 0.0)]
    assert errors[0] < 0.8 * min(errors[1:])


def test_steps_that_are_all_noise_are_not_made():
    rng = np.random.default_rng(1)
    assert shrink(rng.normal(0, 0.9, (50, 2)), np.ones((50, 1))).max() == 0.0


@given(st.floats(-10, 10), st.floats(0, 5))
def test_what_may_be_noise_is_taken_off_and_no_more(value, doubt):
    left = soft(value, doubt)
    assert abs(left) == pytest.approx(max(abs(value) - doubt, 0.0))
    assert left * value >= 0
