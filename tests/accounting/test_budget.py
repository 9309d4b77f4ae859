import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.accounting import (
    Approx,
    Pure,
    budget_of,
    delta_of,
    epsilon_of,
    equal,
    exact,
    growing,
    portion,
    rho_of,
    round_down,
    weighted,
)
from shoal.errors import InvalidBudget


def test_budgets_read_decimals_as_written():
    assert exact(0.1) + exact(0.1) + exact(0.1) == exact(0.3)
    assert exact(np.float32(0.5)) == exact(Decimal("0.5")) == Fraction(1, 2)


@pytest.mark.parametrize("epsilon", [0, -1, 0.0, math.inf, math.nan, None, "1", True])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidBudget, match="epsilon"):
        budget_of(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan, math.inf, "small"])
def test_bad_delta(delta):
    with pytest.raises(InvalidBudget, match="delta"):
        budget_of(1.0, delta)


def test_delta_decides_the_kind():
    assert budget_of(1.0) == Pure(Fraction(1))
    assert budget_of(1.0, 1e-6) == Approx(Fraction(1), Fraction(1, 10**6))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))
def test_rounding_down_is_close_below_and_short(value):
    rounded = round_down(value)
    assert 0 <= rounded <= value
    assert rounded.denominator <= 2**32
    if value > Fraction(1, 2**12):
        assert rounded >= value * (1 - Fraction(1, 2**18))


@given(st.floats(1e-3, 8.0), st.floats(1e-12, 0.1))
def test_conversion_is_sound_and_tight(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert delta_of(rho, epsilon) <= delta
    assert delta_of(rho * 1.001, epsilon) > delta * 0.99
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-4)


def test_conversion_covers_mechanisms_that_are_not_gaussian():
    # Randomised response at epsilon = 1 is 1/2-zCDP and has delta(0) = 0.462; the Gaussian's own
    # formula would promise 0.383, which is false.
    assert delta_of(0.5, 0.0) >= (math.e - 1) / (math.e + 1)


def test_conversion_agrees_with_opendp():
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for scale in (3.0, 10.0, 40.0):
        meas = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale)), delta=1e-6)
        theirs, _ = meas.map(1)
        ours = epsilon_of(1 / (2 * scale**2), 1e-6)
        assert ours == pytest.approx(theirs, rel=1e-3)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20))
def test_plans_add_up_to_one(weights):
    assert sum(weighted(weights)) == 1
    assert sum(equal(len(weights))) == 1
    assert sum(growing(len(weights))) == 1
    assert sum(portion(growing(len(weights)), Fraction(49, 50))) == Fraction(49, 50)


def test_growing_plans_grow():
    shares = growing(5)
    assert all(b / a == Fraction(5, 4) for a, b in pairwise(shares))


def test_a_plan_needs_positive_weights():
    with pytest.raises(InvalidBudget):
        weighted([1, 0])
