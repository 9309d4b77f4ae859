"""Opening a table and declaring it: names and types alone are read, and nothing before a budget is there."""

from __future__ import annotations

import json
import stat

import pytest

from shoal.errors import InvalidInput, InvalidLedger
from shoal.studio.workshop import LEVELS, Studio


def test_the_demo_opens_once_with_its_budget_and_survives_a_restart(tmp_path):
    first = Studio.demo(tmp_path)
    again = Studio.demo(tmp_path)
    (study,) = again.studies()
    assert study.id == first.studies()[0].id
    assert again.budget("city").left == 10.0
    assert study.draft.missing() == ()
    json.dumps(study.to_dict())


def test_a_studio_is_closed_to_others(tmp_path):
    studio = Studio(tmp_path / "home")
    assert stat.S_IMODE(studio.home.stat().st_mode) == 0o700
    assert stat.S_IMODE((studio.home / "studio.db").stat().st_mode) == 0o600


def test_nothing_is_asked_before_there_is_a_budget(tmp_path, trips):
    study = Studio(tmp_path / "home").open(trips)
    study.declare(columns=("lon", "lat"), bounds={"lon": (-75, -73), "lat": (40, 41)})
    for ask in (
        study.price_of_preview,
        study.prepare,
        lambda: study.release("good"),
        study.look_at_real_rows,
    ):
        with pytest.raises(InvalidInput, match="budget"):
            ask()


def test_a_schema_is_that_of_the_file(tmp_path, trips):
    study = Studio(tmp_path / "home").open(trips)
    assert [(c.name, c.type, c.axis) for c in study.schema()] == [
        ("lon", "untyped", "longitude"),
        ("lat", "untyped", "latitude"),
        ("who", "untyped", None),
    ]


def test_what_cannot_be_declared_is_refused_at_once(tmp_path, trips):
    studio = Studio(tmp_path / "home")
    studio.create_dataset("trips", epsilon=1, unit="who")
    study = studio.open(trips)
    with pytest.raises(InvalidInput, match="protects a person"):
        study.declare(dataset="trips", unit=None)
    with pytest.raises(InvalidInput, match="'depth'"):
        study.declare(columns=("lon", "depth"))
    with pytest.raises(InvalidInput, match="'colour'"):
        study.declare(colour="red")
    with pytest.raises(InvalidInput, match="reversed"):
        study.declare(dataset="trips", columns=("lon",), bounds={"lon": (1, 0)})
    with pytest.raises(InvalidLedger, match="no data set"):
        study.declare(dataset="trip")
    assert study.draft.columns == ()


def test_the_ledger_says_who_is_protected(tmp_path, trips):
    studio = Studio(tmp_path / "home")
    studio.create_dataset("trips", epsilon=1, unit="who")
    assert studio.open(trips, dataset="trips").draft.unit == "who"


def test_what_is_sent_is_kept_for_its_session_and_no_longer(tmp_path, trips):
    studio = Studio(tmp_path / "home")
    with trips.open("rb") as file:
        source = studio.upload("../../trips.csv", file)
    assert source.name == "trips.csv"
    study = studio.open(source=source, session="s1")
    assert len(study.schema()) == 3
    assert studio.forget_uploads("s2") == 0
    assert studio.forget_uploads("s1") == 1
    assert not list((studio.home / "uploads").iterdir())
    assert studio.studies() == ()


@pytest.mark.parametrize(("name", "said"), [("trips.exe", "does not say what it is"), ("", "name")])
def test_a_file_that_is_no_table_is_not_kept(tmp_path, name, said):
    studio = Studio(tmp_path / "home")
    with pytest.raises(InvalidInput, match=said):
        studio.upload(name, [b"MZ"])
    assert not list((studio.home / "uploads").iterdir())


def test_a_file_that_is_too_large_is_not_kept(tmp_path):
    studio = Studio(tmp_path / "home")
    with pytest.raises(InvalidInput, match="larger than"):
        studio.upload("a.csv", [b"x" * 100] * 3, limit=250)
    assert not list((studio.home / "uploads").iterdir())


def test_levels_go_from_strong_to_weak():
    epsilons = [level.epsilon for level in LEVELS]
    assert epsilons == sorted(epsilons)
    assert next(level for level in LEVELS if level.epsilon == 1).risk == "at most 73 % sure"


ZONE = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "clinic", "epsilon": 0.1},
            "geometry": {
                "type": "Polygon",
                "coordinates": [
                    [[-73.85, 40.6], [-73.75, 40.6], [-73.75, 40.7], [-73.85, 40.7], [-73.85, 40.6]]
                ],
            },
        }
    ],
}


def test_zones_are_checked_at_once_and_fixed_before_real_rows_are_shown(study):
    with pytest.raises(InvalidInput, match="clinic"):
        study.declare(zones={**ZONE, "features": [{**ZONE["features"][0], "properties": {"name": "clinic"}}]})
    study.declare(zones=ZONE)
    assert study.price_of("good").epsilon == 1.0  # a row is in one zone: the weakest counts
    assert study.price_of(0.05).epsilon == 0.1
    study.look_at_real_rows()
    with pytest.raises(InvalidInput, match="before real rows are shown"):
        study.declare(zones=None)
    study.declare(k=3)
    study.look_at_real_rows(on=False).declare(zones=None)
