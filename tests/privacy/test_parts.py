"""Parts: a row loses the sum along its own path, and the dearest path is what is charged.

The loss is enumerated on a tree of eight leaves over three questions, each chosen from the answers before,
for every unit and both kinds of neighbours.
"""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.accounting import PathSums, budget_of
from shoal.audit import pair_loss
from shoal.audit.gate import noise_in_answers
from shoal.audit.laws import check_noise
from shoal.domain import STEPS, Bounds, Chunk, Domain, Unit
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidInput, InvalidRelease
from shoal.queries import Nodes, RehearsalCurator, ReplayCurator, Transcript, Tree
from shoal.queries.gate.codec import digest, from_plain, plain
from shoal.queries.kernels import dispatch
from shoal.queries.partitions.trees import NodeCells
from shoal.queries.questions import Parts, Terms
from shoal.queries.questions.parts import share_steps
from shoal.release.checks import check_answers, check_budget, check_charges

LEAVES, AXES = 8, (0, 0, 0)
UNITS = [Unit(), Unit(max_rows=2), Unit("replace"), Unit("replace", 2)]
every_unit = pytest.mark.parametrize("unit", UNITS, ids=Unit.describe)


def nodes(*pairs):
    starts, levels = zip(*pairs, strict=True)
    return Nodes(np.array(starts, dtype=np.int64), np.array(levels, dtype=np.int64))


def more(*deeper):
    return np.array(deeper, dtype=np.int64)


def terms_for(unit, delta=0.0, epsilon=4.0):
    return Terms(Domain(Bounds.parse((-1, 1), 1), unit=unit), budget_of(epsilon, delta))


# The loss, enumerated. An answer is told to the strategy as bits: is a noisy count above the threshold?

THRESHOLD = 2
BASE = (3, 0, 1, 0, 0, 0, 2, 0)  # rows of every leaf, but for those that neighbours differ in


def strategy(bits):
    """Return the next question of a run, by the answers so far: nodes, levels more and shares."""
    if len(bits) == 0:
        return nodes((0, 0)), more(1), [Fraction(1, 8)]
    if len(bits) == 1:
        asked = [((half * 4, 1), Fraction(3, 8) if bits[0][half] else Fraction(1, 8)) for half in (0, 1)]
        asked = asked if any(bits[0]) else asked[1:]  # the left half is left alone where both look empty
    elif len(bits) == 2:
        first = 0 if any(bits[0]) else 2
        asked = [
            ((2 * (first + i), 2), Fraction(1, 2) if bit else Fraction(1, 16))
            for i, bit in enumerate(bits[1])
        ]
        asked = asked[::-1]
    else:
        return None
    return nodes(*(node for node, _ in asked)), more(*(1,) * len(asked)), [share for _, share in asked]


def question_after(bits):
    asked = strategy(bits)
    return None if asked is None else Parts(AXES, asked[0], asked[1], share_steps(asked[2], Fraction(1)), 0)


def cells_of(question):
    """Return the leaves of every cell, with the law that its count has."""

    def listed(law):
        found = []
        for start, level, deeper, which in zip(
            question.nodes.starts, question.nodes.levels, question.deeper, law.which, strict=True
        ):
            size = LEAVES >> int(level) >> int(deeper)
            for i in range(1 << int(deeper)):
                found.append((range(start + i * size, start + (i + 1) * size), law.laws[which].blocks[0]))
        return found

    return listed


def runs(terms):
    """Return every history of bits with its questions' cells and what is charged along it."""
    found = []

    def walk(bits, cells, tally, charged):
        question = question_after(bits)
        if question is None:
            found.append((bits, cells, charged))
            return
        law = question.law(terms)
        paid = charged + question.charge(law, terms, tally).amount
        after = question.tally(terms, tally)
        here = cells_of(question)(law)
        # Nothing hangs on the last answer: there all outputs are taken together.
        bit = (False, True) if len(bits) < 2 else (None,)
        for next_bits in itertools.product(bit, repeat=len(here)):
            walk([*bits, next_bits], [*cells, here], after, paid)

    walk([], [], {}, Fraction(0))
    return found


