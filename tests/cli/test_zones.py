"""Zones on the command line: a file of polygons, levels of a column, and what is refused before it costs."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from shoal.cli import main

BOUNDS = ["--bounds", "lon=0:1", "--bounds", "lat=0:1", "--epsilon", "2", "--algorithm", "lloyd"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((3000, 2)), columns=["lon", "lat"])
    frame["ward"] = np.where(frame["lon"] < 0.5, "west", "east")
    frame.to_csv(tmp_path / "t.csv", index=False)
    corners = [[0.1, 0.1], [0.6, 0.1], [0.6, 0.6], [0.1, 0.6], [0.1, 0.1]]
    named = {"name": "clinic", "epsilon": 1.0}
    clinic = {
        "type": "Feature",
        "properties": named,
        "geometry": {"type": "Polygon", "coordinates": [corners]},
    }
    (tmp_path / "z.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [clinic]}))
    over = {**clinic, "properties": {"name": "home", "epsilon": 1.0}}
    (tmp_path / "over.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": [clinic, over]})
    )
    del named["epsilon"]
    (tmp_path / "none.geojson").write_text(json.dumps(clinic))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, list(words))


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_zones_are_explained_fitted_shown_verified_and_labelled(here):
    said = run("explain", "t.csv", *BOUNDS, "--k", "4", "--zones", "z.geojson", "--rows", "3000", "--json")
    assert said.exit_code == 0, said.output
    plan = json.loads(said.output)
    assert plan["zones"]["clinic"]["budget"] == "epsilon = 1"
    assert plan["zones"]["clinic"]["rows"] == pytest.approx(750, rel=0.02)
    said = run("explain", "t.csv", *BOUNDS, "--k", "4", "--zones", "z.geojson", "--rows", "3000")
    assert "Together epsilon = 2" in said.output
    said = run("fit", "t.csv", *BOUNDS, "--k", "clinic=1,rest=3", "--zones", "z.geojson", "--out", "r")
    assert said.exit_code == 0, said.output
    assert "clinic: epsilon = 1 for a row in it" in " ".join(said.output.split())
    assert run("verify", "r").exit_code == 0
    shown = json.loads(run("show", "r", "--json").output)
    assert [group["zone"] for group in shown["groups"]] == ["clinic", "rest", "rest", "rest"]
    assert shown["zones"]["rest"]["epsilon"] == 2.0
    assert run("predict", "r", "t.csv", "--out", "labels.csv").exit_code == 0
    labels = pd.read_csv("labels.csv")["label"]
    table = pd.read_csv("t.csv")
    inside = table["lon"].between(0.1, 0.6) & table["lat"].between(0.1, 0.6)
    assert ((labels == 0) == inside).all()
    kinds = [f["geometry"]["type"] for f in json.loads((here / "r/centres.geojson").read_text())["features"]]
    assert kinds == ["Point"] * 4 + ["MultiPolygon"]


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_levels_of_a_column_are_zones_and_the_column_is_not_clustered(here):
    said = run("fit", "t.csv", *BOUNDS, "--k", "4", "--zones", "ward=west:0.5", "--out", "r")
    assert said.exit_code == 0, said.output
    shown = json.loads(run("show", "r", "--json").output)
    assert shown["zones"]["west"]["epsilon"] == 0.5
    assert set(shown["groups"][0]["centre"]) == {"lon", "lat"}
    assert run("verify", "r").exit_code == 0


@pytest.mark.parametrize(
    ("zones", "why"),
    [
        (["over.geojson"], "zones 'clinic' and 'home' overlap"),
        (["none.geojson"], "zone 'clinic' has no level"),
        (["lost.geojson"], "cannot be read"),
        (["wird=west:1"], "'wird', which the table does not have"),
        (["ward=west"], "is not level:epsilon"),
        (["z.geojson", "--zone-columns", "lon"], "are not two columns"),
    ],
)
def test_zones_that_are_wrong_are_refused_and_nothing_is_written(here, zones, why):
    said = run("fit", "t.csv", *BOUNDS, "--k", "4", "--zones", *zones, "--out", "r")
    assert said.exit_code not in (0, 4)
    assert why in " ".join(said.output.split())
    assert not (here / "r").exists()


def test_columns_of_zones_need_zones(here):
    said = run("fit", "t.csv", *BOUNDS, "--k", "4", "--zone-columns", "lon,lat", "--out", "r")
    assert "goes with --zones" in said.output
