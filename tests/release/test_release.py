"""What is in a release, in memory and on disk: whole or not at all, and nothing that came from rows alone."""

import csv
import json
import os
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shoal import Certificate, DPLloyd, Release
from shoal.domain import Bounds, Domain
from shoal.errors import InvalidInput, InvalidRelease
from shoal.queries.gate.codec import digest
from shoal.queries.questions import Sums
from shoal.release import Intervals, check_free
from shoal.release.folder import FORMAT, MANIFEST, loads
from shoal.release.geojson import map_columns

FILES = {
    "release.json",
    "release.npz",
    "centres.csv",
    "centres.geojson",
    "transcript.json",
    "certificate.json",
    "certificate.txt",
    MANIFEST,
}


def test_there_and_back(model, folder):
    release, again = model.release_, Release.load(folder)
    assert {path.name for path in folder.iterdir()} == FILES
    for name in ("centres", "sizes", "centre_sd"):
        assert np.array_equal(getattr(again, name), getattr(release, name))
    for name in (field.name for field in fields(Intervals)):
        assert np.array_equal(getattr(again.intervals, name), getattr(release.intervals, name))
    assert again.size_sd == release.size_sd
    assert again.certificate == release.certificate
    assert again.transcript.digest() == release.transcript.digest() == release.certificate.transcript
    assert digest(again.domain) == digest(release.domain)
    assert again.names == ("pickup_longitude", "pickup_latitude")
    assert repr(again) == repr(release)


def test_a_loaded_release_can_be_saved_again_to_the_same_bytes(folder, tmp_path):
    Release.load(folder).save(tmp_path / "again")
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_summary_is_for_people(model, folder):
    summary = json.loads((folder / "release.json").read_text())
    assert summary["format"] == FORMAT
    assert summary["columns"] == ["pickup_longitude", "pickup_latitude"]
    assert summary["schema"]["bounds"]["lower"] == [-74.26, 40.47]
    assert summary["schema"]["scaling"] == "bounds"
    assert summary["schema"]["missing"] == "centre"
    assert summary["schema"]["unit"]["neighbours"] == "add-remove"
    assert summary["certificate"]["guarantee"] == {"add-remove": "epsilon = 2", "replace": "epsilon = 4"}
    largest = int(model.cluster_sizes_.argmax())  # the others may rest on no rows
    found = summary["clusters"][largest]
    assert found["centre"] == model.cluster_centers_[largest].tolist()
    assert found["centre_noise_low"][0] < found["centre"][0] < found["centre_noise_high"][0]
    assert (folder / "certificate.txt").read_text() == f"{model.certificate_}\n"


def test_the_table_and_the_map_say_the_same(model, folder):
    rows = list(csv.DictReader((folder / "centres.csv").read_text().splitlines()))
    features = json.loads((folder / "centres.geojson").read_text())["features"]
    assert len(rows) == len(features) == 3
    for i, (row, feature) in enumerate(zip(rows, features, strict=True)):
        centre = model.cluster_centers_[i].tolist()
        assert [float(row["pickup_longitude"]), float(row["pickup_latitude"])] == centre
        assert feature["geometry"] == {"type": "Point", "coordinates": centre}
        assert feature["properties"]["size"] == float(row["size"]) == model.release_.sizes[i]
        assert float(row["size_noise_low"]) <= max(float(row["size"]), 0.0) <= float(row["size_noise_high"])


def domain(names, low, high):
    return Domain(Bounds(tuple(map(float, low)), tuple(map(float, high))), names=names)


@pytest.mark.parametrize(
    ("names", "low", "high", "want"),
    [
        (("lon", "lat"), (-75, 40), (-73, 41), (0, 1)),
        (("Latitude", "Longitude"), (-90, -180), (90, 180), (1, 0)),
        (("lng", "fare", "lat_start"), (0, 0, 0), (1, 1, 1), (0, 2)),
        (("lon", "lat"), (-75, 40), (-73, 91), None),
        (("lon", "lat"), (-181, 40), (-73, 41), None),
        (("lon", "fare"), (-75, 40), (-73, 41), None),
        (("plateau", "salon"), (0, 0), (1, 1), None),
        (("start_lon", "start_lat", "end_lon", "end_lat"), (0,) * 4, (1,) * 4, None),  # which pair?
        (None, (0, 0), (1, 1), None),
    ],
)
def test_maps_only_where_the_columns_are_longitude_and_latitude(names, low, high, want):
    assert map_columns(domain(names, low, high)) == want


def test_no_map_without_such_columns(blobs, tmp_path):
    DPLloyd(2, epsilon=1.0, bounds=(-1, 1)).fit(blobs).release_.save(tmp_path / "release")
    assert not (tmp_path / "release" / "centres.geojson").exists()
    assert (tmp_path / "release" / "centres.csv").read_text().startswith("cluster,x0,x1,size,x0_noise_sd")


