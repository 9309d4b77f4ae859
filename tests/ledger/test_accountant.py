"""A budget in a ledger: what an accountant promises, and that it survives."""

import copy
import os
import pickle
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from sklearn.base import clone

from shoal import Accountant, DPLloyd
from shoal.accounting import Charge, NoGuarantee, Pure, budget_of
from shoal.domain import Unit
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidLedger
from shoal.ledger import open_store

HALF = Pure(Fraction(1, 2))


def spend(allowance, amount, currency="epsilon"):
    allowance.charge(Charge("a question", "some noise", Fraction(amount), currency))


def use(accountant, budget, unit=None):
    with accountant.reserve(budget, "fit", unit) as allowance:
        spend(allowance, budget.amount, budget.currency)


def test_what_was_spent_is_known_to_whoever_opens_the_ledger(url):
    trips = Accountant.create(url, "trips", epsilon=2)
    use(trips, HALF)
    again = Accountant.open(url, "trips")
    assert again.spent == Fraction(1, 2)
    assert again.left == Fraction(3, 2)
    use(again, Pure(Fraction(3, 2)))
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon = 0.5; 0 of 2 epsilon is left .* 0.5 too"):
        trips.reserve(HALF, "fit")
    assert [charge.amount for charge in trips.charges] == [Fraction(1, 2), Fraction(3, 2)]


def test_a_ledger_holds_many_data_sets_of_which_each_has_one_total(url):
    trips = Accountant.create(url, "trips", epsilon=1)
    staff = Accountant.create(url, "staff", rho=1, unit="name")
    use(trips, Pure(Fraction(1)))
    assert staff.left == 1
    assert open_store(url).datasets() == ("staff", "trips")
    with pytest.raises(InvalidLedger, match="has a data set 'trips' already"):
        Accountant.create(url, "trips", epsilon=5)
    assert Accountant.open(url, "trips").left == 0


def test_the_file_is_its_owners_alone(path, trips):
    use(trips, HALF)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_a_ledger_or_data_set_that_is_not_there_is_not_made_by_opening_it(path, trips):
    with pytest.raises(InvalidLedger, match=r"no data set 'trip'; it has 'trips'"):
        Accountant.open(path, "trip")
    with pytest.raises(InvalidLedger, match=r"no ledger at .*; make one"):
        Accountant.open(path + "s", "trips")
    assert not Path(path + "s").exists()
    with pytest.raises(InvalidLedger, match="is no ledger: give a path"):
        Accountant.open("mysql://host/db", "trips")


def test_other_people_and_neighbours_do_not_add_up(path):
    trips = Accountant.create(path, "trips", epsilon=4, unit="who")
    for unit in (None, Unit(), Unit("replace", column="who"), Unit(column="household")):
        with pytest.raises(InvalidBudget, match=r"and data set 'trips' protects one person .* do not add up"):
            trips.reserve(HALF, "fit", unit)
    use(trips, HALF, Unit(column="who", max_rows=3))
    use(trips, HALF, Unit(column="who", max_rows=7))
    assert trips.spent == 1


def test_lanes_are_those_of_any_accountant(path):
    trips = Accountant.create(path, "trips", epsilon=2, delta=1e-6, pure=1)
    plain = Accountant(epsilon=2, delta=1e-6, pure=1)
    for budget in (Pure(Fraction(1, 2)), budget_of(0.7, 1e-7), Pure(Fraction(1, 4))):
        use(trips, budget)
        use(plain, budget)
        assert trips.spent == plain.spent
        for delta in (0, 1e-9, 1e-6):
            assert trips.left_for(delta) == plain.left_for(delta)
    with pytest.raises(InvalidBudget, match="delta"):
        Accountant.create(path, "pure", epsilon=1).reserve(budget_of(0.1, 1e-6), "fit")


def test_open_reservations_count_in_full_for_everybody_and_come_back_when_the_fit_says_so(url):
    trips = Accountant.create(url, "trips", epsilon=1)
    other = Accountant.open(url, "trips")
    allowance = trips.reserve(Pure(Fraction(3, 4)), "fit")
    spend(allowance, Fraction(1, 4))
    assert other.left == Fraction(1, 4)
    assert other.spent == Fraction(1, 4)
    with pytest.raises(BudgetExceeded, match=r"0.25 of 1 epsilon is left"):
        other.reserve(HALF, "fit")
    del allowance  # a fit that is gone has not said that it is over
    assert Accountant.open(url, "trips").left == Fraction(1, 4)


