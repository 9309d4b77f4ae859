"""Assignment of the rows of a chunk, compiled on first use; `shoal.queries.kernels` is the way in.

Rows lie in the lanes of the processor: every inner loop runs over a block of rows of one column, which the
compiler turns into vector instructions. Three habits keep it able to:

* a running minimum is read from one buffer and written to another, because updating it in place compiles
  to masked stores, which are several times slower;
* sums are indexed by unsigned labels, which need no test for "counted from the end";
* four centres by four columns are multiplied at once, so that a loaded value is used four times.

Buffers come from outside, because code that allocates takes long to compile. Nothing here starts threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from shoal.domain import STEPS

Array = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

STARTERS: list[Callable[[], Any]] = []
"""One function for each entry point, which compiles it."""

_ONE = np.float32(STEPS)
_WORST = np.int64(2**62)
_OPTIONS = {"nogil": True, "error_model": "numpy"}
_SCALARS = {"f4": "float32", "f8": "float64", "i4": "int32", "i8": "int64"}


def part(function: F, **options: Any) -> F:
    """Mark a part of an entry point; it need not be callable from Python, which saves compiling."""
    without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**_OPTIONS, **without, **options)(function))


def fused(function: F) -> F:
    """Mark a part that may round a product and its sum once, not twice: filters, never the last word."""
    return part(function, fastmath={"contract"})


def entry(signature: str) -> Callable[[F], F]:
    """Mark an entry point: compiled for this one signature, or loaded from disk, when first called.

    In ``f4[:,:] I4[:] i8`` a small letter is an array to read from. It is declared read-only, which accepts a
    writable one too, so that a memory-mapped table needs no second compilation. A capital is written to.
    """
    types = []
    for word in signature.split():
        scalar = getattr(numba.types, _SCALARS[word[:2].lower()])
        ndim = word.count(":")
        types.append(numba.types.Array(scalar, ndim, "C", readonly=word[0].islower()) if ndim else scalar)

    def mark(function: F) -> F:
        @cache
        def start() -> Any:
            return numba.njit(numba.void(*types), cache=True, no_cfunc_wrapper=True, **_OPTIONS)(function)

        @wraps(function)
        def call(*arguments: Any) -> None:
            start()(*arguments)

        STARTERS.append(start)
        return cast(F, call)

    return mark


class Filter(NamedTuple):
    """Centres as the float32 filter wants them, padded to multiples of four."""

    points: npt.NDArray[np.float32]
    half: npt.NDArray[np.float32]
    norms: npt.NDArray[np.int64]
    gap: float


def prepare(centres: npt.NDArray[np.int64]) -> Filter:
    """Return float32 centres, half and exact norms, and the widest gap between scores not to be trusted.

    The score of row x and centre p is |p|^2 / 2 - x.p. Let u = 2^-24. Entries of x and p are at most 1 and
    exact in float32, and no product is below 2^-40, so none underflows. Whatever the order and the fusing,
    each term passes through at most d + 1 roundings, the half norm through one more, and the terms add up
    to at most |p|^2 / 2 + |p|_1 <= 3/2 |p|_1. So a computed score errs by at most E = 3/2 g max |p|_1 with
    g = (d + 2) u / (1 - (d + 2) u). If it is the least by more than 2 E, the true one is the least too.
    Two more roundings in g and the last factor cover those of this bound and of comparing with it.
    """
    k, d = centres.shape
    return _prepare(centres.tobytes(), k, d)


@lru_cache(maxsize=2)  # all chunks of one pass ask for the same
def _prepare(steps: bytes, k: int, d: int) -> Filter:
    centres = np.frombuffer(steps, dtype=np.int64).reshape(k, d)
    points = np.zeros((-(-k // 4) * 4, -(-d // 4) * 4), dtype=np.float32)
    points[:k, :d] = centres / STEPS
    norms = (centres * centres).sum(axis=1)
    # A copy of an earlier centre never wins a tie: left at infinity, it costs no settling either.
    half = np.full(len(points), np.inf, dtype=np.float32)
    first = np.unique(centres, axis=0, return_index=True)[1]
    half[first] = norms[first] / (2 * STEPS**2)
    error = (d + 4) * 2.0**-24
    length = float(np.abs(centres).sum(axis=1).max()) / STEPS
    return Filter(points, half, norms, 3.0 * error / (1.0 - error) * length * (1.0 + 2.0**-10))


@part
def load_block(columns: Array, start: int, m: int, block: Array) -> None:
    """Copy rows [start, start + m) to a small contiguous block that stays in cache."""
    for c in range(columns.shape[0]):
        source, target = columns[c, start : start + m], block[c]
        for i in range(m):
            target[i] = source[i]


@part
def add_block(block: Array, d: int, labels: Array, m: int, totals: Array) -> None:
    """Add d columns and one of ones to `totals` (d // 4 + 1, k, 4): float64 holds the sums exactly."""
    for group in range(totals.shape[0]):
        into = totals[group]
        x0, x1, x2, x3 = block[4 * group], block[4 * group + 1], block[4 * group + 2], block[4 * group + 3]
        if 4 * group == d:  # the column of ones by itself
            for i in range(m):
                into[np.uint64(np.uint32(labels[i])), 0] += 1.0
        else:
            for i in range(m):
                cell = np.uint64(np.uint32(labels[i]))
                into[cell, 0] += np.float64(x0[i])
                into[cell, 1] += np.float64(x1[i])
                into[cell, 2] += np.float64(x2[i])
                into[cell, 3] += np.float64(x3[i])


@fused
def _rank(block: Array, points: Array, half: Array, scores: Array, two: Array, labels: Array) -> int:
    """Score every centre and row of a block, in float32, and keep each row's least two and the best label.

    A score is a half norm minus an inner product. Returns the side of the buffers that holds the result.
    """
    rows = block.shape[1]
    for i in range(rows):
        two[0, i] = np.inf
        two[1, i] = np.inf
        labels[0, i] = 0
    side = 0
    for j in range(0, points.shape[0], 4):
        s0, s1, s2, s3 = scores[j], scores[j + 1], scores[j + 2], scores[j + 3]
        h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
        p0, p1, p2, p3 = points[j], points[j + 1], points[j + 2], points[j + 3]
        for c in range(0, points.shape[1], 4):
            x0, x1, x2, x3 = block[c], block[c + 1], block[c + 2], block[c + 3]
            p00, p01, p02, p03 = p0[c], p0[c + 1], p0[c + 2], p0[c + 3]
            p10, p11, p12, p13 = p1[c], p1[c + 1], p1[c + 2], p1[c + 3]
            p20, p21, p22, p23 = p2[c], p2[c + 1], p2[c + 2], p2[c + 3]
            p30, p31, p32, p33 = p3[c], p3[c + 1], p3[c + 2], p3[c + 3]
            if c == 0:
                for i in range(rows):
                    y0, y1, y2, y3 = x0[i], x1[i], x2[i], x3[i]
                    s0[i] = h0 - p00 * y0 - p01 * y1 - p02 * y2 - p03 * y3
                    s1[i] = h1 - p10 * y0 - p11 * y1 - p12 * y2 - p13 * y3
                    s2[i] = h2 - p20 * y0 - p21 * y1 - p22 * y2 - p23 * y3
                    s3[i] = h3 - p30 * y0 - p31 * y1 - p32 * y2 - p33 * y3
            else:
                for i in range(rows):
                    y0, y1, y2, y3 = x0[i], x1[i], x2[i], x3[i]
                    s0[i] = s0[i] - p00 * y0 - p01 * y1 - p02 * y2 - p03 * y3
                    s1[i] = s1[i] - p10 * y0 - p11 * y1 - p12 * y2 - p13 * y3
                    s2[i] = s2[i] - p20 * y0 - p21 * y1 - p22 * y2 - p23 * y3
                    s3[i] = s3[i] - p30 * y0 - p31 * y1 - p32 * y2 - p33 * y3
        j0, j1, j2, j3 = np.int32(j), np.int32(j + 1), np.int32(j + 2), np.int32(j + 3)
        old_best, old_second, old_label = two[2 * side], two[2 * side + 1], labels[side]
        side = 1 - side
        new_best, new_second, new_label = two[2 * side], two[2 * side + 1], labels[side]
        for i in range(rows):
            v0, v1, v2, v3, old = s0[i], s1[i], s2[i], s3[i], old_best[i]
            low_a, high_a, who_a = min(v0, v1), max(v0, v1), j1 if v1 < v0 else j0
            low_b, high_b, who_b = min(v2, v3), max(v2, v3), j3 if v3 < v2 else j2
            low, who = min(low_a, low_b), who_b if low_b < low_a else who_a
            high = min(max(low_a, low_b), min(high_a, high_b))
            new_second[i] = min(min(high, old_second[i]), max(old, low))
            new_label[i] = who if low < old else old_label[i]
            new_best[i] = min(old, low)
    return side


@part
def _settle(
    block: Array, m: int, centres: Array, norms: Array, gap: float, scores: Array,
    best: Array, second: Array, labels: Array, row: Array,
) -> None:  # fmt: skip
    """Decide in exact integers every row whose least two scores lie within `gap`."""
    close = 0
    for i in range(m):  # a count, not a jump, so that it runs in vector lanes; most blocks end here
        close += int(np.float64(second[i]) - np.float64(best[i]) <= gap)
    if close == 0:
        return
    for i in range(m):
        if np.float64(second[i]) - np.float64(best[i]) > gap:
            continue
        for c in range(centres.shape[1]):
            row[c] = np.int64(block[c, i] * _ONE)
        limit = np.float64(best[i]) + gap
        least = _WORST
        for j in range(centres.shape[0]):
            if np.float64(scores[j, i]) <= limit:
                product = np.int64(0)
                for c in range(centres.shape[1]):
                    product += row[c] * centres[j, c]
                distance = norms[j] - 2 * product
                if distance < least:
                    least = distance
                    labels[i] = j


@entry("f4[:,:] i8[:,:] i8[:] f4[:,:] f4[:] f8 F4[:,:] F4[:,:] F4[:,:] I4[:,:] I8[:] F8[:,:,:] I4[:]")
def nearest(
    columns: Array, centres: Array, norms: Array, points: Array, half: Array, gap: float,
    block: Array, scores: Array, two: Array, labels: Array, row: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign exactly: float32 filters, near ties are settled in integers.

    Fills `kept` (n,) and adds to `totals`, each only if it is not empty; the rest of the second line is work
    space. After the table's columns `block` holds one of ones, whose sum is the count.
    """
    n, rows = columns.shape[1], block.shape[1]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        side = _rank(block, points, half, scores, two, labels)
        found = labels[side]
        _settle(block, m, centres, norms, gap, scores, two[2 * side], two[2 * side + 1], found, row)
        if kept.size:
            for i in range(m):
                kept[start + i] = found[i]
        if totals.size:
            add_block(block, columns.shape[0], found, m, totals)


@part
def _distance(block: Array, point: Array, metric: Array, distance: Array) -> None:
    for i in range(distance.shape[0]):
        distance[i] = 0
    for c in range(point.shape[0]):
        values, at, weight = block[c], np.float64(point[c]) / np.float64(STEPS), metric[c]
        for i in range(distance.shape[0]):
            step = np.float64(values[i]) - at
            distance[i] = distance[i] + weight * (step * step)


@entry("f4[:,:] i8[:,:] f8[:] F4[:,:] F8[:,:] I4[:,:] F8[:,:,:] I4[:]")
def weighted(
    columns: Array, centres: Array, metric: Array,
    block: Array, distances: Array, labels: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign by weighted distance, added up column by column in float64; otherwise as `nearest`.

    These sums are rounded, so their order is part of the result: every row goes through the same
    operations in the same order wherever it lies, and its label is a function of the row alone.
    """
    n, rows = columns.shape[1], block.shape[1]
    distance = distances[2]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        side = 0
        for i in range(rows):
            distances[0, i] = np.inf
            labels[0, i] = 0
        for j in range(centres.shape[0]):
            _distance(block, centres[j], metric, distance)
            who = np.int32(j)
            best, label = distances[side], labels[side]
            side = 1 - side
            new_best, new_label = distances[side], labels[side]
            for i in range(rows):
                new_label[i] = who if distance[i] < best[i] else label[i]
                new_best[i] = min(distance[i], best[i])
        found = labels[side]
        if kept.size:
            for i in range(m):
                kept[start + i] = found[i]
        if totals.size:
            add_block(block, columns.shape[0], found, m, totals)
