"""Every known leak is caught by the audit that is named for it; the honest twin is not."""

import numpy as np
import pytest
from controls import (
    BLACK_BOX,
    NARROW,
    WIDE,
    KeepsLabels,
    KeepsRow,
    KeepsSizes,
    MeanSidesLloyd,
    SaysHowMany,
    a_fifth,
    honest_law,
    seeded,
    seeded_globally,
    shared,
    shared_size,
    swapped_split,
)

from shoal import DPLloyd
from shoal.audit import audit, audit_contents, audit_law, canary, pair_loss, replays
from shoal.audit.contents import odd_rows
from shoal.audit.replay import check_cells
from shoal.errors import ReplayMismatch
from shoal.mechanisms import SeededEntropy

# Seeds make a test pass always or never; a false alarm at this confidence would not be chance.
SURE = 1 - 1e-6
EPSILONS = [0.5, 1.0, 3.0]


def told_apart(which, epsilon, honest, runs=2000):
    make, name = BLACK_BOX[which]
    pair = canary(name, epsilon)
    return audit(make(epsilon, honest), pair.D, pair.D_prime, epsilon, runs=runs, confidence=SURE, seed=1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("which", BLACK_BOX)
def test_the_black_box_catches(which, epsilon):
    found = told_apart(which, epsilon, honest=False)
    assert not found.passed, found
    assert found.verdict.startswith("leaks")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("which", BLACK_BOX)
def test_the_black_box_lets_honest_ones_pass(which, epsilon):
    found = told_apart(which, epsilon, honest=True, runs=1000)
    assert found.passed, found


@pytest.mark.parametrize(
    ("which", "by"),
    [
        ("no noise on empty clusters", "is exactly|is not"),
        ("a grid sized by the exact N", "shape of"),
        ("floating-point noise", "bit"),
    ],
)
def test_the_event_says_why(which, by):
    assert any(word in told_apart(which, 1.0, honest=False).event for word in by.split("|"))


def test_replay_catches_cells_that_depend_on_other_rows(behind_gate):
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    curator = behind_gate(rows.copy())
    MeanSidesLloyd().run(curator)
    with pytest.raises(ReplayMismatch, match="depends on its neighbours"):
        check_cells(curator.transcript, rows)


def test_so_does_the_exact_audit(behind_gate):
    pair = canary("corner")
    curator = behind_gate(pair.D)
    MeanSidesLloyd().run(curator)
    found = pair_loss(curator.transcript, pair.D, pair.D_prime)
    assert not found.passed
    assert found.true > 10


def test_replay_alone_does_not_see_them(behind_gate):
    # Which is why rows are also asked one by one.
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    replays(MeanSidesLloyd(), behind_gate(rows), rows)


def test_the_law_audit_catches_swapped_shares_at_100_columns():
    law, sampler = swapped_split()
    found = audit_law(law, sampler, change=WIDE, draws=3000, entropy=SeededEntropy(0))
    assert not found.passed
    assert found.measured == pytest.approx(2.66, abs=0.05)
    assert audit_law(law, change=WIDE, draws=3000, entropy=SeededEntropy(0)).passed


def test_the_law_audit_catches_swapped_shares_that_are_drawn_as_designed_but_charged_wrongly():
    _, sampler = swapped_split()
    found = audit_law(sampler.__self__, change=WIDE, draws=3000, entropy=SeededEntropy(0))
    assert not found.passed
    assert found.worst.name == "is charged for"


def test_the_law_audit_catches_a_count_at_a_fifth_of_its_scale():
    law, sampler = a_fifth()
    found = audit_law(law, sampler, change=NARROW, entropy=SeededEntropy(0))
    assert not found.passed
    assert found.worst.name == "law of number 2"
    assert found.measured > 1.5


@pytest.mark.parametrize(
    ("sampler", "by"),
    [
        (shared, "independence of numbers 0 and 2"),
        (shared_size, "independence of sizes of numbers 0 and 2"),
        (seeded, "is drawn afresh"),
        (seeded_globally, "is drawn afresh"),
    ],
)
def test_the_law_audit_catches(sampler, by):
    noise = "laplace" if sampler in (shared, shared_size) else "split"
    found = audit_law(honest_law(noise=noise), sampler, entropy=SeededEntropy(0))
    assert not found.passed
    assert found.worst.name == by


@pytest.mark.parametrize("noise", ["linf", "laplace", "split"])
def test_the_law_audit_lets_honest_noise_pass(noise):
    assert audit_law(honest_law(noise=noise), change=NARROW, entropy=SeededEntropy(0)).passed


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        (KeepsLabels, "an exact label of every row"),
        (KeepsSizes, "the exact size of a group"),
        (KeepsRow, "a value of a row"),
        (SaysHowMany, "the exact number of rows"),
    ],
)
def test_the_contents_audit_catches(model, holds):
    rows = odd_rows(2)
    found = audit_contents(model(2, epsilon=5.0, bounds=(-1, 1), random_state=0).fit(rows), rows)
    assert not found.passed
    assert holds in str(found)


def test_the_contents_audit_lets_an_honest_model_pass():
    rows = odd_rows(2)
    found = audit_contents(DPLloyd(2, epsilon=5.0, bounds=(-1, 1), random_state=0).fit(rows), rows)
    assert found.passed, found
