"""What must hold of everything that can be fitted; and nothing that can be is missing from the zoo."""

import inspect
import pickle
import typing
from typing import Literal

import numpy as np
import pytest
from sklearn.base import clone

import shoal
import zoo
from shoal import verify
from shoal.algorithms import PIPELINE_STEPS, REGISTRY, SYNOPSES, Status
from shoal.algorithms.kmeans.kmeans import Route
from shoal.audit.recorded import recorded
from shoal.errors import InvalidInput
from shoal.estimators.explanation import explain
from shoal.estimators.fitting import PrivateEstimator
from shoal.estimators.parameters import Common
from shoal.estimators.steps import PrivateStep
from shoal.queries.gate.codec import digest
from shoal.release.folder import MANIFEST
from shoal.release.loading import load

ALL = [*zoo.MODELS, *zoo.SYNOPSES, *zoo.STEPS]
CHECKS = {"format", "manifest", "copies", "charges", "budget", "answers", "certificate"}

# Words that a parameter's type has and its class refuses.
REFUSED = {"noise": {"cylinder"}}


# --- Of everything in the zoo.


@pytest.mark.slow
@pytest.mark.parametrize("member", ALL, ids=str)
def test_its_release_verifies_and_is_the_same_when_it_was_saved(member, tmp_path):
    member.fitted.release_.save(tmp_path / "one")
    verdict = verify(tmp_path / "one")
    assert verdict.ok, str(verdict)
    more = {"replay", "errors"} if member in zoo.MODELS else set()
    # Of blocks there is one of each for every table.
    assert CHECKS | more <= {check.name.split(" of table")[0] for check in verdict.checks}
    load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one" / MANIFEST).read_bytes() == (tmp_path / "two" / MANIFEST).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("member", ALL, ids=str)
def test_it_is_the_same_when_it_was_pickled(member):
    model = member.fitted
    again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    assert digest(again.certificate_) == digest(model.certificate_)
    assert digest(again.release_) == digest(model.release_)
    if hasattr(model, "transform"):
        rows = zoo.table(member.columns, 50)
        assert np.array_equal(model.transform(rows), again.transform(rows))


@pytest.mark.parametrize("member", zoo.STEPS, ids=str)
def test_a_step_has_a_certificate_that_its_transcript_bears_out(member):
    step = member.fitted
    certificate, transcript = step.certificate_, step.transcript_
    assert (step.release_.certificate, step.release_.transcript) == (certificate, transcript)
    assert (certificate.private, certificate.status) == (True, "proven")
    assert certificate.transcript == transcript.digest()
    assert certificate.charges == transcript.charges
    spent = sum(charge.amount for charge in certificate.charges)
    assert 0.99 * transcript.budget.amount < spent <= transcript.budget.amount
    assert certificate.guarantee[member.model.neighbours] == transcript.budget.describe()
    # What was learnt follows from the transcript: run again, it is the same.
    again = clone(step)
    again._take(recorded(step).again()[0])
    learnt = [name for name in vars(step) if name.endswith("_") and hasattr(again, name)]
    assert len(learnt) > 0
    assert all(digest(getattr(again, name)) == digest(getattr(step, name)) for name in learnt)


@pytest.mark.slow
@pytest.mark.parametrize("member", ALL, ids=str)
def test_it_is_explained_without_a_row(member):
    names = [f"x{i}" for i in range(member.columns)]
    certificate = member.fitted.certificate_
    if certificate.status == Status.CLAIMED_ONLY.value:
        with pytest.raises(InvalidInput, match="nothing to explain"):
            explain(member.model, names, zoo.ROWS)
        return
    plan = explain(member.model, names, zoo.ROWS)
    assert (plan.algorithm, plan.budget) == (certificate.algorithm, certificate.budget)
    # What comes first does not hang on any answer, and a fit spends no more than its plan.
    assert plan.charges[0] == certificate.charges[0]
    planned, spent = (float(sum(c.amount for c in of)) for of in (plan.charges, certificate.charges))
    assert spent <= planned * (1 + 2**-7)  # a share of a part is rounded down by less


@pytest.mark.parametrize("member", [m for m in zoo.MODELS if m.goes], ids=str)
def test_it_goes_the_way_that_it_is_there_for(member):
    assert member.fitted.certificate_.notes[0].startswith(member.goes)


# --- Nothing is missing.


def test_every_public_estimator_is_in_the_zoo():
    public = {getattr(shoal, name) for name in shoal.__all__}
    kinds = {
        kind for kind in public if inspect.isclass(kind) and issubclass(kind, PrivateEstimator | PrivateStep)
    }
    assert {member.kind for member in ALL} == kinds
    assert len(kinds) > 20


def test_every_row_of_the_registries_is_in_the_zoo():
    rooms = ((zoo.MODELS, REGISTRY), (zoo.SYNOPSES, SYNOPSES), (zoo.STEPS, PIPELINE_STEPS))
    for members, registry in rooms:
        named = {(m.kind.__name__, m.fitted.certificate_.algorithm) for m in members}
        assert named == {(row.estimator, name) for name, row in registry.items()}


def test_every_route_of_the_flagship_is_in_the_zoo():
    ways = [m.fitted.certificate_.notes for m in zoo.MODELS if m.kind is shoal.KMeans]
    assert {notes[0].split(":")[0] for notes in ways} == set(typing.get_args(Route))
    # Away from the middle, a tree is left: for directions, and for centres around the mean.
    left = [notes for notes in ways if any("away from the middle" in note for note in notes)]
    assert {"were looked for along" in notes[-1] for notes in left} == {True, False}
    # Centres around the mean stay where they are, or are moved to their rows.
    around = [notes for notes in ways if notes[0].startswith("around")]
    assert {"and moved to the rows" in notes[-1] for notes in around} == {True, False}


# These need columns with names, or make more columns of a table than it has, and those that look at the zoo
# take its tables as they are: tests/estimators/test_columns.py has them.
ELSEWHERE = {"scaling": {"earth"}, "missing": {"indicator"}}


def words(hint):
    """Return the literal words, and the truth values, that a type allows."""
    if hint is bool:
        return {True, False}
    if typing.get_origin(hint) is Literal:
        return set(typing.get_args(hint))
    return set().union(*map(words, typing.get_args(hint)))


def options():
    """Every word that an own parameter of a public class may be, and those of the common ones once."""
    for kind in dict.fromkeys(member.kind for member in ALL):
        hints = typing.get_type_hints(kind.__init__)
        for name in inspect.signature(kind).parameters:
            if name in hints and (issubclass(kind, PrivateStep) or name not in Common.__annotations__):
                for word in words(hints[name]) - REFUSED.get(name, set()):
                    yield kind, name, word
    for name, hint in typing.get_type_hints(Common).items():
        for word in words(hint) - ELSEWHERE.get(name, set()):
            yield PrivateEstimator, name, word


@pytest.mark.parametrize(("kind", "name", "word"), sorted(options(), key=str))
def test_every_option_is_in_the_zoo(kind, name, word):
    tried = [getattr(m.model, name) for m in ALL if issubclass(m.kind, kind) and hasattr(m.model, name)]
    assert any(type(value) is type(word) and value == word for value in tried)
