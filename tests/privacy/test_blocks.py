"""Sample and aggregate: one row changes one block, and blocks by position would not do."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms.sample_aggregate import SampleAggregate
from shoal.domain import STEPS, Bounds, Chunk, Domain
from shoal.domain.groups import Here
from shoal.errors import InvalidInput
from shoal.queries.questions.base import Terms
from shoal.queries.questions.block_task import ByBlock, Drawn, exact_block_totals
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.questions.coins import coins, joined, part


def question(n_blocks, k=2, d=2):
    reference = np.linspace(-0.5, 0.5, k)[:, None].repeat(d, axis=1)
    return BlockMeans(n_blocks, reference, (-1.0,) * d, (1.0,) * d, 1, None)


def terms(scale=(1.0, 1.0), weighted=False):
    bounds = Bounds.parse((-1, 1), len(scale))
    return Terms(Domain(bounds, column_weights=tuple(scale), max_weight=1.0 if weighted else None), None)


def totals(ask, rows, key, weights=None, scale=(1.0, 1.0)):
    """The exact totals of rows, told in chunks of a few."""
    chunks = [
        Chunk(np.ascontiguousarray(rows[:, i : i + 7]), None if weights is None else weights[i : i + 7])
        for i in range(0, max(rows.shape[1], 1), 7)
    ]
    return ask.exact_block_sums(Here(chunks), terms(scale, weights is not None), key, key + 1)


def drawn(rows, key, n_blocks, weights=None):
    (found,) = ByBlock(key, n_blocks)(joined([Chunk(rows, weights)]), 1)
    return found


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 60), st.booleans(), st.booleans())
def test_one_row_changes_one_block(seed, n_blocks, n, weighted, alike):
    rng = np.random.default_rng(seed)
    rows = (np.round(rng.uniform(-1, 1, (2, n + 1)) * (1 if alike else 8)) / 8).astype(np.float32)
    ask, weights = question(n_blocks), rng.integers(0, STEPS + 1, n + 1).astype(np.int32)
    out = rng.integers(n + 1)  # wherever it stands, and whether or not there are rows like it
    rest = np.delete(np.arange(n + 1), out)
    heavy = weights if weighted else None
    scale = np.array([1.0, seed % 3 / 2])
    both = (
        totals(ask, rows, seed, heavy, scale),
        totals(ask, rows[:, rest], seed, None if heavy is None else heavy[rest], scale),
    )
    assert np.abs(both[0] - both[1]).max() <= ask.change().width


@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 5))
def test_a_row_more_leaves_the_coins_of_all_others(seed, n, places):
    # Equal rows have coins of their own, and a row of the same cells adds one to them.
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, places, (1, n + 1)).astype(np.float32)

    def tossed(some):
        found = joined([Chunk(some)])
        which, values = coins(found, seed)
        return Counter(zip(found.columns[0, which].tolist(), values.tolist(), strict=True))

    fewer, more = tossed(rows[:, :n]), tossed(rows)
    assert not fewer - more
    assert (more - fewer).total() == 1
    assert max(more.values(), default=0) == 1


def test_coins_of_equal_rows_are_fair():
    rows = joined([Chunk(np.zeros((2, 60_000), dtype=np.float32))])
    for key in range(3):
        found = np.bincount((coins(rows, key)[1] % np.uint64(6)).astype(int), minlength=6)
        assert found == pytest.approx(np.full(6, 10_000), abs=500)  # 5.5 standard deviations


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3))
def test_a_block_finds_among_the_others_what_it_finds_alone(seed, n_blocks, k):
    # In the same order of centres, too: matched to rows of another block, one row could turn all blocks over.
    rng = np.random.default_rng(seed)
    rows = (np.round(rng.uniform(-1, 1, (2, 12 * n_blocks)) * 64) / 64).astype(np.float32)
    ask, found = question(n_blocks, k), drawn(rows, seed, n_blocks)

    def of(inside):
        some = Drawn(part(found.rows, inside), found.blocks[inside])
        return exact_block_totals(some, ask, seed)

    alone = [of(found.blocks == block) for block in range(n_blocks)]
    assert np.array_equal(of(found.blocks >= 0), sum(alone))


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_the_order_of_rows_does_not_matter(seed, n_blocks, weighted):
    rng = np.random.default_rng(seed)
    n = 60
    rows = (np.round(rng.uniform(-1, 1, (2, n)) * 64) / 64 + np.float32(2**-20)).astype(np.float32)
    ask, weights = question(n_blocks, k=3), rng.integers(0, STEPS + 1, n).astype(np.int32)
    order = rng.permutation(n)
    heavy = (weights, weights[order]) if weighted else (None, None)
    scale = np.array([1.0, 1 / 3])
    one = totals(ask, rows, seed, heavy[0], scale)
    assert np.array_equal(one, totals(ask, np.ascontiguousarray(rows[:, order]), seed, heavy[1], scale))


@pytest.mark.parametrize("k", [1, 3])
def test_rows_that_weigh_nothing_and_too_few_different_ones_leave_public_centres(k):
    rows, ask = np.repeat(np.float32([[0.5], [0.25]]), 9, axis=1), question(1, k)
    public = totals(ask, rows[:, :0], 0)
    assert np.array_equal(totals(ask, rows, 0, np.zeros(9, np.int32)), public)
    found = totals(ask, rows, 0).tolist()
    assert [STEPS // 2, STEPS // 4] in found
    assert all(centre in public.tolist() for centre in found if centre != [STEPS // 2, STEPS // 4])


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_centres_are_clamped_to_the_public_range(seed, n_blocks):
    # Rows far outside of it count as its end, or one of them would move a block by more than is charged for.
    rng = np.random.default_rng(seed)
    rows = rng.choice([-1.0, 0.1, 1.0], (2, 13)).astype(np.float32)
    ask = replace(question(n_blocks), lower=(-0.25, 0.0), upper=(0.25, 0.5))
    one, other = (totals(ask, rows[:, :m], seed) for m in (13, 12))
    assert np.abs(one).max() <= n_blocks * STEPS
    assert np.abs(one - other).max() <= ask.change().width


def test_blocks_by_position_would_break_it():
    # The published slicing: blocks of two by place, each answering its first row.
    rows = np.array([0.0, 1.0] * 50)
    first = rows[::2].mean()
    assert rows[1:][::2].mean() - first == 1.0  # not 1/50


def test_an_empty_block_gives_public_centres():
    ask = question(5)
    found = totals(ask, np.empty((2, 0), dtype=np.float32), 0)
    assert np.array_equal(found, 5 * np.trunc(ask.reference * STEPS).astype(np.int64))


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
