"""A tree loses what it is charged, however deep: by enumeration on tiny trees, and by the bound on a path."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.domain import STEPS, Chunk, Unit
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import SeededEntropy
from shoal.queries import Tree
from shoal.queries.kernels.relative import tree_keys
from shoal.queries.laws import growth
from shoal.queries.laws.growth import GrowthLaw, design_growth
from shoal.queries.partitions.trees import exact_tree_cells


def chance_to_split(biased, rate):
    """P(biased + Z > 0) for discrete Laplace Z."""
    q = math.exp(-float(rate))
    return q ** (1 - biased) / (1 + q) if biased <= 0 else 1 - q**biased / (1 + q)


def chance_to_stay(biased, rate):
    """P(biased + Z <= 0), without rounding where it is small."""
    q = math.exp(-float(rate))
    return 1 - q ** (1 - biased) / (1 + q) if biased <= 0 else q**biased / (1 + q)


def path_loss(counts, law, *, clamp=True):
    """Return the log-ratio of "every box of the path is halved" with one row more in each."""
    total = 0.0
    for level, count in enumerate(counts):
        before, after = (count + more - level * law.penalty for more in (0, 1))
        if clamp:
            before, after = max(before, -law.penalty), max(after, -law.penalty)
        total += math.log(chance_to_split(after, law.rate) / chance_to_split(before, law.rate))
    return total


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=40),
    st.sampled_from([Fraction(3, 100), Fraction(1, 2), Fraction(3), Fraction(12)]),
)
def test_no_path_loses_more_than_is_charged(counts, epsilon):
    law = design_growth(1, epsilon, "epsilon", Unit())
    falling = sorted(counts, reverse=True)  # a box has no more rows than the one it is a half of
    assert path_loss(falling, law) <= float(law.amount) + 1e-12
    assert law.amount <= epsilon


def test_the_clamp_is_what_bounds_the_loss():
    # Without it every level of an empty path loses the rate, so the loss grows with the depth.
    law = design_growth(1, Fraction(1, 2), "epsilon", Unit())
    assert path_loss([0] * 25, law, clamp=False) > 4 * float(law.amount)
    assert path_loss([0] * 25, law) <= float(law.amount)


def log_law(law, counts, n_levels):
    """Return the log-probability of every tree over `counts` rows per deepest box."""

    def below(start, level):
        size = 2 ** (n_levels - level)
        if level == n_levels:
            return {((start, level),): 0.0}
        biased = max(sum(counts[start : start + size]) - level * law.penalty, -law.penalty)
        p = chance_to_split(biased, law.rate)
        trees = {((start, level),): math.log(chance_to_stay(biased, law.rate))}
        halves = below(start, level + 1), below(start + size // 2, level + 1)
        for (a, x), (b, y) in itertools.product(*(half.items() for half in halves)):
            trees[a + b] = math.log(p) + x + y
        return trees

    return below(0, 0)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("place", [0, 3])
def test_every_tree_loses_at_most_what_is_charged(epsilon, place):
    law = design_growth(1, epsilon, "epsilon", Unit())
    for counts in itertools.product([0, 1, 12, 40], repeat=4):
        more = list(counts)
        more[place] += 1
        one, other = log_law(law, list(counts), 2), log_law(law, more, 2)
        worst = max(abs(one[tree] - other[tree]) for tree in one)
        assert worst <= float(law.amount) + 1e-9, counts


@pytest.mark.slow
def test_grown_trees_follow_the_law():
    law = design_growth(1, Fraction(3), "epsilon", Unit())
    counts = [5, 0, 1, 2]

    def exact(active, level, deeper):
        cells = np.array(counts).reshape(2**level, 2**deeper, -1).sum(axis=2)
        return cells[active >> (2 - level)]

    expected = log_law(law, counts, 2)
    entropy, n = SeededEntropy(7), 4_000
    seen = dict.fromkeys(expected, 0)
    for _ in range(n):
        starts, levels = law.grow(entropy, exact, 2)
        seen[tuple(zip(starts.tolist(), levels.tolist(), strict=True))] += 1
    statistic = sum((seen[t] - n * math.exp(p)) ** 2 / (n * math.exp(p)) for t, p in expected.items())
    assert statistic < 30  # 4 degrees of freedom: 5e-6


@pytest.mark.slow
def test_every_box_of_a_deep_tree_is_halved_by_its_law():
    # An empty path reaches the clamp at its third level: -2 penalties are to count as -1, or the loss would
    # grow with the depth. Two levels cannot tell.
    law, n_levels, n = design_growth(1, Fraction(3, 10), "epsilon", Unit()), 3, 800
    counts = np.array([30, 0, 0, 0, 0, 0, 0, 0])

    def exact(active, level, deeper):
        cells = counts.reshape(2**level, 2**deeper, -1).sum(axis=2)
        return cells[active >> (n_levels - level)]

    entropy, reached, halved = SeededEntropy(3), {}, {}
    for _ in range(n):
        leaves = set(zip(*(part.tolist() for part in law.grow(entropy, exact, n_levels)), strict=True))
        todo = [(0, 0)]
        while todo:
            start, level = box = todo.pop()
            if level == n_levels:
                continue
            reached[box] = reached.get(box, 0) + 1
            if box not in leaves:
                halved[box] = halved.get(box, 0) + 1
                todo += [(start, level + 1), (start + 2 ** (n_levels - level - 1), level + 1)]
    assert len(reached) == 7
    for (start, level), times in reached.items():
        inside = int(counts[start : start + 2 ** (n_levels - level)].sum())
        p = chance_to_split(max(inside - level * law.penalty, -law.penalty), law.rate)
        odd = (halved.get((start, level), 0) - times * p) / math.sqrt(times * p * (1 - p))
        assert abs(odd) < 5, (start, level, odd)


def test_people_and_replaced_rows_get_a_gentler_law():
    alone = design_growth(1, Fraction(1), "epsilon", Unit())
    many = design_growth(1, Fraction(1), "epsilon", Unit("replace", 3))
    assert float(many.rate) == pytest.approx(float(alone.rate) / 6, rel=1e-4)
    assert many.amount <= 1
    rho = design_growth(1, Fraction(1, 2), "rho", Unit())
    assert rho.amount <= Fraction(1, 2)
    assert float(rho.rate) == pytest.approx(1 / 3, rel=1e-6)


def test_bad_trees_are_refused():
    with pytest.raises(InvalidInput, match="fill the domain"):
        Tree((0, 0), 1, np.array([0, 2]), np.array([1, 2]))
    with pytest.raises(InvalidInput, match="halved 21 times"):
        Tree((0,) * 21, 1, np.array([0]), np.array([0]))
    with pytest.raises(InvalidBudget, match="raise epsilon"):
        design_growth(1, Fraction(1, 10**30), "epsilon", Unit())


def test_boxes_hold_their_rows():
    tree = Tree((0, 1, 0), 2, np.array([0, 4, 6, 7]), np.array([1, 2, 3, 3]))
    lower, upper = tree.corners()
    rows = np.random.default_rng(0).uniform(-1, 1, (2, 500)).astype(np.float32)
    labels = tree.assign(rows, None)
    assert (lower[labels] <= rows.T).all()
    assert (upper[labels] >= rows.T).all()
    assert set(labels) == {0, 1, 2, 3}


def test_a_law_is_a_public_value():
    law = GrowthLaw(Fraction(1, 8), 6, Fraction(3, 8), "epsilon")
    assert "penalty=6" in law.describe()


AXES = (0, 1, 0, 1, 1, 0)


@given(st.data())
def test_one_row_changes_one_cell_below_the_boxes_by_one(data):
    level = data.draw(st.integers(0, 5))
    deeper = data.draw(st.integers(1, 6 - level))
    boxes = data.draw(st.lists(st.integers(0, 2**level - 1), min_size=1, unique=True))
    active = np.array(boxes) << (6 - level)
    n = data.draw(st.integers(0, 40))
    rows = np.random.default_rng(n).integers(-STEPS, STEPS + 1, (2, n + 1)).astype(np.float32) / STEPS
    one = exact_tree_cells(AXES, active, level, deeper, Chunk(rows[:, :n]))
    other = exact_tree_cells(AXES, active, level, deeper, Chunk(rows))
    assert one.shape == (len(boxes), 2**deeper)
    assert (other - one).min() >= 0
    assert (other - one).sum() <= 1
    # The cells are those of the whole tree, cut at that depth, below the boxes.
    depth = level + deeper
    every = np.bincount(tree_keys(rows, AXES, 21) >> (6 - depth), minlength=2**depth).astype(np.int64)
    below = (np.array(boxes)[:, np.newaxis] << deeper) + np.arange(2**deeper)
    # The key of few levels is where the key of all levels begins.
    assert np.array_equal(other, every[below])


def test_many_rows_are_counted_block_by_block_with_their_weights():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (2, 40_000)).astype(np.float32)
    weights = rng.integers(0, STEPS, 40_000).astype(np.int32)
    active = np.array([48, 0])
    found = exact_tree_cells(AXES, active, 2, 3, Chunk(rows, weights))
    keys = tree_keys(rows, AXES, 21) >> 1
    wanted = [[weights[keys == (box >> 1) + cell].sum() for cell in range(8)] for box in active]
    assert found.tolist() == wanted


@pytest.mark.parametrize("counted", [1, 2**5, 2**30])
def test_a_tree_does_not_depend_on_how_much_is_counted_in_a_pass(counted, monkeypatch):
    rows = np.random.default_rng(0).normal(0, 0.1, (2, 3000)).clip(-1, 1).astype(np.float32)
    law = design_growth(1, Fraction(3), "epsilon", Unit())

    def grown():
        return law.grow(SeededEntropy(1), lambda *what: exact_tree_cells(AXES, *what, Chunk(rows)), 6)

    usual = grown()
    monkeypatch.setattr(growth, "_MOST_COUNTED", counted)
    for one, other in zip(usual, grown(), strict=True):
        assert np.array_equal(one, other)
    assert len(usual[0]) > 10
