"""Releases with delta: priced, told and repeated as the ledger adds them up."""

from __future__ import annotations

import re

import pytest

from shoal import Accountant, KMeans
from shoal.accounting import rho_of
from shoal.errors import InvalidInput
from shoal.studio.workshop import level_of
from shoal.studio.workshop.preparing import Trial

pytestmark = pytest.mark.slow


@pytest.fixture
def with_delta(study):
    """The trips, with a ledger of epsilon 3 and delta 1e-5."""
    study.studio.create_dataset("loose", epsilon=3, delta=1e-5)
    return study.declare(dataset="loose", delta=1e-5)


def sure(said):
    return int(re.search(r"at most (\d+) % sure", said)[1])


def test_delta_needs_a_ledger_that_has_one(study):
    with pytest.raises(InvalidInput, match=r"delta is 1e-06, and data set 'trips' lays down epsilon = 3"):
        study.declare(delta=1e-6)
    with pytest.raises(InvalidInput, match="a probability"):
        study.declare(delta=1.0)
    assert study.draft.delta == 0


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-5, 1e-4])
def test_the_risk_before_a_release_is_that_after_it(with_delta, at_once, delta):
    """Also of a delta that is not the ledger's: the ledger counts rho, and converts it at its own."""
    study = with_delta.declare(delta=delta)
    before = study.price_of("good")
    assert before.risk.endswith(", except with probability 1e-05")
    assert study.release("good").state == "done"
    (record,) = study.releases()
    assert abs(sure(record.page()["risk"]) - sure(before.risk)) <= 1  # a fit may leave a little unspent
    assert study.price_of("good").left >= before.after
    assert record.own_delta == delta
    if delta:
        assert f"delta = {delta:g}" in record.guarantee["add-remove"]
        assert f"except with probability {delta:g}" in record.page()["risk_alone"]
        assert f"costs epsilon 1, delta {delta:g}; epsilon" in before.sentence


def test_what_is_copied_and_what_repeats_a_release_have_it(
    with_delta, at_once, tmp_path, monkeypatch, capsys
):
    assert "--delta 1e-05" in with_delta.as_command("good")
    assert "delta=1e-05" in with_delta.as_python("good")
    assert "delta 1e-05" in with_delta.summary()
    with_delta.release("good", coreset=True)
    (tmp_path / "budget.ledger").write_bytes((with_delta.studio.home / "budget.ledger").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(with_delta.releases()[0].download("repeat.py").decode(), {})
    assert "the same release" in capsys.readouterr().out


def test_centres_and_coreset_share_epsilon_and_delta(with_delta, at_once):
    with_delta.release("good", coreset=True)
    (record,) = with_delta.releases()
    for part in (record.release, record.coreset):
        assert part.certificate.guarantee["add-remove"] == "epsilon = 0.5, delta = 5e-06"
    said = dict(record.page()["promised"])["This release"]
    assert said.startswith("epsilon = 1, delta = 1e-05, half of it for the centres")


def test_levels_are_tried_with_it(with_delta, at_once, monkeypatch):
    given = []

    def made(k, **how):
        given.append(how["delta"])
        return KMeans(k, **how)

    monkeypatch.setattr("shoal.studio.workshop.preparing.KMeans", made)
    assert with_delta.prepare(("good",)).state == "done"
    assert set(given) == {1e-5}


def test_fewer_made_up_rows_stand_for_more_with_as_much_noise_beside_them(with_delta, at_once):
    """Noise of rho on n rows is beside them what noise of 100 rho is on a tenth of them."""
    with_delta.prepare(("good",))
    trial = Trial(with_delta.look(), 2, 0, rows=300_000, delta=1e-5)
    assert trial.scale == 10
    assert rho_of(trial._epsilon(level_of("good")), 1e-5) == pytest.approx(100 * rho_of(1.0, 1e-5), rel=1e-3)


def test_a_ledger_that_counts_rho_is_told_as_one(study, at_once):
    Accountant.create(study.studio.ledger, "rho", rho=0.5)
    study.declare(dataset="rho", delta=1e-6)
    price = study.price_of("good")
    assert "of rho = 0.5 (zCDP) in all" in price.sentence
    assert price.risk.endswith(", except with probability 1e-06")
    assert study.release("good").state == "done"