@cache
def output_losses(parameter, pure, before, after, bit, order):
    """Sum p^order q^(1 - order) over the outputs of a bit; without an order the largest log-ratio of them."""
    reach = 80 if order is None else math.ceil(40 * parameter) + 10
    outputs = np.arange(-reach, reach)
    if bit is not None:
        outputs = outputs[(outputs >= THRESHOLD) == bit]
    scale = float(parameter)
    p, q = (
        -scale * np.abs(outputs - count) if pure else -((outputs - count) ** 2) / (2 * scale**2)
        for count in (before, after)
    )
    if order is None:
        return float(np.max(p - q))
    # The law's own constant, from a sum over the lattice.
    steps = np.arange(-reach, reach)
    constant = math.log(np.exp(-(steps**2) / (2 * scale**2)).sum())
    return float(np.exp(order * p + (1 - order) * q - constant).sum())


def count(cell, extra):
    return sum(BASE[leaf] + extra[leaf] for leaf in cell)


def neighbours(unit):
    """Return pairs of extra rows that a unit may have: none against m, or m against m others."""
    m = unit.max_rows
    places = range(LEAVES) if m == 1 else (0, 1, 2, 6, 7)
    owned = [Counter(who) for who in itertools.combinations_with_replacement(places, m)]
    if unit.replace:
        return itertools.permutations(owned, 2)
    return itertools.chain(((Counter(), one) for one in owned), ((one, Counter()) for one in owned))


@pytest.mark.slow
@every_unit
def test_no_neighbours_lose_more_than_the_dearest_path_was_charged(unit):
    terms = terms_for(unit)
    histories, worst = runs(terms), Fraction(0)
    for one, other in neighbours(unit):
        for bits, cells, charged in histories:
            lost = 0.0
            for answer, told in zip(bits, cells, strict=True):
                for bit, (cell, block) in zip(answer, told, strict=True):
                    a, b = count(cell, one), count(cell, other)
                    lost += output_losses(block.parameter, True, a, b, bit, None) if a != b else 0.0
            assert lost <= float(charged) * (1 + 1e-12)
            worst = max(worst, Fraction(lost))
    # And no less: some neighbours and some answers lose all that was charged.
    assert float(worst) == pytest.approx(max(float(charged) for _, _, charged in histories), rel=1e-9)


@pytest.mark.slow
@every_unit
@pytest.mark.parametrize("order", [1.25, 6.0])
def test_the_divergence_of_an_adaptive_run_stays_below_the_cap(unit, order):
    # Which cells are asked, and with which noise, hangs on answers: so this is the law of the whole run.
    terms = terms_for(unit, delta=1e-6)
    histories = runs(terms)
    cap = max(charged for _, _, charged in histories)
    most = 0.0
    for one, other in neighbours(unit):
        total = 0.0
        for bits, cells, _ in histories:
            weight = 1.0
            for answer, told in zip(bits, cells, strict=True):
                for bit, (cell, block) in zip(answer, told, strict=True):
                    a, b = count(cell, one), count(cell, other)
                    weight *= output_losses(block.parameter, False, a, b, bit, order)
            total += weight
        most = max(most, math.log(total) / (order - 1) / order)
        assert most <= float(cap) * (1 + 1e-9)
    assert most > 0.5 * float(cap)  # it is not the noise of another unit


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
    for axes in ((0, 1), (1, 0), (0, 1)):
        curator.parts(axes, nodes((0, 1)), [1], shares=[0.25])
    assert curator._allowance.spent == Fraction(3, 4)
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


@pytest.mark.slow
@given(tables(), questions())
def test_compiled_and_numpy_counts_are_those_of_the_boxes_and_a_row_is_in_one(chunk, asked):
    axes = (0, 1, 1, 0)
    starts, levels, deeper = (np.array(column) for column in zip(*asked[0], strict=True))
    cells = NodeCells.of(axes, Nodes(starts, levels), deeper)
    fast = cells.exact(chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "compiles", lambda: False)
        slow = cells.exact(chunk)
    assert fast.dtype == slow.dtype == np.int64
    assert np.array_equal(fast, slow)
    # The finest tree says where a row is; cells are ranges of its boxes.
    leaf = Tree(axes, 2, np.arange(16), np.full(16, 4)).assign(chunk.columns, None)
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
    monkeypatch.setattr(curator._source, "reduce", lambda *how: passes.append(1) or reduce(*how))
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
