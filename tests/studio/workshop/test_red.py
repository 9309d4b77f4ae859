"""The red layer: recorded in the ledger, told by certificates, and accepted by nothing that leaves."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InvalidInput
from shoal.queries import NotForRelease
from shoal.queries.gate.codec import digest, plain
from shoal.release.folder import dumps as release_dumps
from shoal.release.folder import write_folder
from shoal.studio.workshop import Studio, svg_map
from shoal.studio.workshop.store import dumps

RED = NotForRelease(np.array([[1.25, 2.5]]), np.array([7.0]))


def refused(do):
    with pytest.raises((InvalidInput, TypeError, ValueError, AttributeError, pa.ArrowException)) as error:
        do()
    assert "1.25" not in str(error.value)


WAYS = {
    "JSON": lambda: json.dumps(RED),
    "JSON in a record": lambda: json.dumps({"red": [RED]}),
    "JSON with a default": lambda: json.dumps(RED, default=lambda value: value.to_dict()),
    "the studio's database": lambda: dumps({"red": RED}),
    "a release's JSON": lambda: release_dumps({"red": RED}),
    "the codec": lambda: plain(RED),
    "the codec, in a list": lambda: plain((RED,)),
    "a digest": lambda: digest(RED),
    "pickle": lambda: pickle.dumps(RED),
    "pickle, protocol 0": lambda: pickle.dumps(RED, 0),
    "a copy": lambda: copy.copy(RED),
    "a deep copy": lambda: copy.deepcopy({"red": RED}),
    "an array": lambda: np.asarray(RED, dtype=np.float64),
    "an array of objects": lambda: np.array(RED),
    "arrow": lambda: pa.array(RED),
    "a list": lambda: list(RED),
    "a dictionary": lambda: dict(RED),
    "vars": lambda: vars(RED),
    "an attribute": lambda: getattr(RED, "exact" + "_centres"),
    "a release's folder": lambda: write_folder("nowhere", {"red.json": RED}),
    "a map": lambda: svg_map(("a", "b"), {"a": (0, 9), "b": (0, 9)}, RED, RED),
    "a sum": lambda: float(RED),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_accepts_it(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(WAYS[way])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_no_release_holds_it(study, at_once):
    """A release that is given red numbers as if they were its own cannot be saved."""
    from dataclasses import replace

    study.release("good")
    release = study.releases()[0].release
    for name in ("centres", "sizes", "centre_sd", "intervals", "certificate"):
        refused(lambda name=name: replace(release, **{name: RED}).save(study.studio.home / "red"))
    assert not (study.studio.home / "red").exists()


def test_its_text_says_nothing():
    assert {repr(RED), str(RED), f"{RED}", f"{RED!r:>3}"} == {"<not for release>"}


def test_its_numbers_are_taken_in_one_place_of_the_pages_alone():
    source = Path(shoal.__file__).parent
    calls = {
        path.relative_to(source).parts[:2]
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "on_the_curators_screen"
    }
    assert calls <= {("studio", "pages")}


@pytest.mark.slow
def test_looking_is_recorded_first_and_said_by_later_certificates(study, at_once):
    with pytest.raises(InvalidInput, match="switch that on"):
        study.red_centres()
    study.release("strong")
    study.look_at_real_rows(by="ana")
    study.look_at_real_rows(by="ana")  # it is on already
    red = study.red_centres().on_the_curators_screen()
    assert sum(red["sizes"]) == 600
    assert np.abs(np.sort(np.array(red["centres"])[:, 0]) - [-74.0, -73.8]).max() < 0.005
    (note,) = study.studio.budget("trips").notes
    assert note.startswith("somebody looked at the real rows on ")
    assert "levels, bounds and zones of later releases may depend on that look" in note
    study.release("strong", study.another())
    after, before = study.releases()
    assert note not in before.download("certificate.txt").decode()
    for name in ("certificate.txt", "certificate.html", "report.html"):
        assert "may depend on that look" in after.download(name).decode()


def test_a_level_tried_on_the_real_rows_is_recorded_and_leaves_no_more_than_red(study):
    with pytest.raises(InvalidInput, match="switch that on"):
        study.preview("good")
    study.look_at_real_rows(by="ana")
    tried = study.preview("good")
    assert isinstance(tried, NotForRelease)
    assert study.preview("good") is tried  # the same noise: to ask again shows nothing more
    assert len(tried.on_the_curators_screen()["centres"]) == 2
    budget = study.studio.budget("trips")
    assert (budget.spent, len(budget.notes), study.releases()) == (0, 1, ())
    study.look_at_real_rows(False)
    assert not study.studio.red


def test_looking_ends(study):
    study.look_at_real_rows()
    study.red_centres()
    study.look_at_real_rows(on=False)
    assert study.studio.red == {}
    with pytest.raises(InvalidInput, match="switch that on"):
        study.red_centres()


def test_red_centres_are_never_on_the_disk(study):
    study.look_at_real_rows()
    number = str(study.red_centres().on_the_curators_screen()["centres"][0][0])[:12]
    for path in study.studio.home.rglob("*"):
        if path.is_file():
            assert number.encode() not in path.read_bytes()


def test_a_table_without_rows_has_no_red_centres(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("x,y\n")
    studio = Studio(tmp_path / "home")
    studio.create_dataset("none", epsilon=1)
    study = studio.open(path, dataset="none", columns=("x", "y"), bounds={"x": (0, 1), "y": (0, 1)}, k=2)
    red = study.look_at_real_rows().red_centres()
    assert red.on_the_curators_screen() == {"centres": [], "sizes": []}


def test_no_answer_of_the_api_holds_it():
    pytest.importorskip("fastapi", reason="needs the extra 'studio'")
    from fastapi.encoders import jsonable_encoder
    from fastapi.responses import JSONResponse

    refused(lambda: jsonable_encoder(RED))
    refused(lambda: jsonable_encoder({"red": [RED]}))
    refused(lambda: JSONResponse(RED))
