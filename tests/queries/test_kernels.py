"""Kernels: exact, a function of one row alone, and the same compiled as in plain NumPy."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_cases import KINDS, ONE, brute, case, chunk, integers, same, totals
from shoal.queries import kernels
from shoal.queries.kernels import reference

sizes = st.tuples(
    st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40), st.integers(0, 90), st.sampled_from(KINDS)
)


SHAPES = product([1, 2, 3, 5, 8, 17, 128, 300], [1, 2, 7, 64, 101], [0, 1, 33, 479, 480, 481, 1000])
EDGES = [
    *[(1, 2048), (1, 2049), (2, 1024), (2, 1025), (4, 512), (4, 513)],  # of the loops for few columns
    *[(127, 3), (129, 3), (256, 3), (257, 3), (2047, 3), (2048, 3), (2049, 3)],  # of panels of many
]


@pytest.mark.parametrize(("d", "k", "n"), [*SHAPES, *((d, k, 600) for d, k in EDGES)])
def test_assignment_as_the_reference(d, k, n):
    for seed, kind in enumerate(KINDS):
        steps, centres = case(seed, d, k, n, kind)
        columns = chunk(steps)
        labels = kernels.assign(columns, centres)
        same(labels, reference.assign(columns, centres))
        same(kernels.assign_sums(columns, centres), totals(steps, labels, k))


@given(sizes)
def test_assignment_is_exact(size):
    steps, centres = case(*size)
    expected = brute(steps, centres)
    for module in (kernels, reference):
        same(module.assign(chunk(steps), centres), expected)
        same(module.assign_sums(chunk(steps), centres), totals(steps, expected, len(centres)))


@given(sizes, st.booleans())
def test_weighted_assignment_as_the_reference(size, equal):
    steps, centres = case(*size)
    metric = np.ones(len(steps)) if equal else np.random.default_rng(size[0]).uniform(1e-3, 9, len(steps))
    labels = kernels.assign(chunk(steps), centres, metric)
    same(labels, reference.assign(chunk(steps), centres, metric))
    same(kernels.assign_sums(chunk(steps), centres, metric), totals(steps, labels, len(centres)))
    if equal:
        same(labels, brute(steps, centres))


@given(sizes, st.sampled_from([1, 3, 1000, ONE - 1, ONE]))
def test_products_are_exact(size, width):
    seed, d, _, n, _ = size
    values = np.random.default_rng(seed).integers(-width, width + 1, (d, n)).astype(np.int32)
    values[:, : n // 3] = np.sign(values[:, : n // 3]) * width
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    wide = values.astype(np.int64)
    want = [np.sign(wide[i] * wide[j]) * (np.abs(wide[i] * wide[j]) // width) for i, j in pairs]
    for module in (kernels, reference):
        same(module.products(values, width), np.array(want, dtype=np.int32).reshape(len(pairs), n))


@given(sizes, st.sampled_from([1, 5, 2**14, 2**32]))
def test_places_along_a_direction_are_exact(size, largest):
    steps, _ = case(*size)
    rng = np.random.default_rng(size[0])
    direction = rng.integers(-largest, largest + 1, len(steps)) // len(steps)
    places = [sum(int(c) * int(v) for c, v in zip(direction, row, strict=True)) for row in steps.T]
    # Cuts at places, one before and one after: a wrong last bit would show.
    near = [p + rng.integers(-1, 2) for p in places[:4]]
    cuts = np.sort(np.array([near, [0] * len(near)], dtype=np.int64), axis=1).reshape(2, -1)
    cells = rng.integers(0, 2, steps.shape[1]).astype(np.int32)
    firsts = np.array([7, 100])
    want = [firsts[c] + sum(int(at) <= p for at in cuts[c]) for c, p in zip(cells, places, strict=True)]
    for module in (kernels, reference):
        same(module.cut(chunk(steps), cells, direction, cuts, firsts), np.array(want, dtype=np.int32))


def test_weighted_ties_are_broken_by_the_same_roundings():
    """Centres that permute one offset are equally far but for the order in which squares are rounded."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        offset = integers(rng, 9, "uniform")
        centres = np.array([rng.permutation(offset) for _ in range(30)])
        metric = np.full(9, rng.random() + 0.1)
        columns = np.zeros((9, 2), dtype=np.float32)
        same(kernels.assign(columns, centres, metric), reference.assign(columns, centres, metric))


