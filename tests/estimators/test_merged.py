"""Always k rows: those that noise cannot tell apart are one, and marked."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from shoal import DPLloyd, GridKMeans, KMeans, Release, TreeKMeans, verify
from shoal.cli import main
from shoal.errors import MostlyNoise
from shoal.release.files import from_files, to_files


@pytest.fixture(scope="module")
def model():
    # One group, six centres, much noise: now and then some of them become one, and not all.
    X = np.random.default_rng(0).normal(0, 0.05, (1500, 2))
    for seed in range(40):
        found = TreeKMeans(6, epsilon=0.05, bounds=(-1, 1), n_starts=4, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoise)
            found.fit(X)
        if 1 < len(np.unique(found.merged_into_)) < 6:
            return found
    pytest.fail("nothing is ever made one")


def test_merged_rows_are_the_same_and_marked(model):
    merged = model.merged_into_
    assert merged.shape == (6,)
    assert merged.dtype == np.int64
    assert len(np.unique(merged)) < 6
    assert np.array_equal(merged[merged], merged)
    assert (merged <= np.arange(6)).all()
    assert np.array_equal(model.cluster_centers_, model.cluster_centers_[merged])
    # Others are not the same: a mark is missing nowhere.
    assert len(np.unique(model.cluster_centers_, axis=0)) == len(np.unique(merged))
    lost = 6 - len(np.unique(merged))
    assert f"{lost} of 6 groups made one with others" in str(model.certificate_)


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_centres_that_are_spread_around_a_mean_are_not_one():
    X = np.random.default_rng(0).normal(0, 0.2, (200, 14))
    found = KMeans(5, epsilon=0.1, bounds=(-1, 1), random_state=0).fit(X)
    assert found.certificate_.notes[0].startswith("around")
    assert found.merged_into_.tolist() == [0, 1, 2, 3, 4]
    assert len(np.unique(found.cluster_centers_, axis=0)) == 5
    # None rests on its own rows: no error is stated, and no group is said to hold almost all of them.
    assert np.isinf(found.release_.centre_sd).all()
    assert not any("almost all" in doubt.text for doubt in found.release_.doubts)


@pytest.mark.parametrize("kind", [DPLloyd, GridKMeans, TreeKMeans, KMeans])
def test_rows_that_are_apart_are_their_own(kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.05, (5000, 2)) for centre in (-0.6, 0.0, 0.6)])
    found = kind(3, epsilon=5.0, bounds=(-1, 1), random_state=0).fit(X)
    assert found.merged_into_.tolist() == [0, 1, 2]
    assert found.release_.merged_into.tolist() == [0, 1, 2]


def test_files_say_it_and_are_held_to_it(model, tmp_path):
    model.release_.save(tmp_path / "out")
    assert np.array_equal(Release.load(tmp_path / "out").merged_into, model.merged_into_)
    assert verify(tmp_path / "out").ok
    clusters = json.loads((tmp_path / "out" / "release.json").read_text())["clusters"]
    assert [cluster["merged_into"] for cluster in clusters] == model.merged_into_.tolist()
    columns = (tmp_path / "out" / "centres.csv").read_text().splitlines()[0].split(",")
    assert columns[-1] == "merged_into"
    # Whoever writes all files anew, with another mark, is found out by running the algorithm again.
    parts = from_files(to_files(model.release_))
    Release(**{**parts, "merged_into": np.arange(6)}).save(tmp_path / "forged")
    assert "replay" in verify(tmp_path / "forged").failed


@pytest.mark.parametrize("marks", [[0, 2, 2, 3, 4, 5], [-1, 1, 2, 3, 4, 5], [0, 0, 1, 3, 4, 5]])
def test_marks_that_cannot_be_are_refused(model, tmp_path, marks):
    parts = from_files(to_files(model.release_))
    Release(**{**parts, "merged_into": np.array(marks)}).save(tmp_path / "forged")
    assert "contents" in verify(tmp_path / "forged").failed


def test_show_marks_them(model, tmp_path):
    model.release_.save(tmp_path / "out")
    shown = CliRunner().invoke(main, ["show", str(tmp_path / "out")]).output
    row = int(np.flatnonzero(model.merged_into_ != np.arange(6))[0])
    assert f"{row} = {model.merged_into_[row]}" in shown
    assert "noise cannot tell apart" in shown
    plain = json.loads(CliRunner().invoke(main, ["show", str(tmp_path / "out"), "--json"]).output)
    assert [group["merged_into"] for group in plain["groups"]] == model.merged_into_.tolist()
