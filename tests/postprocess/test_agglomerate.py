"""Joining points two at a time: as scipy does it where it can, and by what noise there is where it cannot."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from shoal.postprocess.agglomerate import agglomerate, joining_losses


def same_groups(one, other):
    return (np.equal.outer(one, one) == np.equal.outer(other, other)).all()


@pytest.mark.parametrize(("ours", "theirs"), [("ward", "ward"), ("closest", "centroid")])
@pytest.mark.parametrize("seed", range(5))
def test_equal_weights_are_joined_as_scipy_joins_them(ours, theirs, seed):
    points = np.random.default_rng(seed).uniform(-1, 1, (25, 3))
    tree = linkage(points, theirs)
    for k in (2, 5, 10):
        groups = agglomerate(points, np.ones(25), linkage=ours, n_left=k)[1]
        joined = np.arange(25)  # by hand: `fcluster` cuts by height, and centroids may come nearer
        names = dict(enumerate(joined))
        for step, (a, b) in enumerate(tree[: 25 - k, :2].astype(int)):
            joined[joined == names[b]] = names[a]
            names[25 + step] = names[a]
        assert same_groups(groups, joined)
        if ours == "ward":
            assert same_groups(groups, fcluster(tree, k, "maxclust"))


def test_a_loss_of_ward_is_what_the_cost_rises_by():
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(2, 3)), np.array([2.0, 5.0])
    middle = weights @ points / 7
    assert joining_losses(points, weights)[0, 1] == pytest.approx(
        weights @ ((points - middle) ** 2).sum(axis=1)
    )


def test_a_group_is_the_weighted_mean_of_its_members_in_their_own_units():
    rng = np.random.default_rng(1)
    points, weights, scale = rng.normal(size=(12, 2)), rng.uniform(1, 9, 12), np.array([1.0, 30.0])
    found, groups = agglomerate(points, weights, linkage="ward", n_left=3, column_scale=scale)
    assert len(np.unique(groups)) == 3
    for name in np.unique(groups):
        inside = groups == name
        assert name == np.flatnonzero(inside)[0]
        assert found[name] == pytest.approx(weights[inside] @ points[inside] / weights[inside].sum())
    assert not same_groups(groups, agglomerate(points, weights, linkage="ward", n_left=3)[1])


def test_points_of_which_nothing_is_known_are_left_alone():
    points, noise = np.array([[0.0], [0.001], [0.5], [0.6]]), np.array([0.01, np.inf, 0.01, 0.01])
    assert agglomerate(points, np.ones(4), linkage="ward", noise=noise)[1].tolist() == [0, 1, 0, 0]


def test_joining_stops_where_noise_can_tell_points_apart():
    points, noise = np.array([[0.0], [0.1], [0.9]]), np.full(3, 0.01)
    how = {"linkage": "indistinguishable", "below": 1.0}
    assert agglomerate(points, np.ones(3), noise=noise, **how)[1].tolist() == [0, 0, 2]
    assert agglomerate(points, np.ones(3), noise=0 * noise, **how)[1].tolist() == [0, 1, 2]
