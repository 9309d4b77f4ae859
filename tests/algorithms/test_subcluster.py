"""Joshi and Thakkar, repaired: sub-clusters around public seeds tell their centre where to go."""

import numpy as np
import pytest

from shoal import SubClusterKMeans, verify
from shoal.algorithms.shared.convergent_zones import sub_seeds
from shoal.algorithms.subcluster import SubCluster
from shoal.domain import STEPS
from shoal.errors import InvalidInput, MostlyNoise
from shoal.queries import SubCells, Voronoi


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (5, 1), (3, 2), (5, 2), (5, 3), (4, 3), (5, 64)])
def test_seeds_are_apart(n, d):
    found = sub_seeds(n, d, np.random.default_rng(n * d))
    assert found.shape == (n, d)
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-9
    gaps = np.linalg.norm(found[:, np.newaxis] - found[np.newaxis], axis=2)[np.triu_indices(n, 1)]
    assert (gaps > 0.15).all()
    if 1 < n <= d + 1:
        assert gaps == pytest.approx(np.sqrt(2 * n / (n - 1)))  # a regular simplex


def test_cells_of_a_centre_are_where_they_should_be():
    rng = np.random.default_rng(0)
    centres = rng.uniform(-0.5, 0.5, (3, 2))
    seeds = np.clip(centres[:, np.newaxis] + rng.uniform(-0.2, 0.2, (3, 4, 2)), -1, 1)
    cells = SubCells(centres, seeds, 0.3)
    columns = (np.rint(rng.uniform(-1, 1, (2, 4000)) * STEPS) / STEPS).astype(np.float32)
    labels = cells.assign(columns, None)
    owner, part = np.divmod(labels, 5)
    assert np.array_equal(owner, Voronoi(centres).assign(columns, None))
    far = (np.abs(columns.T - cells.centres[owner]) > int(0.3 * STEPS) / STEPS).any(axis=1)
    assert np.array_equal(part == 4, far)
    gaps = ((columns.T[:, np.newaxis] - cells.seeds[owner]) ** 2).sum(axis=2)
    assert np.array_equal(gaps.argmin(axis=1)[~far], part[~far])
    assert set(labels) == set(range(15))
    assert cells.anchors[[4, 9, 14]] == pytest.approx(cells.centres)


def test_bad_cells():
    with pytest.raises(InvalidInput, match="seeds of shape"):
        SubCells(np.zeros((2, 1)), np.zeros((1, 3, 1)), 0.5)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("move", ["combined", "largest"])
def test_it_finds_the_groups(delta, move, blobs):
    model = SubClusterKMeans(
        4, epsilon=50.0, delta=delta, bounds=([-1, -2], [1, 2]), scaling="none", move=move, random_state=3
    ).fit(blobs * [1, 2])
    found = model.cluster_centers_[np.lexsort(np.sign(model.cluster_centers_).T)]
    want = np.array([[-0.6, -1.2], [0.6, -1.2], [-0.6, 1.2], [0.6, 1.2]])
    assert found == pytest.approx(want, abs=0.15)
    assert model.cluster_sizes_.sum() == pytest.approx(2000, rel=0.1)


def test_without_noise_to_speak_of_the_move_is_to_the_mean_and_its_error_is_small(behind_gate):
    rng = np.random.default_rng(1)
    X = rng.normal([0.2, -0.1], 0.1, (4000, 2))
    found = SubCluster(1, max_iter=2).run(behind_gate(X, epsilon=1e4))
    assert found.centres[0] == pytest.approx(X.mean(axis=0), abs=1e-3)
    assert found.sizes[0] == pytest.approx(4000, abs=1)
    assert found.centre_sd.max() < 1e-3
    sampled = SubCluster(1, max_iter=2, move="sampled").run(behind_gate(X, epsilon=1e4))
    assert (np.abs(sampled.centres - X.mean(axis=0)) <= sampled.centre_sd + 1e-3).all()


def test_a_release_verifies_and_costs_the_budget(tmp_path, blobs):
    model = SubClusterKMeans(3, epsilon=2.0, bounds=(-1, 1), max_iter=3).fit(blobs)
    spent = sum(charge.amount for charge in model.release_.transcript.charges)
    assert 1.999 < spent <= 2
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok


@pytest.mark.parametrize(
    "table",
    [np.zeros((0, 1)), np.array([[0.3]]), np.full((50, 1), 0.3), np.zeros((0, 3)), np.full((5, 2), np.nan)],
    ids=["no rows", "one row", "all equal", "no rows of three", "all missing"],
)
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables_are_like_any_other(table, k):
    model = SubClusterKMeans(k, epsilon=1.0, bounds=(-1, 1), internal_k=5).fit(table)
    assert model.cluster_centers_.shape == (k, table.shape[1])
    assert np.abs(model.cluster_centers_).max() <= 1
    assert len(model.release_.transcript.charges) == 5


@pytest.mark.parametrize("n_rows", [None, 2000])
def test_too_little_budget_is_warned_of_from_public_values(n_rows, blobs):
    for seed in range(3):
        with pytest.warns(MostlyNoise, match="mostly noise"):
            SubClusterKMeans(4, epsilon=0.001, bounds=(-1, 1), n_rows=n_rows, random_state=seed).fit(blobs)


@pytest.mark.parametrize("how", [{"max_iter": 0}, {"internal_k": 0}, {"move": "sideways"}])
def test_bad_parameters(how, blobs):
    with pytest.raises(InvalidInput, match=next(iter(how))):
        SubClusterKMeans(2, epsilon=1.0, bounds=(-1, 1), **how).fit(blobs)
