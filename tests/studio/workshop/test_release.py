"""A release is spent once, whoever asks and however often."""

from __future__ import annotations

import json
import math
import threading

import numpy as np
import pytest

from shoal import KMeans, load, verify
from shoal.errors import BudgetExceeded, InvalidInput
from shoal.studio.workshop import Studio

pytestmark = pytest.mark.slow


def spent(study):
    return study.studio.budget("trips").spent


def test_a_double_click_two_tabs_and_a_reload_spend_once(study, at_once):
    token, jobs = study.token, []
    other = Studio(study.studio.home).study(study.id)  # another tab, of another server of the same folder
    clicks = [
        threading.Thread(target=lambda s=s: jobs.append(s.release("good", token))) for s in (study, other) * 3
    ]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    jobs.append(study.release("good"))  # the page was loaded again
    assert len({job.id for job in jobs}) == 1
    assert len(at_once) == 1
    assert 0.9 < spent(study) <= 1
    assert study.current_job().state == "done"
    assert len(study.studio.budget("trips").fits) == 1


def test_a_token_is_of_one_level_and_one_draft(study, at_once):
    old = study.token
    study.release("strong")
    with pytest.raises(InvalidInput, match="already"):
        study.release("good", old)
    study.declare(k=3)
    assert study.token != old
    assert study.current_job() is None
    with pytest.raises(InvalidInput, match="something else was declared"):
        study.release("good", "made up")
    assert study.release("strong", old).request["draft"]["k"] == 2  # nothing new
    assert len(at_once) == 1


def test_another_release_has_to_be_asked_for(study, at_once):
    study.release("strong")
    study.release("strong", study.another())
    assert len(study.releases()) == 2
    assert 0.45 < spent(study) <= 0.5


def test_a_release_that_is_too_dear_is_refused_and_costs_nothing(study, at_once):
    with pytest.raises(BudgetExceeded, match="1 too much"):
        study.release("weak")
    assert not study.price_of("weak").enough
    assert study.jobs() == ()
    assert spent(study) == 0


def test_a_second_person_approves(study, at_once):
    job = study.release("good", by="ana", approval=True)
    assert job.state == "awaiting approval"
    with pytest.raises(InvalidInput, match="second person"):
        job.approve(by="ana")
    assert at_once == []
    assert spent(study) == 0
    done = job.approve(by="ben")
    assert (done.state, done.approved_by) == ("done", "ben")
    assert job.approve(by="eve").approved_by == "ben"
    assert len(at_once) == 1
    assert study.releases()[0].approved_by == "ben"


def test_what_is_refused_is_not_begun(study, at_once):
    study.studio.memory.set("two_people", True)
    job = study.release("good", by="ana").refuse("ben", "too weak")
    assert job.state == "refused"
    assert job.approve(by="eve").state == "refused"
    assert at_once == []


def test_a_release_can_be_downloaded_verified_and_shown(study, at_once, tmp_path):
    study.release("good", coreset=True)
    (record,) = study.releases()
    names = [download.name for download in record.downloads()]
    assert {
        "centres.csv",
        "centres.geojson",
        "certificate.html",
        "report.html",
        "repeat.py",
        "repeat.ipynb",
    } <= {*names}
    assert {"release.zip", "coreset.zip", "coreset.csv"} <= {*names}
    for name in names:
        assert record.download(name)
    for name in ("../studio.db", "request.json", "transcript.json", ""):
        with pytest.raises(InvalidInput, match="has no file"):
            record.download(name)
    assert verify(record._folder / "centres").ok
    assert verify(record._folder / "coreset").ok
    assert 0.9 < spent(study) <= 1  # both together
    page = json.loads(json.dumps(record.page()))
    assert len(page["centres"]) == len(page["sizes"]) == 2
    assert str(study.source.path) not in json.dumps(page) + "".join(
        str(record.download(name)) for name in names
    )


