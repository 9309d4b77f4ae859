"""What steps of a pipeline have in common with estimators: categories, a release with files, and a plan."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import shoal
from changes import change_is_found
from shoal import PrivateBounds, PrivatePCA, PrivateScaler, explain
from shoal.cli import main

COLOURS = {"hue": ["red", "blue"]}


def coloured(n=4000):
    """A third of the rows is red; one in ten has a colour that nobody declared."""
    rng = np.random.default_rng(0)
    hue = rng.choice(["red", "blue", "green"], n, p=[0.3, 0.6, 0.1])
    return pd.DataFrame({"x": rng.normal(5, 1, n), "hue": hue, "who": np.arange(n) // 2})


@pytest.mark.parametrize("unit", [None, "who"])
def test_levels_are_columns_of_their_own(unit):
    rows = coloured() if unit else coloured().drop(columns="who")
    how = {"epsilon": 50.0, "levels": COLOURS, "unit": unit, "max_rows": 2 if unit else 1}
    scaler = PrivateScaler(bounds={"x": (0, 10)}, **how).fit(rows)
    # An undeclared level is a missing cell, which lies in the middle of 0 and 1.
    assert np.allclose(scaler.mean_, [5, 0.35, 0.65], atol=0.03)
    names = ["x", "hue=red", "hue=blue", *([unit] if unit else [])]
    bounds = PrivateBounds(**how).fit(rows)
    for step in (scaler, bounds):
        assert list(step.get_feature_names_out()) == names
    assert np.array_equal(bounds.bounds_[0][1:], [0, 0])  # known, so nothing was paid for them
    mapped, declared = bounds.transform(rows), rows["hue"] != "green"
    red = (mapped["hue=red"] if unit else mapped[:, 1])[declared]
    assert np.array_equal(red, np.where(rows["hue"][declared] == "red", 1.0, -1.0))
    directions = PrivatePCA(1, bounds={"x": (0, 10)}, **how).fit(rows).components_[0]
    assert abs(abs(directions[1]) - abs(directions[2])) < 0.05
    assert directions[1] * directions[2] < 0


def test_what_a_step_learnt_is_saved_shown_and_cannot_be_forged(tmp_path):
    step = PrivateScaler(epsilon=5.0, bounds=(0, 10)).fit(np.random.default_rng(0).normal(5, 1, (500, 2)))
    step.release_.save(tmp_path / "step")
    again = shoal.load(tmp_path / "step")
    assert np.array_equal(again.values["mean"], step.mean_)
    assert np.array_equal(again.values["scale"], step.scale_)
    told = CliRunner().invoke(main, ["show", str(tmp_path / "step")]).output
    assert "Means and spreads of 2 columns" in told
    for command in (["ask", "--k", "2"], ["plot", "--out", "p.png"], ["predict", "t.csv", "--out", "o.csv"]):
        refused = CliRunner().invoke(main, [command[0], str(tmp_path / "step"), *command[1:]])
        assert "what a step of a pipeline learnt, and no groups" in refused.output
    change_is_found(step.release_, tmp_path / "forged", "step.json", '"scale": [', '"scale": [1')


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_a_mean_is_foretold(delta):
    rows = np.full((2000, 3), 5.0)
    step = PrivateScaler(epsilon=0.5, delta=delta, bounds=([0, -10, -20], [10, 20, 30]))
    plan = explain(step, ["a", "b", "c"], 2000)
    assert (plan.size_error, plan.group_size, plan.released) == (None, None, "means and spreads of 3 columns")
    errors = [step.fit(rows).mean_ - 5 for _ in range(40)]
    found = np.sqrt(np.mean(np.square(errors), axis=0))
    assert np.allclose(found, list(plan.centre_error.values()), rtol=0.4)


def test_bounds_are_explained_by_what_they_cost():
    plan = explain(PrivateBounds(epsilon=1.0), ["a", "b"], 1000)
    assert plan.centre_error == {}
    assert sum(charge.amount for charge in plan.charges) == pytest.approx(1.0, rel=1e-3)
