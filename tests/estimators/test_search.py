"""A private search over parameters: everything is paid for, and judged on rows that were not fitted."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from shoal import Accountant, DPLloyd, PrivateSearchCV
from shoal.accounting import epsilon_of
from shoal.errors import BudgetExceeded, InvalidInput
from shoal.sources.folds import Fold


@pytest.fixture
def rows():
    rng = np.random.default_rng(2)
    return np.where(rng.random((20_000, 1)) < 0.5, 0.2, 0.8) + rng.normal(0, 0.02, (20_000, 2))


MODEL = DPLloyd(1, epsilon=1, bounds=(0, 1), max_iter=2)
GRID = {"n_clusters": [1, 2, 4]}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_finds_what_costs_least_and_all_losses_add_up_to_the_budget(rows, delta):
    search = PrivateSearchCV(MODEL, GRID, epsilon=4, delta=delta, random_state=1).fit(rows)
    assert search.best_params_ == {"n_clusters": 2}  # four are not better by more than noise
    assert search.best_score_ == search.cv_results_["mean_test_score"][1] > -0.01
    assert search.cv_results_["mean_test_score"][0] < -0.3
    assert len(search.certificates_) == 3 * (3 + 1) + 1
    spent = sum(charge.amount for said in search.certificates_ for charge in said.charges)
    total = float(spent) if delta == 0 else epsilon_of(float(spent), delta)
    assert 3.99 < total <= 4
    assert search.certificates_[-1] is search.best_estimator_.certificate_
    assert search.predict(rows[:5]).shape == (5,)
    assert clone(search).get_params()["epsilon"] == 4


def test_a_shared_budget_is_asked_and_pays_for_all_of_it(rows, tmp_path):
    budget = Accountant.create(tmp_path / "ledger", "rows", epsilon=5)
    search = PrivateSearchCV(MODEL, {"n_clusters": [1, 2]}, epsilon=4, cv=2, budget=budget).fit(rows)
    # The first asks whether all of it can be had, and gives it back.
    assert len(budget.book.fits) == 1 + 2 * (2 + 1) + 1
    assert all(said.ledger["dataset"] == "rows" for said in search.certificates_)
    assert budget.spent == pytest.approx(4, abs=1e-4)
    with pytest.raises(BudgetExceeded, match=r"PrivateSearchCV.fit asks for epsilon = 4; 1 of 5"):
        search.fit(rows)
    assert budget.spent == pytest.approx(4, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"estimator": DPLloyd(1, epsilon=1, bounds=(0, 1), n_rows=20_000)},
            "n_rows cannot go with a search",
        ),
        ({"estimator": DPLloyd(1, epsilon=1)}, "a search needs bounds"),
        ({"param_grid": {"epsilon": [1, 2]}}, "epsilon is among the candidates"),
        ({"param_grid": {"n_clusters": [2, 0]}}, "n_clusters is 0"),
        ({"cv": 1}, "cv is 1"),
        ({"search_share": 1.0}, "search_share is 1.0"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_spent(rows, change, said):
    budget = Accountant(epsilon=4)
    given = {"estimator": MODEL, "param_grid": GRID, "epsilon": 4, "budget": budget} | change
    with pytest.raises(InvalidInput, match=said):
        PrivateSearchCV(**given).fit(rows)
    assert budget.spent == 0


def test_no_estimator_but_of_groups(rows):
    with pytest.raises(InvalidInput, match="a private k-means estimator is wanted"):
        PrivateSearchCV(PrivateSearchCV(MODEL, GRID, epsilon=1), {"cv": [2]}, epsilon=1).fit(rows)


def test_people_and_frames_are_searched_too(rows):
    rows = rows[:6000]
    frame = pd.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "who": (np.arange(6000) // 2).astype(str)})
    bounds = {"x": (0, 1), "y": (0, 1)}
    model = DPLloyd(1, epsilon=1, max_iter=2, bounds=bounds, unit="who", max_rows=2)
    search = PrivateSearchCV(model, {"n_clusters": [1, 2]}, epsilon=6, cv=2, random_state=0).fit(frame)
    assert search.best_params_ == {"n_clusters": 2}
    assert all("one person (column 'who')" in said.unit for said in search.certificates_)
    assert not any(said.private for said in search.certificates_)  # seeded


def test_folds_are_not_looked_at_twice(rows, monkeypatch):
    seen = []
    fold_rows = Fold.rows

    def noting(self, piece):
        found = fold_rows(self, piece)
        seen.append((self.number, self.inside, int(found.sum())))
        return found

    monkeypatch.setattr(Fold, "rows", noting)
    PrivateSearchCV(MODEL, {"n_clusters": [2]}, epsilon=Fraction(4), cv=2, random_state=3).fit(rows)
    inside = {number: n for number, within, n in seen if within}
    outside = {number: n for number, within, n in seen if not within}
    assert inside == {0: outside[1], 1: outside[0]}
    assert sum(inside.values()) == len(rows)
