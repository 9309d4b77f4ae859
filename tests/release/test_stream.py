"""A stream of days stays one small coreset: how large, how far off, and what it has spent."""

import json

import numpy as np
import pandas as pd
import pytest

from shoal import CoresetRelease, CoresetStream, PrivateCoreset
from shoal.errors import InvalidInput, InvalidRelease
from shoal.release.stream import reduced


def fit(X, **how):
    return PrivateCoreset(2, **{"epsilon": 2.0, "bounds": (-1, 1), **how}).fit(X).release_


@pytest.fixture(scope="module")
def days():
    rng = np.random.default_rng(0)
    return [fit(rng.normal(rng.uniform(-0.5, 0.5, 2), 0.1, (3000, 2))) for _ in range(5)]


@pytest.fixture
def stream(days):
    stream = CoresetStream(max_points=12)
    for day in days:
        stream.add(day)
    return stream


def test_points_stay_few_and_weights_whole(days, stream):
    merged = CoresetRelease.merge(days)
    assert len(merged.points) > 24
    # Five days are a level of four and one of one.
    assert len(stream.points) <= 2 * 12
    assert stream.n_added == 5
    assert stream.weights.sum() == pytest.approx(merged.weights.sum(), rel=1e-12)


def test_costs_are_within_what_is_stated(days, stream):
    merged, rng = CoresetRelease.merge(days), np.random.default_rng(1)
    for k in (1, 2, 5):
        for _ in range(20):
            centres = rng.uniform(-1, 1, (k, 2))
            before, after = merged.cost(centres), stream.cost(centres)
            assert before <= after * (1 + 1e-9)
            assert after <= ((np.sqrt(before) + np.sqrt(stream.moved)) ** 2 + stream.moved) * (1 + 1e-9)
    best = merged.kmeans(2).centres
    assert stream.cost(best) == pytest.approx(merged.cost(best), rel=0.1)


def test_room_enough_changes_nothing(days):
    stream = CoresetStream(max_points=10_000)
    for day in days:
        stream.add(day)
    merged, centres = CoresetRelease.merge(days), np.zeros((1, 2))
    assert stream.moved == 0
    assert stream.cost(centres) == pytest.approx(merged.cost(centres), rel=1e-12)


def test_days_added_one_by_one_or_merged_are_the_same(days, stream):
    merged = (
        CoresetStream(max_points=12).add(CoresetRelease.merge(days[:3])).add(CoresetRelease.merge(days[3:]))
    )
    np.testing.assert_array_equal(merged.points, stream.points)
    assert merged.guarantee == stream.guarantee


def test_rows_do_not_add_up_but_people_who_come_back_do(days, stream):
    assert (
        stream.guarantee
        == CoresetRelease.merge(days).guarantee
        == {"add-remove": "epsilon = 2", "replace": "epsilon = 4"}
    )
    rng, bounds = np.random.default_rng(2), {"a": (-1, 1), "b": (-1, 1)}
    people = CoresetStream(max_points=12)
    for _ in range(3):
        frame = pd.DataFrame(rng.normal(0, 0.1, (1000, 2)), columns=["a", "b"]).assign(who=np.arange(1000))
        people.add(fit(frame, bounds=bounds, unit="who", epsilon=1.5))
    assert people.guarantee == {"add-remove": "epsilon = 4.5"}
    seeded = fit(rng.normal(0, 0.1, (1000, 2)), random_state=0)
    assert stream.add(seeded).guarantee == {"any": "not private: no guarantee"}


def test_goes_on_after_saving(days, stream, tmp_path):
    half = CoresetStream(max_points=12)
    for day in days[:3]:
        half.add(day)
    half.save(tmp_path / "s")
    again = CoresetStream.load(tmp_path / "s")
    for day in days[3:]:
        again.add(day)
    np.testing.assert_array_equal(again.points, stream.points)
    np.testing.assert_array_equal(again.weights, stream.weights)
    assert again.guarantee == stream.guarantee
    assert again.moved == stream.moved
    with pytest.raises(InvalidInput, match="added before"):
        again.add(days[0])
    path = tmp_path / "s" / "stream.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_points": 13}))
    with pytest.raises(InvalidRelease, match="changed"):
        CoresetStream.load(tmp_path / "s")
    days[0].save(tmp_path / "day")
    with pytest.raises(InvalidRelease, match="not a stream"):
        CoresetStream.load(tmp_path / "day")


def test_what_cannot_be_added_leaves_the_stream_as_it_is(days, stream):
    before = repr(stream)
    wrong = fit(np.zeros((3000, 2)), bounds=(-2, 1))
    with pytest.raises(InvalidInput, match="bounds"):
        stream.add(wrong)
    with pytest.raises(InvalidInput, match="added before"):
        stream.add(days[2])
    with pytest.raises(InvalidInput, match="CoresetRelease is wanted"):
        stream.add(np.zeros((3, 2)))
    assert repr(stream) == before
    with pytest.raises(InvalidInput, match="nothing was added"):
        CoresetStream().cost([[0.0, 0.0]])
    assert repr(CoresetStream()) == "<CoresetStream, empty>"


def test_means_are_judged_in_the_scale_of_the_columns():
    """The wide column tells the two groups apart, though the narrow one is longer in scaled units."""
    points = np.array([[-0.1, -1.0], [-0.1, 1.0], [0.1, -1.0], [0.1, 1.0]])
    means, _, spread = reduced(points, np.ones(4), 2, np.array([100.0, 1.0]))
    assert sorted(means[:, 0]) == pytest.approx([-0.1, 0.1])
    assert spread == pytest.approx(4.0)
