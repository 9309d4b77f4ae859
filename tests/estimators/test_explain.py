"""Explain predicts what a fit really pays and how large its noise really is, without data."""

import numpy as np
import pytest

from shoal import DPLloyd
from shoal.accounting import budget_of
from shoal.errors import InvalidInput
from shoal.estimators.explanation import explain
from shoal.release.words import risk_sentence


@pytest.mark.parametrize(
    "how",
    [{}, {"noise": "laplace"}, {"delta": 1e-6}, {"max_iter": "auto", "epsilon": 2.0}, {"n_rows": 2000}],
)
def test_the_plan_is_what_a_fit_pays(blobs, how):
    # Rounds follow a noisy number of rows; with epsilon = 2 it is far from where they would change.
    model = DPLloyd(**{"n_clusters": 4, "epsilon": 1.0, "bounds": (-1, 1), **how})
    plan = explain(model, ["a", "b"], rows=2000)
    assert plan.charges == model.fit(blobs).certificate_.charges


@pytest.mark.slow
def test_predicted_errors_are_those_measured(blobs):
    # Centres of two far groups, many fits: the spread of the released centres is the predicted one.
    X = np.repeat([[-0.5, -0.5], [0.5, 0.5]], 1000, axis=0)
    model = DPLloyd(2, epsilon=1.0, bounds=(-2, 2), max_iter=3)
    plan = explain(model, ["a", "b"], rows=2000)
    fits = []
    for seed in range(150):
        centres = model.set_params(random_state=seed).fit(X).cluster_centers_
        fits.append(centres[np.argsort(centres[:, 0])][0, 0])
    near = np.array(fits)[np.abs(np.array(fits) + 0.5) < 0.1]  # runs whose start split the groups
    assert len(near) > 100
    assert np.std(near) == pytest.approx(plan.centre_error["a"], rel=0.3)


def test_unknown_bounds_are_planned_for():
    plan = explain(DPLloyd(3, epsilon=1.0), ["a"], rows=1e5)
    assert not plan.bounds_known
    assert len(plan.charges) == 5 + 3
    assert float(sum(c.amount for c in plan.charges)) == pytest.approx(1.0, rel=1e-4)


def test_too_little_budget_is_told_beforehand():
    model = DPLloyd(20, epsilon=0.01, bounds=(0, 1))
    assert explain(model, ["a", "b"], rows=100).mostly_noise
    assert not explain(model, ["a", "b"], rows=1e8).mostly_noise


@pytest.mark.parametrize("rows", [0, -5, float("nan")])
def test_bad_guess(rows):
    with pytest.raises(InvalidInput, match="rows"):
        explain(DPLloyd(2, epsilon=1.0, bounds=(0, 1)), ["a"], rows=rows)


def test_words():
    assert "at most 73 % sure" in risk_sentence(budget_of(1.0))
    assert "except with probability 1e-06" in risk_sentence(budget_of(1.0, 1e-6))
