"""Lu and Shen, repaired: the invariant holds for the noisy target, and odd tables are no different."""

from fractions import Fraction

import numpy as np
import pytest

from shoal import ConvergentKMeans, verify
from shoal.algorithms.convergent import Convergent
from shoal.algorithms.shared.convergent_zones import reach, sampling_zone
from shoal.domain import STEPS
from shoal.errors import InvalidInput, MostlyNoise
from shoal.queries.questions import SelectEach, Sums


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("weights", ["equal", "some"])
def test_no_candidate_is_further_from_the_target_than_the_previous_centre(d, weights):
    rng = np.random.default_rng(d)
    previous, targets = rng.uniform(-1, 1, (2, 50, d))
    targets[0] = previous[0]
    w = np.ones(d) if weights == "equal" else rng.uniform(0, 1, d) * (rng.random(d) < 0.7)
    zone = sampling_zone(previous, targets, 16, w, rng)
    assert zone.shape == (50, 16, d)
    assert np.array_equal(zone[:, 0], targets)
    assert np.abs(zone).max() <= 1

    def length(gaps):
        return np.linalg.norm(gaps * w, axis=-1)

    radius = length(targets - previous)
    assert (length(zone - targets[:, np.newaxis]) <= radius[:, np.newaxis] * (1 + 1e-9)).all()
    assert np.array_equal(zone[0], np.tile(targets[0], (16, 1)))  # no way to go: nothing to choose


def test_zones_lie_ahead():
    rng = np.random.default_rng(0)
    previous, targets = np.zeros((200, 2)), np.tile([0.3, 0.0], (200, 1))
    middle = (sampling_zone(previous, targets, 40, np.ones(2), rng) - targets[:, np.newaxis]).mean(axis=1)
    assert (middle[:, 0] > -0.03).all()  # at most a right angle off the way
    assert middle[:, 1].std() > 0.05  # in many directions


def test_the_reach_of_a_round_shrinks():
    assert [reach(t, 1, 3) for t in range(3)] == pytest.approx([1, 1, 0.8])
    assert reach(400, 16, 2) == pytest.approx(0.1)
    assert reach(400, 10**9, 1) > 1 / STEPS


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("scaling", ["bounds", "none"])
def test_it_finds_the_groups(delta, scaling, blobs):
    model = ConvergentKMeans(
        4, epsilon=20.0, delta=delta, bounds=([-1, -2], [1, 2]), scaling=scaling, random_state=3
    ).fit(blobs * [1, 2])
    found = model.cluster_centers_[np.lexsort(np.sign(model.cluster_centers_).T)]
    want = np.array([[-0.6, -1.2], [0.6, -1.2], [-0.6, 1.2], [0.6, 1.2]])
    assert found == pytest.approx(want, abs=0.1)
    assert model.cluster_sizes_.sum() == pytest.approx(2000, rel=0.1)


def test_a_round_is_a_mean_and_a_choice_and_all_costs_the_budget(tmp_path, blobs):
    model = ConvergentKMeans(3, epsilon=2.0, bounds=(-1, 1), max_iter=3).fit(blobs)
    transcript = model.release_.transcript
    kinds = [type(entry.question) for entry in transcript if entry.charge is not None]
    assert kinds == [Sums, SelectEach] * 3
    spent = [charge.amount for charge in transcript.charges]
    assert Fraction(1999, 1000) < sum(spent) <= 2
    assert float(spent[2] / spent[0]) == pytest.approx(1.2, rel=1e-4)
    assert float(spent[0] / spent[1]) == pytest.approx(4.0, rel=1e-4)
    model.release_.save(tmp_path / "release")
    assert verify(tmp_path / "release").ok
    alone = ConvergentKMeans(3, epsilon=2.0, bounds=(-1, 1), max_iter=3, n_candidates=1).fit(blobs)
    assert len(alone.release_.transcript.charges) == 3


def test_the_error_of_a_centre_covers_what_was_chosen(behind_gate, blobs):
    curator = behind_gate(blobs, epsilon=1.0)
    found = Convergent(4, max_iter=2).run(curator)
    sums, chosen = curator.transcript.entries[-2:]
    kept = sums.answer.counts > 4 * sums.answer.count_sd
    mean = sums.question.of.anchors + sums.answer.sums / np.maximum(sums.answer.counts, 1)[:, np.newaxis]
    moved = np.abs(found.centres - np.clip(mean, -1, 1))
    assert (found.centre_sd[kept] >= moved[kept] - 2 / STEPS).all()
    assert (chosen.answer.indices > 0).any()  # else nothing was tested


@pytest.mark.parametrize(
    "table",
    [np.zeros((0, 1)), np.array([[0.3]]), np.full((50, 1), 0.3), np.zeros((0, 3)), np.full((5, 2), np.nan)],
    ids=["no rows", "one row", "all equal", "no rows of three", "all missing"],
)
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables_are_like_any_other(table, k):
    model = ConvergentKMeans(k, epsilon=1.0, bounds=(-1, 1)).fit(table)
    assert model.cluster_centers_.shape == (k, table.shape[1])
    assert np.abs(model.cluster_centers_).max() <= 1
    assert len(model.release_.transcript.charges) == 10


def test_too_little_budget_is_warned_of_from_public_values(blobs):
    with pytest.warns(MostlyNoise, match="mostly noise"):
        ConvergentKMeans(4, epsilon=0.001, bounds=(-1, 1), n_rows=2000).fit(blobs)


@pytest.mark.parametrize("how", [{"max_iter": 0}, {"n_candidates": 0}, {"max_iter": "auto"}])
def test_bad_parameters(how, blobs):
    with pytest.raises(InvalidInput, match=next(iter(how))):
        ConvergentKMeans(2, epsilon=1.0, bounds=(-1, 1), **how).fit(blobs)
