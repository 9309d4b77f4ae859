"""One small paid look, and levels tried on made-up rows."""

from __future__ import annotations

import json
import shutil

import pytest

from shoal.errors import BudgetExceeded, InvalidInput
from shoal.studio.workshop import MOST_POINTS, LevelView

pytestmark = pytest.mark.slow


def test_a_look_is_paid_once_and_levels_are_free(study, at_once):
    assert study.price_of_preview().epsilon == 0.1
    job = study.prepare(("very strong", "good"))
    assert (job.state, job.message) == ("done", "")
    ledger = study.studio.budget("trips")
    assert 0.09 < ledger.spent <= 0.1
    assert study.price_of_preview().paid
    strong, good = study.views()
    assert (strong.level.name, good.level.name) == ("very strong", "good")
    assert len(good.points.weights) <= MOST_POINTS
    assert len(good.centres) == len(good.sizes) == len(good.centre_errors) == 2
    assert "made-up rows" in good.predicted
    assert LevelView.from_dict(json.loads(json.dumps(good.to_dict()))) == good
    study.prepare(("very strong", "good"))  # clicked again
    study.declare(k=3)
    assert study.views() == ()
    study.prepare(("good",))  # another number of groups, on the same look
    assert len(study.view("good").centres) == 3
    zone = {"column": "who", "levels": {"p1": 0.1}, "rest": None}
    study.declare(zones=zone)
    assert "without the zones" in study.view("good").doubt  # nothing is tried anew, and it says so
    study.declare(zones=None)
    assert study.studio.budget("trips").spent == ledger.spent
    study.declare(bounds={"lon": (-75, -73), "lat": (40, 41)})
    assert not study.price_of_preview().paid


def test_a_look_whose_folder_is_lost_is_found_in_the_ledger(study, at_once):
    """Its process was killed after it had paid: the next one reads the answers back, and pays nothing."""
    study.prepare(("good",))
    spent = study.studio.budget("trips").spent
    shutil.rmtree(study.studio.home / "looks")
    (study.studio.home / "looks").mkdir()
    study.prepare(("very strong",))
    assert len(study.views()) == 2
    assert study.studio.budget("trips").spent == spent


def test_bounds_are_estimated_by_the_look_and_used_from_then_on(study, at_once):
    study.declare(bounds="estimate", preview_epsilon=1.0)
    assert study.bounds() is None
    assert study.prepare(("good",)).state == "done"
    bounds = study.bounds()
    assert bounds["lon"][0] < -74.0 < -73.8 < bounds["lon"][1]
    job = study.release("good")
    assert job.state == "done", job.message
    assert study.releases()[0].page()["bounds"]["lon"] == pytest.approx(bounds["lon"])


def test_a_look_that_is_too_dear_is_refused(study, at_once):
    study.release("moderate")
    study.release("good", study.another())
    with pytest.raises(BudgetExceeded, match="the look costs"):
        study.prepare(("good",))


def test_a_level_that_is_not_prepared_is_not_shown(study):
    with pytest.raises(InvalidInput, match="not prepared"):
        study.view("good")