def test_columns_called_like_ours_keep_apart(blobs, tmp_path):
    frame = pd.DataFrame(blobs, columns=["size", "cluster"])
    DPLloyd(2, epsilon=1.0, bounds=(-1, 1)).fit(frame).release_.save(tmp_path / "release")
    header = (tmp_path / "release" / "centres.csv").read_text().splitlines()[0].split(",")
    assert header[:4] == ["cluster", "size", "cluster_", "size_"]
    assert len(set(header)) == len(header)


def test_unknown_errors_are_null(tmp_path):
    """Twenty rows in one corner: most clusters rest on no rows, and a constant column has no error."""
    X = np.column_stack([np.full(20, 0.9), np.full(20, 5.0)])
    model = DPLloyd(6, epsilon=20.0, bounds=([-1, 5], [1, 5]), random_state=0).fit(X)
    release = model.release_
    empty = np.isinf(release.centre_sd[:, 0])
    assert 0 < empty.sum() < 6
    assert (release.centre_sd[:, 1] == 0).all()
    assert np.isinf(release.intervals.centre_low[empty, 0]).all()
    release.save(tmp_path / "release")
    summary = json.loads((tmp_path / "release" / "release.json").read_text())
    for cluster, unknown in zip(summary["clusters"], empty, strict=True):
        assert (cluster["centre_noise_sd"][0] is None) == unknown
        assert (
            (cluster["centre_noise_low"][0] is None) == (cluster["centre_noise_high"][0] is None) == unknown
        )
        assert cluster["size_noise_sd"] > 0
    assert np.array_equal(Release.load(tmp_path / "release").centre_sd, release.centre_sd)


def test_no_rows_and_no_exact_counts_in_any_file(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (3217, 2))
    model = DPLloyd(4, epsilon=1.0, bounds=(-1, 1), random_state=7).fit(X)
    release = model.release_
    release.save(tmp_path / "release")
    chunk = release.domain.encode(list(X.T))
    questions = [e.question for e in release.transcript.entries if isinstance(e.question, Sums)]
    exact = {float(len(X))}
    for question in questions:
        labels = question.partition.assign(chunk.columns, None)
        exact |= set(np.bincount(labels, minlength=4).astype(float))
        sums = [np.bincount(labels, weights=column, minlength=4) for column in chunk.columns.astype(float)]
        exact |= set(np.concatenate(sums))
    numbers = set()
    for path in (tmp_path / "release").glob("*json"):
        text = path.read_text()
        json.loads(
            text, parse_float=lambda s: numbers.add(float(s)), parse_int=lambda s: numbers.add(float(s))
        )
        assert "3217" not in text
    with np.load(tmp_path / "release" / "release.npz", allow_pickle=False) as held:
        for name in held.files:
            numbers |= set(held[name].ravel())
    assert len(numbers) > 100
    assert not numbers & exact
    assert not numbers & set(X.ravel())
    assert not numbers & set(chunk.columns.astype(float).ravel()[:200])


# --- Written whole or not at all.


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
@pytest.mark.parametrize("moment", range(9))
def test_an_interrupt_leaves_nothing(model, tmp_path, monkeypatch, error, moment):
    calls = iter(range(100))
    real = os.fsync

    def fails(handle):
        if next(calls) == moment:
            raise error
        real(handle)

    monkeypatch.setattr(os, "fsync", fails)
    whole = moment == 8 and isinstance(error, OSError)  # a folder that cannot be synced is no reason to fail
    if whole:
        model.release_.save(tmp_path / "release")
        assert Release.load(tmp_path / "release").certificate == model.certificate_
        return
    wanted = InvalidInput if isinstance(error, OSError) else error
    with pytest.raises(wanted):
        model.release_.save(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rename_leaves_nothing(model, tmp_path, monkeypatch):
    def fails(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(InvalidInput, match=r"cannot be written to .*release: Permission denied"):
        model.release_.save(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["folder", "file", "link to nowhere"])
def test_an_existing_output_is_refused(model, tmp_path, what):
    out = tmp_path / "release"
    if what == "folder":
        out.mkdir()
    elif what == "file":
        out.write_text("precious")
    else:
        out.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="exists; give another name"):
        model.release_.save(out)
    with pytest.raises(InvalidInput, match="exists"):
        check_free(out)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_a_missing_place_is_named(model, tmp_path):
    with pytest.raises(InvalidInput, match=r"no folder .*nowhere to write release in"):
        model.release_.save(tmp_path / "nowhere" / "release")


def test_nothing_to_load_is_named(tmp_path):
    with pytest.raises(InvalidRelease, match="no release at"):
        Release.load(tmp_path / "nothing")
    with pytest.raises(InvalidRelease, match=r"manifest.json is missing"):
        Release.load(tmp_path)


def test_the_certificate_survives_json(model):
    certificate = model.certificate_
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


def test_reading_a_changed_release_is_refused_with_the_file_named(folder):
    assert np.array_equal(Release.load(folder).centres, Release.load(folder).centres)
    (folder / "centres.csv").write_text("changed")
    with pytest.raises(ValueError, match=re.escape("centres.csv was changed")):
        Release.load(folder)


def test_deep_nesting_is_not_a_trace():
    with pytest.raises(InvalidRelease, match="not JSON"):
        loads(b"[" * 200_000, "release.json")
