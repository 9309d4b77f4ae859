"""Missing and clipped cells are counted for a stated share of the budget, and the certificate says them."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Accountant, ConvergentKMeans, DPLloyd, GridSynopsis, KMeans, PrivateCoreset
from shoal.algorithms import SHARE_FOR_CLIPPED
from shoal.audit import pair_loss
from shoal.audit.recorded import recorded
from shoal.audit.replay import audit_replay
from shoal.domain import Bounds
from shoal.domain.side import SIDES, Sided
from shoal.errors import InvalidInput
from shoal.estimators.explanation import explain
from shoal.queries import Sides

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
ENDS = {"age": (0, 100), "income": (0, 1000)}


@pytest.fixture(scope="module")
def people():
    """8,000 rows: of the ages a tenth is missing and a twentieth below, of the incomes a fifth above."""
    rng = np.random.default_rng(5)
    age, income = rng.uniform(1, 99, 8000), rng.uniform(1, 999, 8000)
    age[:800], age[800:1200], income[:1600] = np.nan, -7, 5000
    return pd.DataFrame({"age": age, "income": income, "sure": True, "colour": "red"})[::-1]


@pytest.mark.parametrize("make", [KMeans, DPLloyd, GridSynopsis, PrivateCoreset])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_shares_are_those_of_the_table(people, make, delta):
    model = make(n_clusters=2, epsilon=20.0, delta=delta, bounds=ENDS, count_clipped=True)
    certificate = model.fit(people[["age", "income"]]).certificate_
    found = certificate.clipped
    assert list(found) == ["age", "income"]
    assert found["age"] == pytest.approx({"missing": 0.1, "below": 0.05, "above": 0, "noise_sd": 0}, abs=0.02)
    assert found["income"] == pytest.approx({"missing": 0, "below": 0, "above": 0.2, "noise_sd": 0}, abs=0.02)
    assert 0 < found["age"]["noise_sd"] < 0.01
    assert "clipped      income: 0." in str(certificate)
    counting = [charge for charge in certificate.charges if "its bounds" in charge.question]
    spent, whole = (float(sum(c.amount for c in of)) for of in (counting, certificate.charges))
    assert len(counting) == 2
    assert spent / whole == pytest.approx(float(SHARE_FOR_CLIPPED), rel=1e-2)


def test_it_is_asked_only_if_it_is_wanted(people):
    certificate = DPLloyd(2, epsilon=1.0, bounds=ENDS).fit(people[["age", "income"]]).certificate_
    assert certificate.clipped == {}
    assert "clipped " not in str(certificate)


def test_columns_of_any_kind_are_counted_once(people):
    ends = {**ENDS, "sure": (0, 1)}  # columns that bounds name, and those with levels, are clustered
    how = {"bounds": ends, "levels": {"colour": ["blue", "green"]}, "missing": "drop"}
    found = DPLloyd(2, epsilon=20.0, count_clipped=True, **how).fit(people).certificate_.clipped
    assert list(found) == ["age", "income", "sure", "colour"]
    assert found["colour"]["missing"] == pytest.approx(1.0, abs=0.02)  # no level of it was declared
    assert found["age"]["missing"] == pytest.approx(0.1, abs=0.02)  # though those rows are dropped
    assert found["sure"]["missing"] == pytest.approx(0.0, abs=0.02)


@pytest.mark.slow
def test_the_noise_is_what_is_stated(people):
    model = DPLloyd(1, epsilon=1.0, bounds=ENDS, count_clipped=True, max_iter=1)
    shares = [
        model.set_params(random_state=seed).fit(people[["age", "income"]]).certificate_.clipped["income"]
        for seed in range(150)
    ]
    above = np.array([share["above"] for share in shares])
    assert above.mean() == pytest.approx(0.2, abs=0.005)
    # Its own noise and a little of the total's.
    assert above.std() == pytest.approx(np.mean([share["noise_sd"] for share in shares]), rel=0.2)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_pair_of_tables_loses_more_than_is_charged(delta, neighbours):
    D = np.array([[0.5, np.nan], [7.0, -7.0], [0.1, 0.2]])
    D_prime = np.vstack([D[1:], [[np.inf, 3.0]]]) if neighbours == "replace" else D[1:]
    model = DPLloyd(
        1, epsilon=1.0, delta=delta, bounds=(-1, 1), count_clipped=True, neighbours=neighbours, random_state=0
    )
    transcript = model.fit(D).release_.transcript
    found = pair_loss(transcript, D, D_prime, recorded(model).again()[1])
    assert found.passed, found
    asked = [entry for entry in transcript if isinstance(getattr(entry.question, "partition", None), Sides)]
    assert len(asked) == 2
    # A row that is clipped in one table and not there in the other loses all that the counts are charged.
    least = float(sum(entry.charge.amount for entry in asked))
    assert found.true >= least * 0.99


def test_a_row_says_where_its_cells_lie_by_itself():
    rows = np.random.default_rng(0).normal(0, 2, (60, 2))
    audit = audit_replay(DPLloyd(1, epsilon=5.0, bounds=(-1, 1), count_clipped=True), rows, seed=0)
    assert audit.passed, audit


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20))
def test_every_cell_is_in_its_place(cells):
    domain = Sided(Bounds.parse((-3, 5), 1), missing="drop")
    chunk = domain.encode([np.array(cells)])
    places = [SIDES[i] for i in Sides(0).assign(chunk.columns, None)]
    for cell, place in zip(cells, places, strict=True):
        if not np.isfinite(cell):
            assert place == "missing"
        elif abs(cell - 1) <= 4:
            assert place == "within"
        elif abs(cell - 1) > 4.001:
            assert place == ("below" if cell < 0 else "above")


def test_a_plan_has_it_and_a_budget_pays_it(people):
    model = KMeans(2, epsilon=1.0, bounds=ENDS, count_clipped=True)
    plan = explain(model, ["age", "income"], rows=8000)
    assert [c.question for c in plan.charges[:2]] == [f"histogram: {Sides(j).describe()}" for j in (0, 1)]
    assert plan.charges[0].amount <= Fraction(1, 100)
    budget = Accountant(epsilon=1.0)
    model.set_params(budget=budget).fit(people[["age", "income"]])
    assert float(sum(c.amount for c in model.certificate_.charges)) <= 1.0


def test_what_has_no_budget_counts_nothing(people):
    model = ConvergentKMeans(
        2, epsilon=1.0, bounds=ENDS, published=True, allow_unproven=True, count_clipped=True
    )
    with pytest.raises(InvalidInput, match="no budget to count with"):
        model.fit(people[["age", "income"]])
