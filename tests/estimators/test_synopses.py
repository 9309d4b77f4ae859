"""What all synopses share: a grid, a grid less what does not stand out, and a private tree."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from changes import change_is_found
from shoal import Accountant, GridSynopsis, MaskedGridSynopsis, PrivTreeSynopsis, verify
from shoal.algorithms import SYNOPSES
from shoal.algorithms.synopses.masked_grid import stand_out
from shoal.errors import InvalidInput, MostlyNoise
from shoal.estimators.explanation import explain
from shoal.queries.gate.codec import digest
from shoal.release import SynopsisRelease

KINDS = [GridSynopsis, MaskedGridSynopsis, PrivTreeSynopsis]
NEW = KINDS[1:]


@pytest.fixture(scope="module")
def X():  # noqa: N802
    rng = np.random.default_rng(0)
    centres = np.array([[2, 2], [3, 8], [7, 3], [8.5, 8]])
    return np.clip(centres[rng.integers(0, 4, 20_000)] + rng.normal(0, 0.5, (20_000, 2)), 0, 10)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def release(request, X):
    return request.param(epsilon=1.0, bounds=(0, 10), random_state=1).fit(X).release_


def inside(X, lower, upper):
    return np.count_nonzero(((lower <= X) & (upper >= X)).all(axis=1))


def test_box_counts_are_within_their_errors(X, release):
    rng = np.random.default_rng(3)
    boxes = [np.sort(rng.uniform(-1, 11, (2, 2)), axis=0) for _ in range(200)]
    found = np.array([release.count(*box) for box in boxes])
    away = np.abs(found[:, 0] - [inside(X, *box) for box in boxes])
    assert (away <= 4 * found[:, 1]).all()
    assert np.mean(away <= 2 * found[:, 1]) > 0.9
    # Errors that would cover anything are worth nothing.
    assert np.median(found[:, 1]) < 400


def test_a_group_in_five_columns_is_counted_within_its_error():
    # Every box of a tree is cut by the border of a group, and its rows lean inwards: errors add up.
    rng = np.random.default_rng(0)
    X = np.clip(rng.normal(0, 0.08, (20_000, 5)), -1, 1)
    for kind in KINDS:
        found = kind(epsilon=1.0, bounds=(-1, 1), random_state=0).fit(X).release_
        for half in (0.1, 0.2, 0.3):
            estimate, error = found.count([-half] * 5, [half] * 5)
            assert abs(estimate - inside(X, -half, half)) <= 3 * error, (kind, half)


def test_the_whole_and_nothing(X, release):
    everything, error = release.count([-np.inf, 0], [np.inf, 10])
    assert abs(everything - len(X)) < 4 * error
    assert release.count([11, 11], [12, 12])[0] == 0


def test_empty_places_are_empty(X):
    # Noise of a fine grid's empty cells does not add up, and a tree has few boxes there.
    for kind in NEW:
        found = kind(epsilon=1.0, bounds=(-100, 100), random_state=0).fit(X).release_
        assert abs(found.count([-90, -90], [-20, 90])[0]) < 60


def test_samples_resemble_the_rows(X, release):
    drawn = release.sample(20_000, rng=0)
    assert drawn.shape == (20_000, 2)
    assert drawn.min() >= 0
    assert drawn.max() <= 10
    assert np.allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.15)
    assert np.allclose(np.cov(drawn.T), np.cov(X.T), rtol=0.15, atol=0.3)
    assert np.array_equal(drawn, release.sample(20_000, rng=0))
    assert release.sample(0).shape == (0, 2)


def test_groups_are_found(release):
    found = release.kmeans(4, n_starts=4)
    order = np.argsort(found.centres[:, 0])
    assert np.allclose(found.centres[order], [[2, 2], [3, 8], [7, 3], [8.5, 8]], atol=0.3)
    assert np.allclose(found.sizes, 5000, atol=600)


def test_answers_cost_nothing(X):
    for kind in NEW:
        budget = Accountant(epsilon=1.0)
        release = kind(epsilon=0.5, bounds=(0, 10), budget=budget, random_state=0).fit(X).release_
        spent, asked = budget.spent, digest(release.transcript)
        release.kmeans(3, n_starts=2), release.count([0, 0], [5, 5]), release.sample(10)
        assert budget.spent == spent <= 0.5
        assert digest(release.transcript) == asked


def test_save_load_and_verify(release, tmp_path):
    release.save(tmp_path / "out")
    again = SynopsisRelease.load(tmp_path / "out")
    assert digest(again.synopsis) == digest(release.synopsis)
    assert again.count([1, 1], [6, 6]) == release.count([1, 1], [6, 6])
    assert np.array_equal(again.sample(5, rng=1), release.sample(5, rng=1))
    assert np.array_equal(again.kmeans(3, n_starts=2).centres, release.kmeans(3, n_starts=2).centres)
    found = verify(tmp_path / "out")
    assert found.ok, str(found)
    assert json.loads((tmp_path / "out" / "synopsis.json").read_text())["kind"] in repr(again)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("transcript.json", '"sd": ', '"sd": 1'),
        ("certificate.json", '"epsilon = 1"', '"epsilon = 0.1"'),
        ("synopsis.json", '"held": ', '"held": 1'),
    ],
)
def test_a_changed_file_is_found(release, tmp_path, name, old, new):
    change_is_found(release, tmp_path / "out", name, old, new)


def test_a_synopsis_is_not_read_as_another_kind(X, tmp_path):
    # The tree's certificate says which algorithm made it; a file that says another does not load.
    release = PrivTreeSynopsis(epsilon=1.0, bounds=(0, 10), random_state=0).fit(X).release_
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    path.write_text(path.read_text().replace('"algorithm": "tree"', '"algorithm": "masked-grid"'))
    assert "contents" in verify(tmp_path / "out").failed


@pytest.mark.parametrize("common", [{"delta": 1e-6}, {"neighbours": "replace"}, {"bounds": None}])
@pytest.mark.parametrize("kind", NEW)
def test_other_budgets_units_and_bounds(X, kind, common, tmp_path):
    release = kind(**{"epsilon": 2.0, "bounds": (0, 10), **common}).fit(X).release_
    assert release.count([-np.inf] * 2, [np.inf] * 2)[0] == pytest.approx(20_000, rel=0.1)
    release.save(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.ok, str(found)


@pytest.mark.parametrize("kind", NEW)
def test_weights_are_summed(X, kind):
    model = kind(epsilon=1.0, bounds=(0, 10), max_weight=2.0)
    estimate, error = model.fit(X, sample_weight=np.full(len(X), 0.5)).release_.count([0, 0], [10, 10])
    assert abs(estimate - 10_000) < 4 * error


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_column_is_inside_as_a_whole(X, kind):
    rows = np.column_stack([X[:, 0], np.full(len(X), 3.0)])
    release = kind(epsilon=1.0, bounds=([0, 3], [10, 3]), random_state=0).fit(rows).release_
    assert release.count([0, 3], [10, 3])[0] == pytest.approx(20_000, rel=0.05)
    assert release.count([0, 3.5], [10, 4])[0] == 0
    assert (release.sample(5)[:, 1] == 3).all()


@pytest.mark.parametrize("kind", NEW)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_no_rows_are_no_error(kind):
    release = kind(epsilon=0.5, bounds=(0, 10), random_state=0).fit(np.zeros((0, 4))).release_
    assert release.kmeans(3).centres.shape == (3, 4)
    assert release.sample(4).shape == (4, 4)
    assert np.isfinite(release.count([0] * 4, [5] * 4)).all()


@pytest.mark.parametrize("kind", NEW)
def test_it_is_an_estimator(X, kind):
    model = kind(epsilon=1.0, bounds=(0, 10))
    assert clone(model).get_params() == model.get_params()
    fitted = pickle.loads(pickle.dumps(model.fit(X)))
    assert fitted.n_features_in_ == 2
    assert fitted.certificate_.guarantee["add-remove"] == "epsilon = 1"
    row = SYNOPSES[fitted.certificate_.algorithm]
    assert row.estimator == kind.__name__ == fitted.certificate_.parameters["class"]


@pytest.mark.parametrize("kind", NEW)
def test_the_plan_is_what_is_spent(X, kind):
    model = kind(epsilon=1.0, bounds=(0, 10), n_rows=20_000)
    plan = explain(model, ["x", "y"], rows=20_000)
    assert [charge.amount for charge in plan.charges] == [c.amount for c in model.fit(X).certificate_.charges]
    assert "tree" in plan.released or "stand out" in plan.released
    assert 0 < plan.size_error < 1000


@pytest.mark.parametrize(
    "given", [{"resolution": "k-aware"}, {"resolution": 0}, {"resolution": 3000}, {"theta": -1}]
)
def test_bad_parameters_spend_nothing(X, given):
    budget = Accountant(epsilon=1.0)
    with pytest.raises(InvalidInput):
        MaskedGridSynopsis(epsilon=1.0, bounds=(0, 10), budget=budget, **given).fit(X)
    assert budget.spent == 0


def test_a_masked_grid_of_too_many_columns_is_refused_before_it_is_paid_for():
    budget = Accountant(epsilon=1.0)
    with pytest.raises(InvalidInput, match="PrivTreeSynopsis"):
        MaskedGridSynopsis(epsilon=1.0, budget=budget).fit(np.zeros((10, 30)))
    assert budget.spent == 0
    release = PrivTreeSynopsis(epsilon=5.0, bounds=(0, 1)).fit(np.full((3000, 30), 0.3)).release_
    assert release.count([0] * 30, [1] * 30)[0] == pytest.approx(3000, rel=0.1)


def test_a_synopsis_of_noise_says_so(X):
    with pytest.warns(MostlyNoise, match="coarser"):
        MaskedGridSynopsis(epsilon=0.01, bounds=(0, 10), resolution=1000, random_state=0).fit(X)
    with pytest.warns(MostlyNoise, match="raise epsilon"):
        PrivTreeSynopsis(epsilon=0.0002, bounds=(0, 10), n_rows=20_000, random_state=0).fit(X)


def test_what_stands_out_is_held_with_its_signed_count(X):
    held = MaskedGridSynopsis(epsilon=1.0, bounds=(0, 10), random_state=0).fit(X).release_.synopsis
    shaped = held.everywhere.reshape(held.grid.shape)
    assert np.array_equal(held.weights, held.everywhere[held.cells])
    rate = 2 * np.arcsinh(1 / (np.sqrt(2) * held.sd))
    assert np.array_equal(held.cells, stand_out(shaped, held.sd, rate))
    assert held.n_held < held.n_cells / 2
    # Half the cells are empty of rows; hardly any of those is held.
    empty = np.histogram2d(*X.T, bins=held.grid.shape, range=[(0, 10)] * 2)[0].ravel() == 0
    assert empty[held.cells].mean() < 0.4
