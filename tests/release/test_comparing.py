"""Two releases side by side: what changed is said, and what noise did is not."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from shoal import DPLloyd, GridSynopsis, KMeans, compare
from shoal.cli import main
from shoal.errors import InvalidInput

BOUNDS = {"x": (0, 10), "y": (0, 10)}


def month(places, epsilon=1.0, n=3000):
    # A group that stays has the same rows: what differs then is noise.
    seed = int(100 * np.sum(places)) + n
    X = np.concatenate([np.random.default_rng(7).normal(place, 0.3, (n, 2)) for place in places])
    return (
        KMeans(len(places), epsilon=epsilon, bounds=BOUNDS, random_state=seed)
        .fit(pd.DataFrame(X, columns=["x", "y"]))
        .release_
    )


HERE = [(2, 2), (8, 2), (5, 8)]


def fates(comparison):
    return sorted(change.fate for change in comparison.changes)


def test_what_moved_came_and_went_is_told():
    first = month(HERE)
    assert fates(compare(first, month([(2, 2), (8, 3), (5, 8)]))) == ["moved", "stayed", "stayed"]
    more = compare(first, month([*HERE, (8, 8)]))
    assert fates(more) == ["came", "stayed", "stayed", "stayed"]
    assert more.changed
    fewer = compare(first, month(HERE[:2]))
    assert fates(fewer) == ["stayed", "stayed", "went"]
    (gone,) = [change for change in fewer.changes if change.fate == "went"]
    assert first.centres[gone.before] == pytest.approx([5, 8], abs=0.3)
    assert gone.size == pytest.approx(3000, abs=100)


def test_a_group_that_grew_is_told():
    first, second = month(HERE), month(HERE, n=3500)
    found = compare(first, second)
    assert all(change.grew and change.size == pytest.approx(500, abs=100) for change in found.changes)
    assert "size +" in str(found)


def test_noise_alone_is_seldom_a_change():
    # The same rows each time, and groups that every fit finds: what differs is noise.
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(place, 0.02, (2000, 1)) for place in (2, 8)])
    releases = [DPLloyd(2, epsilon=0.5, bounds=(0, 10), max_iter=3).fit(X).release_ for _ in range(41)]
    alarms = sum(compare(a, b).changed for a, b in zip(releases[::2], releases[1::2], strict=False))
    assert alarms <= 5  # of 20, at one in twenty: more come once in 3,000 times


def test_groups_that_are_one_are_counted_once():
    first = month(HERE)
    order = np.argsort(first.centres[:, 1])  # (2, 2) and (8, 2) as one
    merged = first.merged_into.copy()
    merged[max(order[:2])] = min(order[:2])
    joined = replace(first, merged_into=merged)
    assert len(compare(joined, joined).changes) == 2
    assert not compare(joined, joined).changed


def test_columns_in_another_order_are_the_same_columns():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        np.concatenate([rng.normal(place, 0.1, (3000, 2)) for place in HERE]), columns=["x", "y"]
    )
    first, second = (
        KMeans(3, epsilon=20.0, bounds=BOUNDS, random_state=1).fit(X[names]).release_
        for names in (["x", "y"], ["y", "x"])
    )
    again = KMeans(3, epsilon=20.0, bounds=BOUNDS, random_state=2).fit(X).release_
    for one, other in ((first, second), (first, again)):
        for change in compare(one, other).changes:
            assert change.fate in ("stayed", "moved")
            assert all(abs(step) < 0.1 for step in change.shift.values())
    assert list(compare(first, second).changes[0].shift) == ["x", "y"]
    with pytest.raises(InvalidInput, match="other columns"):
        compare(first, DPLloyd(2, epsilon=5.0, bounds={"x": (0, 10)}).fit(X).release_)


def test_the_command(tmp_path):
    rng = np.random.default_rng(5)
    month(HERE).save(tmp_path / "january")
    month([*HERE, (8, 8)]).save(tmp_path / "february")
    result = CliRunner().invoke(main, ["compare", str(tmp_path / "january"), str(tmp_path / "february")])
    assert result.exit_code == 0, result.output
    assert "is new" in result.output
    told = CliRunner().invoke(
        main, ["compare", str(tmp_path / "january"), str(tmp_path / "february"), "--json"]
    )
    assert json.loads(told.stdout)["changed"] is True
    X = pd.DataFrame(rng.uniform(0, 10, (500, 2)), columns=["x", "y"])
    GridSynopsis(epsilon=1.0, bounds=BOUNDS).fit(X).release_.save(tmp_path / "grid")
    refused = CliRunner().invoke(main, ["compare", str(tmp_path / "grid"), str(tmp_path / "january")])
    assert refused.exit_code == 2
