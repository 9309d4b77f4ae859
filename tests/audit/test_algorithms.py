"""Every algorithm of the registry passes every audit: at epsilon 0.5 and 1, and but for black boxes at 3."""

import warnings

import numpy as np
import pytest

import zoo
from shoal import DPLloyd, PrivateBounds, PrivateCoreset, PrivateScaler, PrivTreeSynopsis
from shoal.algorithms import REGISTRY, Status
from shoal.audit import audit_replay, pair_loss
from shoal.audit.audited import AUDITED, OTHERS
from shoal.audit.canaries import CANARIES, canary
from shoal.audit.choices import audit_choosers
from shoal.audit.contents import audit_model_contents
from shoal.audit.distinguish import epsilon_resolved
from shoal.audit.exact import audit_laws_exactly
from shoal.audit.laws import audit_samplers
from shoal.audit.recorded import recorded
from shoal.audit.relevance import CONCERNS, relevant
from shoal.audit.subject import OTHER_WAYS, Subject
from shoal.audit.suite import EPSILONS, cases_for
from shoal.errors import MostlyNoise
from shoal.mechanisms import SeededEntropy

ALGORITHMS = [name for name, row in REGISTRY.items() if row.status is not Status.CLAIMED_ONLY]
# About 2,000 runs a case, fewer when there are many algorithms: the whole takes two cores a minute or two.
# `shoal audit --all` makes many more, on all canaries that are about an algorithm.
RUNS = min(1000, 5000 // len(ALGORITHMS))
SURE = 1 - 1e-6
# So many runs can prove a loss of 2.3 at most: at epsilon 3 nothing could fail, whatever it does.
CASES = [(0.5, "alone"), (1.0, "empty"), (1.0, "corner")]


def test_so_many_runs_can_prove_a_leak_in_every_case():
    assert epsilon_resolved(RUNS, SURE) > 2 * max(epsilon for epsilon, _ in CASES)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "name"), CASES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_neighbours_cannot_be_told_apart(algorithm, epsilon, name):
    subject = Subject(algorithm, epsilon, {}, seed=0)
    found = subject.black_box(canary(name, epsilon), subject.delta(), RUNS, SURE)
    assert found.passed, found.detail


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_question_loses_more_than_it_is_charged_on_any_canary(algorithm, epsilon):
    subject = Subject(algorithm, epsilon, {}, seed=0)
    found = subject.exact(cases_for(algorithm, epsilon, every=True), subject.delta())
    assert found.passed, found.detail


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_noise_runs_and_models_are_what_they_should_be(algorithm, epsilon):
    subject = Subject(algorithm, epsilon, {}, seed=0)
    model = subject.estimator(canary("corner"), subject.delta(), n_clusters=2)
    for found in (subject.law(model, fits=60), subject.replay(model), subject.contents(model)):
        assert found.passed, found.detail


PROMISING = [m for m in (*zoo.MODELS, *zoo.SYNOPSES, *zoo.STEPS) if not m.given.get("published")]


@pytest.mark.slow
@pytest.mark.parametrize("member", PROMISING, ids=str)
def test_no_question_of_the_zoo_loses_more_than_it_is_charged(member):
    # Every variant and route, on its own table: without the row farthest out, or with it moved across.
    record, rows = recorded(member.fitted), zoo.table(member.columns)
    _, domains = record.again()
    far = int(np.abs(rows).sum(axis=1).argmax())
    other = np.delete(rows, far, axis=0)
    if member.given.get("neighbours") == "replace":
        other = np.insert(other, far, -rows[far], axis=0)
    found = pair_loss(record.transcript, rows, other, domains)
    assert found.passed, found
    known, asked = map(int, found.what.removesuffix(" questions").split(" of "))
    # The growth of a tree is too large to enumerate: tests/privacy/test_trees.py does that.
    grown = sum("halved" in charge.question for charge in record.transcript.charges)
    assert known == asked - grown


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("other", OTHERS)
def test_synopses_and_steps_lose_no_more_than_they_are_charged(other, neighbours):
    subject = Subject(other, 1.0, {}, seed=0)
    pairs = [pair for pair in cases_for(other, 1.0, every=True) if pair.neighbours == neighbours]
    found = subject.exact(pairs, subject.delta())
    assert found.passed, found.detail


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_synopses_and_steps_pass_every_other_audit(other):
    subject = Subject(other, 1.0, {}, seed=0)
    model = subject.estimator(canary("corner"), subject.delta(), n_clusters=2)
    for found in (subject.law(model, fits=60), subject.replay(model), subject.contents(model)):
        assert found.passed, found.detail
    told = subject.black_box(canary("widest"), subject.delta(), 120, SURE)
    assert told.passed, told.detail


def test_estimated_bounds_are_audited_where_they_are_asked_about():
    # The first questions are about magnitudes, the later ones about rows within bounds that were found.
    pair = canary("widest")
    model = PrivateBounds(epsilon=50.0, random_state=0).fit(pair.D)
    record = recorded(model)
    _, domains = record.again()
    assert len({domain.bounds for domain in domains}) >= 2  # a zoom may leave them as they are
    found = pair_loss(record.transcript, pair.D, pair.D_prime, domains)
    assert found.passed, found
    assert found.what == "6 of 6 questions"
    assert found.true > 0.5 * found.charged


