"""The private steps of a pipeline: what they find, what they pay, and what they refuse."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import zoo
from shoal import Accountant, DPLloyd, PrivateBounds, PrivatePCA, PrivateScaler
from shoal.domain import Unit
from shoal.errors import BudgetExceeded, InvalidBounds, InvalidBudget, InvalidInput, InvalidTable, MostlyNoise
from shoal.queries import LiveCurator

EXCEPTIONS = {
    "check_estimators_empty_data_messages": "zero rows are not an error: it would show an empty table",
    "check_dtype_object": "an untyped array is refused by its schema, before its cells are looked at",
    "check_all_zero_sample_weights_error": "weights of zero are not an error: it would show the weights",
}
# Not of components: with the seed that scikit-learn gives, both come out alike.
NOISY = {"check_sample_weight_equivalence_on_dense_data": "weighted and repeated rows get different noise"}
STEPS = {
    "bounds": PrivateBounds,
    "scaler": partial(PrivateScaler, bounds=(-10, 10)),
    "pca": partial(PrivatePCA, 1, bounds=(-10, 10)),
}


def suited(member):
    bounds = {"bounds": (-10, 10)} if "bounds" in member.model.get_params() else {}
    return member.model.set_params(epsilon=100.0, delta=1e-6, max_weight=10.0, **bounds)


@pytest.mark.slow
@parametrize_with_checks(
    [suited(member) for member in zoo.first_of_each(zoo.STEPS)],
    expected_failed_checks=lambda step: EXCEPTIONS if isinstance(step, PrivatePCA) else EXCEPTIONS | NOISY,
)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_estimator_checks(estimator, check):
    check(estimator)


def plane(n=20_000, d=8, seed=0):
    """Rows near a plane: directions of variance 4 and 1, and 0.01 across."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(0, np.r_[2, 1, [0.1] * (d - 2)], (n, d)) @ basis.T + 1.0, basis[:, :2].T


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_components_span_the_plane(delta):
    X, basis = plane()
    found = PrivatePCA(2, epsilon=2.0, delta=delta, bounds=(-10, 12), random_state=0).fit(X)
    assert np.linalg.svd(found.components_ @ basis.T)[1] == pytest.approx(1.0, abs=0.03)
    assert found.components_ @ found.components_.T == pytest.approx(np.eye(2), abs=1e-12)
    assert found.mean_ == pytest.approx(1.0, abs=0.5)
    half = 11.0
    assert found.explained_variance_ * half**2 == pytest.approx([4, 1], rel=0.3)
    assert found.explained_variance_ratio_.sum() > 0.8


def test_own_units_and_whitening():
    # A column of little width in its bounds has most of the variance in the table's own units.
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0, 0.3, 20_000), rng.normal(0, 30, 20_000)])
    how = {"epsilon": 2.0, "delta": 1e-6, "bounds": ([-1, -1000], [1, 1000]), "random_state": 0}
    scaled = PrivatePCA(1, **how).fit(X)
    own = PrivatePCA(1, scaling="none", **how).fit(X)
    assert abs(scaled.components_[0, 0]) > 0.99
    assert abs(own.components_[0, 1]) > 0.99
    assert own.explained_variance_[0] == pytest.approx(900, rel=0.1)
    assert own.reach_[0] == pytest.approx(90, rel=0.1)
    plain, white = (PrivatePCA(2, whiten=w, **how).fit(X).transform(X) for w in (False, True))
    assert plain.std(axis=0)[1] < plain.std(axis=0)[0] / 2
    assert white.std(axis=0) == pytest.approx(1 / 3, rel=0.3)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_row_is_mapped_by_itself(step):
    X = np.random.default_rng(3).normal(0, 2, (1001, 3))
    found = step(epsilon=5.0, delta=1e-6).fit(X)
    whole = found.transform(X)
    for rows in (slice(1, None), slice(7, 8), slice(0, 500, 3)):
        assert found.transform(X[rows]).tobytes() == whole[rows].tobytes()


