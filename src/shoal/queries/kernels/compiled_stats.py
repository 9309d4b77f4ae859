"""Integer statistics of the rows of a chunk, compiled on first use; see `shoal.queries.kernels.compiled`."""

from __future__ import annotations

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, part

_ONE = np.float32(STEPS)
_ROWS = 512
"""Rows a block: the buffers of a block stay in the first level of cache."""


@entry("i4[:,:] i4[:] I8[:,:]")
def accumulate(values: Array, labels: Array, sums: Array) -> None:
    """Add each column of `values` (d, n) to `sums` (n_cells, d) by label."""
    d, n = values.shape
    for c in range(0, d - 3, 4):
        v0, v1, v2, v3 = values[c], values[c + 1], values[c + 2], values[c + 3]
        for i in range(n):
            cell = np.uint64(np.uint32(labels[i]))
            sums[cell, c] += v0[i]
            sums[cell, c + 1] += v1[i]
            sums[cell, c + 2] += v2[i]
            sums[cell, c + 3] += v3[i]
    for c in range(d // 4 * 4, d):
        v0 = values[c]
        for i in range(n):
            sums[np.uint64(np.uint32(labels[i])), c] += v0[i]


@entry("i4[:] I8[:]")
def count(labels: Array, counts: Array) -> None:
    """Add one to `counts` (n_cells,) for each label."""
    for i in range(labels.shape[0]):
        counts[np.uint64(np.uint32(labels[i]))] += 1


@part
def _add_product(values: Array, coefficient: float, places: Array) -> None:
    for i in range(values.shape[0]):
        places[i] = places[i] + np.float64(values[i]) * coefficient


@entry("f4[:,:] i4[:] f8[:] i8[:,:] i8[:] I4[:]")
def cut(columns: Array, labels: Array, direction: Array, cuts: Array, firsts: Array, out: Array) -> None:
    """Fill `out` (n,) with the first label of each row's cell and the cuts of it that the row has passed.

    Places are multiples of 2^-20 below 2^32 in every partial sum, so float64 adds them exactly.
    """
    d, n = columns.shape
    places = np.empty(_ROWS)
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        places[:] = 0.0
        for c in range(d):
            _add_product(columns[c, start:stop], direction[c], places)
        for i in range(stop - start):
            cell = np.uint64(np.uint32(labels[start + i]))
            place, passed = np.int64(places[i] * np.float64(_ONE)), np.int64(0)
            for m in range(cuts.shape[1]):
                passed += np.int64(cuts[cell, m] <= place)
            out[start + i] = np.int32(firsts[cell] + passed)


@part
def _multiply(one: Array, other: Array, width: float, out: Array) -> None:
    for i in range(one.shape[0]):
        out[i] = np.int32(np.float64(one[i]) * np.float64(other[i]) / width)


@entry("i4[:,:] f8 I4[:,:]")
def products(values: Array, width: float, out: Array) -> None:
    """Fill `out` (d (d + 1) / 2, n) with trunc(v_i v_j / width) for all i <= j.

    float64 does this exactly: a product is below 2^40, and a quotient that is no whole number is at least
    1 / width away from one, more than its rounding.
    """
    d, pair = values.shape[0], 0
    for i in range(d):
        for j in range(i, d):
            _multiply(values[i], values[j], width, out[pair])
            pair += 1


@part
def _turn(anchors: Array) -> Array:
    """Copy anchors (k, d) to int32 (d, k): all cells of one column side by side."""
    turned = np.empty((anchors.shape[1], anchors.shape[0]), np.int32)
    for cell in range(anchors.shape[0]):
        for c in range(anchors.shape[1]):
            turned[c, cell] = anchors[cell, c]
    return turned


@part
def _steps_from(values: Array, labels: Array, anchor: Array, out: Array) -> None:
    """Write, in lattice steps, how far each value of one column lies from its cell's anchor."""
    for i in range(values.shape[0]):
        out[i] = np.int32(values[i] * _ONE) - anchor[np.uint64(np.uint32(labels[i]))]


@part
def _add_squares(values: Array, squares: Array) -> None:
    for i in range(values.shape[0]):
        squares[i] = squares[i] + np.int64(values[i]) * np.int64(values[i])


@part
def _scale(values: Array, times: Array, over: Array) -> None:
    for i in range(values.shape[0]):
        values[i] = np.int32(np.float64(values[i]) * times[i] / over[i])


@part
def _clip(values: Array, radius: int) -> None:
    for i in range(values.shape[0]):
        values[i] = min(max(np.int64(values[i]), -radius), radius)


@entry("f4[:,:] i4[:] i8[:,:] i8 i8 i8 I4[:,:]")
def offsets(
    columns: Array, labels: Array, anchors: Array, radius: int, width: int, ball: int, out: Array
) -> None:
    """Fill `out` (d, n) with clipped offsets from the anchor, in steps of radius / width, toward zero.

    A value v becomes trunc(v width / radius). float64 does this exactly: |v| <= 2^21 and width <= 2^30, so
    the product is exact, and a quotient that is no whole number is at least 1 / radius away from one, more
    than its rounding.

    Outside the ball it becomes trunc(v s) with s just below width / |v|_2. Rounding the sum of squares,
    the root, the ratio, s and the product errs by less than 5 parts in 2^53 together, and s is first cut by
    8 parts, so |trunc(v s)| never exceeds |v| width / |v|_2, and the squares add up to at most width^2.
    """
    d, n = columns.shape
    turned = _turn(anchors)
    squares, times, over = np.empty(_ROWS, np.int64), np.empty(_ROWS), np.empty(_ROWS)
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        m = stop - start
        squares[:] = 0
        for c in range(d):
            _steps_from(columns[c, start:stop], labels[start:stop], turned[c], out[c, start:stop])
            if ball:
                _add_squares(out[c, start:stop], squares)
            else:
                _clip(out[c, start:stop], radius)
        for i in range(m):
            inside = not ball or squares[i] <= radius * radius
            length = np.sqrt(np.float64(squares[i])) if not inside else 1.0
            times[i] = np.float64(width) if inside else np.float64(width) / length * (1.0 - 2.0**-50)
            over[i] = np.float64(radius) if inside else 1.0
        for c in range(d):
            _scale(out[c, start:stop], times, over)


@entry("f4[:,:] i4[:] i8[:,:] i8 i8 I4[:]")
def offset_cost(columns: Array, labels: Array, anchors: Array, radius: int, width: int, out: Array) -> None:
    """Fill `out` (n,) with floor(2 width min(|x - a|^2, radius^2) / radius^2) - width.

    The product does not fit 64 bits. float64 gives the quotient within one; the remainder, which lies in
    [-radius^2, 2 radius^2) and does fit, is then exact in arithmetic modulo 2^64 and says which it is.
    """
    d, n = columns.shape
    turned = _turn(anchors)
    squares, steps = np.empty(_ROWS, np.int64), np.empty(_ROWS, np.int32)
    whole, twice = np.int64(radius) * np.int64(radius), np.int64(width) * 2
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        squares[:] = 0
        for c in range(d):
            _steps_from(columns[c, start:stop], labels[start:stop], turned[c], steps)
            _add_squares(steps[: stop - start], squares)
        for i in range(stop - start):
            part_of = min(squares[i], whole)
            quotient = np.int64(np.float64(part_of) * np.float64(twice) / np.float64(whole))
            left = np.int64(np.uint64(part_of) * np.uint64(twice) - np.uint64(quotient) * np.uint64(whole))
            quotient += np.int64(left >= whole) - np.int64(left < 0)
            out[start + i] = np.int32(quotient - width)
