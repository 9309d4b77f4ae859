"""Few columns of many: a row has a say in its own cell, of a whole number up to the width, and no more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.domain import STEPS, Bounds, Chunk, Domain
from shoal.errors import InvalidInput
from shoal.queries import CoordinateMass, Grid, Picked
from shoal.queries.losses.cluster_cost import WIDTH

value = st.sampled_from([-1.0, 1.0, 0.0, 1 / STEPS, np.nan, np.inf, 7.0]) | st.floats(-1.2, 1.2)


@st.composite
def cases(draw):
    d, cells = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    grid = Grid((cells, *(1,) * (d - 1)))
    point = st.lists(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1), min_size=d, max_size=d)
    origin = np.array(draw(st.just([-1.0] * d) | point))
    n_taken = draw(st.integers(0, d - 1))
    taken = np.array([draw(st.permutations(range(d)))[:n_taken] for _ in range(cells)], dtype=np.int64)
    rows = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=1, max_size=15)))
    weights = draw(st.none() | st.lists(st.floats(-1, 3), min_size=len(rows), max_size=len(rows)))
    domain = Domain(Bounds.parse((-1, 1), d), max_weight=None if weights is None else 2.0)
    return grid, origin, taken, domain, rows, None if weights is None else np.array(weights)


def encoded(domain, rows, weights, some):
    return domain.encode(list(rows[some].T), None if weights is None else weights[some])


@given(cases())
def test_a_row_raises_the_losses_of_its_cell_alone_up_to_the_width(case):
    grid, origin, taken, domain, rows, weights = case
    mass = CoordinateMass(grid, origin, taken.reshape(grid.n_cells, -1))
    whole, without, alone = (
        mass.exact_cell_losses(encoded(domain, rows, weights, some), None)
        for some in (slice(None), slice(1, None), slice(0, 1))
    )
    assert whole.shape == (mass.n_cells, mass.n_candidates)
    assert whole.dtype == np.int64
    assert np.array_equal(whole - without, alone)
    assert ((alone >= 0) & (alone <= WIDTH)).all()
    here = grid.assign(encoded(domain, rows, weights, slice(0, 1)).columns, None)[0]
    assert not np.delete(alone, here, axis=0).any()


@given(cases())
def test_one_row_changes_the_picked_sums_of_one_cell_within_the_box(case):
    grid, _, taken, domain, rows, weights = case
    taken = taken.reshape(grid.n_cells, -1)
    spare = [min(set(range(rows.shape[1])) - set(t)) for t in taken.tolist()]
    picked = Picked(np.column_stack([taken, spare]))
    totals = [
        picked.exact_totals(grid, encoded(domain, rows, weights, some), None)
        for some in (slice(None), slice(1, None))
    ]
    change, body = totals[0] - totals[1], picked.change(rows.shape[1])
    assert change.shape == (grid.n_cells, body.dimension)
    assert len(np.flatnonzero((change != 0).any(axis=1))) <= 1
    assert np.abs(change).max() <= body.width


def test_the_least_loss_is_the_greatest_mass_on_either_side():
    rng = np.random.default_rng(0)
    columns = (np.rint(rng.uniform(-0.2, 0.2, (6, 500)) * STEPS) / STEPS).astype(np.float32)
    columns[3] -= 0.5
    columns[1] += 0.25
    mass = CoordinateMass(Grid.whole(6), np.zeros(6), np.empty((1, 0), dtype=np.int64))
    order = np.argsort(mass.exact_cell_losses(Chunk(columns), None)[0])
    assert mass.column_of(order[:1]) == [3]
    later = CoordinateMass(Grid.whole(6), np.zeros(6), np.array([[3]]))
    order = np.argsort(later.exact_cell_losses(Chunk(columns), None)[0])
    assert later.column_of(order[:1]) == [1]
    # Only upwards from the lower bound, with twice the resolution.
    low = CoordinateMass(Grid.whole(6), np.full(6, -1.0), np.empty((1, 0), dtype=np.int64))
    assert (low.n_candidates, mass.n_candidates, later.n_candidates) == (6, 12, 10)
    assert low.exact_cell_losses(Chunk(-np.ones((6, 1), np.float32)), None).tolist() == [[WIDTH] * 6]


def test_columns_are_chosen_and_summed_through_the_gate(behind_gate):
    X = np.zeros((400, 5))
    X[:200, 0], X[200:, 0] = -0.9, 0.9
    X[:200, 4], X[200:, 2] = 0.8, -0.7
    curator = behind_gate(X, epsilon=500.0)
    cells = Grid((2, 1, 1, 1, 1))
    mass = CoordinateMass(cells, np.zeros(5), np.zeros((2, 1), dtype=np.int64))
    column = mass.column_of(curator.select_each(mass, share=Fraction(1, 2)))
    assert column.tolist() == [4, 2]
    answer = curator.sums(cells, of=Picked(column[:, np.newaxis]), share=Fraction(1, 4))
    assert answer.sums[:, 0] / answer.counts == pytest.approx([0.8, -0.7], abs=0.01)
    with pytest.raises(InvalidInput, match="picked for 2 cells"):
        curator.sums(Grid.whole(5), of=Picked(column[:, np.newaxis]), share=Fraction(1, 8))
    with pytest.raises(InvalidInput, match="column 7 is picked"):
        curator.sums(Grid.whole(5), of=Picked(np.array([[7]])), share=Fraction(1, 8))
    assert len(curator.transcript.charges) == 2


@pytest.mark.parametrize("taken", [[[0, 0]], [[2]], [[-1]], [[0, 1]], [[0], [1]]])
def test_what_is_taken_are_different_columns_of_every_cell(taken):
    with pytest.raises(InvalidInput):
        CoordinateMass(Grid.whole(2), np.zeros(2), np.array(taken))