def test_a_step_that_keeps_something_does_not_replay(monkeypatch):
    rows = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    step = PrivateScaler(epsilon=9.0, bounds=(-1, 1))
    assert audit_replay(step, rows, seed=0).passed
    take = PrivateScaler._take

    def cheat(self, found):
        take(self, found)
        self.mean_ = self.mean_ + getattr(self, "n_features_in_", 0) * next(secret)

    secret = iter(np.arange(1.0, 9.0))  # the exact mean, say: it is another one without the rows
    monkeypatch.setattr(PrivateScaler, "_take", cheat)
    assert not audit_replay(step, rows, seed=0).passed


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("algorithm", OTHER_WAYS)
def test_other_questions(algorithm, epsilon):
    subject = Subject(algorithm, epsilon, OTHER_WAYS[algorithm], seed=0)
    model = subject.estimator(canary("corner"), 0.0, n_clusters=2)
    for found in (subject.exact([canary("corner"), canary("order")], 0.0), subject.replay(model)):
        assert found.passed, found.detail


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("member", [m for m in zoo.SYNOPSES if m.kind is not PrivateCoreset], ids=str)
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_synopsis(member, delta):
    model = member.model.set_params(epsilon=1.0, delta=delta, bounds=(-1, 1))
    assert audit_model_contents(model, seed=0).passed
    for pair in (canary("corner"), canary("jump", 1.0)):
        transcript = model.set_params(random_state=0).fit(pair.D).release_.transcript
        found = pair_loss(transcript, pair.D, pair.D_prime)
        assert found.passed, found
        # A tree is too large to enumerate here: tests/privacy/test_trees.py does that.
        asked = len(transcript.charges)
        known = asked - 1 if member.kind is PrivTreeSynopsis else asked
        assert found.what == f"{known} of {asked} questions"


@pytest.mark.slow
@pytest.mark.parametrize("search", ["windows", "published"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_a_coreset(search, neighbours, delta):
    # The transcript says which rows are taken away, so the loss is computed down to the last round.
    rng = np.random.default_rng(0)
    D = rng.choice([-0.9, 0.0, 0.3, 1.0], (60, 2))
    D_prime = np.vstack([D[1:], [0.3, -0.9]]) if neighbours == "replace" else D[1:]
    model = PrivateCoreset(2, epsilon=30.0, delta=delta, bounds=(-1, 1), search=search, neighbours=neighbours)
    assert audit_model_contents(model, seed=0).passed
    for one, other in ((D, D_prime), (D_prime, D)):
        transcript = model.set_params(random_state=0).fit(one).release_.parts[0].transcript
        found = pair_loss(transcript, one, other)
        assert found.passed, found
        assert found.true > 0.02 * found.charged


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "split"])
def test_other_noise_of_lloyd(noise):
    subject = Subject("lloyd", 1.0, {"noise": noise}, seed=0)
    found = subject.black_box(canary("corner"), 0.0, 500, SURE)
    assert found.passed, found.detail
    assert subject.exact([canary("corner"), canary("outlier")], 0.0).passed


@pytest.mark.slow
def test_a_canary_is_nearly_tight():
    # An audit that never comes near the claim would let anything pass.
    subject = Subject("lloyd", 3.0, {}, seed=0)
    found = subject.black_box(canary("empty"), 0.0, 1000, 0.95)
    assert 1.5 < found.measured < 3.0
    assert subject.exact([canary("empty")], 0.0).measured == pytest.approx(3.0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_gates_noise(epsilon):
    assert all(loss.passed for loss in audit_laws_exactly(epsilon))
    for law in audit_samplers(epsilon, draws=5000, entropy=SeededEntropy(1)):
        assert law.passed, law
    for law in audit_choosers(epsilon, draws=300, entropy=SeededEntropy(1)):
        assert law.passed, law


def test_every_algorithm_has_its_canaries_and_every_canary_its_algorithms():
    named = [name for concern in CONCERNS for name in concern.canaries]
    assert sorted(named) == sorted(CANARIES)  # each once, with one reason
    assert all(set(concern.algorithms) <= set(AUDITED) and concern.why for concern in CONCERNS)
    for name in AUDITED:
        assert {"empty", "alone", "corner"} <= set(relevant(name))
        assert {pair.name for pair in cases_for(name, 1.0)} == set(relevant(name))
    assert {name for one in AUDITED for name in relevant(one)} == set(CANARIES)


def test_a_named_canary_is_tried_on_anything_that_can_take_it():
    assert "widest" not in relevant("grid")
    assert [pair.name for pair in cases_for("grid", 1.0, ["widest"])] == ["widest"]
    assert len(cases_for("grid", 1.0, every=True)) == len(CANARIES)


@pytest.mark.parametrize("name", CANARIES)
def test_canaries_are_neighbours(name):
    pair = canary(name, 1.0)
    more = len(pair.D_prime) - len(pair.D)
    if pair.name == "person":
        assert set(pair.D_prime["who"].to_pylist()[:5]) == set(pair.D["who"].to_pylist())
    elif pair.neighbours == "replace":
        assert more == 0
        assert np.array_equal(pair.D[1:], pair.D_prime[:-1])
    else:
        assert more == 1
        rest = pair.D_prime[1:] if name == "order" else pair.D_prime[:-1]
        assert np.array_equal(rest, pair.D)


def test_the_jump_is_where_a_grid_changes():
    for epsilon in EPSILONS:
        pair = canary("jump", epsilon)
        before, after = (round(np.sqrt(len(table) * epsilon / 10)) for table in (pair.D, pair.D_prime))
        assert (before, after) == (7, 8)


@pytest.mark.parametrize("how", [{}, {"bounds": None}, {"missing": "drop"}, {"max_weight": 2.0}])
def test_a_cell_too_large_for_a_double_is_not_warned_of(how):
    # Found by an audit: numpy warned of such a cell, and only if there was one.
    rows = np.full((30, 1), 0.5, dtype=np.longdouble)
    rows[7] = np.longdouble("1e4000")
    weights = rows[:, 0] if "max_weight" in how else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MostlyNoise)
        DPLloyd(1, **{"epsilon": 5.0, "bounds": (-1, 1), **how}).fit(rows, sample_weight=weights)
