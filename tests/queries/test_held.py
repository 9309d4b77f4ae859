"""Rows that are held: sums with counts, windows and tables agree, and bad questions cost nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.domain import STEPS, Bounds, Chunk, Domain
from shoal.domain.groups import Here
from shoal.errors import InvalidInput
from shoal.queries import (
    BoxCount,
    Grid,
    Inside,
    Offset,
    Region,
    ReplayCurator,
    Value,
    Voronoi,
    Windows,
    WindowSize,
)
from shoal.queries.losses.windows import summed_area
from shoal.queries.questions.base import exact_sum
from shoal.queries.questions.coins import joined
from shoal.queries.questions.materialised import HeldRows
from shoal.queries.questions.nearest import Nearest
from shoal.queries.statistics.aggregates import Box

lattice = st.integers(-STEPS, STEPS) | st.sampled_from([-STEPS, 0, STEPS])


@st.composite
def chunks(draw):
    d, n = draw(st.integers(1, 3)), draw(st.integers(0, 15))
    steps = draw(st.lists(lattice, min_size=d * n, max_size=d * n))
    rows = (np.array(steps, dtype=np.float64).reshape(d, n) / STEPS).astype(np.float32)
    often = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)) if draw(st.booleans()) else None
    return Chunk(rows, counts=None if often is None else np.array(often, dtype=np.int64))


def spread_out(chunk):
    """The same rows, one by one."""
    if chunk.counts is None:
        return chunk
    return Chunk(np.ascontiguousarray(np.repeat(chunk.columns, chunk.counts, axis=1)))


def without(chunk, centre, n, metric=None):
    """What is left of rows without the n nearest to a point."""
    held = HeldRows.of(Here([joined([chunk])])).without(Nearest(centre, metric), n)
    return held.groups.items[0]


def multiset(chunk):
    return sorted(map(tuple, spread_out(chunk).columns.T.tolist()))


@given(chunks(), st.data())
def test_counts_are_as_good_as_rows(chunk, data):
    d = len(chunk.columns)
    region = data.draw(regions(d))
    for stat, cells in (
        (Value(), Voronoi(np.linspace(-1, 1, 3 * d).reshape(3, d))),
        (Offset(np.full((2, d), 0.25), Box(0.5)), Inside(region)),
    ):
        of_counts = exact_sum(lambda rows, s=stat, c=cells: s.exact_totals(c, rows, None), chunk)
        assert np.array_equal(of_counts, stat.exact_totals(cells, spread_out(chunk), None))


@st.composite
def regions(draw, d):
    ends = [sorted((draw(lattice), draw(lattice))) for _ in range(d)]
    return Region(tuple(e[0] for e in ends), tuple(e[1] for e in ends))


@given(chunks(), st.integers(1, 6), st.sampled_from([0, 1, 8, 64]), st.data())
def test_windows_count_what_lies_in_them(chunk, parts, cells, data):
    d = len(chunk.columns)
    region = data.draw(regions(d))
    # A part without a lattice point has no box to compare with.
    assume(all(high - low >= parts for low, high in zip(region.lower, region.upper, strict=True)))
    axes = tuple(range(d)) if cells else tuple(sorted(data.draw(st.sets(st.integers(0, d - 1), min_size=1))))
    windows = Windows(region, axes, parts, cells)
    table = summed_area(chunk, cells) if cells and d <= 2 else None
    counts = windows.exact_counts(chunk, table)
    assert np.array_equal(counts, windows.exact_counts(chunk))
    moved = spread_out(chunk)
    if cells:
        steps = (moved.columns * STEPS).astype(np.int64)
        place = np.minimum((steps + STEPS) * cells // (2 * STEPS), cells - 1)
        moved = Chunk(((2 * place + 1) / cells - 1).astype(np.float32))
    assert len(counts) == windows.n
    for i in {0, windows.n // 2, windows.n - 1}:
        assert counts[i] == Inside(windows.at(i)).assign(moved.columns, None).sum()


@given(st.integers(2, 40))
def test_whatever_is_one_part_wide_lies_in_a_window(parts):
    windows = Windows(Region.whole(1), (0,), parts)
    found = [windows.at(i) for i in range(windows.n)]
    assert found[0].lower == (-STEPS,)
    assert found[-1].upper == (STEPS,)
    for low in np.linspace(-STEPS, STEPS - 2 * STEPS // parts, 50).astype(int):
        high = low + 2 * STEPS // parts - 1
        assert any(w.lower[0] <= low and high <= w.upper[0] for w in found)


def order(chunk, centre, metric):
    weights = np.ones(len(centre)) if metric is None else metric
    rows = multiset(chunk)
    return sorted(
        rows,
        key=lambda r: (sum(w * (v - c / STEPS) ** 2 for v, c, w in zip(r, centre, weights, strict=True)), r),
    )


@given(chunks(), st.integers(0, 40), st.booleans(), st.data())
def test_the_nearest_are_taken(chunk, n, weighted, data):
    d = len(chunk.columns)
    centre = np.array(data.draw(st.lists(lattice, min_size=d, max_size=d)), dtype=np.int64)
    metric = np.linspace(0.25, 1.0, d) if weighted else None
    assert multiset(without(chunk, centre, n, metric)) == sorted(order(chunk, centre, metric)[n:])


@given(chunks(), st.integers(0, 30), st.data())
def test_the_same_rows_in_any_order_and_form_leave_the_same(chunk, n, data):
    d = len(chunk.columns)
    centre = np.array(data.draw(st.lists(lattice, min_size=d, max_size=d)), dtype=np.int64)
    rows = spread_out(chunk)
    shuffled = data.draw(st.permutations(range(rows.n_rows)))
    other = Chunk(np.ascontiguousarray(rows.columns[:, shuffled]))
    assert multiset(without(chunk, centre, n)) == multiset(without(other, centre, n))


def test_held_curators_in_line(behind_gate, blobs):
    curator = behind_gate(blobs)
    held = curator.hold(Grid((64, 64)))
    with pytest.raises(InvalidInput, match="the one that was returned"):
        curator.histogram(Grid.whole(2), share=Fraction(1, 4))
    fewer = held.without_nearest(np.array([0.6, 0.6]), 500)
    with pytest.raises(InvalidInput, match="the one that was returned"):
        held.without_nearest(np.zeros(2), 1)
    count = fewer.histogram(Grid((2, 2)), share=Fraction(9, 10))
    assert count.counts == pytest.approx([500, 500, 500, 0], abs=80)
    kinds = [type(entry.question).__name__ for entry in curator.transcript]
    assert kinds == ["Hold", "WithoutNearest", "Histogram"]
    all_rows = fewer.restored().histogram(Grid((2, 2)), share=Fraction(1, 20))
    assert all_rows.counts == pytest.approx([500] * 4, abs=250)
    assert all_rows.counts.sum() == pytest.approx(2000, abs=300)
    replay = ReplayCurator(curator.transcript)
    again = replay.hold(Grid((64, 64))).without_nearest(np.array([0.6, 0.6]), 500)
    assert np.array_equal(again.histogram(Grid((2, 2)), share=Fraction(9, 10)).counts, count.counts)


def test_bad_questions_cost_nothing(behind_gate, blobs):
    curator = behind_gate(blobs)
    windows = Windows(Region.whole(2), (0, 1), 4)
    with pytest.raises(InvalidInput, match="holds rows"):
        curator.select(BoxCount(windows), share=Fraction(1))
    with pytest.raises(InvalidInput, match="call hold"):
        curator.without_nearest(np.zeros(2), 1)
    for grid in (Grid((3, 4)), Grid((4,)), Grid((2**13, 2**13))):
        with pytest.raises(InvalidInput, match="grid"):
            curator.hold(grid)
    held = curator.hold()
    with pytest.raises(InvalidInput, match="cannot be taken"):
        held.without_nearest(np.zeros(3), 1)
    with pytest.raises(InvalidInput, match="ask before"):
        held.sparse_histogram(Grid((4, 4)), share=Fraction(1), spurious=1.0)
    with pytest.raises(InvalidInput, match="other bounds"):
        held.within(Bounds.parse((0, 1), 2), Fraction(1))
    with pytest.raises(InvalidInput, match="columns"):
        held.select(WindowSize((Windows(Region.whole(3), (0,), 2),), 5), share=Fraction(1))
    assert curator._allowance.spent == 0
    for wrong in (
        lambda: Windows(Region.whole(2), (), 4),
        lambda: Windows(Region.whole(2), (0, 2), 4),
        lambda: Windows(Region.whole(2), (0, 1), 1000),
        lambda: Windows(Region.whole(2), (0,), 4, cells=8),
        lambda: Region((1,), (0,)),
        lambda: Region((0, 0), (1,)),
    ):
        with pytest.raises(InvalidInput):
            wrong()


def test_weights_thin_the_rows(behind_gate):
    X = np.repeat([[-0.5, 0.0], [0.5, 0.0]], 4000, axis=0)
    domain = Domain(Bounds.parse((-1, 1), 2), max_weight=4.0)
    from shoal.mechanisms import SeededEntropy
    from shoal.queries.questions.materialised import hold

    chunk = domain.encode(list(X.T), np.repeat([4.0, 1.0], 4000))
    for grid in (None, Grid((8, 8))):
        (held,) = hold(Here([chunk]), grid, SeededEntropy(0), weighted=True).groups.items
        counts = np.ones(held.n_rows) if held.counts is None else held.counts
        assert counts[held.columns[0] < 0].sum() == 4000  # at the maximum: always kept
        assert counts[held.columns[0] > 0].sum() == pytest.approx(1000, abs=120)
