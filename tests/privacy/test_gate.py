"""Charge first, then compute; and nothing in a fitted model that came from rows without noise."""

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

from shoal import Accountant, DPLloyd
from shoal.algorithms import Lloyd
from shoal.errors import BudgetExceeded, InvalidBudget
from shoal.queries import Grid, Voronoi


def test_nothing_is_read_when_the_budget_is_gone(behind_gate, blobs, monkeypatch):
    curator = behind_gate(blobs)
    whole = Grid.whole(2)
    curator.histogram(whole, share=Fraction(1))
    read = []
    monkeypatch.setattr(curator._source, "reduce", lambda *a: read.append(a))
    with pytest.raises(BudgetExceeded):
        curator.histogram(whole, share=Fraction(1, 100))
    assert read == []


def test_the_charge_is_written_before_rows_are_read(behind_gate, blobs, monkeypatch):
    curator = behind_gate(blobs)

    def interrupted(*_):
        assert curator._allowance.spent > 0
        raise KeyboardInterrupt

    monkeypatch.setattr(curator._source, "reduce", interrupted)
    with pytest.raises(KeyboardInterrupt):
        curator.sums(Voronoi(np.zeros((1, 2))), share=Fraction(1, 2))
    assert curator._allowance.spent == pytest.approx(0.5, rel=1e-5)


def test_an_interrupted_fit_keeps_its_charges_and_gives_back_the_rest(blobs, monkeypatch):
    budget = Accountant(epsilon=2)
    model = DPLloyd(3, epsilon=1.0, bounds=(-1, 1), budget=budget, max_iter=4)
    answers = iter([None, None])
    real = Lloyd.run

    def stop_after_two(self, curator):
        ask = curator.sums

        def sums(*args, **kwargs):
            if next(answers, "stop") == "stop":
                raise KeyboardInterrupt
            return ask(*args, **kwargs)

        curator.sums = sums
        return real(self, curator)

    monkeypatch.setattr(Lloyd, "run", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs)
    assert float(budget.spent) == pytest.approx(0.5, rel=1e-5)
    assert float(budget.left) == pytest.approx(1.5, rel=1e-5)
    assert not hasattr(model, "cluster_centers_")


def test_two_fits_on_one_budget_add_up_and_the_third_is_refused(blobs):
    budget = Accountant(epsilon=1.0)
    model = DPLloyd(2, epsilon=0.5, bounds=(-1, 1), budget=budget)
    model.fit(blobs).fit(blobs)
    assert float(budget.spent) == pytest.approx(1.0, rel=1e-5)
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon = 0.5; .* left"):
        model.fit(blobs)
    assert "shared accountant" in model.certificate_.composition


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("how", [{}, {"max_iter": "auto"}, {"noise": "laplace"}, {"noise": "split"}])
def test_the_ledger_never_exceeds_the_budget_and_is_nearly_used_up(blobs, delta, how):
    model = DPLloyd(3, epsilon=0.7, delta=delta, bounds=(-1, 1), **how).fit(blobs)
    transcript = model.release_.transcript
    spent = sum(charge.amount for charge in transcript.charges)
    assert spent <= transcript.budget.amount
    assert spent >= transcript.budget.amount * Fraction(999, 1000)


@pytest.mark.parametrize("share", [0.5, Fraction(0), Fraction(2), Fraction(-1, 2)])
def test_shares_are_fractions_of_the_budget(behind_gate, blobs, share):
    with pytest.raises(InvalidBudget, match="Fraction"):
        behind_gate(blobs).histogram(Grid.whole(2), share=share)


def test_a_pickled_model_holds_no_rows_and_no_exact_counts(blobs):
    X = blobs.copy()
    X[:, 0] = np.linspace(-0.987654321, 0.987654321, len(X))
    model = DPLloyd(3, epsilon=1.0, bounds=(-1, 1)).fit(X)
    blob = pickle.dumps(model)
    assert len(blob) < 20_000 < X.nbytes
    for value in X[::50, 0]:
        assert value.tobytes() not in blob
        assert np.float32(value).tobytes() not in blob
    assert b"MemorySource" not in blob
    assert b"LiveCurator" not in blob
    again = pickle.loads(blob)
    assert np.array_equal(again.predict(X), model.predict(X))
    held = {name for name in vars(model) if name.endswith("_")}
    assert held <= {
        "cluster_centers_",
        "cluster_sizes_",
        "release_",
        "certificate_",
        "n_iter_",
        "n_features_in_",
        "merged_into_",
    }
    text = repr(model) + str(model.certificate_) + repr(model.release_)
    assert re.search(r"(?<![0-9a-f.])2000(?![0-9a-f])", text) is None  # as a number, not within a hash


def test_noise_is_fresh_every_time(blobs):
    model = DPLloyd(3, epsilon=1.0, bounds=(-1, 1))
    first, second = model.fit(blobs).cluster_sizes_, model.fit(blobs).cluster_sizes_
    assert not np.array_equal(first, second)
    assert model.certificate_.private


def test_a_seed_taints_the_release(blobs):
    model = DPLloyd(3, epsilon=1.0, bounds=(-1, 1), random_state=0).fit(blobs)
    assert not model.certificate_.private
    assert "not private" in str(model.certificate_)
    assert "seeded" in model.certificate_.entropy


def test_empty_cells_are_noised_like_any_other(behind_gate):
    X = np.full((1000, 2), 0.9)
    far = Voronoi(np.array([[0.9, 0.9], [-0.9, -0.9]]))
    counts = [behind_gate(X, seed=s).sums(far, share=Fraction(1)).counts[1] for s in range(30)]
    assert len(set(counts)) == 30
    assert np.std(counts) > 0.5


@pytest.mark.slow
def test_the_noise_has_the_spread_that_is_announced(behind_gate):
    X = np.zeros((100, 2))
    cells = Voronoi(np.zeros((1, 2)))
    for noise, delta in [("linf", 0.0), ("laplace", 0.0), ("split", 0.0), ("gaussian", 1e-6)]:
        answers = [
            behind_gate(X, seed=s, delta=delta).sums(cells, share=Fraction(1), noise=noise)
            for s in range(1500)
        ]
        sums = np.array([a.sums[0, 0] for a in answers])
        counts = np.array([a.counts[0] for a in answers])
        assert np.std(sums) == pytest.approx(answers[0].sum_sd, rel=0.12)
        assert np.std(counts) == pytest.approx(answers[0].count_sd, rel=0.12)
        assert np.mean(counts) == pytest.approx(100, abs=5 * answers[0].count_sd / np.sqrt(1500))
        assert abs(np.corrcoef(sums, counts)[0, 1]) < 0.1
