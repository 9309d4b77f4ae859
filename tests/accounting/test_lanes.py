"""Whichever lane it turns out to be, an analyst who chooses on the way learns no more than was promised."""

import math
from fractions import Fraction
from functools import cache

import pytest

from shoal.accounting import budget_of
from shoal.accounting.lanes import Lane, Losses, accepted, lanes_of

STEP = Fraction(1, 4)  # every answer is randomised response: its loss is one or two of these, up or down
KINDS = [(currency, n) for currency in ("epsilon", "rho") for n in (1, 2)]


def price(currency, n):
    e = n * STEP
    return Losses.of(currency, e if currency == "epsilon" else e**2 / 2)


def worst_delta(lanes, epsilon):
    """Return the least delta that holds against the best analyst, who may choose by what came out.

    That is the largest expectation under P of 1 - exp(epsilon - loss) where it is positive, over all ways to
    go on or to stop.
    """

    @cache
    def value(spent, loss):
        best = max(0.0, -math.expm1(float(epsilon - loss * STEP)))
        for currency, n in KINDS:
            asked = price(currency, n)
            if accepted(lanes, spent, asked):
                up = 1 / (1 + math.exp(-float(n * STEP)))
                then = up * value(spent + asked, loss + n) + (1 - up) * value(spent + asked, loss - n)
                best = max(best, then)
        return best

    return value(Losses(), 0)


@pytest.mark.parametrize("pure", [0, Fraction(1, 2)])
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_an_analyst_who_chooses_on_the_way_learns_no_more(delta, pure):
    budget = budget_of(1, delta)
    found = worst_delta(lanes_of(budget, pure), budget.epsilon)
    assert found <= delta
    if delta == 0.2:
        assert found > 0  # it is not for want of trying


def test_lanes_that_are_each_kept_by_their_own_charges_would_not_do():
    # As if pure charges were one account and the others a second one.
    zcdp = lanes_of(budget_of(1, 0.05))[1].rho
    assert worst_delta((Lane(Fraction(1), zcdp),), Fraction(1)) > 0.05


def test_pure_charges_alone_need_no_delta():
    assert worst_delta(lanes_of(budget_of(1)), Fraction(1)) == 0
