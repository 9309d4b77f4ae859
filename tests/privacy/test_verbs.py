"""What must hold of every verb of the curator: paid before rows are read, drawn for all rows of a unit."""

import inspect
import re
from fractions import Fraction

import numpy as np
import pytest

from shoal.domain import STEPS, Unit
from shoal.errors import BudgetExceeded
from shoal.queries import (
    Ball,
    BoxCount,
    ClusterCost,
    Curator,
    Grid,
    Nodes,
    Offset,
    OffsetCost,
    Region,
    Voronoi,
    Windows,
    WithCost,
)

AT = np.array([[-0.5, -0.5], [0.5, 0.5]])
CELLS = Voronoi(AT)
SETS = AT[:, np.newaxis]
HELD = BoxCount(Windows(Region.whole(2), (0, 1), 4))
TWO_EACH = OffsetCost(CELLS, AT, np.stack([AT, AT / 2], axis=1), 1.0)

# A verb, and where it has several ways, a colon and which.
VERBS = {
    "histogram": lambda c, share: c.histogram(CELLS, share=share),
    "sparse_histogram": lambda c, share: c.sparse_histogram(Grid((4, 4)), share=share, spurious=1.0),
    "sums": lambda c, share: c.sums(CELLS, share=share),
    "sums: laplace": lambda c, share: c.sums(CELLS, share=share, noise="laplace"),
    "sums: split": lambda c, share: c.sums(CELLS, share=share, noise="split"),
    "sums: ball": lambda c, share: c.sums(CELLS, of=WithCost(Offset(AT, Ball(0.5))), share=share),
    "select": lambda c, share: c.select(ClusterCost(SETS), share=share),
    "select: two": lambda c, share: c.select(ClusterCost(SETS), share=share, n=2),
    "select: held": lambda c, share: c.hold().select(HELD, share=share),
    "select_each": lambda c, share: c.select_each(TWO_EACH, share=share),
    "blocks": lambda c, share: c.blocks(5, AT, ((-1.0,) * 2, (1.0,) * 2), share=share),
    "grow": lambda c, share: c.grow((0, 1, 0), share=share),
    "parts": lambda c, share: c.parts((0, 1, 0), Nodes.whole(), [2], shares=[share]),
}
HALF = Fraction(1, 2)

every_verb = pytest.mark.parametrize("verb", VERBS)


def test_no_verb_that_costs_is_left_out():
    costs = {
        name
        for name, method in inspect.getmembers(Curator, inspect.isfunction)
        if not name.startswith("_") and {"share", "shares"} & set(inspect.signature(method).parameters)
    }
    assert costs - {"noise_sd", "count_sd", "effective_epsilon"} == {name.split(":")[0] for name in VERBS}


@every_verb
def test_a_verb_is_paid_before_rows_are_read(behind_gate, blobs, monkeypatch, verb):
    curator = behind_gate(blobs)
    seen = []

    def interrupted(*_):
        seen.append(float(curator._allowance.spent))
        raise KeyboardInterrupt

    if verb == "select: held":  # to hold rows is free; to ask about them is not
        monkeypatch.setattr(BoxCount, "exact_counts", interrupted)
    else:
        monkeypatch.setattr(curator._source, "reduce", interrupted)
    with pytest.raises(KeyboardInterrupt):
        VERBS[verb](curator, HALF)
    assert seen == [pytest.approx(0.5, rel=1e-3)]
    assert curator._allowance.spent == pytest.approx(0.5, rel=1e-3)


@every_verb
def test_a_verb_that_cannot_be_paid_reads_nothing_and_draws_nothing(behind_gate, blobs, monkeypatch, verb):
    curator = behind_gate(blobs)
    curator.histogram(Grid.whole(2), share=Fraction(1))
    touched = []
    if verb == "select: held":
        monkeypatch.setattr(BoxCount, "exact_counts", lambda *a: touched.append(a))
    else:
        monkeypatch.setattr(curator._source, "reduce", lambda *a: touched.append(a))
    monkeypatch.setattr(curator._entropy, "words", lambda *a: touched.append(a))
    with pytest.raises(BudgetExceeded):
        VERBS[verb](curator, Fraction(1, 100))
    assert touched == []
    assert len(curator.transcript.charges) == 1


def drawn(curator, verb):
    """Ask, and return the parameter of every law that was drawn from, with the charge."""
    VERBS[verb](curator, HALF)
    (charge,) = curator.transcript.charges
    rates = [Fraction(text) for text in re.findall(r"rate=([\d/]+)", charge.mechanism)]
    sigmas = [1 / Fraction(text) for text in re.findall(r"sigma=([\d/]+)", charge.mechanism)]
    assert rates or sigmas
    return np.array([float(x) for x in rates or sigmas]), charge


@every_verb
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("unit", [Unit(max_rows=3), Unit("replace"), Unit("replace", 3)], ids=Unit.describe)
def test_a_verb_is_drawn_for_all_rows_between_neighbours(behind_gate, blobs, verb, delta, unit):
    if delta and verb in ("sums: laplace", "sums: split"):
        delta = 0.0  # a pure law; the one that a budget with delta has is tried above
    how = {"epsilon": 8.0, "delta": delta}
    alone, of_one = drawn(behind_gate(blobs, **how), verb)
    many, of_all = drawn(behind_gate(blobs, **how, unit=unit), verb)
    # So many rows lie between neighbours, and each is to lose its part; Gaussian losses of two cells add up
    # as squares, so that a row replaced is sqrt(2) rows.
    gaussian = "sigma" in of_one.mechanism
    rows = unit.max_rows * np.sqrt(2) if gaussian and unit.replace else unit.rows_apart
    assert (many * rows <= alone * (1 + 1e-4)).all()
    assert of_all.amount <= of_one.amount * (1 + Fraction(1, 1000))


@pytest.mark.parametrize("verb", ["histogram", "grow", "parts"])
def test_sums_of_weights_are_drawn_for_the_largest(behind_gate, blobs, verb):
    # A count moves by one; a sum of weights by as many steps as the largest has.
    plain, _ = drawn(behind_gate(blobs), verb)
    weighted, charge = drawn(behind_gate(blobs, max_weight=7.0), verb)
    assert (weighted * STEPS <= plain * (1 + 1e-4)).all()
    assert charge.amount <= HALF


@pytest.mark.slow
def test_every_row_draws_a_block_of_its_own(behind_gate):
    # With next to no noise the mean of three blocks' centres tells which of three rows share a block. Blocks
    # by position, or of equal size, would let one row move all others: then the laws below are others.
    rows, n = np.array([[0.1], [0.3], [0.8]]), 540
    seen = {1.2: 0, 1.0: 0, 0.75: 0, 0.65: 0, 0.4: 0}  # all apart; two together; all together
    for seed in range(n):
        curator = behind_gate(rows, epsilon=1e6, seed=seed)
        answer = curator.blocks(3, np.zeros((1, 1)), ((-1.0,), (1.0,)), share=Fraction(1))
        seen[min(seen, key=lambda total: abs(total - 3 * answer.means[0, 0]))] += 1
    expected = np.array([6, 6, 6, 6, 3]) * n / 27
    statistic = ((np.array(list(seen.values())) - expected) ** 2 / expected).sum()
    assert statistic < 30  # 4 degrees of freedom: 5e-6
