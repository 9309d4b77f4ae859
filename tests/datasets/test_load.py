"""Data sets by name: what is promised of each, and what is said of names that are not there."""

import numpy as np
import pytest

from shoal import datasets
from shoal.datasets.catalogue import catalogue
from shoal.errors import InvalidInput

AT_HAND = [name for name in datasets.names() if name not in datasets.names("file")]


@pytest.mark.parametrize("name", AT_HAND)
def test_rows_lie_in_their_bounds_and_scale_to_the_unit_box(name):
    data = datasets.load(name, n=2000) if "n" in datasets.options(name) else datasets.load(name)
    lower, upper = data.bounds
    assert np.issubdtype(data.X.dtype, np.floating)
    assert np.array_equal(np.clip(data.X, lower, upper), data.X)
    scaled = data.scaled()
    assert np.abs(scaled).max() <= 1
    assert np.allclose((scaled + 1) / 2 * (upper - lower) + lower, data.X)


@pytest.mark.parametrize("name", datasets.names())
def test_facts_are_complete_without_reading_rows(name):
    facts = datasets.about(name)
    assert facts.source
    assert facts.licence
    assert facts.bounds_source
    assert datasets.groups(name) == facts.k >= 1


def test_the_catalogue_is_consistent():
    for entry in catalogue().values():
        n = len(entry.columns)
        lower, upper = np.broadcast_to(entry.lower, n), np.broadcast_to(entry.upper, n)
        assert (lower < upper).all(), entry.name
        assert len(entry.sha256) == len(entry.rows_sha256) == 64
        assert entry.label not in entry.columns
        if entry.download is not None:
            assert len(entry.download.columns) == n, entry.name
    assert catalogue()["mnist"].columns[783] == "p783"


def test_a_data_set_cannot_be_changed():
    data = datasets.load("iris")
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 1
    with pytest.raises(AttributeError):
        data.k = 4


def test_samples_are_drawn_without_replacement_and_keep_their_labels():
    data = datasets.load("digits")
    some = data.sample(500, seed=1)
    assert some.n_rows == len(some.labels) == 500
    rows = {row.tobytes(): label for row, label in zip(data.X, data.labels, strict=True)}
    assert all(rows[row.tobytes()] == label for row, label in zip(some.X, some.labels, strict=True))
    assert np.array_equal(np.sort(data.sample(data.n_rows).X, axis=0), np.sort(data.X, axis=0))
    with pytest.raises(InvalidInput, match="cannot draw 2000 of the 1797 rows"):
        data.sample(2000)


@pytest.mark.parametrize(("wrong", "near"), [("adlt", "adult"), ("gausians", "gaussians"), ("irish", "iris")])
def test_unknown_names_get_the_near_ones(wrong, near):
    with pytest.raises(InvalidInput, match=f"no data set '{wrong}'; did you mean .*'{near}'"):
        datasets.load(wrong)


def test_unknown_parameters_are_named():
    with pytest.raises(InvalidInput, match="'iris' has no parameter 'n'; it takes no parameters"):
        datasets.load("iris", n=3)
    with pytest.raises(InvalidInput, match="'gaussians' has no parameter 'dim'; it takes n, d, k, seed"):
        datasets.load("gaussians", dim=3)
    with pytest.raises(InvalidInput, match="d is 0; it must be a whole number of at least 1"):
        datasets.load("gaussians", d=0)
