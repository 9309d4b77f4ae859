"""Bad input gets a clear error before anything is spent; odd data is not an error at all."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from shoal import Accountant, DPLloyd
from shoal.errors import (
    BudgetExceeded,
    InvalidBounds,
    InvalidBudget,
    InvalidInput,
    InvalidTable,
    MostlyNoise,
    WeakDelta,
)

X = np.random.default_rng(0).uniform(0, 1, (50, 2))
TEXT = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})


def refused(error, says, *, X=X, **how):
    """Fit with one thing wrong; check the error and that nothing was spent."""
    budget = Accountant(epsilon=10, delta=0.5)
    params = {"n_clusters": 2, "epsilon": 1.0, "bounds": (0, 1), "budget": budget, **how}
    with pytest.raises(error, match=says):
        DPLloyd(**params).fit(X)
    assert budget.spent == 0
    assert budget.charges == ()


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan, None, "one"])
def test_epsilon(epsilon):
    refused(InvalidBudget, "epsilon", epsilon=epsilon)


def test_epsilon_has_no_default():
    with pytest.raises(TypeError, match="epsilon"):
        DPLloyd(3)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5, math.nan])
def test_delta(delta):
    refused(InvalidBudget, "delta", delta=delta)


@pytest.mark.parametrize("k", [0, -3, 2.5, "two", None, True])
def test_n_clusters(k):
    refused(InvalidInput, "n_clusters", n_clusters=k)


@pytest.mark.parametrize("bounds", [(1, 0), (math.nan, 1), (0, math.inf), ([0, 0, 0], [1, 1, 1]), "wide"])
def test_bounds(bounds):
    refused(InvalidBounds, "bound", bounds=bounds)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (X[:, 0], "2D"),
        (np.zeros((2, 2, 2)), "2D"),
        (np.array([["a", "b"]]), "numbers"),
        (np.array([["a", 1]], dtype=object), "no type"),
        (TEXT, "column 'a'"),
        (pl.from_pandas(TEXT), "column 'a'"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"]), "b": [1.0]}), "column 't'"),
        (np.zeros((5, 0)), "0 feature"),
        (pd.DataFrame(index=range(3)), "0 feature"),
        (sparse.csr_matrix(X), "sparse"),
        (pl.LazyFrame({"a": ["x"]}), "'a' holds text|this polars cannot stream it"),
        (np.zeros((3, 2), dtype=complex), "omplex"),
        ([[1.0], [1.0, 2.0]], "ragged"),
    ],
)
def test_tables(table, says):
    refused(InvalidTable, says, X=table)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"n_rows": 2**43}, "64-bit"),
        ({"n_rows": -1}, "n_rows"),
        ({"n_rows": 10.5}, "n_rows"),
        ({"n_rows": 50, "missing": "drop"}, "n_rows"),
        ({"missing": "drop", "neighbours": "replace"}, "add-remove"),
        ({"missing": "median"}, "missing"),
        ({"neighbours": "swap"}, "neighbours"),
        ({"scaling": "standard"}, "scaling"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": "many"}, "max_iter"),
        ({"noise": "uniform"}, "noise"),
        ({"noise": "gaussian"}, "delta"),
        ({"spending": "all"}, "spending"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"budget": 3.0}, "Accountant"),
    ],
)
def test_parameters(how, says):
    refused(InvalidInput, says, **how)


def test_a_spent_budget_refuses_before_the_work():
    budget = Accountant(epsilon=0.5)
    with pytest.raises(BudgetExceeded, match=r"epsilon = 1; 0.5 of 0.5 epsilon is left .* 0.5 too much"):
        DPLloyd(2, epsilon=1.0, bounds=(0, 1), budget=budget).fit(X)


def test_predict_wants_the_columns_of_fit():
    model = DPLloyd(2, epsilon=50.0, bounds=(0, 1)).fit(X)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.zeros((4, 3)))


def test_a_weak_delta_is_a_warning():
    with pytest.warns(WeakDelta, match="1/n_rows"):
        DPLloyd(2, epsilon=1.0, delta=0.1, bounds=(0, 1), n_rows=50).fit(X)


def test_mostly_noise_is_a_warning_and_a_valid_answer():
    with pytest.warns(MostlyNoise, match="mostly noise"):
        model = DPLloyd(5, epsilon=0.001, bounds=(0, 1)).fit(X)
    assert np.isfinite(model.cluster_centers_).all()


ODD = {
    "zero rows": np.zeros((0, 2)),
    "one row": np.array([[0.2, 0.3]]),
    "fewer rows than clusters": np.array([[0.2, 0.3], [0.1, 0.9]]),
    "all NaN": np.full((20, 2), np.nan),
    "infinite": np.array([[np.inf, -np.inf]] * 10),
    "all equal": np.full((100, 2), 0.5),
    "huge": np.full((5, 2), 1e308),
}


@pytest.mark.parametrize("table", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("missing", ["centre", "drop"])
def test_odd_data_gives_k_finite_centres(table, delta, missing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostlyNoise)
        model = DPLloyd(5, epsilon=1.0, delta=delta, bounds=(0, 1), max_iter="auto", missing=missing).fit(
            table
        )
    assert model.cluster_centers_.shape == (5, 2)
    assert np.isfinite(model.cluster_centers_).all()
    assert (model.cluster_centers_ >= 0).all()
    assert (model.cluster_centers_ <= 1).all()
    assert np.isfinite(model.cluster_sizes_).all()
    assert model.predict(table).shape == (len(table),)


def test_missing_cells_are_labelled_as_if_in_the_middle():
    model = DPLloyd(2, epsilon=50.0, bounds=(0, 1), random_state=0).fit(X)
    assert model.predict([[np.nan, np.nan]]) == model.predict([[0.5, 0.5]])
    assert np.isfinite(model.transform([[np.nan, np.inf]])).all()
