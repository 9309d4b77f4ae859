"""Parts: what they charge, what they count, and what is noticed or refused."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from part_trees import AXES, UNITS, every_unit, more, nodes, terms_for
from shoal.accounting import PathSums, budget_of
from shoal.audit import pair_loss
from shoal.audit.gate import noise_in_answers
from shoal.audit.laws import check_noise
from shoal.domain import STEPS, Bounds, Chunk, Domain
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidInput, InvalidRelease
from shoal.queries import Nodes, RehearsalCurator, ReplayCurator, Transcript, Tree
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.kernels import dispatch
from shoal.queries.partitions.trees import NodeCells
from shoal.queries.questions.parts import share_steps
from shoal.release.checks import check_answers, check_budget, check_charges

# The charge.


@st.composite
def questions(draw, levels=4):
    """Draw disjoint nodes of a tree, in any order."""

    def cut(start, level):
        kind = draw(st.sampled_from(["node", "node", "none", "halves"]))
        if kind == "halves" and level < levels:
            return cut(start, level + 1) + cut(start + (1 << (levels - level - 1)), level + 1)
        if kind == "none":
            return []
        return [(start, level, draw(st.integers(0, levels - level)))]

    found = draw(st.permutations(cut(0, 0) or [(0, 0, 1)]))
    shares = [draw(st.fractions(Fraction(1, 500), Fraction(1, 9), max_denominator=10_000)) for _ in found]
    return found, shares


@pytest.mark.slow
@given(st.lists(questions(), min_size=1, max_size=6), st.sampled_from(UNITS), st.sampled_from([0.0, 1e-6]))
def test_the_sum_of_the_charges_is_the_largest_sum_along_a_path(asked, unit, delta):
    terms = terms_for(unit, delta)
    curator = RehearsalCurator(terms.domain, terms.budget, 100.0)
    spent = [Fraction(0)] * 16
    for found, shares in asked:
        starts, levels, deeper = (np.array(column) for column in zip(*found, strict=True))
        curator.parts((0,) * 4, Nodes(starts, levels), deeper, shares=shares)
        for (start, level, _), share in zip(found, shares, strict=True):
            kept = Fraction(int(share_steps([share], Fraction(1))[0]), 2**40)
            assert share * Fraction(127, 128) < kept <= share
            amount = terms.noise(terms.change(None), kept, None).amount
            for leaf in range(start, start + (16 >> level)):
                spent[leaf] += amount
    charged = sum(charge.amount for charge in curator.transcript.charges)
    assert all(charge.amount >= 0 for charge in curator.transcript.charges)
    assert charged >= max(spent)
    assert charged <= max(spent) + len(asked) * Fraction(1, 2**64)
    assert check_charges(curator.transcript)


def test_empty_space_is_charged_for_and_other_paths_are_free(behind_gate):
    curator = behind_gate(np.full((50, 1), 0.9))
    spent = []
    for start, share in ((0, 0.25), (4, 0.25), (4, 0.25), (0, 0.5)):
        curator.parts(AXES, nodes((start, 1)), [2], shares=[share])
        spent.append(float(curator._allowance.spent))
    assert spent == [0.25, 0.25, 0.5, 0.75]  # nobody is in the left half: it costs all the same
    with pytest.raises(BudgetExceeded):
        curator.parts(AXES, nodes((0, 3), (4, 1)), [0, 0], shares=[0.5, 0.25])
    assert curator._allowance.spent == Fraction(3, 4)
    # What was refused is not remembered.
    curator.parts(AXES, nodes((0, 3), (4, 1)), [0, 0], shares=[0.25, 0.5])
    assert curator._allowance.spent == 1


def test_another_tree_is_charged_apart(behind_gate, blobs):
    curator = behind_gate(blobs)
    for axes, beyond, start in (((0, 1), 0, 0), ((1, 0), 0, 2), ((0, 1), 0, 0), ((0, 1), 6, 2)):
        curator.parts(axes, nodes((start, 1)), [1], shares=[0.25], beyond=beyond)
    assert curator._allowance.spent == 1
    assert check_charges(curator.transcript)


def look(curator, axes=(0, 1)):
    curator.parts(axes, nodes((0, 1)), [1], shares=[0.125])
    curator.parts(axes, nodes((2, 1)), [1], shares=[0.125])


def many_views(curator):
    """Ask about several views of the rows, in turns."""
    look(curator)
    inner = curator.within(curator.domain.bounds, Fraction(1, 2))
    look(inner)
    curator.parts((0, 1), nodes((2, 1)), [0], shares=[0.125])
    look(curator.within(curator.domain.bounds, Fraction(1)))
    look(curator.sides())
    look(inner)
    held = inner.hold()
    look(held)
    look(curator)  # it was not used up: what it spent is still known
    fewer = held.without_nearest(np.zeros(2), 100)
    look(fewer)
    look(fewer.restored())


def test_every_view_of_the_rows_is_charged_apart(behind_gate, blobs, tmp_path):
    curator = behind_gate(blobs, epsilon=4.0)
    many_views(curator)
    amounts = [float(charge.amount / 4) for charge in curator.transcript.charges]
    eighth, half = 0.125, 0.0625
    assert amounts == [
        *(eighth, 0),
        *(half, 0),
        eighth,
        *(eighth, 0),
        *(eighth, 0),
        *(half, 0),
        *(half, 0),
        *(0, eighth),  # the right half had two questions already
        *(half, 0),
        *(half, 0),
    ]
    # As it is read from a file: what was charged is recomputed from the questions alone.
    store = {}
    read = from_plain(Transcript, plain(curator.transcript, store), store)
    assert digest(read) == digest(curator.transcript)
    for check in (check_charges, check_budget, check_answers):
        check(read)
    replay = ReplayCurator(read)
    many_views(replay)
    replay.finish()


def test_a_forged_charge_is_noticed(behind_gate, blobs):
    curator = behind_gate(blobs)
    look(curator)
    look(curator)
    honest = curator.transcript
    for i, entry in enumerate(honest.entries):
        if entry.charge.amount:
            forged = replace(entry, charge=replace(entry.charge, amount=Fraction(0)))
            entries = [forged if j == i else other for j, other in enumerate(honest.entries)]
            with pytest.raises(InvalidRelease, match="is charged"):
                check_charges(replace(honest, entries=entries))
    with pytest.raises(InvalidRelease, match="is charged"):
        check_charges(replace(honest, entries=honest.entries[1:]))


# The counts and their noise.


@st.composite
def tables(draw):
    n = draw(st.integers(0, 40))
    value = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, -1 / STEPS, 0.5]) | st.floats(-1, 1, width=32)
    columns = np.array(draw(st.lists(st.tuples(value, value), min_size=n, max_size=n)), dtype=np.float32)
    weights = draw(st.none() | st.lists(st.integers(0, STEPS), min_size=n, max_size=n))
    lattice = np.rint(columns.reshape(n, 2).T.astype(np.float64) * STEPS) / STEPS
    return Chunk(
        np.ascontiguousarray(lattice, dtype=np.float32),
        None if weights is None else np.array(weights, dtype=np.int32),
    )


def test_a_tree_may_reach_below_the_bounds():
    rows = np.array([[-1.0, -0.6, -0.4, 0.0, 0.1, 1.0]], dtype=np.float32)
    for beyond, counts in ((0, [2, 1, 2, 1]), (64, [0, 0, 3, 3]), (32, [0, 2, 3, 1])):
        # From -1, -3 and -2 to 1: quarters begin at -0.5, 0, 0.5; -2, -1, 0; and -1.25, -0.5, 0.25.
        cells = NodeCells.of((0, 0), Nodes.whole(), np.array([2]), beyond)
        assert cells.exact(Chunk(rows)).tolist() == counts


@pytest.mark.slow
@given(tables(), questions(), st.sampled_from([0, 64]))
def test_compiled_and_numpy_counts_are_those_of_the_boxes_and_a_row_is_in_one(chunk, asked, beyond):
    axes = (0, 1, 1, 0)
    starts, levels, deeper = (np.array(column) for column in zip(*asked[0], strict=True))
    cells = NodeCells.of(axes, Nodes(starts, levels), deeper, beyond)
    fast = cells.exact(chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "compiles", lambda: False)
        slow = cells.exact(chunk)
    assert fast.dtype == slow.dtype == np.int64
    assert np.array_equal(fast, slow)
    # The finest tree says where a row is; cells are ranges of its boxes.
    moved = chunk.columns / 2 + np.float32(0.5) if beyond else chunk.columns  # exactly
    leaf = Tree(axes, 2, np.arange(16), np.full(16, 4)).assign(moved, None)
    heavy = np.ones(chunk.n_rows, dtype=np.int64) if chunk.weights is None else chunk.weights
    expected = []
    for start, level, divided in asked[0]:
        size = 16 >> level >> divided
        for first in range(start, start + (16 >> level), size):
            expected.append(int(heavy[(leaf >= first) & (leaf < first + size)].sum()))
    assert fast.tolist() == expected
    if chunk.n_rows:
        alone = cells.exact(Chunk(chunk.columns[:, :1], None if chunk.weights is None else chunk.weights[:1]))
        assert (alone != 0).sum() <= 1
        assert alone.sum() <= heavy[0]


def test_thousands_of_nodes_are_counted_in_one_pass(behind_gate, blobs, monkeypatch):
    curator = behind_gate(blobs, epsilon=100.0)
    passes, reduce = [], curator._source.reduce

    def counted(*how):
        passes.append(1)
        return reduce(*how)

    monkeypatch.setattr(curator._source, "reduce", counted)
    axes = (0, 1) * 15
    children = Nodes.whole().children(axes, more(12))
    assert len(children) == 4096
    deeper = np.arange(4096) % 4
    answer = curator.parts(axes, children, deeper, shares=np.linspace(0.3, 0.9, 4096))
    assert len(passes) == 1
    assert len(answer.counts) == answer.offsets[-1] == (1 << deeper).sum()
    assert len(np.unique(answer.sd)) > 50
    assert np.all(np.diff(answer.sd) <= 0)  # the more is spent on a node, the less noise it has
    tree = Tree(axes, 2, children.starts, children.levels)
    exact = np.bincount(tree.assign(curator.domain.encode(list(blobs.T)).columns, None), minlength=4096)
    found = np.add.reduceat(answer.counts, answer.offsets[:-1])
    assert np.abs(found - exact).max() < 8


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("max_weight", [None, 3.0])
def test_the_noise_of_every_node_has_its_own_law_in_empty_cells_too(behind_gate, delta, max_weight):
    curator = behind_gate(np.zeros((0, 1)), delta=delta, max_weight=max_weight)
    shares = [Fraction(1, 2), Fraction(1, 8), Fraction(1, 50)]
    answer = curator.parts((0,) * 12, nodes((0, 1), (2048, 2), (3072, 2)), [11, 10, 10], shares=shares)
    groups = noise_in_answers(curator.transcript)
    assert [len(noise) for _, noise in groups] == [1024, 1024, 2048]
    assert min(check.p_value for check in check_noise(groups)) > 1e-6
    for node, share in enumerate(shares):
        own = answer.counts[answer.offsets[node] : answer.offsets[node + 1]]
        assert own.std() == pytest.approx(answer.sd[node], rel=0.2)
        assert answer.sd[node] == pytest.approx(curator.count_sd(share=share), rel=0.01)


@every_unit
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_audit_finds_what_was_charged(behind_gate, unit, delta):
    rows = np.array([[-0.9], [-0.3], [0.7], [0.7]])
    curator = behind_gate(rows, delta=delta, unit=replace(unit, max_rows=1))
    curator.parts(AXES, nodes((0, 0)), [2], shares=[0.25])
    curator.parts(AXES, nodes((0, 1), (4, 1)), [1, 1], shares=[0.5, 0.25])
    curator.parts(AXES, nodes((0, 2)), [1], shares=[0.25])
    dear, cheap = [[-0.9]], [[0.7]]
    other = np.vstack([rows[1:], [[-0.6]]]) if unit.replace else np.vstack([rows, dear])
    lost = pair_loss(curator.transcript, rows, other)
    assert lost.what == "3 of 3 questions"
    assert lost.passed
    if not unit.replace:
        assert lost.true == pytest.approx(lost.charged, rel=1e-3)
        less = pair_loss(curator.transcript, rows, np.vstack([rows, cheap]))
        assert less.true < 0.6 * lost.true


def test_a_rehearsal_shares_rows_evenly():
    curator = RehearsalCurator(Domain(Bounds.parse((-1, 1), 2)), budget_of(1.0), 800.0)
    answer = curator.parts((0, 1, 0), nodes((4, 1), (0, 2)), [2, 0], shares=[0.5, 0.25])
    assert answer.counts.tolist() == [100.0, 100.0, 100.0, 100.0, 200.0]
    assert answer.offsets.tolist() == [0, 4, 5]


# What is refused costs nothing.

BAD = {
    "meet": (nodes((0, 1), (0, 3)), more(0, 0), [0.1, 0.1], InvalidInput, "must not meet"),
    "twice": (nodes((4, 1), (4, 1)), more(0, 0), [0.1, 0.1], InvalidInput, "must not meet"),
    "askew": (nodes((2, 1)), more(0), [0.1], InvalidInput, "multiple"),
    "outside": (nodes((8, 3)), more(0), [0.1], InvalidInput, "in the domain"),
    "far outside": (nodes((2**63 - 1, 0)), more(0), [0.1], InvalidInput, "in the domain"),
    "negative": (nodes((-8, 0)), more(0), [0.1], InvalidInput, "in the domain"),
    "too deep": (nodes((0, 2)), more(2), [0.1], InvalidInput, "levels down"),
    "deeper than numbers go": (nodes((0, 2**62)), more(2**62), [0.1], InvalidInput, "levels down"),
    "upwards": (nodes((0, 2)), more(-1), [0.1], InvalidInput, "levels down"),
    "none": (Nodes(more(), more()), more(), [], InvalidInput, "nodes need"),
    "lengths": (nodes((0, 2)), more(1, 1), [0.1], InvalidInput, "nodes need"),
    "fractions of levels": (nodes((0, 2)), np.array([0.5]), [0.1], InvalidInput, "nodes need"),
    "a share too many": (nodes((0, 2)), more(1), [0.1, 0.1], InvalidInput, "share each"),
    "no share": (nodes((0, 2)), more(1), [0.0], InvalidBudget, "share of 0.0"),
    "negative share": (nodes((0, 2)), more(1), [-0.5], InvalidBudget, "share of -0.5"),
    "more than all": (nodes((0, 2)), more(1), [1.5], InvalidBudget, "share of 1.5"),
    "not a number": (nodes((0, 2)), more(1), [math.nan], InvalidBudget, "share of nan"),
    "a word": (nodes((0, 2)), more(1), ["all"], InvalidBudget, "share of 'all'"),
    "too small to draw": (nodes((0, 2)), more(1), [2e-12], InvalidBudget, "too small"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_question_costs_nothing(behind_gate, how):
    asked, deeper, shares, error, words = BAD[how]
    curator = behind_gate(np.zeros((10, 1)), epsilon=0.01)
    with pytest.raises(error, match=words):
        curator.parts(AXES, asked, deeper, shares=shares)
    assert curator._allowance.spent == 0
    assert not curator.transcript.entries


@pytest.mark.parametrize("beyond", [-1, 65])
def test_a_tree_reaches_no_further_than_it_can(behind_gate, beyond):
    curator = behind_gate(np.zeros((10, 1)))
    with pytest.raises(InvalidInput, match="below the bounds"):
        curator.parts(AXES, Nodes.whole(), [1], shares=[0.5], beyond=beyond)
    assert curator._allowance.spent == 0


def test_a_tree_has_at_most_62_levels_and_a_question_so_many_cells(behind_gate, blobs):
    curator = behind_gate(np.zeros((10, 4)))
    with pytest.raises(InvalidInput, match="62"):
        curator.parts((0, 1, 2, 3) * 16, Nodes.whole(), [1], shares=[0.5])
    axes = (0, 1, 2, 3) * 15 + (0, 1)
    with pytest.raises(InvalidInput, match="cells are asked for"):
        curator.parts(axes, Nodes.whole(), [25], shares=[0.5])
    assert curator._allowance.spent == 0
    last = nodes((2**62 - 2**2, 60), (0, 1))
    answer = curator.parts(axes, last, [2, 0], shares=[0.5, 0.25])
    assert len(answer.counts) == 5
    assert curator._allowance.spent == Fraction(1, 2)


def test_path_sums_forget_no_path():
    sums = PathSums.nothing().plus([0, 6], [4, 8], [Fraction(1, 3), Fraction(1, 5)])
    again = sums.plus([6], [7], [Fraction(1, 5)]).plus([0], [8], [Fraction(1, 7)])
    assert sums.largest == pytest.approx(1 / 3, rel=1e-15)
    assert again.largest == pytest.approx(2 / 5 + 1 / 7, rel=1e-15)
    assert again.largest >= Fraction(2, 5) + Fraction(1, 7)
    assert again.starts.tolist() == [0, 4, 6, 7, 8]
