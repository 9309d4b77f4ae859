"""A budget that renews: in windows that never open twice, whose sum every certificate states."""

from fractions import Fraction

import pytest

from shoal import Accountant
from shoal.accounting import Charge, Pure
from shoal.errors import BudgetExceeded
from shoal.ledger import store as stores


@pytest.fixture
def clock(monkeypatch):
    """A clock that can be set, for all ledgers."""
    time = {"now": "2026-03-01T12:00:00Z"}
    monkeypatch.setattr(stores, "now", lambda: time["now"])

    def set_to(now):
        time["now"] = now

    return set_to


def spend(accountant, epsilon):
    with accountant.reserve(Pure(Fraction(epsilon)), "fit") as allowance:
        allowance.charge(Charge("a question", "some noise", Fraction(epsilon), "epsilon"))
    return allowance.statement


@pytest.fixture
def yearly(path, clock):
    return Accountant.create(path, "trips", epsilon=4, delta=1e-6, renewal="yearly", decided_by="the DPO")


def test_a_new_year_is_a_new_budget_and_the_sum_is_stated(yearly, clock):
    said = spend(yearly, 4)
    assert said["window"] == "2026, renewed yearly as decided by the DPO"
    assert said["all_windows"] == "epsilon = 4, delta = 1e-06 over 1 window so far"
    with pytest.raises(BudgetExceeded):
        spend(yearly, 1)
    clock("2027-01-01T00:00:00Z")
    assert yearly.left == 4
    assert spend(yearly, 1)["all_windows"] == "epsilon = 8, delta = 2e-06 over 2 windows so far"
    assert (yearly.spent, yearly.left) == (1, 3)


def test_no_window_opens_again_when_the_clock_goes_back(yearly, clock, path):
    clock("2027-06-01T00:00:00Z")
    spend(yearly, 3)
    for earlier in ("2026-12-31T23:59:59Z", "2025-01-01T00:00:00Z"):
        clock(earlier)
        for accountant in (yearly, Accountant.open(path, "trips")):
            assert accountant.window == "2027"
            assert accountant.left == 1
            with pytest.raises(BudgetExceeded):
                spend(accountant, 2)
    assert spend(yearly, 1)["window"].startswith("2027")
    times = [record.time for record in yearly.records()]
    assert times == sorted(times)
    clock("2026-05-01T00:00:00Z")
    with pytest.raises(BudgetExceeded):
        spend(yearly, Fraction(1, 100))


def test_a_fit_that_is_under_way_at_new_year_stays_in_its_window(yearly, clock):
    allowance = yearly.reserve(Pure(Fraction(3)), "fit")
    clock("2027-01-01T00:00:00Z")
    assert yearly.left == 4
    allowance.charge(Charge("a question", "some noise", Fraction(2), "epsilon"))
    allowance.close()
    assert yearly.spent == 0
    assert yearly.book.spent("2026") == 2


def test_without_a_policy_nothing_renews(path, clock):
    trips = Accountant.create(path, "trips", epsilon=4)
    spend(trips, 4)
    clock("2099-01-01T00:00:00Z")
    assert trips.left == 0
    assert "all_windows" not in trips.book.statement(next(iter(trips.book.fits)))
