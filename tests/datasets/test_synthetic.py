"""Made-up tables: the same for the same seed, and made as their papers say."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from shoal import datasets
from shoal.datasets.city import _on_land
from shoal.errors import InvalidInput

FAMILIES = datasets.names("synthetic")


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_rows(name):
    first, again, other = (datasets.load(name, n=500, seed=seed).X for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("d", "k"), [(2, 2), (2, 10), (10, 2), (10, 10)])
def test_gaussians_are_equal_and_well_separated(d, k):
    data = datasets.load("gaussians", d=d, k=k)
    assert data.X.shape == (10_000, d)
    sizes = np.bincount(data.labels)
    assert len(sizes) == k
    assert sizes.max() - sizes.min() <= 1
    means = np.stack([data.X[data.labels == j].mean(axis=0) for j in range(k)])
    spread = np.sqrt(((data.X - means[data.labels]) ** 2).mean())
    assert pdist(means).min() > 5.5 * spread


def test_too_many_groups_for_the_room_are_refused():
    with pytest.raises(InvalidInput, match="do not fit into 1 columns"):
        datasets.load("gaussians", d=1, k=50)


def test_balcan_means_are_uniform_in_the_box():
    data = datasets.load("balcan_gaussians", n=20_000, d=3, k=4)
    within = [data.X[data.labels == j].std(axis=0) for j in range(4)]
    assert np.allclose(within, 1, atol=0.05)


def test_tiger_stand_in_has_two_far_groups_and_says_that_it_stands_in():
    data = datasets.load("tiger_stand_in")
    means = np.stack([data.X[data.labels == j].mean(axis=0) for j in (0, 1)])
    assert data.n_rows == 16_281
    assert np.linalg.norm(means[0] - means[1]) > 10
    assert "stands in" in data.source


def test_the_city_is_dry_crowded_and_has_airports():
    X = datasets.load("city_pickups", n=50_000).X
    assert _on_land(X).all()
    on_island = (np.abs(X - [-73.98, 40.75]) < [0.05, 0.06]).all(axis=1).mean()
    jfk = (np.abs(X - [-73.78, 40.645]) < 0.01).all(axis=1).mean()
    assert on_island > 0.5
    assert 0.01 < jfk < 0.1


def test_the_city_has_streets():
    # Along the avenues points pile up: the distance across the island is far from uniform.
    from shoal.datasets.city import _AVENUE, _to_km

    along, across = _to_km(datasets.load("city_pickups", n=50_000).X).T
    midtown = across[(along > 4) & (along < 8) & (np.abs(across) < 1.4)]
    off = np.abs(midtown / _AVENUE - np.round(midtown / _AVENUE))
    assert (off < 0.1).mean() > 0.5
