import copy
import pickle
import threading
from fractions import Fraction

import pytest

from shoal.accounting import Accountant, Approx, Charge, Pure
from shoal.errors import BudgetExceeded, InvalidBudget

HALF = Pure(Fraction(1, 2))


def spend(allowance, amount, currency="epsilon"):
    allowance.charge(Charge("a question", "some noise", Fraction(amount), currency))


def test_refuses_before_the_work_and_says_asked_left_and_gap():
    accountant = Accountant(epsilon=1)
    with accountant.reserve(Pure(Fraction(3, 4)), "first") as first:
        spend(first, Fraction(3, 4))
    with pytest.raises(BudgetExceeded, match=r"second asks for 0.5 .* 0.25 of 1 is left: 0.25 too much"):
        accountant.reserve(HALF, "second")
    assert accountant.spent == Fraction(3, 4)


def test_unspent_reservations_come_back_also_after_an_error():
    accountant = Accountant(epsilon=1)

    def interrupted():
        with accountant.reserve(Pure(Fraction(1)), "interrupted") as allowance:
            spend(allowance, Fraction(1, 8))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert accountant.spent == Fraction(1, 8)
    assert accountant.left == Fraction(7, 8)


def test_open_reservations_count_in_full():
    accountant = Accountant(epsilon=1)
    accountant.reserve(HALF, "open")
    assert accountant.left == Fraction(1, 2)
    assert accountant.spent == 0


def test_an_allowance_cannot_be_overdrawn_or_used_after_closing():
    accountant = Accountant(epsilon=1)
    allowance = accountant.reserve(HALF, "fit")
    with pytest.raises(BudgetExceeded, match=r"0\.25 too much"):
        spend(allowance, Fraction(3, 4))
    allowance.close()
    allowance.close()
    with pytest.raises(BudgetExceeded, match="over"):
        spend(allowance, Fraction(1, 8))
    assert accountant.spent == 0


def test_three_tenths_fit_in_three_tenths():
    accountant = Accountant(epsilon=0.3)
    for _ in range(3):
        with accountant.reserve(Pure(Fraction(1, 10)), "fit") as allowance:
            spend(allowance, Fraction(1, 10))
    assert accountant.left == 0


def test_pure_fits_draw_on_a_zcdp_budget_at_half_their_square():
    accountant = Accountant(rho=1)
    with accountant.reserve(Pure(Fraction(1)), "fit") as allowance:
        spend(allowance, Fraction(1))
    assert accountant.spent == Fraction(1, 2)


def test_approximate_fits_cannot_draw_on_a_pure_budget():
    with pytest.raises(InvalidBudget, match="delta"):
        Accountant(epsilon=1).reserve(Approx(Fraction(1, 10), Fraction(1, 10**6)), "fit")


def test_charges_in_another_currency_are_refused():
    with pytest.raises(InvalidBudget), Accountant(epsilon=1).reserve(HALF, "fit") as allowance:
        spend(allowance, Fraction(1, 8), "rho")


def test_copies_are_the_same_budget_and_pickles_cannot_spend():
    accountant = Accountant(epsilon=1)
    assert copy.deepcopy(accountant) is accountant
    assert copy.copy(accountant) is accountant
    accountant.reserve(HALF, "open")
    record = pickle.loads(pickle.dumps(accountant))
    assert record.left == Fraction(1, 2)
    with pytest.raises(BudgetExceeded, match="record"):
        record.reserve(HALF, "elsewhere")


def test_threads_never_overspend():
    accountant = Accountant(epsilon=30)
    accepted = []

    def work():
        for _ in range(20):
            try:
                with accountant.reserve(HALF, "fit") as allowance:
                    spend(allowance, Fraction(1, 2))
                accepted.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A refused fit may have met another's open reservation, but nothing is ever overspent.
    assert sum(accepted) * HALF.epsilon == accountant.spent <= 30


@pytest.mark.parametrize("kwargs", [{}, {"epsilon": 0}, {"epsilon": 1, "rho": 1}, {"rho": -1}])
def test_bad_budgets(kwargs):
    with pytest.raises(InvalidBudget):
        Accountant(**kwargs)
