"""The grid synopsis: counts of boxes, synthetic rows and any number of clusterings, paid for once."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from changes import change_is_found
from shoal import Accountant, GridKMeans, GridSynopsis, verify
from shoal.algorithms.grid import MOST_DENSE_CELLS, GridSketch
from shoal.errors import InvalidInput, MostlyNoise
from shoal.queries.gate.codec import digest
from shoal.release import SynopsisRelease


def groups(n, columns, seed=0, k=4, spread=0.3):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(2, 8, (k, columns))
    return np.clip(centres[rng.integers(0, k, n)] + rng.normal(0, spread, (n, columns)), 0, 10)


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return groups(20_000, 2, spread=0.8)


@pytest.fixture(scope="module")
def release(X):
    return GridSynopsis(epsilon=1.0, bounds=(0, 10), random_state=1).fit(X).release_


@pytest.fixture(scope="module")
def wide():
    # Tight groups in ten columns: 5**10 cells, of which few have rows.
    return groups(10_000, 10, spread=0.05)


@pytest.fixture(scope="module")
def sparse(wide):
    return GridSynopsis(epsilon=1.0, bounds=(0, 10), random_state=1, resolution=5).fit(wide).release_


def inside(X, lower, upper):
    return np.count_nonzero(((lower <= X) & (upper >= X)).all(axis=1))


def test_box_counts_are_within_their_errors(X, release):
    rng = np.random.default_rng(3)
    for _ in range(200):
        lower, upper = np.sort(rng.uniform(-1, 11, (2, 2)), axis=0)
        estimate, error = release.count(lower, upper)
        assert abs(estimate - inside(X, lower, upper)) <= 4 * error, (lower, upper)


def test_box_counts_of_whole_cells_have_errors_of_the_right_size(X):
    # No cell is cut, so the error is the noise alone: neither too small nor too large.
    lower, upper = np.array([2.5, 0.0]), np.array([7.5, 10.0])
    z = []
    for seed in range(40):
        fitted = GridSynopsis(epsilon=0.5, bounds=(0, 10), resolution=20, random_state=seed).fit(X)
        estimate, error = fitted.release_.count(lower, upper)
        z.append((estimate - np.count_nonzero((X[:, 0] >= 2.5) & (X[:, 0] < 7.5))) / error)
    assert 0.6 < np.std(z) < 1.5
    assert abs(np.mean(z)) < 0.6


def test_the_whole_and_nothing(X, release, sparse):
    everything, error = release.count([-np.inf, 0], [np.inf, 10])
    assert abs(everything - len(X)) < 4 * error
    assert release.count([11, 11], [12, 12])[0] == 0
    total, error = sparse.count([-np.inf] * 10, [np.inf] * 10)
    assert abs(total - 10_000) < 4 * error < 3000


def test_sparse_box_counts(wide, sparse):
    rng = np.random.default_rng(4)
    for _ in range(60):
        lower = rng.uniform(-1, 5, 10)
        upper = lower + rng.uniform(3, 8, 10)
        estimate, error = sparse.count(lower, upper)
        assert abs(estimate - inside(wide, lower, upper)) <= 4 * error


def test_ten_columns_are_held_by_few_cells(sparse):
    held = sparse.synopsis
    assert held.grid.n_cells == 5**10 > MOST_DENSE_CELLS
    assert 4 <= held.n_held < 200
    assert held.weights.min() >= held.threshold
    assert "of 9765625 cells" in repr(sparse)


def test_the_rule_reaches_sparse_grids_by_itself():
    # 4 ** 16 cells: more than can be held one by one.
    X = groups(10_000, 16, spread=0.02)
    fitted = GridSynopsis(epsilon=8.0, bounds=(0, 10), theta=0.2, n_rows=10_000).fit(X)
    assert fitted.release_.synopsis.grid.shape == (4,) * 16
    assert fitted.release_.synopsis.cells is not None
    model = GridKMeans(4, epsilon=8.0, bounds=(0, 10), theta=0.2, n_rows=10_000).fit(X)
    assert model.cluster_sizes_.sum() == pytest.approx(10_000, rel=0.3)
    assert model.score(X) < 0


def test_sides_of_many_columns():
    for columns in (1, 2, 7, 10, 31, 62, 63, 700):
        for most in (4_000_000, 2**62):
            side = GridSketch("k-aware").side(1e30, 5.0, columns, 50, most)
            assert side >= 1
            assert side == 1 or side**columns <= most


def test_samples_resemble_the_rows(X, release, wide, sparse):
    drawn = release.sample(20_000, rng=0)
    assert drawn.shape == (20_000, 2)
    assert drawn.min() >= 0
    assert drawn.max() <= 10
    assert np.allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.15)
    assert np.allclose(np.cov(drawn.T), np.cov(X.T), rtol=0.15, atol=0.3)
    assert np.array_equal(drawn, release.sample(20_000, rng=0))
    many = sparse.sample(2000, rng=np.random.default_rng(0))
    assert np.allclose(many.mean(axis=0), wide.mean(axis=0), atol=1.0)
    assert release.sample(0).shape == (0, 2)


def test_any_number_of_clusterings_costs_nothing(X):
    budget = Accountant(epsilon=1.0)
    fitted = GridSynopsis(epsilon=0.5, bounds=(0, 10), budget=budget, random_state=0).fit(X)
    spent, asked = budget.spent, digest(fitted.release_.transcript)
    for k in (1, 2, 4, 9):
        found = fitted.release_.kmeans(k, n_starts=4)
        assert found.centres.shape == (k, 2)
        assert found.sizes.sum() == pytest.approx(20_000, rel=0.1)
        assert ((found.centres >= 0) & (found.centres <= 10)).all()
    fitted.release_.count([0, 0], [5, 5])
    fitted.release_.sample(10)
    assert budget.spent == spent
    assert digest(fitted.release_.transcript) == asked
    assert spent <= 0.5


def test_kmeans_finds_the_groups_of_ten_columns(wide, sparse):
    found = sparse.kmeans(4)
    nearest = ((wide[:, None] - found.centres[None]) ** 2).sum(axis=2).min(axis=1)
    assert np.sqrt(nearest.mean(axis=0) / 10) < 1.2  # a cell is 2 wide


@pytest.mark.parametrize("kind", ["release", "sparse"])
def test_save_load_and_verify(kind, request, tmp_path):
    release = request.getfixturevalue(kind)
    release.save(tmp_path / "out")
    again = SynopsisRelease.load(tmp_path / "out")
    assert digest(again.synopsis) == digest(release.synopsis)
    assert again.certificate == release.certificate
    d = len(release.names)
    assert again.count([1] * d, [6] * d) == release.count([1] * d, [6] * d)
    assert np.array_equal(again.sample(5, rng=1), release.sample(5, rng=1))
    assert np.array_equal(again.kmeans(3).centres, release.kmeans(3).centres)
    found = verify(tmp_path / "out")
    assert found.ok, str(found)
    text = json.loads((tmp_path / "out" / "synopsis.json").read_text())
    assert text["shape"] == list(release.synopsis.grid.shape)


def test_kmeans_on_a_sparse_grid_verifies(wide, tmp_path):
    model = GridKMeans(4, epsilon=1.0, bounds=(0, 10), resolution=5, n_starts=4).fit(wide)
    assert type(model.release_.transcript.entries[1].answer).__name__ == "SparseCounts"
    model.release_.save(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.ok, str(found)


@pytest.mark.parametrize("common", [{"delta": 1e-6}, {"neighbours": "replace"}])
def test_other_budgets_and_units(wide, common, tmp_path):
    fitted = GridSynopsis(epsilon=2.0, bounds=(0, 10), resolution=5, **common).fit(wide)
    charge = fitted.certificate_.charges[-1]
    assert charge.mechanism.startswith("discrete Laplace")
    assert charge.currency == ("rho" if "delta" in common else "epsilon")
    fitted.release_.save(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.ok, str(found)


def test_estimated_bounds_replay(X, tmp_path):
    fitted = GridSynopsis(epsilon=2.0, random_state=0).fit(X)
    fitted.release_.save(tmp_path / "out")
    assert verify(tmp_path / "out").ok
    estimate, _ = fitted.release_.count([-np.inf] * 2, [np.inf] * 2)
    assert estimate == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("transcript.json", '"threshold": ', '"threshold": 1'),
        ("certificate.json", '"epsilon = 1"', '"epsilon = 0.1"'),
        ("synopsis.json", '"held": ', '"held": 1'),
    ],
)
def test_a_changed_file_is_found(sparse, tmp_path, name, old, new):
    change_is_found(sparse, tmp_path / "out", name, old, new)


def test_it_is_an_estimator(X):
    model = GridSynopsis(epsilon=1.0, bounds=(0, 10), resolution=9)
    assert clone(model).get_params() == model.get_params()
    assert "missing" in model.get_params()
    fitted = pickle.loads(pickle.dumps(model.fit(X)))
    assert fitted.n_features_in_ == 2
    assert fitted.certificate_.guarantee["add-remove"] == "epsilon = 1"
    assert fitted.certificate_.parameters["class"] == "GridSynopsis"


def test_weights_are_summed_in_dense_cells(X):
    model = GridSynopsis(epsilon=1.0, bounds=(0, 10), max_weight=2.0)
    estimate, error = model.fit(X, sample_weight=np.full(len(X), 0.5)).release_.count([0, 0], [10, 10])
    assert abs(estimate - 10_000) < 4 * error


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None])
def test_bad_numbers_of_clusters(release, k):
    with pytest.raises(InvalidInput, match="n_clusters"):
        release.kmeans(k)
    with pytest.raises(InvalidInput, match="n is"):
        release.sample(-1)


@pytest.mark.parametrize(
    ("lower", "upper", "wrong"),
    [
        ([5, 5], [4, 6], "reversed"),
        ([5], [6], "shape"),
        ([1, 2, 3], [4, 5, 6], "shape"),
        (1, 2, "shape"),
        ([np.nan, 0], [1, 1], "missing"),
    ],
)
def test_bad_boxes(release, lower, upper, wrong):
    with pytest.raises(InvalidInput, match=wrong):
        release.count(lower, upper)


@pytest.mark.parametrize(
    "given",
    [{"resolution": "fine"}, {"resolution": 0}, {"resolution": 2**32}, {"theta": -1}, {"n_clusters": 0}],
)
def test_bad_parameters_spend_nothing(X, given):
    budget = Accountant(epsilon=1.0)
    with pytest.raises(InvalidInput):
        GridSynopsis(epsilon=1.0, bounds=(0, 10), budget=budget, **given).fit(X)
    assert budget.spent == 0


def test_a_fine_grid_of_weights_is_refused_before_it_is_paid_for(X):
    budget = Accountant(epsilon=1.0)
    model = GridSynopsis(epsilon=1.0, bounds=(0, 10), budget=budget, resolution=5000, max_weight=1.0)
    with pytest.raises(InvalidInput, match="more than"):
        model.fit(X, sample_weight=np.ones(len(X)))
    assert budget.spent == 0


def test_a_synopsis_of_noise_says_so(X):
    with pytest.warns(MostlyNoise, match="coarser"):
        GridSynopsis(epsilon=0.1, bounds=(0, 10), resolution=1000, random_state=0).fit(X)
    with pytest.warns(MostlyNoise, match="coarser"):
        GridSynopsis(epsilon=0.1, bounds=(0, 10), resolution=5000, random_state=0).fit(X)


def test_no_rows_are_no_error():
    with pytest.warns(MostlyNoise):
        fitted = GridSynopsis(epsilon=0.5, bounds=(0, 10), resolution=8, random_state=0).fit(np.zeros((0, 8)))
    assert fitted.release_.kmeans(3).centres.shape == (3, 8)
    assert fitted.release_.sample(4).shape == (4, 8)
    assert np.isfinite(fitted.release_.count([0] * 8, [5] * 8)).all()
