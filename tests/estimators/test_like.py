"""What a fit would cost for a table that is like another: on made-up rows, for nothing."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.cluster import KMeans as PlainKMeans

from shoal import DPLloyd, EvenGroups, GridSynopsis, KMeans, PrivateScaler, explain, plan
from shoal.bench.flagship.tables import rows_of
from shoal.cli import main
from shoal.errors import InvalidInput
from shoal.estimators import shapes
from shoal.release.totals import shown_by

NAMES, BOUNDS = ["x", "y"], (0, 10)


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([[2, 2], [8, 3], [5, 8]])[rng.integers(3, size=n)] + rng.normal(0, 0.6, (n, 2))


@pytest.fixture(scope="module")
def release():
    return KMeans(3, epsilon=1.0, bounds=BOUNDS, random_state=0).fit(rows()).release_


def test_the_excess_of_a_release_like_it_is_about_what_fits_show(release):
    model = KMeans(3, epsilon=0.05, bounds=BOUNDS)
    told = explain(model, NAMES, rows=4000, like=release)
    X = rows()
    best = PlainKMeans(3, n_init=4, random_state=0).fit(X).inertia_
    fits = [KMeans(3, epsilon=0.05, bounds=BOUNDS, random_state=s).fit(X) for s in range(8)]
    measured = np.mean([-fit.score(X) for fit in fits]) * _per_score(fits[0], X) / best - 1
    assert told.like == "the release of 3 groups"
    assert 0 < told.excess <= told.worst_excess
    assert told.excess / 3 < measured < 3 * told.excess


def test_rows_made_up_from_a_release_cost_about_what_its_rows_cost(release):
    """Noise taken for rows would lie anywhere, and cost by distance squared."""
    made_up = shown_by(release).draw(4000, np.random.default_rng(0)) * 5 + 5
    costs = [PlainKMeans(3, n_init=4, random_state=0).fit(X).inertia_ for X in (made_up, rows())]
    assert 0.8 < costs[0] / costs[1] < 1.2


def _per_score(fit, X):
    """Return what a score has to be multiplied with to be the sum of squares in the table's units."""
    squares = ((X[:, np.newaxis] - fit.cluster_centers_) ** 2).sum(axis=2).min(axis=1).sum()
    return squares / -fit.score(X)


def test_more_budget_costs_less_and_every_shape_is_named(release):
    model = KMeans(3, epsilon=0.02, bounds=BOUNDS)
    dear = explain(model, NAMES, rows=4000, like=release).excess
    assert explain(model.set_params(epsilon=2.0), NAMES, rows=4000, like=release).excess < dear
    public = explain(model, NAMES, rows=4000, like=rows(500))
    assert public.like == "a public table of 500 rows"
    named = explain(DPLloyd(3, epsilon=1.0), NAMES, rows=4000, like=EvenGroups(3, width=0.1))
    assert named.like.startswith("EvenGroups(")
    assert named.excess > 0
    synopsis = GridSynopsis(epsilon=1.0, bounds=BOUNDS, random_state=0).fit(rows()).release_
    assert explain(model, NAMES, rows=4000, like=synopsis).excess > 0


def test_what_says_nothing_is_refused(release):
    model = KMeans(3, epsilon=1.0, bounds=BOUNDS)
    without = DPLloyd(3, epsilon=1.0, bounds=BOUNDS, random_state=0).fit(rows()).release_
    with pytest.raises(InvalidInput, match="no look"):
        explain(model, NAMES, rows=1000, like=without)
    with pytest.raises(InvalidInput, match="2 columns; the table has 3"):
        explain(model, ["x", "y", "z"], rows=1000, like=release)
    with pytest.raises(InvalidInput, match="public table as numbers"):
        explain(model, NAMES, rows=1000, like="a word")
    with pytest.raises(InvalidInput, match="finds none"):
        explain(PrivateScaler(epsilon=1.0, bounds=BOUNDS), NAMES, rows=1000, like=release)


def test_the_command_line_names_the_shape(release, tmp_path):
    release.save(tmp_path / "r")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    given = ["explain", str(tmp_path / "t.csv"), "--bounds", "x=0:10", "--bounds", "y=0:10", "--k", "3"]
    given += ["--epsilon", "1", "--rows", "4000"]
    said = CliRunner().invoke(main, [*given, "--like", str(tmp_path / "r"), "--json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["excess"] >= -0.01
    text = CliRunner().invoke(main, [*given, "--like", "separated_gaussians"]).output
    assert "For a table like the made-up family separated_gaussians" in " ".join(text.split())
    assert CliRunner().invoke(main, [*given, "--like", "nothing"]).exit_code == 2


def test_a_plan_takes_a_release_with_a_look(release):
    found = plan(DPLloyd(3, epsilon=1.0), release, error=0.5, runs=1)
    assert found.errors[-1] < found.errors[0]


def test_no_fit_is_foretold_to_be_better_than_the_best(monkeypatch):
    monkeypatch.setattr(shapes, "_STARTS", 1)
    X, k = rows_of("unequal2")
    model = KMeans(k, epsilon=1.0, bounds=(-1, 1), random_state=0)
    # Few starts of plain k-means leave some of the small groups out, which the look of the release has.
    told = explain(model, NAMES, rows=len(X), like=model.fit(X).release_)
    assert told.excess >= 0
