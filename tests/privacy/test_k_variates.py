"""k-variates++ as published tells one far row from none; on a released synopsis it sees no row at all."""

import math

import numpy as np

from shoal import KVariates, verify
from shoal.postprocess.k_variates import k_variates


def as_published(rows, k, scale, rng):
    """Choose rows by squared distance to the centres before, and release each with Laplace noise."""
    distance, centres = np.ones(len(rows)), []
    for _ in range(k):
        x = rows[rng.choice(len(rows), p=distance / distance.sum())]
        centres.append(x + rng.laplace(0, scale))
        distance = np.min([(rows - c) ** 2 for c in centres], axis=0)
    return np.array(centres)


def test_an_outlier_is_told_from_none():
    n, far, scale, runs = 50, 100.0, 1.0, 400
    D = np.append(np.zeros(n - 1), far)
    rng = np.random.default_rng(0)

    def near_the_outlier(rows):
        return np.mean([as_published(rows, 2, scale, rng).max() > far / 2 for _ in range(runs)])

    with_it, without = near_the_outlier(D), near_the_outlier(D[:-1])
    assert with_it > 0.9
    assert without == 0.0
    # Without it, noise alone would have to reach there: two draws, each with this probability.
    assert math.log(with_it / (2 * math.exp(-far / 2 / scale) / 2)) > 40


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