def test_a_row_is_projected_by_itself():
    X = np.random.default_rng(4).normal(0, 2, (513, 60))
    found = PrivatePCA(9, epsilon=500.0, delta=1e-6, bounds=(-5, 5)).fit(X)
    whole = found.transform(X)
    for rows in (slice(1, None), slice(7, 8), slice(0, 500, 3)):
        assert found.transform(X[rows]).tobytes() == np.ascontiguousarray(whole[rows]).tobytes()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_means_and_spreads(delta):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(20, 5, 30_000), rng.uniform(-1, 1, 30_000)])
    found = PrivateScaler(epsilon=1.0, delta=delta, bounds=([0, -2], [100, 2]), random_state=0).fit(X)
    assert found.mean_ == pytest.approx([20, 0], abs=0.3)
    assert found.scale_ == pytest.approx([5, 1 / np.sqrt(3)], rel=0.1)
    out = found.transform(X)
    assert out.std(axis=0) == pytest.approx(1 / 3, rel=0.1)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_comes_out_is_within_the_bounds_of_the_next_step(step, delta):
    X = np.vstack([plane(3000, 3)[0], [[np.inf, -1e300, 5], [1e308, 0, -np.inf]]])
    out = step(epsilon=5.0, delta=delta).fit(X).transform(X)
    assert np.nanmin(out) >= -1
    assert np.nanmax(out) <= 1


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_pipeline_shares_one_budget_and_goes_back_to_own_units(step):
    rng = np.random.default_rng(2)
    X = rng.choice([-3.0, 3.0], (20_000, 1)) + rng.normal(0, 0.2, (20_000, 3))
    budget = Accountant(epsilon=4.0)
    steps = make_pipeline(
        step(epsilon=2.0, budget=budget),
        DPLloyd(2, epsilon=2.0, bounds=(-1, 1), budget=budget, random_state=0),  # a start that is not unlucky
    ).fit(X)
    assert float(budget.spent) == pytest.approx(4.0, rel=1e-3)
    centres = steps[0].inverse_transform(steps[1].cluster_centers_)
    assert np.sort(centres.mean(axis=1)) == pytest.approx([-3, 3], abs=0.5)
    with pytest.raises(BudgetExceeded):
        clone(steps[0]).fit(X)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_step_spends_what_it_says_and_no_more(step, neighbours, delta):
    budget = Accountant(epsilon=1.0, delta=delta)
    step(epsilon=1.0, delta=delta, budget=budget, neighbours=neighbours).fit(plane(2000, 3)[0])
    assert budget.left >= 0
    assert budget.spent > 50 * budget.left


ODD = {
    "no rows": np.zeros((0, 2)),
    "one row": np.array([[0.1, 3.0]]),
    "one column": np.linspace(0, 1, 200)[:, np.newaxis],
    "constant columns": np.column_stack([np.full(5000, 0.5), np.linspace(0, 1, 5000)]),
    "equal rows": np.full((100, 3), 0.7),
    "missing": np.full((50, 2), np.nan),
    "huge": np.full((5, 2), 1e308),
    "booleans": np.ones((50, 2), dtype=bool),
}


@pytest.mark.parametrize("table", ODD.values(), ids=ODD)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("epsilon", [1.0, 0.001])
def test_odd_tables_are_not_errors(step, table, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostlyNoise)
        found = step(epsilon=epsilon, delta=1e-6).fit(table)
    out = found.transform(table)
    assert len(out) == len(table)
    assert ((np.abs(out) <= 1) | np.isnan(out)).all()
    assert np.isfinite(found.inverse_transform(np.nan_to_num(out))).all()


def test_a_constant_column_is_not_blown_up():
    X = ODD["constant columns"]
    scaler = PrivateScaler(epsilon=5.0, bounds=(0, 1), random_state=0).fit(X)
    assert scaler.scale_[0] > 1e-3  # no finer than the noise can tell
    pinned = PrivateScaler(epsilon=5.0, bounds=([0.5, 0], [0.5, 1])).fit(X)
    assert pinned.mean_[0] == 0.5
    assert (pinned.transform(X)[:, 0] == 0).all()
    turned = PrivatePCA(1, epsilon=5.0, bounds=([0.5, 0], [0.5, 1]), scaling="none").fit(X)
    assert turned.inverse_transform([[0.2]])[0, 0] == 0.5


@pytest.mark.parametrize("step", [STEPS["scaler"], STEPS["pca"]], ids=["scaler", "pca"])
def test_too_little_budget_is_told(step):
    with pytest.warns(MostlyNoise, match="noise"):
        step(epsilon=0.001).fit(plane(500, 4)[0])