def test_an_error_ends_a_fit_and_gives_back_the_rest(trips):
    allowance = trips.reserve(Pure(Fraction(3)), "fit")

    def broken():
        with allowance:
            spend(allowance, 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert trips.left == 3
    with pytest.raises(BudgetExceeded, match="over"):
        spend(allowance, 1)


def test_a_fit_cannot_charge_more_than_it_reserved(trips):
    with trips.reserve(HALF, "fit") as allowance, pytest.raises(BudgetExceeded, match=r"0.5 too much"):
        spend(allowance, 1)
    with trips.reserve(HALF, "fit") as allowance, pytest.raises(InvalidBudget):
        spend(allowance, Fraction(1, 8), "rho")
    assert trips.spent == 0


def test_copies_pickles_and_clones_draw_on_the_same_ledger(trips, rows):
    assert copy.deepcopy(trips) is trips
    again = pickle.loads(pickle.dumps(trips))
    use(again, HALF)
    assert trips.spent == Fraction(1, 2)
    model = clone(DPLloyd(2, epsilon=1, bounds=(-1, 1), budget=trips)).fit(rows)
    assert trips.spent > 1
    assert model.certificate_.ledger["head"] == trips.records()[-1].hash


FORK = """
import os, sys
from fractions import Fraction
from shoal.accounting import Accountant, Charge, Pure
from shoal.errors import BudgetExceeded

trips = Accountant.open(sys.argv[1], "trips")
allowance = trips.reserve(Pure(Fraction(1)), "fit")
trips._lock.acquire()  # as another thread would that does not live on in the child
charge = Charge("a question", "some noise", Fraction(1, 8), "epsilon")
child = os.fork()
if child == 0:
    with trips.reserve(Pure(Fraction(1)), "its own fit") as own:
        own.charge(charge)
    try:
        allowance.charge(charge)
    except BudgetExceeded as error:
        os._exit("fork" not in str(error))
    os._exit(1)
trips._lock.release()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
allowance.charge(charge)
assert trips.spent == Fraction(1, 4)
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_the_ledger_anew_but_has_no_part_in_a_fit_under_way(path, trips):
    assert subprocess.run([sys.executable, "-c", FORK, path], check=False, timeout=60).returncode == 0


def test_threads_share_one_ledger_and_never_overspend(url):
    trips = Accountant.create(url, "trips", epsilon=3)
    accepted = []

    def work():
        for _ in range(2):
            try:
                use(trips, HALF)
                accepted.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(accepted) * HALF.epsilon == trips.spent <= 3


def fit_in_another_process(budget, rows):
    return DPLloyd(2, epsilon=1, bounds=(-1, 1), max_iter=1, budget=budget).fit(rows).certificate_


@pytest.mark.slow
def test_processes_of_joblib_share_one_ledger(trips, rows):
    from joblib import Parallel, delayed

    said = Parallel(n_jobs=2)(delayed(fit_in_another_process)(trips, rows) for _ in range(2))
    assert len({certificate.ledger["fit"] for certificate in said}) == 2
    assert trips.spent == sum(charge.amount for certificate in said for charge in certificate.charges)
    with pytest.raises(BudgetExceeded):
        DPLloyd(2, epsilon=3, bounds=(-1, 1), budget=trips).fit(rows)


def test_a_closed_data_set_is_spent_from_no_more(trips):
    allowance = trips.reserve(HALF, "fit")
    trips.close()
    spend(allowance, Fraction(1, 4))  # it was reserved before
    allowance.close()
    with pytest.raises(BudgetExceeded, match="it was closed on"):
        trips.reserve(HALF, "fit")
    with pytest.raises(InvalidLedger, match="closed"):
        trips.close()


def test_a_run_that_was_taken_over_is_refused(path, trips):
    first = trips.reserve(HALF, "fit")
    spend(first, Fraction(1, 8))
    second = Accountant.open(path, "trips", resume=first.fit).reserve(HALF, "fit")
    for attempt in (lambda: spend(first, Fraction(1, 8)), lambda: first.keep(0, "", b"")):
        with pytest.raises(BudgetExceeded, match=r"another run went on with it|is over"):
            attempt()
    spend(second, Fraction(1, 8))
    second.close()
    assert trips.spent == Fraction(1, 4)


def test_what_promises_nothing_cannot_draw_on_a_ledger(trips):
    with pytest.raises(InvalidBudget, match="promises nothing"):
        trips.reserve(NoGuarantee(), "as published")


def test_notes_are_on_every_later_certificate(trips, rows):
    model = DPLloyd(2, epsilon=1, bounds=(-1, 1), max_iter=1, budget=trips)
    assert "notes" not in model.fit(rows).certificate_.ledger
    trips.note("the curator looked at the rows")
    assert "noted      the curator looked at the rows" in str(model.fit(rows).certificate_)


def test_notebooks_show_what_is_left_and_nothing_that_is_not_text(path):
    trips = Accountant.create(path, "<b>trips</b>", epsilon=4, unit="who")
    trips.reserve(HALF, "fit", Unit(column="who"))
    shown = trips._repr_html_()
    assert "<b>" not in shown
    for said in ("&lt;b&gt;trips", "one person (column &#x27;who&#x27;) added or removed", "not over", "3.5"):
        assert said in shown


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({}, "epsilon is missing"),
        ({"epsilon": 1, "rho": 1}, "both epsilon and rho"),
        ({"epsilon": 1, "unit": ""}, "unit is ''"),
        ({"epsilon": 1, "neighbours": "near"}, "neighbours is 'near'"),
        ({"epsilon": 1, "pure": 0.5}, "delta"),
        ({"epsilon": 1, "parts": {"region": []}}, "parts of column 'region'"),
        ({"epsilon": 1, "parts": {"region": ["a", "a"]}}, "each once"),
        ({"epsilon": 1, "parts": {"who": ["a"]}, "unit": "who"}, "cannot be a partition column too"),
        ({"epsilon": 1, "parts_per_person": 2}, "parts_per_person is for"),
        ({"epsilon": 1, "unit": "who", "parts": {"a": "b"}}, "parts of column 'a'"),
        ({"epsilon": 1, "renewal": "daily", "decided_by": "N. N."}, "renewal is 'daily'"),
        ({"epsilon": 1, "renewal": "yearly"}, "say who has decided it"),
        ({"epsilon": 1, "decided_by": "N. N."}, "for a budget that renews"),
    ],
)
def test_a_data_set_is_refused_before_anything_is_made(path, terms, said):
    with pytest.raises(InvalidBudget, match=said):
        Accountant.create(path, "trips", **terms)
    assert not Path(path).exists()
