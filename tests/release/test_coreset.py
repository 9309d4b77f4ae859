"""A released coreset: saved, loaded, verified, merged, and on a map."""

import json

import numpy as np
import pandas as pd
import pytest

from shoal import CoresetRelease, PrivateCoreset, verify
from shoal.errors import InvalidInput, InvalidRelease
from shoal.release.folder import MANIFEST


def fit(X, **how):
    return PrivateCoreset(2, **{"epsilon": 2.0, "bounds": (-1, 1), **how}).fit(X).release_


@pytest.fixture(scope="module")
def days():
    rng = np.random.default_rng(0)
    return [rng.normal(m, 0.1, (4000, 2)) for m in (-0.5, 0.5)]


@pytest.fixture(scope="module")
def releases(days):
    return [fit(day) for day in days]


def test_saved_and_loaded(releases, tmp_path):
    both = CoresetRelease.merge(releases)
    for i, release in enumerate((releases[0], both)):
        release.save(tmp_path / str(i))
        again = CoresetRelease.load(tmp_path / str(i))
        assert np.array_equal(again.points, release.points)
        assert np.array_equal(again.weights, release.weights)
        assert again.guarantee == release.guarantee
        found = verify(tmp_path / str(i))
        assert found.ok, str(found)
    assert "charges of table 1" in {check.name for check in found.checks}


@pytest.mark.parametrize("name", ["coreset.json", "coreset.csv", "transcript.json", "certificate.txt"])
def test_a_changed_file_is_found(releases, tmp_path, name):
    releases[0].save(tmp_path / "r")
    path = tmp_path / "r" / name
    path.write_bytes(path.read_bytes().replace(b"0", b"1"))
    assert not verify(tmp_path / "r").ok
    with pytest.raises(InvalidRelease, match="changed"):
        CoresetRelease.load(tmp_path / "r")


def test_a_forged_manifest_does_not_help(releases, tmp_path):
    import hashlib

    releases[0].save(tmp_path / "r")
    path = tmp_path / "r" / "coreset.json"
    text = json.loads(path.read_text())
    text["weights"][0] += 1000.0
    old = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(json.dumps(text))
    manifest = tmp_path / "r" / MANIFEST
    manifest.write_text(manifest.read_text().replace(old, hashlib.sha256(path.read_bytes()).hexdigest()))
    assert verify(tmp_path / "r").failed == ("copies",)


def test_merging_adds_rows_but_not_losses(days, releases):
    both = CoresetRelease.merge(releases)
    assert both.weights.sum() == pytest.approx(8000, rel=0.05)
    assert both.guarantee == {"add-remove": "epsilon = 2", "replace": "epsilon = 4"}
    centres = both.kmeans(2).centres
    assert np.sort(centres[:, 0]) == pytest.approx([-0.5, 0.5], abs=0.05)
    three = CoresetRelease.merge([both, fit(days[0], epsilon=3.0)])
    # Replaced within the weakest part: a row goes and a row comes, at 3 each.
    assert three.guarantee == {"add-remove": "epsilon = 3", "replace": "epsilon = 6"}
    assert len(three.parts) == 3
    assert repr(three).startswith("<CoresetRelease of")


def test_a_person_may_be_in_every_table(days):
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    frames = [pd.DataFrame(day, columns=["a", "b"]).assign(who=np.arange(4000)) for day in days]
    parts = [fit(frame, bounds=bounds, unit="who", epsilon=1.5) for frame in frames]
    assert CoresetRelease.merge(parts).guarantee == {"add-remove": "epsilon = 3"}
    apart = [fit(day, delta=1e-6) for day in days]
    assert CoresetRelease.merge(apart).guarantee == {"add-remove": "epsilon = 2, delta = 1e-06"}


@pytest.mark.parametrize(("delta", "says"), [(0, "epsilon = 5"), (1e-6, "epsilon = 5, delta = 2e-06")])
def test_a_row_replaced_may_leave_one_table_and_enter_another(days, delta, says):
    parts = [fit(days[0], epsilon=e, delta=delta, neighbours="replace") for e in (2.0, 3.0, 1.0)]
    assert CoresetRelease.merge(parts).guarantee == {"replace": says}


def test_a_seed_is_no_guarantee(days, releases):
    seeded = fit(days[0], random_state=0)
    assert CoresetRelease.merge([releases[0], seeded]).guarantee == {"any": "not private: no guarantee"}


def test_what_cannot_be_merged(days, releases):
    for how, says in (({"bounds": (-2, 1)}, "bounds"), ({"neighbours": "replace"}, "unit")):
        with pytest.raises(InvalidInput, match=says):
            CoresetRelease.merge([releases[0], fit(days[1], **how)])
    with pytest.raises(InvalidInput, match="nothing to merge"):
        CoresetRelease.merge([])
    with pytest.raises(InvalidInput, match="itself"):
        CoresetRelease.merge([releases[0], releases[0]])


def test_questions_that_make_no_sense(releases):
    release = releases[0]
    for centres in ([[1.0]], [1.0, 2.0], np.zeros((0, 2)), [[np.nan, 0.0]]):
        with pytest.raises(InvalidInput, match="centres"):
            release.cost(centres)
    for k in (0, 1.5, True):
        with pytest.raises(InvalidInput, match="n_clusters"):
            release.kmeans(k)


def test_costs_are_in_the_scaling_of_the_fit(days):
    stretched = days[0] * [1, 100]
    how = {"bounds": ([-1, -100], [1, 100]), "epsilon": 20.0}
    for scaling in ("bounds", "none"):
        release = fit(stretched, scaling=scaling, **how)
        centres = np.array([[0.0, 20.0]])
        gaps = (stretched - centres) / ([1, 100] if scaling == "bounds" else [1, 1])
        assert release.cost(centres) == pytest.approx((gaps**2).sum(), rel=0.1)


def test_on_a_map(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"lon": rng.normal(-73.97, 0.01, 3000), "lat": rng.normal(40.75, 0.01, 3000)})
    release = fit(X, bounds={"lon": (-74.1, -73.9), "lat": (40.7, 40.9)})
    points = release.to_geojson()
    assert len(points["features"]) == len(release.weights)
    assert points["features"][0]["geometry"]["coordinates"] == release.points[0].tolist()
    assert points["features"][0]["properties"]["weight"] > 0
    release.save(tmp_path / "map")
    assert json.loads((tmp_path / "map" / "coreset.geojson").read_text()) == points
    assert verify(tmp_path / "map").ok
