"""KMeans with n_clusters="auto": how many groups there are, read off what was released."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from shoal import Accountant, DPLloyd, KMeans, verify
from shoal.algorithms.kmeans.kmeans import KMeans as KMeansAlgorithm
from shoal.errors import InvalidInput, InvalidRelease
from shoal.estimators.explanation import explain
from shoal.release.checks import replay


def apart(n, d, k, seed, spread=0.06):
    rng = np.random.default_rng(seed)
    centres = np.zeros((k, d))
    while min(np.linalg.norm(a - b) for i, a in enumerate(centres) for b in centres[:i]) < 6 * spread:
        centres = rng.uniform(-0.8, 0.8, (k, d))
    return np.clip(centres[rng.integers(0, k, n)] + rng.normal(0, spread, (n, d)), -1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_groups_that_lie_apart_are_counted(behind_gate, d, k):
    curator = behind_gate(apart(12_000, d, k, seed=k, spread=0.05), seed=d)
    found = KMeansAlgorithm("auto", n_starts=4, max_clusters=12).run(curator)
    assert abs(found.curve.chosen - k) <= (d > 2)  # boxes of more columns say less
    assert found.centres.shape == (found.curve.chosen, d)
    assert len(found.curve.cost) == 12
    assert curator.transcript.notes[1] == found.curve.why
    spent = sum((charge.amount for charge in curator.transcript.charges), Fraction(0))
    assert curator.budget.amount * Fraction(98, 100) < spent <= curator.budget.amount


@pytest.mark.parametrize("shape", ["round", "long", "tilted"])
@pytest.mark.parametrize("d", [2, 4, 8])
def test_one_bell_is_one_group(behind_gate, shape, d):
    rng = np.random.default_rng(d)
    X = rng.normal(0, 1, (8000, d)) * (0.2 if shape == "round" else 0.06)
    if shape != "round":
        X[:, : 1 if shape == "long" else d] += rng.normal(0, 0.3, (8000, 1))
    found = KMeansAlgorithm("auto", n_starts=2, max_clusters=8).run(behind_gate(np.clip(X, -1, 1)))
    assert found.curve.chosen <= 2
    assert found.curve.chosen == 1 or shape == "tilted"


@pytest.mark.parametrize("table", [np.zeros((0, 2)), np.zeros((1, 2)), np.ones((500, 2)), np.zeros((400, 9))])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_auto_on_odd_tables_gives_few_groups(table):
    model = KMeans("auto", epsilon=1.0, bounds=(-1, 1), n_starts=2, max_clusters=5).fit(table)
    assert 1 <= len(model.cluster_centers_) <= 5
    assert np.isfinite(model.cluster_centers_).all()


def test_a_release_that_chose_its_number_verifies(tmp_path):
    model = KMeans("auto", epsilon=1.0, bounds=(-1, 1), n_starts=2, max_clusters=6).fit(apart(4000, 2, 3, 0))
    release = model.release_
    release.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok
    forged = replace(release, centres=release.centres[:2], sizes=release.sizes[:2])
    with pytest.raises(InvalidRelease, match="other centres"):
        replay(forged)


def test_the_cost_curve_can_be_read_and_drawn():
    model = KMeans("auto", epsilon=1.0, bounds=(-1, 1), n_starts=2, max_clusters=6, random_state=0)
    with pytest.raises(NotFittedError, match="auto"):
        model.plot_cost_curve()
    curve = model.fit(apart(4000, 2, 3, 0)).cost_curve_
    assert str(curve).splitlines()[3].endswith("<- chosen")
    assert model.n_clusters_ == curve.chosen == 3
    axes = model.plot_cost_curve(Figure().subplots())
    assert np.array_equal(axes.get_lines()[0].get_ydata(), curve.cost)
    assert not hasattr(model.set_params(n_clusters=2).fit(apart(4000, 2, 3, 0)), "cost_curve_")
    assert "3 groups" in axes.get_legend().get_texts()[0].get_text()


def test_explain_prices_a_number_that_is_not_known_yet():
    model = KMeans("auto", epsilon=1.0, bounds=(-1, 1), n_starts=2, max_clusters=6, random_state=0)
    plan = explain(model, ["x", "y"], rows=4000)
    assert "as many groups" in plan.released
    paid = model.fit(apart(4000, 2, 3, 0)).certificate_.charges
    # What a look spends on which part hangs on its answers; in all it is the budget.
    for charges in (plan.charges, paid):
        assert Fraction(98, 100) < sum(charge.amount for charge in charges) <= 1


@pytest.mark.parametrize(
    ("make", "how", "says"),
    [
        (KMeans, {"n_clusters": "many"}, "n_clusters"),
        (KMeans, {"max_clusters": 0}, "max_clusters"),
        (KMeans, {}, "16 columns"),
        (KMeans, {"bounds": None}, "16 columns"),
        (DPLloyd, {}, "n_clusters"),
    ],
)
def test_auto_is_refused_before_anything_is_spent(make, how, says):
    budget = Accountant(epsilon=10)
    with pytest.raises(InvalidInput, match=says):
        make(**{"n_clusters": "auto", "epsilon": 1.0, "bounds": (-1, 1), "budget": budget, **how}).fit(
            np.zeros((50, 16))
        )
    assert budget.spent == 0