@pytest.mark.parametrize("metric", [None, 0.3])
@pytest.mark.parametrize(("d", "k"), [(2, 5), (17, 33), (128, 100)])
def test_a_label_depends_on_its_row_alone(d, k, metric):
    steps, centres = case(1, d, k, 1500, "narrow")
    rng = np.random.default_rng(d)
    weights = None if metric is None else np.full(d, metric)
    labels = kernels.assign(chunk(steps), centres, weights)
    order = rng.permutation(1500)
    same(kernels.assign(chunk(steps[:, order]), centres, weights), labels[order])
    for start, stop in [(0, 1), (3, 700), (511, 513), (1499, 1500)]:
        same(kernels.assign(chunk(steps[:, start:stop]), centres, weights), labels[start:stop])
    others = integers(rng, (d, 777), "uniform")
    same(kernels.assign(chunk(np.hstack([others, steps])), centres, weights)[777:], labels)


def test_keys_of_few_columns_fit_float64():
    from shoal.queries.kernels import compiled_few

    for d, k in product(range(1, 6), range(1, 5000, 7)):
        cells = 2 ** math.ceil(math.log2(k))
        largest = cells * 3 * d * ONE**2 + cells
        assert compiled_few.suits(k, d) == (d <= 4 and largest <= 2**53)


@given(sizes)
def test_accumulate_and_count(size):
    seed, d, k, n, _ = size
    rng = np.random.default_rng(seed)
    values = rng.integers(-(2**31), 2**31, (d, n)).astype(np.int32)
    labels = rng.integers(0, k, n).astype(np.int32)
    expected, counts = totals(values.astype(np.int64), labels, k)
    for module in (kernels, reference):
        same(module.accumulate(values, labels, k), expected)
        same(module.count(labels, k), counts)


radii = st.one_of(
    st.integers(1, 9), st.integers(2**10, 2**22), st.integers(2**22, 2**27), st.just(2**30), st.just(ONE)
)


@given(sizes, radii, st.floats(0, 1), st.booleans())
def test_offsets(size, radius, share, ball):
    steps, anchors = case(*size)
    width = max(1, int(share * radius))
    labels = np.random.default_rng(size[0]).integers(0, len(anchors), steps.shape[1]).astype(np.int32)
    result = kernels.offsets(chunk(steps), labels, anchors, radius, width, ball)
    same(result, reference.offsets(chunk(steps), labels, anchors, radius, width, ball))
    for x, label, row in zip(steps.T, labels, result.T, strict=True):
        v = [int(a) - int(b) for a, b in zip(x, anchors[label], strict=True)]
        got = [int(value) for value in row]
        squares = sum(a * a for a in v)
        if not ball:
            v = [max(-radius, min(radius, a)) for a in v]
        if not ball or squares <= radius**2:
            assert got == [abs(a) * width // radius * (1 if a >= 0 else -1) for a in v]
        else:
            for a, b in zip(v, got, strict=True):  # b is trunc(a width / |v|), or one step less
                assert a * b >= 0
                assert b * b * squares <= a * a * width**2 < (abs(b) + 2) ** 2 * squares
        assert (sum(a * a for a in got) <= width**2) if ball else (max(map(abs, got)) <= width)


@given(sizes, radii, radii)
def test_offset_cost(size, radius, width):
    steps, anchors = case(*size)
    labels = np.random.default_rng(size[0]).integers(0, len(anchors), steps.shape[1]).astype(np.int32)
    result = kernels.offset_cost(chunk(steps), labels, anchors, radius, width, True)
    same(result, reference.offset_cost(chunk(steps), labels, anchors, radius, width))
    for x, label, u in zip(steps.T, labels, result, strict=True):
        squares = sum((int(a) - int(b)) ** 2 for a, b in zip(x, anchors[label], strict=True))
        assert int(u) == 2 * min(squares, radius**2) * width // radius**2 - width
        assert -width <= u <= width


def squares_adding_to(total, d):
    """Split an integer into d squares of integers up to 2^21, largest first."""
    parts = []
    for _ in range(d):
        parts.append(min(math.isqrt(total), 2 * ONE))
        total -= parts[-1] ** 2
    assert total == 0
    return parts


@pytest.mark.parametrize("beside", [-1, 1])
@pytest.mark.parametrize("radius", [2**20 + 1, 2**22 + 1, 2**23 + 9])
def test_offset_cost_beside_whole_quotients(radius, beside):
    """Twice the width times the distance is one off a multiple of radius^2: a rounded quotient slips."""
    for width in (2**20 + 7, 2**27 + 29, 2**29 + 11):
        squares = beside * pow(2 * width, -1, radius**2) % radius**2
        values = np.array(squares_adding_to(squares, 64))[:, np.newaxis]
        anchors = np.full((1, 64), -ONE)
        for module, rest in ((kernels, (True,)), (reference, ())):
            got = module.offset_cost(
                chunk(anchors.T + values), np.zeros(1, np.int32), anchors, radius, width, *rest
            )
            assert got.tolist() == [2 * squares * width // radius**2 - width]
