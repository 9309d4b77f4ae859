"""A plan says which epsilon and how many rows an accuracy needs, and a fit then has it."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linear_sum_assignment

from shoal import DPLloyd, EvenGroups, GridSynopsis, KMeans, Plan, plan
from shoal.cli import main
from shoal.errors import InvalidInput
from shoal.estimators import planning


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(planning, "ROWS", 1000)
    monkeypatch.setattr(planning, "_PRODUCTS", 10.0 ** np.arange(2.0, 5.1, 1.0))


ONE = EvenGroups(1, width=0.2, columns=1)


@pytest.mark.slow
def test_a_fit_of_the_planned_size_is_as_accurate_as_planned():
    # Of one mean of even rows the noise is known: L-infinity noise of sum and count over the rows.
    found = plan(DPLloyd(1, epsilon=1.0, max_iter=1), ONE, error=0.05, runs=9)
    for rows in (300, 5000):
        X = ONE.rows(rows, 99)
        epsilon = found.needed / rows
        off = [
            abs(
                DPLloyd(1, epsilon=epsilon, bounds=(-1, 1), max_iter=1).fit(X).cluster_centers_[0, 0]
                - X.mean()
            )
            for _ in range(41)
        ]
        assert 0.02 < np.median(off) / X.std() < 0.12


@pytest.mark.slow
def test_a_smaller_error_needs_more_and_a_larger_unit_too():
    model = DPLloyd(1, epsilon=1.0)
    loose, tight = (plan(model, ONE, error=error, runs=3) for error in (0.3, 0.03))
    assert tight.needed > 3 * loose.needed
    assert tight.rows_for(0.1) == pytest.approx(10 * tight.rows_for(1.0), rel=0.2)
    assert tight.epsilon_for(1e4) == pytest.approx(tight.needed / 1e4, rel=0.1)
    three = plan(DPLloyd(1, epsilon=1.0, unit="who", max_rows=3), ONE, error=0.03, runs=3)
    assert three.needed == pytest.approx(3 * tight.needed)
    assert plan(model, ONE, error=0.3, runs=3) == loose  # the seeds are public


def test_what_cannot_be_reached_is_said():
    found = Plan(0.1, (100.0, 1000.0), (1.0, 0.5), (2.0, 1.0), 3)
    assert (found.needed, found.epsilon_for(1e5), found.rows_for(1.0)) == (None, None, None)
    assert "not reached" in str(found)
    at_once = Plan(0.1, (100.0, 1000.0), (0.05, 0.01), (0.1, 0.1), 3)
    assert at_once.needed == 100
    between = Plan(0.1, (100.0, 10000.0), (1.0, 0.01), (1.0, 1.0), 3)
    assert between.needed == pytest.approx(1000)


@pytest.mark.slow
def test_a_released_look_serves_as_a_shape():
    X = np.concatenate([np.random.default_rng(0).normal(place, 0.3, (2000, 2)) for place in (2, 7)])
    look = GridSynopsis(epsilon=1.0, bounds=(0, 10)).fit(X).release_
    found = plan(KMeans(2, epsilon=1.0), look, error=0.5, runs=2)
    assert found.needed is not None
    assert math.isfinite(found.errors[0])
    axes = found.plot().axes[0]
    assert axes.get_xlabel() == "epsilon times rows"


def test_made_up_groups_are_even_and_apart():
    rows = EvenGroups(4, width=0.05, columns=3).rows(4000, 1)
    assert rows.shape == (4000, 3)
    places = np.array([rows[i::4].mean(axis=0) for i in range(4)])
    apart = np.linalg.norm(places[:, np.newaxis] - places, axis=2)
    assert apart[np.triu_indices(4, 1)].min() > 0.5
    assert linear_sum_assignment(apart)[0].shape == (4,)


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("fixed number", lambda: plan(KMeans("auto", epsilon=1.0), ONE, error=0.1)),
        ("error is", lambda: plan(KMeans(2, epsilon=1.0), ONE, error=0)),
        ("width is", lambda: EvenGroups(3, width=2.0)),
        ("shape is", lambda: plan(KMeans(2, epsilon=1.0), [[1.0]], error=0.1)),
        ("rows is", lambda: Plan(0.1, (1.0,), (0.01,), (0.01,), 1).epsilon_for(0)),
    ],
)
def test_what_is_wrong_is_said(says, call):
    with pytest.raises(InvalidInput, match=says):
        call()


@pytest.mark.slow
def test_the_command(tmp_path):
    args = ["plan", "--k", "1", "--columns", "1", "--width", "0.2", "--error", "0.1", "--algorithm", "lloyd"]
    shown = CliRunner().invoke(main, [*args, "--rows", "1e4", "--out", str(tmp_path / "p.png")])
    assert shown.exit_code == 0, shown.output
    assert "10,000 rows need epsilon" in shown.output
    told = json.loads(CliRunner().invoke(main, [*args, "--epsilon", "1", "--json"]).stdout)
    assert told["rows"] > 0
    assert CliRunner().invoke(main, args[:5] + args[7:]).exit_code == 2
