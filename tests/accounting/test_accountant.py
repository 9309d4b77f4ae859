import copy
import os
import pickle
import subprocess
import sys
import threading
from fractions import Fraction

import pytest

from shoal.accounting import ZCDP, Accountant, Approx, Charge, Pure, budget_of
from shoal.domain import Unit
from shoal.errors import BudgetExceeded, InvalidBudget

HALF = Pure(Fraction(1, 2))


def spend(allowance, amount, currency="epsilon"):
    allowance.charge(Charge("a question", "some noise", Fraction(amount), currency))


def test_refuses_before_the_work_and_says_asked_left_and_gap():
    accountant = Accountant(epsilon=1)
    with accountant.reserve(Pure(Fraction(3, 4)), "first") as first:
        spend(first, Fraction(3, 4))
    with pytest.raises(BudgetExceeded, match=r"for epsilon = 0.5; 0.25 of 1 epsilon is left .* 0.25 too"):
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


def use(accountant, budget, unit=None):
    """Spend a budget as a whole, in one charge."""
    with accountant.reserve(budget, "fit", unit) as allowance:
        spend(allowance, budget.amount, budget.currency)


PERSON, ROW = Unit(column="who"), Unit()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Unit("replace"), ROW),
        (ROW, Unit("replace")),
        (ROW, PERSON),
        (PERSON, Unit(column="household")),
        (None, PERSON),
    ],
)
def test_losses_for_different_neighbours_or_people_do_not_add_up(first, second):
    accountant = Accountant(epsilon=2)
    use(accountant, HALF, first)
    with pytest.raises(InvalidBudget, match=r"fit protects .*, and .* has counted protects .* do not add"):
        accountant.reserve(HALF, "fit", second)
    assert accountant.spent == HALF.epsilon


def test_different_numbers_of_rows_of_one_person_compose():
    accountant = Accountant(epsilon=1)
    use(accountant, HALF, Unit(max_rows=3, column="who"))
    use(accountant, HALF, Unit(max_rows=50, column="who"))
    assert accountant.left == 0


def test_whom_a_fit_protects_is_remembered_while_it_lasts_and_once_it_was_charged():
    accountant = Accountant(epsilon=2)
    with accountant.reserve(HALF, "asks nothing", PERSON), pytest.raises(InvalidBudget):
        accountant.reserve(HALF, "fit", ROW)
    use(accountant, HALF, ROW)
    with pytest.raises(InvalidBudget):
        accountant.reserve(HALF, "fit", PERSON)


def test_pure_fits_add_up_as_epsilons_where_delta_is_allowed_too():
    accountant = Accountant(epsilon=2, delta=1e-6)
    for left in (Fraction(3, 2), 1, Fraction(1, 2), 0):
        use(accountant, HALF)
        assert accountant.left == left
        assert accountant.spent == 2 - left  # an epsilon, and no delta
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon = 0.5; 0 of 2 epsilon is left"):
        accountant.reserve(HALF, "fifth")


def test_many_small_pure_fits_add_up_better_as_rho():
    accountant = Accountant(epsilon=1, delta=1e-6)
    for _ in range(200):
        use(accountant, Pure(Fraction(1, 100)))
    assert 0.5 < accountant.spent < 1  # 2, as epsilons


def test_one_fit_with_delta_makes_all_count_as_rho():
    accountant = Accountant(epsilon=2, delta=1e-6)
    use(accountant, Pure(Fraction(3, 2)))
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0.1, delta = 1e-06; 0 of 2 epsilon is left"):
        accountant.reserve(budget_of(0.1, 1e-6), "mixed")
    use(accountant, HALF)


def test_a_mixed_lane_has_its_limits_and_its_share_of_delta_from_the_start():
    accountant = Accountant(epsilon=2, delta=1e-6, pure=1)
    use(accountant, Pure(Fraction(1)))
    use(accountant, budget_of(0.9, 5e-7))
    assert 1.85 < accountant.spent < 1.95
    with pytest.raises(BudgetExceeded):
        accountant.reserve(budget_of(0.9, 5e-7), "more")
    # Conversions have half of delta: all of it would be promised twice.
    with pytest.raises(BudgetExceeded):
        Accountant(epsilon=2, delta=1e-6, pure=1).reserve(budget_of(2, 1e-6), "all of it")


@pytest.mark.parametrize("pure", [-0.1, 2, 3])
def test_a_mixed_lane_needs_room(pure):
    with pytest.raises(InvalidBudget, match="pure"):
        Accountant(epsilon=2, delta=1e-6, pure=pure)
    with pytest.raises(InvalidBudget, match="delta"):
        Accountant(epsilon=2, pure=1)


@pytest.mark.parametrize(
    "past", [[], [HALF], [Pure(Fraction(1, 5)), budget_of(0.2, 1e-7)], [budget_of(0.7, 1e-8)] * 3]
)
@pytest.mark.parametrize("delta", [0, 1e-9, 1e-6])
def test_what_is_said_to_be_left_can_be_had_and_hardly_more(past, delta):
    accountant = Accountant(epsilon=2, delta=1e-6)
    for budget in past:
        use(accountant, budget)
    left = accountant.left_for(delta)
    more = budget_of(float(left) * 1.001 + 1e-2, delta)
    with pytest.raises(BudgetExceeded, match=r"too much"):
        accountant.reserve(more, "more")
    if left:
        use(accountant, budget_of(left, delta))
        assert accountant.spent <= 2


def test_refusals_speak_of_epsilon_where_epsilon_was_given():
    accountant = Accountant(epsilon=1, delta=1e-6)
    use(accountant, budget_of(0.9, 1e-6))
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0.5, delta = 1e-06; 0.3\d* of 1 epsilon") as refusal:
        accountant.reserve(budget_of(0.5, 1e-6), "fit")
    assert "rho" not in str(refusal.value)
    assert "rho" not in accountant.describe()
    allowance = Accountant(epsilon=1, delta=1e-6).reserve(budget_of(1, 1e-6), "fit")
    with pytest.raises(BudgetExceeded, match="costs 200 % of epsilon = 1, delta = 1e-06, and 100 % is left"):
        spend(allowance, 2 * allowance.budget.amount, "rho")
    assert "rho" in Accountant(rho=1).describe()
    with pytest.raises(BudgetExceeded, match=r"rho = 2 \(zCDP\); 1 of 1 rho is left"):
        Accountant(rho=1).reserve(ZCDP(Fraction(2)), "fit")


FORK = """
import os, sys
from fractions import Fraction
from shoal.accounting import Accountant, Charge, Pure
from shoal.errors import BudgetExceeded

# A child whose number is its parent's, as numbers recur.
number = os.getpid()
os.getpid = lambda: number
accountant = Accountant(epsilon=1)
allowance = accountant.reserve(Pure(Fraction(1, 2)), "fit")
accountant._lock.acquire()  # as another thread would that does not live on in the child
charge = Charge("a question", "some noise", Fraction(1, 8), "epsilon")
child = os.fork()
if child == 0:
    refused = 0
    for spend in (lambda: accountant.reserve(Pure(Fraction(1, 4)), "fit"), lambda: allowance.charge(charge)):
        try:
            spend()
        except BudgetExceeded as error:
            refused += "fork" in str(error)
    os._exit(0 if refused == 2 else 1)
accountant._lock.release()
allowance.charge(charge)
assert accountant.spent == Fraction(1, 8)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_does_not_double_the_budget():
    # In a process of its own: forking one that has threads is a warning, and warnings are errors here.
    assert subprocess.run([sys.executable, "-c", FORK], check=False, timeout=60).returncode == 0
