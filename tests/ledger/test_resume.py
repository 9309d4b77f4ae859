"""A fit that was interrupted goes on where it was, and equals one that was not."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from shoal import Accountant, CoresetKMeans, DPLloyd, GeneticKMeans, GridSynopsis, KMeans, PrivateScaler
from shoal.accounting.ledgered_fit import LedgerAllowance
from shoal.errors import BudgetExceeded, InvalidInput, InvalidLedger
from shoal.queries.questions import Sums
from shoal.sources import Table


class Stop(Exception):
    """Somebody pulls the plug."""


@pytest.fixture
def frame():
    rng = np.random.default_rng(11)
    where = np.where(rng.random((900, 1)) < 0.4, 0.2, 0.7) + rng.normal(0, 0.03, (900, 2))
    return pd.DataFrame({"x": where[:, 0], "y": where[:, 1], "who": rng.integers(0, 300, 900).astype(str)})


BOUNDS = {"x": (0, 1), "y": (0, 1)}
PEOPLE = {"bounds": BOUNDS, "unit": "who", "max_rows": 3}
MODELS = {
    "lloyd": lambda **how: DPLloyd(2, epsilon=2, max_iter=3, **PEOPLE, **how),
    "kmeans": lambda **how: KMeans(2, epsilon=2, **PEOPLE, **how),
    "with delta": lambda **how: KMeans(2, epsilon=2, delta=1e-6, count_clipped=True, **PEOPLE, **how),
    "without bounds": lambda **how: DPLloyd(2, epsilon=8, unit="who", max_rows=3, **how),
    "coreset": lambda **how: CoresetKMeans(2, epsilon=8, **PEOPLE, **how),
    "genetic": lambda **how: GeneticKMeans(2, epsilon=2, **PEOPLE, **how),
    "synopsis": lambda **how: GridSynopsis(epsilon=2, **PEOPLE, **how),
    "scaler": lambda **how: PrivateScaler(epsilon=2, **PEOPLE, **how),
}


def stop_at(monkeypatch, n, *, stored):
    """Have the n-th answer be the last: lost, or just stored."""
    keep, times = LedgerAllowance.keep, []

    def keep_and_stop(self, number, asked, answer):
        times.append(number)
        if len(times) == n and not stored:
            raise Stop
        keep(self, number, asked, answer)
        if len(times) == n:
            raise Stop

    monkeypatch.setattr(LedgerAllowance, "keep", keep_and_stop)


def interrupted(monkeypatch, path, model, frame, n, *, stored):
    with monkeypatch.context() as patched:
        stop_at(patched, n, stored=stored)
        with pytest.raises(Stop):
            model(budget=Accountant.open(path, "trips"), random_state=1).fit(frame)
    return Accountant.open(path, "trips")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_fit_equals_an_uninterrupted_one(name, path, frame, monkeypatch):
    model = MODELS[name]
    Accountant.create(path, "trips", epsilon=100, delta=1e-5, unit="who")
    whole = model(budget=Accountant.open(path, "trips"), random_state=1).fit(frame)
    book = Accountant.open(path, "trips").book
    n = len(next(iter(book.fits.values())).answers)
    for at, stored in {(1, False), ((n + 1) // 2, True), (n, False)}:
        trips = interrupted(monkeypatch, path, model, frame, at, stored=stored)
        fit = list(trips.book.fits)[-1]
        again = model(budget=Accountant.open(path, "trips", resume=fit), random_state=1).fit(frame)
        assert again.certificate_.transcript == whole.certificate_.transcript
        assert again.certificate_.charges == whole.certificate_.charges
        assert again.certificate_.ledger["fit"] == fit
        assert ("lost" in again.certificate_.ledger) == (not stored and trips.book.fits[fit].unanswered > 0)


def test_what_was_answered_is_not_asked_again_and_what_was_lost_is_charged_again(path, frame, monkeypatch):
    Accountant.create(path, "trips", epsilon=4, unit="who")
    trips = interrupted(monkeypatch, path, MODELS["lloyd"], frame, 3, stored=False)
    (fit,) = trips.book.fits.values()
    one = fit.charges[0][2].amount
    assert (len(fit.charges), len(fit.answers), fit.unanswered) == (
        2,
        2,
        one,
    )  # the first is public randomness
    assert trips.left == 4 - 2 * one  # the fit said that it was over
    asked = []
    noisy = Sums.noisy

    def counted(self, *rest):
        asked.append(1)
        return noisy(self, *rest)

    monkeypatch.setattr(Sums, "noisy", counted)
    MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit.id), random_state=1).fit(frame)
    assert len(asked) == 2
    assert trips.spent == 4 * one  # three answers, and one that never came
    assert not trips.book.fits[fit.id].open


def test_a_fit_that_was_done_is_resumed_for_nothing(path, frame, monkeypatch):
    trips = Accountant.create(path, "trips", epsilon=4, unit="who")
    done = MODELS["lloyd"](budget=trips).fit(frame)
    before = trips.spent
    monkeypatch.setattr(Sums, "noisy", None)
    fit = done.certificate_.ledger["fit"]
    again = MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit[:6])).fit(frame)
    assert again.certificate_.transcript == done.certificate_.transcript
    assert trips.spent == before


def test_where_nothing_is_left_to_charge_again_the_fit_ends(path, frame, monkeypatch):
    Accountant.create(path, "trips", epsilon=2, unit="who")
    trips = interrupted(monkeypatch, path, MODELS["lloyd"], frame, 3, stored=False)
    fit = next(iter(trips.book.fits))
    before = [record.hash for record in trips.records()]
    with pytest.raises(
        BudgetExceeded, match=r"fit .* cannot go on: .* would be charged again, and is not left"
    ):
        MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit), random_state=1).fit(frame)
    assert [record.hash for record in trips.records()] == before


def test_a_fit_that_was_killed_keeps_its_reservation_until_it_is_resumed(path, frame, monkeypatch):
    trips = Accountant.create(path, "trips", epsilon=2, unit="who")
    with monkeypatch.context() as patched:
        patched.setattr(LedgerAllowance, "__exit__", lambda *_: None)  # as kill -9 does
        stop_at(patched, 3, stored=True)
        with pytest.raises(Stop):
            MODELS["lloyd"](budget=trips).fit(frame)
    (fit,) = trips.book.fits.values()
    assert trips.left == 0
    MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit.id)).fit(frame)
    assert trips.spent == sum(charge.amount for _, _, charge in trips.book.fits[fit.id].charges) <= 2


def test_two_runs_cannot_go_on_with_one_fit(path, frame):
    trips = Accountant.create(path, "trips", epsilon=4, unit="who")
    seen = []

    def resume_elsewhere(charge):
        if not seen:
            seen.append(charge)
            fit = next(iter(trips.book.fits))
            model = MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit))
            seen.append(model.fit(frame).certificate_)

    model = MODELS["lloyd"](budget=Accountant.open(path, "trips"))
    model.on_charge = resume_elsewhere
    with pytest.raises(BudgetExceeded, match="another run went on with it"):
        model.fit(frame)
    (fit,) = trips.book.fits.values()
    assert len(fit.answers) == 4  # of the second run alone; the first has charged once more
    assert fit.spent == 4 * fit.charges[0][2].amount == trips.spent


def test_another_fit_cannot_be_taken_for_it(path, frame, monkeypatch):
    Accountant.create(path, "trips", epsilon=4, unit="who")
    trips = interrupted(monkeypatch, path, MODELS["lloyd"], frame, 2, stored=True)
    (fit,) = trips.book.fits
    resumed = Accountant.open(path, "trips", resume=fit)
    for other in (
        KMeans(2, epsilon=2, **PEOPLE, budget=resumed),
        DPLloyd(3, epsilon=2, max_iter=3, **PEOPLE, budget=resumed),
        DPLloyd(2, epsilon=1, max_iter=3, **PEOPLE, budget=resumed),
        MODELS["lloyd"](budget=resumed).set_params(bounds={"x": (0, 2), "y": (0, 1)}),
        MODELS["lloyd"](budget=resumed, count_clipped=True),
        MODELS["lloyd"](budget=resumed),  # not seeded, as it was
    ):
        with pytest.raises(InvalidLedger, match="resumed with all parameters as they were"):
            other.fit(frame)
    with pytest.raises(InvalidLedger, match="those that are not over are: none"):
        Accountant.open(path, "trips", resume="nothing")
    assert trips.book.fits[fit].spent > 0


def test_the_key_that_caps_people_is_the_one_it_began_with(path, frame, monkeypatch):
    Accountant.create(path, "trips", epsilon=4, unit="who")
    keys = []
    source = Table.source

    def seen(self, domain, **how):
        keys.append(how["key"])
        return source(self, domain, **how)

    monkeypatch.setattr(Table, "source", seen)
    trips = interrupted(monkeypatch, path, MODELS["lloyd"], frame, 2, stored=True)
    (fit,) = trips.book.fits
    MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit), random_state=99).fit(frame)
    assert keys[0] == keys[1] > 0


def test_a_stored_answer_that_was_changed_is_found(path, frame, monkeypatch):
    import sqlite3

    Accountant.create(path, "trips", epsilon=4, unit="who")
    trips = interrupted(monkeypatch, path, MODELS["lloyd"], frame, 2, stored=True)
    (fit,) = trips.book.fits
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER shoal_no_update")
        connection.execute("UPDATE shoal_records SET payload = x'50' WHERE payload IS NOT NULL")
    connection.close()
    with pytest.raises(InvalidLedger, match="is not as it was written"):
        MODELS["lloyd"](budget=Accountant.open(path, "trips", resume=fit), random_state=1).fit(frame)


def test_answers_are_stored_exactly(path, frame):
    trips = Accountant.create(path, "trips", epsilon=4, unit="who")
    model = MODELS["lloyd"](budget=trips).fit(frame)
    from shoal.queries.gate.codec import digest
    from shoal.queries.gate.stored import pack, unpack

    for entry in model.release_.transcript.entries:
        assert digest(unpack(entry.question, pack(entry.answer))) == digest(entry.answer)
    assert Fraction(trips.spent) > 0


def test_a_fit_that_has_a_name_is_begun_once(tmp_path):
    ledger, name = tmp_path / "named.ledger", "0123456789abcdef"
    Accountant.create(ledger, "trips", epsilon=3)
    X = np.random.default_rng(0).random((500, 1))
    found = []
    for _ in range(2):  # the second time it is read back, for nothing
        budget = Accountant.open(ledger, "trips", fit=name)
        found.append(DPLloyd(2, epsilon=1.0, bounds=(0, 1), budget=budget).fit(X).cluster_centers_)
    assert np.array_equal(*found)
    assert Accountant.open(ledger, "trips").spent <= 1
    assert list(Accountant.open(ledger, "trips").book.fits) == [name]
    with pytest.raises(InvalidLedger, match="other parameters"):
        DPLloyd(2, epsilon=0.5, bounds=(0, 1), budget=Accountant.open(ledger, "trips", fit=name)).fit(X)
    assert pickle.loads(pickle.dumps(Accountant.open(ledger, "trips", fit=name)))._fit == name


@pytest.mark.parametrize("given", [{"fit": "x"}, {"fit": 7}, {"fit": "0123456789abcdef", "resume": "0"}])
def test_a_name_that_is_none_is_refused(tmp_path, given):
    ledger = tmp_path / "named.ledger"
    Accountant.create(ledger, "trips", epsilon=3)
    with pytest.raises(InvalidInput, match="fit"):
        Accountant.open(ledger, "trips", **given)
