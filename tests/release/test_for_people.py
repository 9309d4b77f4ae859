"""Releases for people: pictures, pages, labels, signatures and groups of a synopsis."""

import base64
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import shoal
from shoal import DPLloyd, GridSynopsis, PrivateCoreset
from shoal.cli import main
from shoal.errors import InvalidInput
from shoal.release.html import About, certificate_page
from shoal.release.told import told, with_error

RNG = np.random.default_rng(3)
CITY = pd.DataFrame({"lon": RNG.normal(10.75, 0.03, 4000), "lat": RNG.normal(59.91, 0.02, 4000)})
BOUNDS = {"lon": (10.5, 11.0), "lat": (59.8, 60.0)}


@pytest.fixture(scope="module")
def model():
    return DPLloyd(3, epsilon=2.0, bounds=BOUNDS, random_state=0).fit(CITY)


@pytest.fixture(scope="module")
def synopsis():
    return GridSynopsis(epsilon=2.0, bounds=BOUNDS).fit(CITY).release_


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_a_release_predicts_what_its_model_does(model, tmp_path):
    want = model.predict(CITY)
    model.release_.save(tmp_path / "r")
    other = CITY.assign(note="x")[["note", "lon", "lat"]]
    assert np.array_equal(shoal.load(tmp_path / "r").predict(other), want)


def axes_of(figure):
    return [axes for axes in figure.axes if axes.axison]


def test_a_map_shows_every_centre_its_error_and_size(model):
    release = model.release_
    axes = axes_of(release.plot())[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lon", "lat")
    # A kilometre is as long to the north as to the east.
    assert axes.get_aspect() == pytest.approx(1 / math.cos(math.radians(59.9)))
    drawn = [collection.get_offsets() for collection in axes.collections]
    assert any(np.array_equal(points, release.centres) for points in drawn)
    bars = axes.containers[0][2][0].get_segments()
    ends = np.array([[bar[0][0], bar[1][0]] for bar in bars])
    assert ends[:, 0] == pytest.approx(release.intervals.centre_low[:, 0])
    assert ends[:, 1] == pytest.approx(release.intervals.centre_high[:, 0])
    said = " ".join(text.get_text() for text in release.plot().texts)
    assert all(with_error(max(size, 0), release.size_sd, 0) in said for size in release.sizes)


def test_many_columns_are_drawn_against_each_other_and_the_rest_is_named():
    X = RNG.normal(5, 1, (500, 7))
    figure = DPLloyd(2, epsilon=5.0, bounds=(0, 10)).fit(X).release_.plot()
    assert len(axes_of(figure)) == 10  # of five columns
    assert "2 columns not drawn" in figure.get_supxlabel()
    release = DPLloyd(2, epsilon=5.0, bounds=(0, 10)).fit(X[:, :1]).release_
    assert axes_of(release.plot())[0].get_ylabel() == "size"
    with pytest.raises(InvalidInput, match="it has x0"):
        release.plot(columns=["x9"])


def test_numbers_are_rounded_to_their_errors():
    assert with_error(12337.2, 432.7) == "12,340 ± 430"
    assert with_error(0.00012345, 0.000021) == "0.000123 ± 0.000021"
    assert with_error(-0.001, 3.0) == "0.0 ± 3.0"
    assert with_error(5.0, math.nan) == "5"


def test_rounds_and_times_are_told_as_such():
    hours = RNG.normal(23.5, 0.5, 3000) % 24
    when = pd.Timestamp("2024-05-06") + pd.to_timedelta(RNG.normal(10, 1, 3000), unit="D")
    frame = pd.DataFrame({"hour": hours, "when": when})
    bounds = {"when": ("2024-05-01", "2024-06-01")}
    release = DPLloyd(1, epsilon=20.0, bounds=bounds, cyclic={"hour": 24}).fit(frame).release_
    (line,) = release.told().lines
    header = release.told().header
    assert header == ["group", "hour 24", "when", "size"]
    assert float(line[1].split(" ")[0]) == pytest.approx(23.5, abs=0.3)
    assert line[2].startswith("2024-05-1")
    assert "±" in line[2]
    assert told(release.domain, release.centres, release.centre_sd, release.sizes, 1.0).header == header


def test_html_escapes_what_people_wrote(model, tmp_path):
    evil = "<script>alert(1)</script>"
    page = model.certificate_.to_html(title=evil, table=evil, purpose=evil, contact=evil, date=evil)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5
    frame = CITY.rename(columns={"lon": evil})
    release = DPLloyd(1, epsilon=1.0, bounds=(0, 60)).fit(frame).release_
    for text in (release._repr_html_(), release.certificate._repr_html_(), release.certificate.to_html()):
        assert "<script" not in text


def test_a_page_fetches_nothing_and_says_what_is_guaranteed(model):
    page = certificate_page(model.certificate_, About(title="Hot spots", table="trips"))
    assert "not private" in page  # it was seeded
    assert not re.search(r"https?://|src=|@import|url\(", page)
    honest = DPLloyd(2, epsilon=0.5, bounds=BOUNDS).fit(CITY).certificate_.to_html(title="Hot spots")
    assert "epsilon = 0.5" in honest
    assert "62 % sure" in honest
    assert honest.count("<h1>") == 1


def test_notebooks_show_tables(model, synopsis):
    coreset = PrivateCoreset(2, epsilon=5.0, bounds=BOUNDS).fit(CITY).release_
    for thing in (model.release_, model.certificate_, synopsis, coreset, synopsis.kmeans(2)):
        assert thing._repr_html_().count("<table") == 1


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def write(name):
        folder = tmp_path_factory.mktemp(name)
        made = Ed25519PrivateKey.generate()
        (folder / "key.pem").write_bytes(
            made.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
        )
        public = made.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
        (folder / "public.pem").write_bytes(public)
        return folder

    return write


def test_a_signature_shows_whose_it_is_and_breaks_with_any_file(model, key, tmp_path):
    ours, theirs = key("ours"), key("theirs")
    model.release_.save(tmp_path / "r")
    assert "authorship" in shoal.verify(tmp_path / "r").note
    assert shoal.verify(tmp_path / "r", signed_by=ours / "public.pem").failed == ("signature",)
    name = shoal.sign(tmp_path / "r", ours / "key.pem")
    for trusted in (None, ours / "public.pem", name):
        verdict = shoal.verify(tmp_path / "r", signed_by=trusted)
        assert verdict.ok, str(verdict)
        assert name in str(verdict)
        assert "signed them" in verdict.note
    assert shoal.verify(tmp_path / "r", signed_by=theirs / "public.pem").failed == ("signature",)
    # Another release in the same folder does not inherit it.
    manifest = tmp_path / "r" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole.replace(b'"format": 4', b'"format": 3'))
    assert "signature" in shoal.verify(tmp_path / "r").failed
    manifest.write_bytes(whole)
    signature = tmp_path / "r" / "signature.json"
    record = json.loads(signature.read_text())
    forged = bytes([base64.b64decode(record["signature"])[0] ^ 1]) + base64.b64decode(record["signature"])[1:]
    signature.write_text(json.dumps({**record, "signature": base64.b64encode(forged).decode()}))
    assert shoal.verify(tmp_path / "r").failed == ("signature",)
    signature.write_text(json.dumps({"scheme": "none"}))
    assert shoal.verify(tmp_path / "r").failed == ("signature",)


