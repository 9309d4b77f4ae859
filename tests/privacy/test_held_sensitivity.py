"""Rows taken away leave tables one row apart; one row moves losses of balls and windows by their width."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms.coreset.sketch import schedule
from shoal.domain import STEPS, Chunk, Unit
from shoal.domain.groups import Here
from shoal.queries import BoxCount, GoodRadius, Region, Windows, WindowSize
from shoal.queries.laws.choices import design_choice
from shoal.queries.losses.cluster_cost import WIDTH
from shoal.queries.questions.coins import joined, part
from shoal.queries.questions.materialised import HeldRows
from shoal.queries.questions.nearest import Nearest

# Few places, so that ties, duplicates and full balls abound.
place = st.sampled_from([-STEPS, -STEPS // 2, -1, 0, 1, STEPS // 2, STEPS])


@st.composite
def neighbours(draw):
    d = draw(st.integers(1, 3))
    row = st.tuples(*[place] * d)
    rows = draw(st.lists(row, max_size=12))
    one, other = draw(row), draw(row)
    return d, rows, [*rows, one], [*rows, other], np.array(draw(row), dtype=np.int64)


def chunk(rows, d):
    steps = np.array(rows, dtype=np.float64).reshape(-1, d)
    return Chunk(np.ascontiguousarray((steps / STEPS).T, dtype=np.float32))


def left(rows, d, centre, n, metric):
    # In two groups: which rows are nearest is found over all of them.
    different = joined([chunk(rows, d)])
    halves = [part(different, np.arange(different.n_rows) % 2 == i) for i in (0, 1)]
    left = Counter()
    for rest in HeldRows.of(Here(halves)).without(Nearest(centre, metric), n).groups.items:
        left.update(dict(zip(map(tuple, rest.columns.T.tolist()), rest.counts.tolist(), strict=True)))
    return left


@given(neighbours(), st.integers(0, 15), st.booleans())
def test_taking_rows_away_leaves_neighbours(case, n, weighted):
    d, rows, with_one, with_other, centre = case
    metric = np.linspace(0.3, 1.0, d) if weighted else None
    none, one, other = (left(table, d, centre, n, metric) for table in (rows, with_one, with_other))
    # A row more: what is left has a row more, or the same rows if all were taken.
    assert not none - one
    assert (one - none).total() == (1 if len(with_one) > n else 0)
    # A row replaced: at most one row of what is left is another.
    assert (one - other).total() == (other - one).total() <= 1


def test_a_far_row_does_not_change_which_are_nearest():
    # Distances are sorted into buckets as wide as the furthest row says: in one they must be in order too.
    near = np.random.default_rng(0).permutation(40).reshape(-1, 1) * 20
    for n in range(1, 40):
        one, other = (left(rows, 1, np.array([0]), n, None) for rows in (near, np.vstack([near, [[STEPS]]])))
        assert not one - other
        assert (other - one).total() == 1


def test_rows_to_take_from_the_exact_number_would_tell_it():
    # The paper takes w = 3n/8k of exactly n rows, and releases w: under add/remove that is n itself.
    assert schedule(1000, 1)[0] != schedule(1003, 1)[0]
    apart = [n for n in range(100, 140) if schedule(n, 1) != schedule(n + 1, 1)]
    assert len(apart) == 40  # every neighbour, by the last weights at the latest


def test_a_share_of_the_exact_number_lets_neighbours_drift_apart():
    # 15 rows lose 5, 16 lose 6: what is left differs in a row gone and a row come, which is two rows.
    rows, centre = [(i * 2**16,) for i in range(15)], np.zeros(1, dtype=np.int64)
    more = [*rows, (STEPS,)]
    few, many = (left(table, 1, centre, 3 * len(table) // 8, None) for table in (rows, more))
    assert (few - many).total() + (many - few).total() == 2


def largest_balls(rows, radius, t):
    """t L(r) by its definition: the t largest of min(B_r(x), t) over rows x."""
    balls = [sum(max(abs(a - c), abs(b - e)) <= radius for c, e in rows) for a, b in rows]
    return sum(sorted((min(ball, t) for ball in balls), reverse=True)[:t])


def cells_to_chunk(rows, cells):
    middles = (2 * np.array(rows, dtype=np.float64).reshape(-1, 2) + 1) / cells - 1
    return Chunk(np.ascontiguousarray(middles.T, dtype=np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("t", [1, 2, 3])
def test_good_radius_by_brute_force(t):
    cells, most = 4, 3
    grid = list(itertools.product(range(cells), repeat=2))
    loss = GoodRadius(cells, (0, 1, 2, 3), t, slack=1)
    sums, losses = {}, {}
    for size in range(most + 1):
        for rows in itertools.combinations_with_replacement(grid, size):
            table = cells_to_chunk(rows, cells)
            sums[rows] = np.array(loss.sums_of(loss.exact_counts(table)))
            losses[rows] = loss.exact_losses(table, None)
            if size < most or sum(map(sum, rows)) % 5 == 0:  # enough of the definition
                assert sums[rows].tolist() == [largest_balls(rows, r, t) for r in loss.radii]
    worst = 0
    for rows, base in sums.items():
        if len(rows) == most:
            continue
        near = [tuple(sorted((*rows, x))) for x in grid]
        rises = np.array([sums[table] - base for table in near])
        assert (rises >= 0).all()  # monotone
        assert rises.max() <= 2 * t - 1  # L moves by at most 2 - 1/t
        worst = max(worst, rises.max())
        change = np.array([losses[table] for table in near])
        apart = np.ptp(change - losses[rows], axis=1)
        assert apart.max() <= WIDTH
        # Replace: all pairs of tables that have one row more than this one.
        both = change[:, np.newaxis, :] - change[np.newaxis, :, :]
        assert np.ptp(both, axis=2).max() <= WIDTH
    assert worst == 2 * t - 1 or t > 2  # reached where three rows are enough to


LOSSES = [
    lambda d: BoxCount(Windows(Region.whole(d), tuple(range(d)), 4)),
    lambda d: BoxCount(Windows(Region((-STEPS // 2,) * d, (STEPS,) * d), (0,), 5)),
    lambda d: WindowSize(tuple(Windows(Region.whole(d), tuple(range(d)), m) for m in (8, 5, 3, 1)), 4),
    lambda d: WindowSize(tuple(Windows(Region.whole(d), tuple(range(d)), m, 8) for m in (4, 1)), 2),
    lambda d: GoodRadius(16, (0, 1, 2, 4, 8), 3, slack=2, columns=min(d, 2)),
]


@given(neighbours(), st.sampled_from(LOSSES))
def test_one_row_sets_candidates_apart_by_no_more_than_the_width(case, make):
    d, rows, with_one, with_other, _ = case
    loss = make(d)
    d = loss.n_columns
    none, one, other = (
        loss.exact_losses(chunk([r[:d] for r in table], d), None) for table in (rows, with_one, with_other)
    )
    assert none.dtype == np.int64
    assert len(none) == loss.n_candidates
    assert np.ptp(one - none) <= WIDTH
    assert np.ptp(one - other) <= WIDTH * loss.counted(Unit("replace")).rows_apart
    assert (none >= 0).all()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_the_charge_covers_every_neighbour(neighbours, make, currency):
    rng, loss, unit = np.random.default_rng(0), make(2), Unit(neighbours)
    law = design_choice(1, Fraction(3), currency, loss.counted(unit))
    points = [-STEPS, -1, 0, STEPS // 2, STEPS]
    worst = 0.0
    for _ in range(40):
        rows = [tuple(map(int, r)) for r in rng.choice(points, (6, 2))]
        extra = (
            [*rows[1:]] if neighbours == "add-remove" else [*rows[1:], tuple(map(int, rng.choice(points, 2)))]
        )
        p, q = (law.probabilities(loss.exact_losses(chunk(table, 2), None)) for table in (rows, extra))
        ratios = np.log(p) - np.log(q)
        spent = np.abs(ratios).max() if currency == "epsilon" else np.ptp(ratios) ** 2 / 8
        worst = max(worst, float(spent))
    assert 0.05 * float(law.amount) < worst <= float(law.amount) * (1 + 1e-9)
