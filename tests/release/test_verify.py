"""A fresh release verifies; a release with anything changed does not, and the failed check says where."""

import hashlib
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import DPLloyd, verify
from shoal.release.files import NAMES, to_files
from shoal.release.folder import MANIFEST, dumps, write_folder

BOUNDS = {"pickup_longitude": (-74.26, -73.70), "pickup_latitude": (40.47, 40.92)}
JSON_FILES = ("release.json", "transcript.json", "certificate.json", "centres.geojson", MANIFEST)


def rehash(folder):
    """Bring the manifest up to date, as somebody who tampers would."""
    manifest = json.loads((folder / MANIFEST).read_text())
    for name in manifest["files"]:
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(dumps(manifest))


def leaves(value, path=()):
    """Every path to a number, string, boolean or null, and what is there."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(entry, (*path, key))
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            yield from leaves(entry, (*path, i))
    else:
        yield path, value


def put(value, path, new):
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


def other(leaf):
    """A leaf of the same kind that says something else."""
    match leaf:
        case bool():
            return not leaf
        case int():
            return leaf + 1
        case float():
            return float(np.nextafter(leaf, np.inf))
        case str():
            return leaf[:-1] + ("0" if leaf[-1:] != "0" else "1")
        case None:
            return 0
    raise TypeError(leaf)


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_odd_tables_verify(tmp_path):
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "colour": rng.choice(["red", "green"], n),
            "constant": 3.0,
            "member": rng.random(n) < 0.5,
            "who": rng.integers(0, 200, n),
            "heavy": rng.random(n),
        }
    )
    frame.loc[::9, "age"] = np.nan
    given = {"age": (0, 100), "constant": (3, 3)}
    model = DPLloyd(
        3,
        epsilon=1.0,
        bounds=given,
        levels={"colour": ["red", "green"]},
        unit="who",
        max_rows=2,
        max_weight=1.0,
    )
    for i, table in enumerate((frame, frame.iloc[:0])):
        model.fit(table, sample_weight="heavy").release_.save(tmp_path / str(i))
        verdict = verify(tmp_path / str(i))
        assert verdict.ok, str(verdict)


def test_a_large_histogram_goes_to_the_arrays(places, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.queries.gate.codec._LARGE", 4)
    model = DPLloyd(3, epsilon=2.0, bounds=BOUNDS).fit(places)
    model.release_.save(tmp_path / "release")
    assert "stored" in (tmp_path / "release" / "transcript.json").read_text()
    verdict = verify(tmp_path / "release")
    assert verdict.ok, str(verdict)


def test_it_says_that_it_does_not_show_authorship(folder):
    verdict = verify(folder)
    assert "integrity, not authorship" in str(verdict)
    assert verdict.fingerprint == hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["ok"] is True


# --- Accidents: the hash of the file fails.


@pytest.fixture(scope="module")
def originals(model):
    """The files of a release, in memory."""
    return to_files(model.release_)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory, originals):
    write_folder(tmp_path_factory.getbasetemp() / "master", originals)
    return tmp_path_factory.mktemp("scratch") / "release"


def fresh(scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(scratch.parent.parent / "master", scratch)
    return scratch


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, MANIFEST])
@given(data=st.data())
@settings(max_examples=25)
def test_any_changed_byte_fails(scratch, name, data):
    folder = fresh(scratch)
    content = bytearray((folder / name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    (folder / name).write_bytes(content)
    verdict = verify(folder)
    assert not verdict.ok
    if name != MANIFEST:
        assert f"file {name}" in verdict.failed
    else:
        assert any(n in ("format", "manifest") or n.startswith("file ") for n in verdict.failed)


@pytest.mark.parametrize("name", [*NAMES, MANIFEST])
@pytest.mark.parametrize("how", ["delete", "empty", "half", "longer", "folder"])
def test_any_missing_or_cut_file_fails(folder, name, how):
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    match how:
        case "empty":
            path.write_bytes(b"")
        case "half":
            path.write_bytes(content[: len(content) // 2])
        case "longer":
            path.write_bytes(content + b"\n")
        case "folder":
            path.mkdir()
    verdict = verify(folder)
    assert not verdict.ok
    assert (f"file {name}" if name != MANIFEST else "manifest") in verdict.failed


def test_a_file_that_the_manifest_does_not_list_fails(folder):
    (folder / "rows.csv").write_text("1,2")
    assert verify(folder).failed == ("listing",)
    assert "rows.csv" in str(verify(folder))


@pytest.mark.parametrize("make", ["nothing", "file", "empty folder"])
def test_no_release_is_a_failed_check(tmp_path, make):
    path = tmp_path / "release"
    if make == "file":
        path.write_text("{}")
    elif make == "empty folder":
        path.mkdir()
    verdict = verify(path)
    assert not verdict.ok
    assert "format" in verdict.failed
    assert verdict.fingerprint is None


def test_another_format_is_named(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(dumps({**manifest, "format": 9}))
    verdict = verify(folder)
    assert "format" in verdict.failed
    assert "format 9; this Shoal reads 1 to 4" in str(verdict)


# --- Somebody who brings the manifest up to date.


def leaf_classes(originals):
    for name in JSON_FILES:
        if name == MANIFEST:
            continue
        seen = set()
        for path, leaf in leaves(json.loads(originals[name])):
            kind = (tuple("*" if isinstance(step, int) else step for step in path), type(leaf))
            if kind not in seen:
                seen.add(kind)
                yield name, path, leaf


@pytest.mark.slow
def test_any_changed_leaf_fails_even_with_new_hashes(scratch, originals):
    tried = 0
    for name, path, leaf in leaf_classes(originals):
        folder = fresh(scratch)
        content = json.loads(originals[name])
        put(content, path, other(leaf))
        (folder / name).write_text(dumps(content))
        rehash(folder)
        verdict = verify(folder)
        assert not verdict.ok, (name, path, leaf)
        assert not any(check.startswith(("file ", "manifest")) for check in verdict.failed)
        tried += 1
    assert tried > 100


@pytest.mark.parametrize("array", ["centres", "sizes", "centre_sd", "centre_low", "size_high", "level"])
def test_a_changed_array_fails_even_with_new_hashes(folder, array):
    with np.load(folder / "release.npz", allow_pickle=False) as held:
        arrays = dict(held)
    arrays[array] = np.nextafter(arrays[array], np.inf)
    np.savez(folder / "release.npz", **arrays)
    rehash(folder)
    assert "copies" in verify(folder).failed


def test_an_array_too_many_fails(folder):
    with np.load(folder / "release.npz", allow_pickle=False) as held:
        arrays = dict(held)
    np.savez(folder / "release.npz", rows=np.zeros(3), **arrays)
    rehash(folder)
    assert "copies" in verify(folder).failed


class Payload:
    """What a pickle could do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_nothing_is_ever_unpickled(folder, tmp_path):
    file = io.BytesIO()
    np.savez(file, sizes=np.array([Payload(str(tmp_path / "owned"))], dtype=object))
    (folder / "release.npz").write_bytes(file.getvalue())
    rehash(folder)
    assert "contents" in verify(folder).failed
    assert not (tmp_path / "owned").exists()