def test_what_is_no_key_is_refused(model, tmp_path):
    pytest.importorskip("cryptography")
    model.release_.save(tmp_path / "r")
    (tmp_path / "k.pem").write_text("nothing")
    with pytest.raises(InvalidInput, match="no private key"):
        shoal.sign(tmp_path / "r", tmp_path / "k.pem")
    with pytest.raises(InvalidInput, match="cannot be read"):
        shoal.sign(tmp_path / "r", tmp_path / "absent.pem")
    assert not (tmp_path / "r" / "signature.json").exists()


def test_groups_of_a_synopsis_are_saved_mapped_and_predicted(synopsis, tmp_path):
    synopsis.save(tmp_path / "s", groups=[2, 3])
    assert shoal.verify(tmp_path / "s").ok
    again = shoal.load(tmp_path / "s")
    assert again.groups == (2, 3)
    found = again.kmeans(3)
    table = pd.read_csv(tmp_path / "s" / "groups-3.csv")
    assert np.allclose(table[["lon", "lat"]], found.centres)
    points = json.loads((tmp_path / "s" / "groups-2.geojson").read_text())["features"]
    assert len(points) == 2
    labels = found.predict(CITY)
    away = ((CITY.to_numpy()[:, None] - found.centres) / [0.25, 0.1]) ** 2
    assert np.mean(labels == away.sum(axis=2).argmin(axis=1)) > 0.999
    assert axes_of(found.plot())[0].get_xlabel() == "lon"
    (tmp_path / "s" / "groups-3.csv").write_text("forged")
    assert not shoal.verify(tmp_path / "s").ok


def test_a_sample_has_names(synopsis):
    assert list(synopsis.sample(3, rng=0).columns) == ["lon", "lat"]
    assert synopsis.sample(3, rng=0, like="polars").columns == ["lon", "lat"]
    assert synopsis.sample(3, rng=0, like="pyarrow").column_names == ["lon", "lat"]
    array = synopsis.sample(3, rng=0, like="numpy")
    assert np.array_equal(array, synopsis.sample(3, rng=0).to_numpy())
    with pytest.raises(InvalidInput, match="like is"):
        synopsis.sample(3, like="excel")


def test_the_commands(model, synopsis, key, tmp_path):
    model.release_.save(tmp_path / "r")
    synopsis.save(tmp_path / "s")
    assert run("plot", tmp_path / "r", "--out", tmp_path / "r.png").exit_code == 0
    assert run("plot", tmp_path / "s", "--k", 3, "--out", tmp_path / "s.svg").exit_code == 0
    assert "--k 5" in run("plot", tmp_path / "s", "--out", tmp_path / "t.svg").output
    assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"
    about = ["--title", "Hot spots", "--table", "trips", "--purpose", "ranks", "--contact", "a@b.org"]
    assert run("certificate", tmp_path / "r", *about, "--out", tmp_path / "c.html").exit_code == 0
    page = (tmp_path / "c.html").read_text()
    assert all(word in page for word in about[1::2])
    assert shoal.verify(tmp_path / "r").fingerprint in page
    assert run("sign", tmp_path / "r", "--key", key("cli") / "key.pem").exit_code == 0
    assert "signed by" in run("verify", tmp_path / "r").output
    asked = run("ask", tmp_path / "s", "--k", 2, "--k", 3, "--save", tmp_path / "both", "--json")
    assert list(json.loads(asked.stdout)["groups"]) == ["2", "3"]
    assert shoal.load(tmp_path / "both").groups == (2, 3)