def test_the_script_repeats_the_release_for_nothing(study, at_once, tmp_path, trips, monkeypatch, capsys):
    study.release("good")
    before = study.studio.budget("trips")
    script = study.releases()[0].download("repeat.py").decode()
    cells = json.loads(study.releases()[0].download("repeat.ipynb"))["cells"]
    (tmp_path / "budget.ledger").write_bytes((study.studio.home / "budget.ledger").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(script, {})
    assert "the same release" in capsys.readouterr().out
    exec("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), {})
    assert "the same release" in capsys.readouterr().out
    assert study.studio.budget("trips").spent == before.spent


def test_the_same_thing_in_python_gives_the_same_kind_of_release(study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(study.as_python("good"), {})
    assert load(tmp_path / "release").names == ("lon", "lat")
    exec(study.as_python(), {})
    assert load(tmp_path / "look").names == ("lon", "lat")
    assert 1.0 < spent(study) <= 1.1


def test_the_same_thing_as_a_command_does_too(study, tmp_path, monkeypatch):
    import shlex

    from click.testing import CliRunner

    from shoal.cli import main

    monkeypatch.chdir(tmp_path)
    for level, out in (("good", "release"), (None, "look")):
        words = shlex.split(study.as_command(level).replace("\\\n", " "))
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, result.output
        assert load(tmp_path / out).names == ("lon", "lat")


def test_the_risk_is_that_of_all_that_was_released(study, at_once):
    assert "52 %" in study.price_of("very strong").risk
    study.release("good")
    assert "75 %" in study.price_of("very strong").risk
    assert "73 %" in study.releases()[0].page()["risk"]
    study.release("rather strong", study.another())
    assert "82 %" in study.releases()[0].page()["risk"]
    assert "62 %" in study.releases()[0].page()["risk_alone"]
    assert "82 %" in study.releases()[0].download("report.html").decode()
    assert "95 %" in study.studio.budget("trips").risk_total


def test_a_share_is_a_name_that_can_be_taken_back(study, at_once):
    study.release("good")
    studio, (record,) = study.studio, study.releases()
    name = studio.share(record.id).shared
    assert studio.share(record.id).shared == name
    assert studio.shared(name).id == record.id
    studio.share(record.id, on=False)
    with pytest.raises(InvalidInput, match="not shared"):
        studio.shared(name)


def test_centres_are_near_the_truth(study, at_once):
    study.release("good")
    found = np.sort(np.array(study.releases()[0].page()["centres"])[:, 0])
    assert np.abs(found - [-74.0, -73.8]).max() < 0.05


ZONE = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "clinic", "epsilon": 0.25},
            "geometry": {
                "type": "Polygon",
                "coordinates": [
                    [[-73.85, 40.6], [-73.75, 40.6], [-73.75, 40.7], [-73.85, 40.7], [-73.85, 40.6]]
                ],
            },
        }
    ],
}


@pytest.mark.skipif("zones" not in KMeans._parameter_names(), reason="no estimator knows zones")
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")  # of 300 rows at 0.25: now and then
def test_zones_are_released_with_levels_of_their_own(study, at_once, tmp_path, monkeypatch, capsys):
    study.declare(zones=ZONE)
    job = study.release("good")
    assert (job.state, job.message) == ("done", "")
    (record,) = study.releases()
    page = json.loads(json.dumps(record.page()))
    assert set(page["zone"]) == {"clinic", "rest"}
    assert page["zones"]["features"][0]["properties"]["name"] == "clinic"
    assert json.loads(record.download("zones.geojson")) == ZONE
    said = dict(page["promised"])
    assert said["A row that stays in"] == "clinic: epsilon = 0.25; rest: epsilon = 1"
    assert said["If a row moves between zones"] == "epsilon = 1.25"
    assert "clinic: ε 0.25" in record.download("report.html").decode()  # on the map
    assert 0.9 < spent(study) <= 1
    assert "clinic" in record.download("certificate.txt").decode()
    (tmp_path / "budget.ledger").write_bytes((study.studio.home / "budget.ledger").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(record.download("repeat.py").decode(), {})
    assert "the same release" in capsys.readouterr().out


@pytest.mark.slow
def test_a_coreset_takes_half_of_the_price_and_pages_say_so(study, at_once):
    study.release("good", coreset=True)
    (record,) = study.releases()
    said = dict(record.page()["promised"])
    assert said["This release"] == "epsilon = 1, half of it for the centres and half for the coreset"
    sure = 1 / (1 + math.exp(-spent(study)))  # of what was spent: a fit may leave a little of its price
    assert f"at most {100 * sure:.0f} % sure" in said["What that means"]
    assert "(epsilon = 1)" in record.download("report.html").decode()
    assert 0.9 < spent(study) <= 1


def test_a_coreset_is_not_released_beside_zones(study, at_once):
    """It has one level for all rows: a row in the clinic would lose more than the clinic's."""
    study.declare(zones=ZONE)
    with pytest.raises(InvalidInput, match="one level for the whole table"):
        study.release("good", coreset=True)
    assert (spent(study), at_once) == (0, [])
