"""Adding one row changes one cell, by no more than the declared body; no other row's cell changes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.domain import STEPS, Bounds, Domain
from shoal.queries import (
    Ball,
    Box,
    Direction,
    Grid,
    Hyperplanes,
    Offset,
    Outer,
    Relative,
    Shells,
    Squares,
    SubCells,
    Tree,
    Value,
    Voronoi,
    WithCost,
)
from shoal.queries.partitions.hyperplanes import NO_CUT

# Borders, ties, lattice neighbours, missing, infinite and out-of-domain cells.
AWKWARD = [
    -1.0,
    1.0,
    0.0,
    0.5,
    -0.5,
    1 / STEPS,
    -1 / STEPS,
    0.5 + 1 / STEPS,
    np.nan,
    np.inf,
    -np.inf,
    7.0,
    -1e300,
]
RADIUS = st.sampled_from([1e-9, 0.01, 0.5, 2.0]) | st.floats(1e-4, 4)
cell = st.sampled_from(AWKWARD) | st.floats(-1.2, 1.2)


@st.composite
def tables(draw, columns):
    row = st.lists(cell, min_size=columns, max_size=columns)
    rows = draw(st.lists(row, max_size=25))
    extra = draw(row | st.sampled_from(rows) if rows else row)  # duplicates as well
    return np.array(rows, dtype=np.float64).reshape(-1, columns), np.array([extra], dtype=np.float64)


@st.composite
def centres(draw, columns):
    k = draw(st.integers(1, 5))
    flat = draw(
        st.lists(
            st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]) | st.floats(-1, 1),
            min_size=k * columns,
            max_size=k * columns,
        )
    )
    return np.array(flat).reshape(k, columns)


@st.composite
def trees(draw, columns):
    """Two levels of cuts; whole coefficients and places on the lattice, so that rows lie at cuts."""
    tree = Hyperplanes(np.empty((0, columns), dtype=np.int64), ())
    place = st.sampled_from([0, STEPS // 2, -STEPS, STEPS, 1, NO_CUT]) | st.integers(-3 * STEPS, 3 * STEPS)
    for _ in range(draw(st.integers(1, 2))):
        direction = draw(st.lists(st.integers(-3, 3), min_size=columns, max_size=columns))
        cuts = [sorted(draw(st.lists(place, min_size=2, max_size=2))) for _ in range(tree.n_cells)]
        tree = tree.below(np.array(direction), np.array(cuts))
    return tree


def partitions(columns):
    grids = st.lists(st.integers(1, 5), min_size=columns, max_size=columns).map(lambda s: Grid(tuple(s)))
    ours = halvings(columns) | shells(columns)
    return centres(columns).map(Voronoi) | grids | trees(columns) | sub_cells(columns) | ours


@st.composite
def halvings(draw, columns):
    """Boxes of all sizes: every path is halved at will."""
    axes = tuple(draw(st.lists(st.integers(0, columns - 1), min_size=1, max_size=4)))
    starts, levels, active = [], [], [(0, 0)]
    while active:
        start, level = active.pop()
        if level < len(axes) and draw(st.booleans()):
            active += [(start, level + 1), (start + 2 ** (len(axes) - level - 1), level + 1)]
        else:
            starts.append(start)
            levels.append(level)
    order = np.argsort(starts)
    return Tree(axes, columns, np.array(starts)[order], np.array(levels)[order])


@st.composite
def shells(draw, columns):
    around = draw(centres(columns))
    radii = np.array(draw(st.lists(RADIUS, min_size=around.size, max_size=around.size))).reshape(around.shape)
    return Shells(around, radii, draw(st.sampled_from(["box", "ball"])), (0.5, 1.0, 2.0))


@st.composite
def sub_cells(draw, columns):
    around = draw(centres(columns))[:2]
    seeds = [draw(centres(columns))[:1] for _ in range(2 * len(around))]
    radius = draw(st.sampled_from([0.0, 0.25, 0.5, 3.0]))
    return SubCells(around, np.concatenate(seeds).reshape(len(around), 2, columns), radius)


@st.composite
def cases(draw):
    columns = draw(st.integers(1, 3))
    rows, extra = draw(tables(columns))
    partition = draw(partitions(columns))
    anchors = (
        draw(
            st.lists(
                st.floats(-1, 1), min_size=partition.n_cells * columns, max_size=partition.n_cells * columns
            )
        )
        if partition.n_cells <= 6
        else [0.0] * (partition.n_cells * columns)
    )
    radius = draw(st.sampled_from([1e-5, 0.01, 0.3, 1.0, 1.7]))
    offset = Offset(np.array(anchors).reshape(-1, columns), draw(st.sampled_from([Box, Ball]))(radius))
    direction = Direction(offset.anchors, radius)
    n = len(offset.anchors)
    radii = np.resize(draw(st.lists(RADIUS, min_size=3, max_size=7)), (n, columns))
    relative = Relative(
        offset.anchors,
        radii,
        draw(st.sampled_from(["box", "ball"])),
        draw(st.sampled_from([None, np.resize(radii, n)])),
    )
    plain = [Value(), Squares(), offset, Outer(offset), WithCost(offset)]
    stat = draw(st.sampled_from([*plain, direction, relative]))
    scaling = draw(st.sampled_from(["bounds", "none"]))
    bounds = Bounds((-1.0,) * columns, tuple(1.0 + 0.5 * j for j in range(columns)))
    return Domain(bounds, scaling), rows, extra, partition, stat


def in_the_body(vector, body):
    """Say that what one row adds lies in the body that is declared for it."""
    vector = [int(v) for v in vector]
    assert max(map(abs, vector)) <= body.width
    assert vector[body.n_values] == body.width  # one more row
    if body.ball:
        assert sum(v * v for v in vector[: body.n_values]) <= body.width**2
    assert sum(map(abs, vector[: body.n_values])) <= body.l1


@given(cases())
def test_one_row_changes_one_cell_by_at_most_the_body(case):
    domain, rows, extra, partition, stat = case
    before = stat.exact_totals(partition, domain.encode(list(rows.T)), domain.metric)
    after = stat.exact_totals(partition, domain.encode(list(np.vstack([extra, rows]).T)), domain.metric)
    change, body = after - before, stat.change(domain.n_columns)
    changed = np.flatnonzero((change != 0).any(axis=1))
    assert len(changed) == 1
    in_the_body(change[changed[0]], body)


def every_statistic(anchors, radius):
    """Give each statistic, in each of its shapes, about the same anchors."""
    yield from (Value(), Squares(), Direction(anchors, radius))
    for shape in (Box, Ball):
        offset = Offset(anchors, shape(radius))
        yield from (offset, Outer(offset), WithCost(offset))
    for kind in ("box", "ball"):
        radii = np.full(anchors.shape, radius)
        yield from (Relative(anchors, radii, kind), Relative(anchors, radii, kind, radii[:, 0]))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("radius", [1e-5, 0.3, 1.0, 1.7])
def test_no_corner_of_the_domain_leaves_the_body(columns, radius):
    # Whichever examples are drawn above, a corner is where a box is farther away than a ball.
    domain, cells = Domain(Bounds.parse((-1, 1), columns)), Voronoi(np.zeros((1, columns)))
    for stat in every_statistic(np.full((1, columns), 0.1), radius):
        body = stat.change(columns)
        for row in product([-1.0, 0.1, 0.4, 1.0], repeat=columns):
            in_the_body(stat.exact_totals(cells, domain.encode([np.array([v]) for v in row]), None)[0], body)


@given(cases())
def test_no_other_row_changes_its_cell(case):
    domain, rows, extra, partition, _ = case
    before = partition.assign(domain.encode(list(rows.T)).columns, domain.metric)
    first = partition.assign(domain.encode(list(np.vstack([extra, rows]).T)).columns, domain.metric)
    last = partition.assign(domain.encode(list(np.vstack([rows, extra]).T)).columns, domain.metric)
    assert np.array_equal(first[1:], before)
    assert np.array_equal(last[:-1], before)


@given(st.integers(0, 10**6), st.sampled_from([3, 17, 130]), st.sampled_from([2, 40, 100]))
def test_no_row_changes_its_cell_in_many_columns(seed, columns, k):
    # Wide tables go through a matrix product, whose last bits depend on a row's place in the block.
    rng = np.random.default_rng(seed)
    domain = Domain(Bounds.parse((-1, 1), columns))
    rows = rng.uniform(-1, 1, (200, columns))
    near = rng.uniform(-1, 1, (k, columns))
    near[1:] = near[:1] + rng.choice([0, 1, -1], (k - 1, columns)) / STEPS  # centres a lattice step apart
    partition = Voronoi(near)
    whole = partition.assign(domain.encode(list(rows.T)).columns, None)
    keep = rng.permutation(200)[: rng.integers(1, 200)]
    assert np.array_equal(partition.assign(domain.encode(list(rows[keep].T)).columns, None), whole[keep])


@pytest.mark.parametrize("columns", [1, 2, 300])
@pytest.mark.parametrize("metric", [False, True])
def test_directions_have_length_one_and_never_more(columns, metric):
    rng = np.random.default_rng(columns)
    rows = (np.rint(rng.uniform(-1, 1, (columns, 2000)) * STEPS) / STEPS).astype(np.float32)
    rows[:, 0] = 0.0  # at the anchor
    weights = rng.uniform(0.1, 1, columns) if metric else None
    labels = np.zeros(2000, dtype=np.int32)
    found = Direction(np.zeros((1, columns)), 1e-4).exact_directions(rows, labels, weights).astype(object)
    lengths = (found * found).sum(axis=0)
    assert not found[:, 0].any()
    assert max(lengths) <= STEPS**2
    assert min(lengths[1:]) >= (STEPS - 2 * columns) ** 2


@pytest.mark.parametrize("shape", [Box(0.25), Ball(0.25)])
def test_the_bound_is_reached(shape):
    # A looser declared body than the truth would waste budget; a row at the clip radius attains it.
    domain = Domain(Bounds.parse((-1, 1), 1))
    stat = Offset(np.zeros((1, 1)), shape)
    totals = stat.exact_totals(Voronoi(np.zeros((1, 1))), domain.encode([np.array([0.9])]), None)
    assert totals[0, 1] == stat.width
    assert stat.width - 1 <= totals[0, 0] <= stat.width  # a ball rounds toward zero
