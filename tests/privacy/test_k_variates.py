"""k-variates++ as published tells one far row from none; on a released synopsis it sees no row at all."""

import math

import numpy as np
import pytest

from shoal import KVariates, verify
from shoal.errors import InvalidInput
from shoal.postprocess.k_variates import k_variates
from shoal.queries import SeedsAsPublished


def seeds(rows, sharpness, rng):
    """Two seeds in the one column from -1 to 1, by the task that the gate runs."""
    return SeedsAsPublished(2, sharpness).exact_run(rows[:, np.newaxis], rng).centres


def test_an_outlier_is_told_from_none():
    # 49 rows in one place, and one row far from it; noise of a hundredth of the domain.
    n, sharpness, runs = 50, 200.0, 400
    D = np.append(np.full(n - 1, -0.9), 0.9)
    rng = np.random.default_rng(0)

    def near_the_outlier(rows):
        return np.mean([seeds(rows, sharpness, rng).max() > 0.5 for _ in range(runs)])

    with_it, without = near_the_outlier(D), near_the_outlier(D[:-1])
    assert with_it > 0.9
    assert without == 0.0
    # Without it, noise alone would have to reach there: two draws, each with this probability.
    scale = 2 / sharpness
    assert math.log(with_it / math.exp(-1.4 / scale)) > 40


def test_published_seeds_are_rows_where_there_is_no_noise_and_anywhere_where_there_is_much():
    rng = np.random.default_rng(1)
    rows = np.array([[-0.5, 0.25], [0.75, 0.5], [0.0, -0.9]])
    found = SeedsAsPublished(3, 1e9).exact_run(rows, rng).centres
    assert np.abs(found[:, np.newaxis] - rows).sum(axis=2).min(axis=0) == pytest.approx([0, 0, 0], abs=1e-6)
    spread = [SeedsAsPublished(1, 0.1).exact_run(rows, rng).centres[0] for _ in range(200)]
    assert np.abs(spread).max(axis=0).tolist() == [1.0, 1.0]  # brought back into the bounds
    assert SeedsAsPublished(2, 1.0).exact_run(rows[:0], rng).centres.tolist() == [[0, 0], [0, 0]]


def test_published_seeds_are_refused_unless_asked_for_and_promise_nothing(blobs):
    usual = {"epsilon": 1.0, "bounds": (-1, 1), "published": True}
    with pytest.raises(InvalidInput, match="allow_unproven=True is wanted"):
        KVariates(2, **usual).fit(blobs)
    with pytest.raises(InvalidInput, match="sharpness is -1"):
        KVariates(2, **usual, allow_unproven=True, sharpness=-1).fit(blobs)
    model = KVariates(2, **usual, allow_unproven=True).fit(blobs)
    assert "no guarantee" in str(model.certificate_)
    assert model.certificate_.status == "claimed only"
    assert "epsilon = " not in str(model.certificate_)


def test_seeds_come_from_full_cells_far_apart():
    rng = np.random.default_rng(1)
    points = np.array([[-0.9, -0.9], [0.9, 0.9], [0.0, 0.0]])
    for _ in range(50):
        found = k_variates(points, np.array([10.0, 10.0, -50.0]), 2, rng, half=np.array([0.1, 0.1]))
        assert sorted(np.sign(found[:, 0])) == [-1, 1]
        assert (np.abs(np.abs(found) - 0.9) <= 0.1).all()
    many = k_variates(points, np.zeros(3), 7, rng, half=np.array([0.1, 0.1]))
    assert many.shape == (7, 2)
    assert (np.abs(many) <= 1).all()


def test_it_releases_and_verifies(blobs, tmp_path):
    plain = KVariates(4, epsilon=5.0, bounds=(-1, 1), random_state=0).fit(blobs)
    assert np.isinf(plain.release_.centre_sd).all()
    refined = KVariates(4, epsilon=5.0, bounds=(-1, 1), refine=True, random_state=0).fit(blobs)
    assert refined.score(blobs) >= plain.score(blobs)
    assert len(refined.release_.transcript.charges) == len(plain.release_.transcript.charges) == 2
    for i, model in enumerate((plain, refined)):
        model.release_.save(tmp_path / str(i))
        assert verify(tmp_path / str(i)).ok
