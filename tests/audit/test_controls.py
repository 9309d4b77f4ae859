"""Every known leak is caught by the audit that is named for it; the honest twin is not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from catch_controls import findings, told_apart
from controls import (
    BLACK_BOX,
    FILTERS,
    NARROW,
    WIDE,
    KeepsLabels,
    KeepsRow,
    KeepsSizeOnce,
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

from shoal import DPLloyd, GeneticKMeans, GridKMeans, SampleAggregateKMeans
from shoal.audit import audit_contents, audit_law, audit_replay, canary, pair_loss, replays
from shoal.audit.choices import audit_choice, choices_exactly, worst_choice
from shoal.audit.contents import audit_model_contents, odd_rows
from shoal.audit.filters import audit_filter
from shoal.audit.gate import audit_answers
from shoal.audit.replay import check_cells
from shoal.audit.subject import Subject
from shoal.domain import STEPS, Unit
from shoal.errors import ReplayMismatch
from shoal.mechanisms import SeededEntropy
from shoal.queries.laws.choices import design_choice
from shoal.queries.losses import cluster_cost as losses
from shoal.queries.questions import blocks
from shoal.queries.questions.block_task import Drawn, exact_empty_totals
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.statistics.aggregates import RowChange

EPSILONS = [0.5, 1.0, 3.0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("which", BLACK_BOX)
def test_the_black_box_catches(which, epsilon):
    found = told_apart(which, epsilon, honest=False)
    assert not found.passed, found
    assert found.verdict.startswith("leaks")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("which", BLACK_BOX)
def test_the_black_box_lets_honest_ones_pass(which, epsilon):
    found = told_apart(which, epsilon, honest=True, runs=1000)
    assert found.passed, found


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_what_the_page_shows_of_controls():
    # Without the black boxes, which are tested above.
    found = list(findings(draws=1500, epsilons=(), entropy=SeededEntropy(0)))
    assert {f.audit for f in found} == {"exact", "law", "replay", "contents"}
    assert all(f.passed == (f.role == "twin") for f in found), [f for f in found if not f.as_it_should]
    assert len({(f.algorithm, f.epsilon, f.audit, f.case) for f in found}) == len(found)
    said = {f.algorithm: f.detail for f in found if f.role == "control"}
    assert all("law of cell" in said[what] for what in FILTERS if what != "occupied cells first")
    assert "is sorted by cell" in said["occupied cells first"]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["convergent-published", "subcluster-published"])
def test_the_black_box_catches_what_was_published_without_privacy(algorithm):
    # Lu and Shen; Joshi and Thakkar: 0.2 comes out only where somebody has it.
    subject = Subject(algorithm, 1.0, {"n_clusters": 1}, seed=1)
    found = subject.black_box(canary("two ends"), 0.0, runs=200, confidence=0.999)
    assert not found.passed, found
    assert found.measured > 1.5  # about as much as so few runs can show
    assert not subject.contents(subject.estimator(canary("corner"), 0.0, n_clusters=2)).passed


def test_replay_catches_cells_that_depend_on_other_rows(behind_gate):
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    curator = behind_gate(rows.copy())
    MeanSidesLloyd().run(curator)
    with pytest.raises(ReplayMismatch, match="depends on other rows"):
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


@pytest.mark.slow
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


def test_what_is_found_once_was_chance():
    rows, how = odd_rows(2), {"epsilon": 5.0, "bounds": (-1, 1)}
    KeepsSizeOnce.fits = 0
    assert not audit_contents(KeepsSizeOnce(2, **how).fit(rows), rows).passed
    KeepsSizeOnce.fits = 0
    assert audit_model_contents(KeepsSizeOnce(2, **how), seed=0).passed
    found = audit_model_contents(KeepsSizes(2, **how), seed=0)
    assert "the exact size of a group" in str(found)


def test_digits_of_a_hash_are_no_count():
    rows = odd_rows(2)
    model = SaysHowMany(2, epsilon=5.0, bounds=(-1, 1), random_state=0).fit(rows)
    for text, clean in [(f"af{len(rows)}", True), (f"0.{len(rows)}", True), (f"n={len(rows)}.", False)]:
        model._n = text
        assert audit_contents(model, rows).passed == clean, text


@pytest.mark.slow
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_the_law_audit_lets_the_gates_filter_pass(rate):
    found = audit_filter(rate, draws=1000, entropy=SeededEntropy(0))
    assert found.passed, found


@pytest.mark.slow
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_audits_catch_choices_at_twice_the_rate(currency):
    law = design_choice(2, Fraction(1), currency, Unit())
    sharp = replace(law, rate=2 * law.rate)
    far_apart = losses.WIDTH * np.array([0, 1, 1, 2])
    assert not audit_choice(law, far_apart, sharp.draw, draws=400, entropy=SeededEntropy(0)).passed
    assert worst_choice(sharp, Unit()) > 1.5
    assert worst_choice(law, Unit()) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_choices_lose_what_they_are_charged_and_no_less(epsilon):
    found = choices_exactly(epsilon)
    assert all(loss.passed for loss in found)
    assert max(loss.true / loss.charged for loss in found) > 0.9


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_the_exact_audit_catches_losses_that_one_row_raises_too_far(monkeypatch):
    # A loss that is not clipped to the public range: a row counts four times.
    genetic = GeneticKMeans(1, epsilon=1.0, bounds=(-1, 1), population=6, survivors=2, max_generations=2)
    pair = canary("corner")
    transcript = genetic.set_params(random_state=0).fit(pair.D).release_.transcript
    assert pair_loss(transcript, pair.D, pair.D_prime).passed
    exact = losses.ClusterCost.exact_losses
    monkeypatch.setattr(losses.ClusterCost, "exact_losses", lambda *given: 9 * exact(*given))
    assert not pair_loss(transcript, pair.D, pair.D_prime).passed


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_the_exact_audit_catches_a_sparse_grid_that_counts_a_row_twice(monkeypatch):
    grid = GridKMeans(1, epsilon=1.0, bounds=(-1, 1), resolution=2500, n_starts=1, random_state=0)
    pair = canary("corner")
    transcript = grid.fit(pair.D).release_.transcript
    assert pair_loss(transcript, pair.D, pair.D_prime).passed
    from shoal.queries.questions import sparse

    exact = sparse.exact_cells

    def twice(grid, chunk):
        found = exact(grid, chunk)
        return replace(found, counts=2 * found.counts)

    monkeypatch.setattr(sparse, "exact_cells", twice)
    assert not pair_loss(transcript, pair.D, pair.D_prime).passed


def blocky(**how):
    return SampleAggregateKMeans(2, epsilon=1.0, bounds=(-1, 1), **how)


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_the_exact_audit_catches_blocks_that_are_charged_for_too_small_a_range(monkeypatch):
    pair = canary("alone")
    honest = blocky(blocks=3, random_state=0).fit(pair.D).release_.transcript
    found = pair_loss(honest, pair.D, pair.D_prime)
    assert found.passed
    assert found.what == "3 of 3 questions"
    monkeypatch.setattr(
        BlockMeans,
        "change",
        lambda self: RowChange(width=STEPS // 8, n_values=self.reference.size, extras=()),
    )
    careless = blocky(blocks=3, random_state=0).fit(pair.D).release_.transcript
    assert not pair_loss(careless, pair.D, pair.D_prime).passed


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
@pytest.mark.parametrize("seed", range(8))
def test_equal_rows_are_no_reason_to_cry_wolf(seed):
    # A block's search takes rows in their order, so rows that are equal must not change places.
    rng = np.random.default_rng(seed)
    D = rng.integers(-2, 3, (40, 2)) / 2
    added = np.insert(D, rng.integers(40), D[rng.integers(40)], axis=0)
    moved = np.vstack([np.delete(D, rng.integers(40), axis=0), [[1.0, -1.0]]])
    for other, neighbours in ((added, "add-remove"), (moved, "replace")):
        honest = blocky(blocks=4, neighbours=neighbours, random_state=seed).fit(D).release_.transcript
        found = pair_loss(honest, D, other)
        assert found.passed, found


@pytest.mark.filterwarnings("ignore::shoal.errors.MostlyNoise")
def test_blocks_by_position_are_still_caught(monkeypatch):
    # Two rows a block: with a row more at the front, all others move up one place, and every block changes.
    def by_position(drawn, task, **rest):
        return exact(Drawn(drawn.rows, np.arange(len(drawn.blocks)) // 2 % task.n_blocks), task, **rest)

    rng, exact = np.random.default_rng(0), blocks.exact_block_totals
    D = rng.choice([-0.8, 0.8], (400, 1)) + rng.uniform(-0.1, 0.1, (400, 2))  # different rows, in any order
    D_prime = np.vstack([rng.uniform(-1, 1, (1, 2)), D])
    transcript = blocky(blocks=200, random_state=0).fit(D).release_.transcript
    assert pair_loss(transcript, D, D_prime).passed
    monkeypatch.setattr("shoal.queries.questions.blocks.exact_block_totals", by_position)
    assert not pair_loss(transcript, D, D_prime).passed


def test_replay_catches_blocks_that_are_aligned_to_each_other(monkeypatch):
    rows = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    assert audit_replay(blocky(blocks=5), rows, seed=0).passed
    exact = blocks.exact_block_totals

    def published(drawn, task, *rest, **more):
        # Matched to what another block found, not to public centres.
        inside = drawn.blocks == drawn.blocks.min(initial=9)
        first = drawn.rows.columns[:, inside][:, :2].T if len(drawn.blocks) else task.reference
        return exact(drawn, replace(task, reference=first), *rest, **more)

    monkeypatch.setattr("shoal.queries.questions.blocks.exact_block_totals", published)
    found = audit_replay(blocky(blocks=5), rows, seed=0)
    assert not found.passed
    assert "other rows" in found.detail


@pytest.mark.slow
def test_the_law_audit_sees_the_noise_of_blocks(monkeypatch):
    model = blocky(blocks=10_000)
    honest = audit_answers(model, 2, fits=120, seed=0)
    assert honest.passed, honest
    assert "360 answers" in honest.what

    def half(question, source, law, terms, entropy):
        drawn = law.draw(entropy, 1)[0] // 2
        return (exact_empty_totals(question).ravel() + drawn).astype(np.float64)

    monkeypatch.setattr(BlockMeans, "noisy", half)
    assert not audit_answers(model, 2, fits=120, seed=0).passed