@pytest.mark.parametrize(
    ("error", "says", "step", "how"),
    [
        (InvalidInput, "n_components is 0", PrivatePCA, {"n_components": 0}),
        (InvalidInput, "n_components is 2.5", PrivatePCA, {"n_components": 2.5}),
        (InvalidInput, "only 3 columns", PrivatePCA, {"n_components": 4}),
        (InvalidInput, "scaling", PrivatePCA, {"n_components": 1, "scaling": "wide"}),
        (InvalidInput, "clip", PrivateScaler, {"clip": 0}),
        (InvalidInput, "clip", PrivateScaler, {"clip": np.nan}),
        (InvalidBounds, "reversed", PrivateScaler, {"bounds": (1, 0)}),
        (InvalidBudget, "epsilon", PrivateScaler, {"epsilon": -1}),
        (InvalidInput, "neighbours", PrivateScaler, {"neighbours": "swap"}),
    ],
)
def test_bad_parameters_are_refused_unspent(error, says, step, how):
    budget = Accountant(epsilon=10, delta=0.1)
    with pytest.raises(error, match=says):
        step(**{"epsilon": 1.0, "bounds": (0, 1), "budget": budget, **how}).fit(np.zeros((5, 3)))
    assert budget.spent == 0


def test_text_is_refused():
    with pytest.raises(InvalidTable, match="column 'a'"):
        PrivateScaler(epsilon=1.0).fit(pd.DataFrame({"a": ["x"], "b": [1.0]}))


def test_names_and_frames():
    frame = pd.DataFrame(plane(500, 3)[0], columns=["a", "b", "c"])
    pca = PrivatePCA(2, epsilon=9.0, bounds={"a": (-9, 9), "b": (-9, 9), "c": (-9, 9)})
    out = pca.set_output(transform="pandas").fit(frame).transform(frame.head(4))
    assert list(out.columns) == ["privatepca0", "privatepca1"]
    scaler = PrivateScaler(epsilon=9.0, bounds=(-9, 9)).set_output(transform="pandas").fit(frame)
    assert list(scaler.transform(frame).columns) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        scaler.transform(frame[["b", "a", "c"]])


def test_without_bounds_a_tenth_goes_to_them():
    budget = Accountant(epsilon=10.0)
    found = PrivateScaler(epsilon=10.0, budget=budget, random_state=0).fit(plane(20_000, 2)[0])
    for_bounds = [c.amount for c in budget.charges if "intervals of column" in c.question]
    assert float(sum(for_bounds)) == pytest.approx(1.0, rel=1e-3)
    assert float(budget.spent) == pytest.approx(10.0, rel=1e-3)
    assert (found.scale_ > 0).all()


def people(n=3000, rows=4, seed=5):
    """People of a few rows each, around one of two places; the first has many rows more, and far away."""
    rng = np.random.default_rng(seed)
    home = rng.choice([-3.0, 3.0], (n, 1))
    X = np.repeat(home, rows, axis=0) + rng.normal(0, 0.2, (n * rows, 3))
    who = [f"person {i}" for i in np.repeat(np.arange(n), rows)]
    frame = pd.DataFrame(np.vstack([X, np.full((2000, 3), 9.0)]), columns=["a", "b", "c"])
    frame["who"] = who + ["person 0"] * 2000
    return frame.sample(frac=1.0, random_state=seed)


KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_people_are_carried_through_a_pipeline(step, kind):
    frame = people()
    table = kind(frame.reset_index(drop=True) if kind is not KINDS["pandas"] else frame)
    budget = Accountant(epsilon=12.0)
    how = {"unit": "who", "max_rows": 2, "budget": budget}
    steps = make_pipeline(
        step(epsilon=6.0, **how), DPLloyd(2, epsilon=6.0, bounds=(-1, 1), random_state=0, **how)
    ).fit(table)
    out = steps[0].transform(table)
    assert type(out) is type(table)
    assert list(steps[0].feature_names_in_) == ["a", "b", "c"]
    again = pd.DataFrame({name: np.asarray(out[name]) for name in steps[0].get_feature_names_out()})
    assert list(again.pop("who")) == list(frame["who"])
    assert np.nanmax(np.abs(again.to_numpy())) <= 1
    # The same numbers as without people, row by row.
    plain = clone(steps[0]).set_params(unit=None)
    plain.__dict__.update({name: value for name, value in vars(steps[0]).items() if name.endswith("_")})
    for name in ("_domain", "_mean"):
        if hasattr(steps[0], name):
            setattr(plain, name, getattr(steps[0], name))
    assert np.array_equal(plain.transform(frame[["a", "b", "c"]]), again.to_numpy())
    centres = steps[0].inverse_transform(steps[1].cluster_centers_)
    assert np.sort(centres.mean(axis=1)) == pytest.approx([-3, 3], abs=0.5)
    assert len(steps.predict(table)) == len(frame)
    with pytest.raises(InvalidBudget, match=r"one row .* one person \(column 'who'\)"):
        plain.set_params(budget=budget, max_rows=1).fit(frame[["a", "b", "c"]])


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_of_a_person_no_more_rows_are_looked_at_than_are_charged_for(step, monkeypatch):
    seen = []

    class Watched(LiveCurator):
        def __init__(self, source, domain, *rest, **more):
            seen.append((source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b), domain.unit))
            super().__init__(source, domain, *rest, **more)

    monkeypatch.setattr("shoal.estimators.fitting.LiveCurator", Watched)
    step(epsilon=5.0, unit="who", max_rows=3).fit(people(100))
    assert seen == [(300, Unit(max_rows=3, column="who"))]


def test_people_and_names_of_columns():
    frame = people(50)
    scaler = PrivateScaler(epsilon=9.0, bounds=(-9, 9), unit="who").set_output(transform="pandas").fit(frame)
    out = scaler.transform(frame)
    assert list(out.columns) == ["a", "b", "c", "who"]
    assert out.index.equals(frame.index)
    with pytest.raises(InvalidTable, match="'who'"):
        scaler.transform(frame[["a", "b", "c"]])
    for how, says in (
        ({"unit": "whom"}, "whom"),
        ({"max_rows": 2}, "unit is not given"),
        ({"unit": 3}, "unit is 3"),
    ):
        with pytest.raises(InvalidInput, match=says):
            PrivateScaler(epsilon=9.0, bounds=(-9, 9), **how).fit(frame.drop(columns="who"))


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_certificate_says_whom_a_step_protects_and_that_a_seed_is_not_private(step):
    frame = people(50)
    budget = Accountant(epsilon=9.0)
    made = step(epsilon=3.0, unit="who", max_rows=2, budget=budget).fit(frame)
    assert "2 rows" in made.certificate_.unit
    assert "shared accountant" in made.certificate_.composition
    assert budget.charges == made.certificate_.charges == made.transcript_.charges
    seeded = step(epsilon=3.0, random_state=0).fit(frame[["a", "b", "c"]])
    assert not seeded.certificate_.private


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_weights_are_clipped_and_paid_for(step):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-8, -7, (5000, 2)), rng.uniform(3, 4, (5000, 2))])
    weights = np.repeat([0.0, 9.0], 5000)
    first = step(epsilon=50.0, max_weight=1.0).fit(X, sample_weight=weights)
    # The rows of weight 0 might as well not be there.
    middle = np.mean(first.bounds_, axis=0) if hasattr(first, "bounds_") else first.mean_
    assert middle == pytest.approx(3.5, abs=0.3)
    budget = Accountant(epsilon=50.0)
    for how, given, says in (
        ({}, weights, "needs max_weight"),
        ({"max_weight": 1.0}, "w", "weights as an array"),
    ):
        with pytest.raises(InvalidInput, match=says):
            step(epsilon=5.0, budget=budget, **how).fit(X, sample_weight=given)
    assert budget.spent == 0


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_file_is_fitted_and_transformed_like_its_rows(step, tmp_path):
    frame = people(100)
    frame.drop(columns="who").to_parquet(tmp_path / "rows.parquet", index=False)
    made = step(epsilon=9.0, random_state=0).fit(tmp_path / "rows.parquet")
    memory = step(epsilon=9.0, random_state=0).fit(frame.drop(columns="who"))
    assert made.transcript_.digest() == memory.transcript_.digest()
    rows = memory.transform(frame.drop(columns="who"))
    assert np.array_equal(made.transform(tmp_path / "rows.parquet"), rows)
    budget = Accountant(epsilon=9.0)
    with pytest.raises(InvalidInput, match="cannot go with unit"):
        step(epsilon=9.0, unit="who", budget=budget).fit(str(tmp_path / "rows.parquet"))
    assert budget.spent == 0
