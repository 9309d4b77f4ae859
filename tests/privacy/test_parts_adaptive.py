"""Parts, asked one after another: a row loses the sum along its own path, and the dearest path is charged.

The loss is enumerated on a tree of eight leaves over three questions, each chosen from the answers before,
for every unit and both kinds of neighbours.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from part_trees import AXES, LEAVES, every_unit, more, nodes, terms_for
from shoal.queries.questions import Parts
from shoal.queries.questions.parts import share_steps

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
