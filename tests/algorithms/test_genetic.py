"""PGkM finds what is there to be found, in a number of generations that shows nothing of the rows."""

import numpy as np
import pytest

from shoal import GeneticKMeans, verify
from shoal.algorithms.genetic import Genetic, breed
from shoal.errors import InvalidInput
from shoal.queries.questions import Select


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_two_far_groups(delta):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(-0.6, 0.05, (3000, 2)), rng.normal(0.6, 0.05, (1000, 2))])
    model = GeneticKMeans(
        2, epsilon=100.0, delta=delta, bounds=(-1, 1), population=60, survivors=6, max_generations=40,
        random_state=0,
    ).fit(X)  # fmt: skip
    order = np.argsort(model.cluster_centers_[:, 0])
    assert model.cluster_centers_[order] == pytest.approx(np.array([[-0.6, -0.6], [0.6, 0.6]]), abs=0.15)
    assert model.cluster_sizes_[order] == pytest.approx([3000, 1000], abs=10)
    assert np.isinf(model.release_.centre_sd).all()


def test_a_release_verifies_and_costs_the_budget(tmp_path, blobs):
    model = GeneticKMeans(3, epsilon=20.0, bounds=(-1, 1), population=30, survivors=3).fit(blobs)
    spent = sum(charge.amount for charge in model.release_.transcript.charges)
    assert 19.99 < spent <= 20
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok
    asked = [e.question.n for e in model.release_.transcript if isinstance(e.question, Select)]
    assert asked == [3] * (model.n_iter_ - 1) + [1]


def test_a_public_number_of_rows_is_not_paid_for(behind_gate, blobs):
    curator = behind_gate(blobs, n_rows=2000)
    found = Genetic(2, population=10, survivors=2, max_generations=4).run(curator)
    assert len(curator.transcript.charges) == 4 + 1
    assert found.n_iter == 4


def test_children_stay_in_the_domain_and_differ_from_a_cross_in_one_gene():
    rng = np.random.default_rng(0)
    parents = np.stack([np.full((2, 3), -0.99), np.full((2, 3), 0.99)])
    children = breed(parents, 7, 0.1, rng)
    assert children.shape == (7, 2, 3)
    assert np.abs(children).max() <= 1
    assert ((np.abs(children) != 0.99).sum(axis=(1, 2)) == 1).all()
    assert breed(np.zeros((1, 1, 1)), 3, 0.1, rng).shape == (3, 1, 1)  # one gene cannot be cut


def test_survivors_are_of_the_population(blobs):
    with pytest.raises(InvalidInput, match="survivors is 11"):
        GeneticKMeans(2, epsilon=1.0, bounds=(-1, 1), population=10, survivors=11).fit(blobs)
    with pytest.raises(InvalidInput, match="max_generations"):
        GeneticKMeans(2, epsilon=1.0, bounds=(-1, 1), max_generations=0).fit(blobs)
