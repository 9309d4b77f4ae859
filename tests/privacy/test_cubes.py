"""A tree of cubes, level by level: every row in one cell, by itself alone; empty children can be active."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.domain import STEPS, Bounds, Domain
from shoal.errors import InvalidInput
from shoal.queries import Cubes, Grid, Projected, Projection, Voronoi
from shoal.queries.questions.occupied import exact_cells
from shoal.queries.statistics.aggregates import exact_count

value = st.sampled_from([-1.0, 1.0, 0.0, -0.5, 0.5, 1 / STEPS, -1 / STEPS, np.nan, 7.0]) | st.floats(
    -1.2, 1.2
)


@st.composite
def trees(draw):
    d = draw(st.integers(1, 3))
    shift = draw(st.none() | st.lists(st.floats(-1, 1), min_size=d, max_size=d))
    cubes = Cubes(d, (), None if shift is None else np.array(shift))
    for _ in range(draw(st.integers(0, 3))):
        keys = draw(st.sets(st.integers(0, cubes.n_cells - 2), max_size=6)) if cubes.n_active else set()
        cubes = cubes.split(np.array(sorted(keys), dtype=np.int64))
    rows = np.array(draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=1, max_size=20)))
    return cubes, Domain(Bounds.parse((-1, 1), d)).encode(list(rows.T))


def plain_key(cubes, point):
    """The cell of one row, found by halving boxes."""
    half, shift = (1, np.zeros(cubes.n_columns)) if cubes.shift is None else (2, cubes.shift)
    low, high = [shift + sign * half for sign in (-1.0, 1.0)]
    cube = 0
    for level in (*cubes.active, None):
        middle = (low + high) / 2
        upper = point >= middle
        low, high = np.where(upper, middle, low), np.where(upper, high, middle)
        key = cube * 2**cubes.n_columns + int("".join("01"[int(u)] for u in upper), 2)
        if level is None:
            return key, (low + high) / 2
        if key not in level:
            return cubes.n_cells - 1, None
        cube = int(np.searchsorted(level, key))


@given(trees())
def test_a_row_is_in_the_cube_that_halving_finds(case):
    cubes, chunk = case
    keys = cubes.keys(chunk.columns)
    for key, point in zip(keys, chunk.columns.T.astype(np.float64), strict=True):
        wanted, centre = plain_key(cubes, point)
        assert key == wanted
        if centre is not None:
            assert np.array_equal(cubes.centres_of(np.array([key]))[0], np.clip(centre, -1, 1))


@given(trees())
def test_one_row_changes_one_count_by_one(case):
    cubes, chunk = case
    keys = cubes.keys(chunk.columns)
    assert np.array_equal(cubes.keys(chunk.columns[:, 1:]), keys[1:])
    counts = exact_count(cubes, chunk, None)
    without = exact_count(cubes, type(chunk)(chunk.columns[:, 1:]), None)
    assert np.flatnonzero(counts - without).tolist() == [keys[0]]
    assert (counts - without).sum() == 1
    # All cells together, the rest included, hold all rows: the root's count is a sum of its children.
    assert counts.sum() == chunk.n_rows
    found = exact_cells(cubes, chunk)
    assert np.array_equal(found.counts, counts[found.cells])


def test_cells_of_a_tree_are_cells_of_a_grid():
    rng = np.random.default_rng(0)
    columns = (np.rint(rng.uniform(-1, 1, (2, 500)) * STEPS) / STEPS).astype(np.float32)
    cubes = Cubes(2)
    for level in (1, 2, 3):
        grid = Grid((2**level,) * 2)
        middles = cubes.centres_of(cubes.keys(columns))
        assert np.array_equal(middles, grid.centres_of(grid.keys(columns)))
        cubes = cubes.split(np.arange(cubes.n_cells - 1))


@pytest.mark.slow
def test_empty_children_become_active_as_often_as_noise_lifts_them(behind_gate):
    # Balcan et al., algorithm 1: f(0) is above 0, or a child that becomes active shows that it has rows.
    rate, spurious, runs = Fraction(1), 0.5, 1500
    cubes = Cubes(2)
    curator = behind_gate(np.array([[0.9, 0.9]] * 3), epsilon=runs * 1.0)
    seen, lifted = np.zeros(5, dtype=np.int64), []
    for _ in range(runs):
        answer = curator.sparse_histogram(cubes, share=Fraction(1, runs), spurious=spurious)
        seen[answer.cells] += 1
        lifted.append(len(answer.cells))
    q, tau = np.exp(-float(rate)), answer.threshold
    at_least = {m: sum(q ** abs(z) * (1 - q) / (1 + q) for z in range(tau - m, 200)) for m in (0, 3)}
    for cell, m in enumerate([0, 0, 0, 3, 0]):  # the last is the rest, which is empty at the root
        assert stats.binomtest(int(seen[cell]), runs, at_least[m]).pvalue > 1e-4
    assert seen[:3].min() > 0


def test_projected_cubes_through_the_gate(behind_gate):
    X = np.vstack([np.full((300, 4), 0.9), np.full((100, 4), -0.9)])
    curator = behind_gate(X, epsilon=1000.0)
    cells = Projected(Projection(np.full((1, 4), 0.25)), Cubes(1))
    answer = curator.sparse_histogram(cells, share=Fraction(1, 2), spurious=1e-3)
    assert answer.cells.tolist() == [0, 1]
    assert answer.counts.tolist() == [100, 300]
    with pytest.raises(InvalidInput, match="no keys"):
        curator.sparse_histogram(
            Projected(cells.projection, Voronoi(np.zeros((1, 1)))), share=Fraction(1, 4), spurious=1.0
        )
    with pytest.raises(InvalidInput, match="cells have 1 columns"):
        curator.sparse_histogram(Cubes(1), share=Fraction(1, 4), spurious=1.0)
    assert len(curator.transcript.charges) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cubes(0),
        lambda: Cubes(62),
        lambda: Cubes(1, (np.array([2]),)),
        lambda: Cubes(1, (np.array([1, 0]),)),
        lambda: Cubes(2, shift=np.zeros(1)),
        lambda: Cubes(1, (np.array([0]),) * 20),
        lambda: Cubes(50).split(np.arange(2**13)),
    ],
)
def test_what_is_no_tree_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_too_many_cells_have_keys_but_no_labels():
    deep = Cubes(40)
    assert deep.keys(np.ones((40, 1), np.float32))[0] == 2**40 - 1
    with pytest.raises(InvalidInput, match="one by one"):
        deep.assign(np.ones((40, 1), np.float32), None)
