"""Somebody makes all files agree, with new hashes: only what can be recomputed tells, and it must."""

import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal import DPLloyd, verify
from shoal.accounting import Pure
from shoal.queries import NoisySums
from shoal.queries.questions import Sums
from shoal.release.files import to_files
from shoal.release.folder import write_folder


@pytest.fixture
def scratch(tmp_path):
    return tmp_path / "release"


def forged(release, scratch, **changes):
    shutil.rmtree(scratch, ignore_errors=True)
    write_folder(scratch, to_files(replace(release, **changes)))
    return verify(scratch)


def nudged(values):
    values = values.copy()
    values.flat[0] = np.nextafter(values.flat[0], np.inf)
    return values


def test_a_changed_centre_or_size_is_caught_by_the_replay(model, scratch):
    release = model.release_
    assert forged(release, scratch, centres=nudged(release.centres)).failed == ("replay",)
    assert forged(release, scratch, sizes=nudged(release.sizes)).failed == ("replay",)


def test_changed_errors_and_intervals_are_caught(model, scratch):
    release = model.release_
    assert forged(release, scratch, centre_sd=release.centre_sd / 2).failed == ("errors",)
    assert "errors" in forged(release, scratch, size_sd=release.size_sd * 0.99).failed
    for name in ("centre_low", "centre_high", "size_low", "size_high"):
        narrow = replace(release.intervals, **{name: getattr(release.intervals, name) * 1.00001})
        assert forged(release, scratch, intervals=narrow).failed == ("errors",)


def with_transcript(release, transcript):
    """Let the certificate follow, as an honest library would have issued it."""
    fields = {"transcript": transcript.digest(), "charges": transcript.charges}
    spent = sum((charge.amount for charge in transcript.charges), Fraction(0))
    fields["spent"] = f"{float(spent):.6g} of {float(transcript.budget.amount):.6g} epsilon"
    fields["budget"] = transcript.budget.describe()
    return {"transcript": transcript, "certificate": replace(release.certificate, **fields)}


def with_entry(transcript, i, **changes):
    entries = list(transcript.entries)
    entries[i] = replace(entries[i], **changes)
    return replace(transcript, entries=entries)


def last_sums(transcript):
    return max(i for i, entry in enumerate(transcript.entries) if isinstance(entry.question, Sums))


def test_a_changed_charge_is_caught(model, scratch):
    release = model.release_
    i = last_sums(release.transcript)
    charge = release.transcript.entries[i].charge
    for new in (replace(charge, amount=charge.amount / 2), replace(charge, mechanism="none"), None):
        changes = with_transcript(release, with_entry(release.transcript, i, charge=new))
        assert forged(release, scratch, **changes).failed == ("charges",)


def test_a_smaller_budget_is_caught(model, scratch):
    release = model.release_
    changes = with_transcript(release, replace(release.transcript, budget=Pure(Fraction(1))))
    assert {"charges", "budget", "certificate"} <= set(forged(release, scratch, **changes).failed)


def test_a_changed_answer_is_caught(model, scratch):
    release = model.release_
    i = last_sums(release.transcript)
    answer = release.transcript.entries[i].answer
    assert isinstance(answer, NoisySums)
    for change, check in [
        ({"sums": answer.sums + 1.0}, "replay"),
        ({"counts": answer.counts + 1.0}, "replay"),
        ({"counts": answer.counts[:-1]}, "answers"),
        ({"sum_sd": answer.sum_sd / 2}, "answers"),
        ({"costs": answer.counts, "cost_sd": 1.0}, "answers"),
    ]:
        changed = with_entry(release.transcript, i, answer=replace(answer, **change))
        assert check in forged(release, scratch, **with_transcript(release, changed)).failed


def test_a_changed_seed_or_a_question_less_is_caught(model, scratch):
    release = model.release_
    entries = release.transcript.entries
    changed = with_entry(release.transcript, 0, answer=entries[0].answer + 1)
    assert "replay" in forged(release, scratch, **with_transcript(release, changed)).failed
    shorter = replace(release.transcript, entries=entries[:-1])
    assert "replay" in forged(release, scratch, **with_transcript(release, shorter)).failed
    longer = replace(release.transcript, entries=[*entries, entries[0]])
    assert "replay" in forged(release, scratch, **with_transcript(release, longer)).failed


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": {"add-remove": "epsilon = 0.1", "replace": "epsilon = 0.2"}},
        {"budget": "epsilon = 0.1"},
        {"spent": "0.1 of 0.1 epsilon"},
        {"private": False},
        {"status": "repaired"},
        {"unit": "one person"},
        {"entropy": "dice"},
        {"rows": "public: 4000, vouched for by the user"},
        {"composition": "nothing to see here"},
        {"bounds": {"source": "estimated privately", "columns": {}}},
        {"transcript": "0" * 64},
        {"versions": {"python": "3.11"}},
        {"charges": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_certificate_that_the_transcript_does_not_bear_out_is_caught(model, scratch, change):
    release = model.release_
    verdict = forged(release, scratch, certificate=replace(release.certificate, **change))
    assert verdict.failed == ("certificate",)


def test_other_parameters_or_an_unknown_algorithm_are_caught(model, scratch):
    release = model.release_
    for key, value in [("max_iter", 4), ("n_clusters", 2), ("spending", "growing"), ("noise", "cauchy")]:
        parameters = {**release.certificate.parameters, key: value}
        changed = replace(release.certificate, parameters=parameters)
        assert "replay" in forged(release, scratch, certificate=changed).failed
    changed = replace(release.certificate, algorithm="loyd")
    verdict = forged(release, scratch, certificate=changed)
    assert {"replay", "certificate"} <= set(verdict.failed)
    assert "did you mean 'lloyd'" in str(verdict)


def test_a_seeded_release_cannot_be_passed_off_as_private(places, scratch):
    release = (
        DPLloyd(3, epsilon=2.0, bounds=([-74.26, 40.47], [-73.70, 40.92]), random_state=0)
        .fit(places)
        .release_
    )
    honest = replace(release.certificate, private=True, guarantee={"add-remove": "epsilon = 2"})
    assert forged(release, scratch, certificate=honest).failed == ("certificate",)


def test_another_schema_is_caught(model, scratch):
    release = model.release_
    wider = replace(release.domain, bounds=replace(release.domain.bounds, lower=(-75.0, 40.0)))
    assert "replay" in forged(release, scratch, domain=wider).failed
