"""Assignment of the rows of a chunk, compiled on first use; `shoal.queries.kernels` is the way in.

Rows lie in the lanes of the processor (`lanes.py`). A block of them is copied to where it stays in cache;
then, `ROWS` at a time, float32 scores of all centres are multiplied out, each in registers until it is done;
the least two are kept; rows where those are too close to be trusted are settled in whole numbers. Sums are
whole numbers from the start.

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
from shoal.queries.kernels import lanes
from shoal.queries.kernels.lanes import ROWS

Array = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

STARTERS: list[Callable[[], Any]] = []
"""One function for each entry point, which compiles it."""

_ONE = np.float32(STEPS)
_WORST = np.int64(2**62)
_OPTIONS = {"nogil": True, "error_model": "numpy"}
PANEL = 128
"""Columns at a time: those of `ROWS` rows take half of the first cache, 16 of 32 kB."""
WIDTH = 8
"""Columns of a row that are added at once."""
COPIES = 4
"""Places to add up a cell: as many rows as are added in the time that one takes."""
FULL = COPIES * 2047
"""Rows whose lattice steps add up to less than 2^31 in every copy."""

_SCALARS = {"f4": "float32", "f8": "float64", "i4": "int32", "i8": "int64"}


def part(function: F) -> F:
    """Mark a part of an entry point; it need not be callable from Python, which saves compiling."""
    without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**_OPTIONS, **without)(function))


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
    """Centres as the float32 filter wants them, an even number: a score is half + points . x."""

    points: npt.NDArray[np.float32]
    half: npt.NDArray[np.float32]
    norms: npt.NDArray[np.int64]
    gap: np.float32


def prepare(centres: npt.NDArray[np.int64]) -> Filter:
    """Return float32 centres times -1, half and exact norms, and the widest gap not to be trusted.

    The score of row x and centre p is |p|^2 / 2 - x.p. Let u = 2^-24. Entries of x and p are at most 1 and
    exact in float32, and no product is below 2^-40, so none underflows. Whatever the order and the fusing,
    each term passes through at most d + 1 roundings, the half norm through one more, and the terms add up
    to at most |p|^2 / 2 + |p|_1 <= 3/2 |p|_1. So a computed score errs by at most E = 3/2 g max |p|_1 with
    g = (d + 2) u / (1 - (d + 2) u). If it is the least by more than 2 E, the true one is the least too.
    Two more roundings in g and the last factor cover those of this bound and of comparing with it: the
    difference of two scores is rounded once.
    """
    k, d = centres.shape
    return _prepare(centres.tobytes(), k, d)


@lru_cache(maxsize=2)  # all chunks of one pass ask for the same
def _prepare(steps: bytes, k: int, d: int) -> Filter:
    centres = np.frombuffer(steps, dtype=np.int64).reshape(k, d)
    points = np.zeros((-(-k // 2) * 2, d), dtype=np.float32)
    points[:k] = -centres / STEPS
    norms = (centres * centres).sum(axis=1)
    # A copy of an earlier centre never wins a tie: left at infinity, it costs no settling either.
    half = np.full(len(points), np.inf, dtype=np.float32)
    first = list({row.tobytes(): j for j, row in reversed(list(enumerate(centres)))}.values())
    half[first] = norms[first] / (2 * STEPS**2)
    error = (d + 4) * 2.0**-24
    length = float(np.abs(centres).sum(axis=1).max()) / STEPS
    gap = 3.0 * error / (1.0 - error) * length * (1.0 + 2.0**-10)
    return Filter(points, half, norms, np.nextafter(np.float32(gap), np.float32(np.inf)))


@part
def load_block(columns: Array, start: int, m: int, block: Array) -> None:
    """Copy rows [start, start + m) to a small contiguous block that stays in cache."""
    for c in range(columns.shape[0]):
        source, target = columns[c, start : start + m], block[c]
        for i in range(m):
            target[i] = source[i]


@part
def add_block(block: Array, d: int, labels: Array, m: int, recent: Array) -> None:
    """Add the steps of d columns, and one for each row, to `recent` (d // WIDTH + 1, COPIES, cells * WIDTH).

    To add to a cell waits for what was just added to it. So neighbouring rows add to different copies, and
    rows of one cell take no longer than rows of many.
    """
    last = np.int32(recent.shape[2] // WIDTH - 1)
    for i in range(m, -(-m // 8) * 8):
        labels[i] = last  # what is left of earlier rows goes to a cell that nobody reads
    for group in range(recent.shape[0]):
        into = recent[group]
        s0, s1, s2, s3 = into[0], into[1], into[2], into[3]
        if WIDTH * group == d:  # the column of ones by itself
            one = np.int32(1)
            for i in range(0, m, 4):
                s0[WIDTH * labels[i]] += one
                s1[WIDTH * labels[i + 1]] += one
                s2[WIDTH * labels[i + 2]] += one
                s3[WIDTH * labels[i + 3]] += one
        else:
            for i in range(0, m, 8):
                rows = lanes.eight_rows(block, WIDTH * group, i)
                lanes.add_to(s0, WIDTH * labels[i], rows[0])
                lanes.add_to(s1, WIDTH * labels[i + 1], rows[1])
                lanes.add_to(s2, WIDTH * labels[i + 2], rows[2])
                lanes.add_to(s3, WIDTH * labels[i + 3], rows[3])
                lanes.add_to(s0, WIDTH * labels[i + 4], rows[4])
                lanes.add_to(s1, WIDTH * labels[i + 5], rows[5])
                lanes.add_to(s2, WIDTH * labels[i + 6], rows[6])
                lanes.add_to(s3, WIDTH * labels[i + 7], rows[7])


@part
def keep_block(
    block: Array, d: int, labels: Array, start: int, m: int, kept: Array, recent: Array, totals: Array,
) -> None:  # fmt: skip
    """Keep the labels of a block in `kept`, its sums in `recent` and `totals`, unless these are empty.

    Sums are added up in int32, and go from `recent` to `totals` before they could be too large for that.
    """
    if kept.size:
        for i in range(m):
            kept[start + i] = labels[i]
    if totals.size:
        add_block(block, d, labels, m, recent)
        blocks = FULL // block.shape[1]
        if start // block.shape[1] % blocks == blocks - 1:
            _move(recent, totals)


@part
def _move(recent: Array, totals: Array) -> None:
    """Add recent sums of all copies to the totals."""
    for group in range(recent.shape[0]):
        for copy in range(COPIES):
            source, target = recent[group, copy], totals[group]
            for i in range(target.shape[0]):
                target[i] += source[i]
                source[i] = 0


@part
def _score(block: Array, at: int, points: Array, half: Array, scores: Array) -> None:
    """Fill `scores` (centres, ROWS), half norms minus inner products, for the rows from `at` on."""
    d = points.shape[1]
    for first in range(0, d, PANEL):
        last = min(first + PANEL, d)
        for j in range(0, points.shape[0], 2):
            p, q = points[j], points[j + 1]
            if first == 0:
                a, b = lanes.fill_rows(half[j]), lanes.fill_rows(half[j + 1])
            else:
                a, b = lanes.load(scores[j], 0), lanes.load(scores[j + 1], 0)
            for c in range(first, last):
                x = lanes.load(block[c], at)
                a, b = lanes.times_plus(x, p[c], a), lanes.times_plus(x, q[c], b)
            lanes.store(scores[j], 0, a)
            lanes.store(scores[j + 1], 0, b)


@part
def _nearest_two(scores: Array, gap: float, labels: Array, at: int) -> Any:
    """Label the rows from `at` on by their least score; return bits of those whose second is within `gap`."""
    best = lanes.load(scores[0], 0)
    second, label = lanes.fill(best, np.float32(np.inf)), lanes.fill(best, np.int32(0))
    for j in range(1, scores.shape[0]):
        score = lanes.load(scores[j], 0)
        second = lanes.low(second, lanes.high(best, score))
        label = lanes.pick(lanes.less(score, best), lanes.fill(score, np.int32(j)), label)
        best = lanes.low(best, score)
    lanes.store(labels, at, label)
    return lanes.bits(lanes.less(lanes.fill(best, gap), lanes.minus(second, best))) ^ np.uint64(2**ROWS - 1)


@part
def _settle(
    block: Array, i: int, centres: Array, norms: Array, gap: float, scores: Array, lane: int, row: Array,
) -> int:  # fmt: skip
    """Return the nearest centre of row i in exact integers, among those whose score is within reach."""
    limit = scores[0, lane]
    for j in range(1, centres.shape[0]):
        limit = min(limit, scores[j, lane])
    for c in range(centres.shape[1]):
        row[c] = np.int64(block[c, i] * _ONE)
    least, label = _WORST, 0
    for j in range(centres.shape[0]):
        if scores[j, lane] - limit <= gap:
            product = np.int64(0)
            for c in range(centres.shape[1]):
                product += row[c] * centres[j, c]
            distance = norms[j] - 2 * product
            if distance < least:
                least, label = distance, j
    return label


@entry("f4[:,:] i8[:,:] i8[:] f4[:,:] f4[:] f4 F4[:,:] F4[:,:] I4[:] I8[:] I4[:,:,:] I8[:,:] I4[:]")
def nearest(
    columns: Array, centres: Array, norms: Array, points: Array, half: Array, gap: float,
    block: Array, scores: Array, labels: Array, row: Array, recent: Array, totals: Array, kept: Array,
) -> None:  # fmt: skip
    """Assign exactly: float32 filters, near ties are settled in integers.

    Fills `kept` (n,) and adds to `recent` and `totals`, unless they are empty; the rest of the second line is
    work space. After the table's columns `block` holds one of single steps, whose sum is the count.
    """
    n, rows = columns.shape[1], block.shape[1]
    for start in range(0, n, rows):
        m = min(rows, n - start)
        load_block(columns, start, m, block)
        for at in range(0, m, ROWS):
            _score(block, at, points, half, scores)
            near = _nearest_two(scores, gap, labels, at)
            lane = 0
            while near:  # seldom
                if near & np.uint64(1) and at + lane < m:
                    labels[at + lane] = _settle(block, at + lane, centres, norms, gap, scores, lane, row)
                near >>= np.uint64(1)
                lane += 1
        keep_block(block, columns.shape[0], labels, start, m, kept, recent, totals)
