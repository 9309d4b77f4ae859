"""Sample and aggregate: one row changes one block, and blocks by position would not do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms.sample_aggregate import SampleAggregate
from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy
from shoal.queries.questions.block_task import draw_blocks, exact_block_totals
from shoal.queries.questions.blocks import BlockMeans


def question(n_blocks, k=2, d=2):
    reference = np.linspace(-0.5, 0.5, k)[:, None].repeat(d, axis=1)
    return BlockMeans(n_blocks, reference, (-1.0,) * d, (1.0,) * d, 1, None)


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 60), st.booleans())
def test_one_row_changes_one_block(seed, n_blocks, n, weighted):
    rng = np.random.default_rng(seed)
    rows = (np.round(rng.uniform(-1, 1, (2, n + 1)) * 8) / 8).astype(np.float32)
    ask, weights = question(n_blocks), rng.integers(0, STEPS + 1, n + 1).astype(np.int32)
    blocks, seeds = draw_blocks(SeededEntropy(seed), n + 1, n_blocks)

    def totals(m):
        heavy = weights[:m] if weighted else None
        return exact_block_totals(ask, rows[:, :m], heavy, blocks[:m], seeds, np.array([1.0, seed % 3 / 2]))

    assert np.abs(totals(n + 1) - totals(n)).max() <= ask.change().width


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3))
def test_a_block_finds_among_the_others_what_it_finds_alone(seed, n_blocks, k):
    # In the same order of centres, too: matched to rows of another block, one row could turn all blocks over.
    rng = np.random.default_rng(seed)
    rows = (np.round(rng.uniform(-1, 1, (2, 12 * n_blocks)) * 64) / 64).astype(np.float32)
    ask = question(n_blocks, k)
    blocks, seeds = draw_blocks(SeededEntropy(seed), rows.shape[1], n_blocks)

    def totals(inside):
        return exact_block_totals(ask, rows[:, inside], None, blocks[inside], seeds)

    nobody = totals(blocks < 0)
    alone = [totals(blocks == block) - nobody for block in range(n_blocks)]
    assert np.array_equal(totals(blocks >= 0), nobody + sum(alone))


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_the_order_of_rows_does_not_matter(seed, n_blocks, weighted):
    rng = np.random.default_rng(seed)
    n = 60
    rows = (np.round(rng.uniform(-1, 1, (2, n)) * 64) / 64 + np.float32(2**-20)).astype(np.float32)
    ask, weights = question(n_blocks, k=3), rng.integers(0, STEPS + 1, n).astype(np.int32)
    blocks, seeds = draw_blocks(SeededEntropy(seed), n, n_blocks)
    scale = np.array([1.0, 1 / 3])

    def totals(order):
        heavy = weights[order] if weighted else None
        return exact_block_totals(ask, rows[:, order], heavy, blocks[order], seeds, scale)

    assert np.array_equal(totals(np.arange(n)), totals(rng.permutation(n)))


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_centres_are_clamped_to_the_public_range(seed, n_blocks):
    # Rows far outside of it count as its end, or one of them would move a block by more than is charged for.
    rng = np.random.default_rng(seed)
    rows = rng.choice([-1.0, 0.1, 1.0], (2, 13)).astype(np.float32)
    ask = replace(question(n_blocks), lower=(-0.25, 0.0), upper=(0.25, 0.5))
    blocks, seeds = draw_blocks(SeededEntropy(seed), 13, n_blocks)
    one, other = (exact_block_totals(ask, rows[:, :m], None, blocks[:m], seeds) for m in (13, 12))
    assert np.abs(one).max() <= n_blocks * STEPS
    assert np.abs(one - other).max() <= ask.change().width


def test_blocks_by_position_would_break_it():
    # The published slicing: blocks of two by place, each answering its first row.
    rows = np.array([0.0, 1.0] * 50)
    first = rows[::2].mean()
    assert rows[1:][::2].mean() - first == 1.0  # not 1/50


def test_an_empty_block_gives_public_centres():
    ask = question(5)
    drawn = draw_blocks(SeededEntropy(0), 0, 5)
    totals = exact_block_totals(ask, np.empty((2, 0), dtype=np.float32), None, *drawn)
    assert np.array_equal(totals, 5 * np.trunc(ask.reference * STEPS).astype(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("ranges", ["loose", "helper"])
@pytest.mark.parametrize("noise", ["linf", "laplace"])
def test_it_finds_two_far_groups(behind_gate, ranges, noise):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-0.6, 0.05, (6000, 1)), rng.normal(0.6, 0.05, (6000, 1))])
    found = SampleAggregate(2, "3k", ranges, noise=noise).run(behind_gate(X, epsilon=2))
    assert np.sort(found.centres[:, 0]) == pytest.approx([-0.6, 0.6], abs=0.1)
    assert found.sizes.sum() == pytest.approx(12_000, rel=0.05)


def test_charges_add_up_to_the_budget(behind_gate, blobs):
    for algorithm in (SampleAggregate(3), SampleAggregate(3, ranges="helper"), SampleAggregate(3, blocks=10)):
        curator = behind_gate(blobs)
        algorithm.run(curator)
        assert float(sum(c.amount for c in curator.transcript.charges)) == pytest.approx(1.0, rel=1e-4)


def test_a_huge_noisy_number_of_rows_does_no_harm(behind_gate, blobs):
    # At this epsilon the paid-for number of rows is noise of fifty million.
    for seed in range(3):
        found = SampleAggregate(2, "3k").run(behind_gate(blobs, epsilon=1e-6, seed=seed))
        assert np.isinf(found.predicted_sd) or found.predicted_sd > 1
    assert SampleAggregate(2, "3k").n_blocks(1e12) == 1_000_000


def test_no_blocks_is_an_error():
    with pytest.raises(InvalidInput):
        question(0)
