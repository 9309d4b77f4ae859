"""Polygons on a lattice of whole numbers: whether they are simple and how two lie to each other, exactly.

Corners are rounded once to a lattice that the polygons themselves lay down: a power of two of the units of
each axis. All products below then fit in 64-bit integers, so that no test can be wrong by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.domain.lattice import as_doubles

Relation: TypeAlias = Literal["apart", "inside", "around", "across"]

# Steps of the lattice from one end of all polygons to the other: midpoints are twice as fine, and a cross
# product of two differences of these is below 2^60.
_STEPS = 2**28
# Whole numbers that doubles hold exactly, with two bits to spare.
_EXACT = 2.0**51
# Pairs of edges that are compared at a time: a few megabytes.
_PAIRS = 2**18


@dataclass(frozen=True)
class Axis:
    """How the cells of one column become whole numbers, each by itself.

    Parameters
    ----------
    exponent : int
        A step is 2^-exponent of the column's own units.
    origin : int
        The step that polygons begin at.

    Examples
    --------
    >>> axis = Axis.over([-74.02, -73.9])
    >>> axis.steps(np.array([-74.02, -80.0, np.nan])).tolist()
    [0, -1, -1]
    """

    exponent: int
    origin: int

    @classmethod
    def over(cls, values: Sequence[float] | Array) -> Axis:
        """Return the lattice of an axis, from the corners of all polygons."""
        low, high = float(np.min(values)), float(np.max(values))
        exponent = math.frexp((_STEPS - 2) / (high - low))[1] - 1 if high > low else 0
        reach = max(abs(low), abs(high))
        if reach > 0:  # whole numbers of steps must be exact as doubles
            exponent = min(exponent, math.frexp(_EXACT / reach)[1] - 1)
        return cls(exponent, round(math.ldexp(low, exponent)))

    def steps(self, values: npt.ArrayLike) -> Integers:
        """Return the steps of cells; what lies before or behind all polygons, or is missing, is next to them.

        It is a function of each cell alone: multiplying by a power of two is exact.
        """
        with np.errstate(all="ignore"):
            scaled = np.rint(np.ldexp(as_doubles(values), self.exponent)) - self.origin
            near = np.nan_to_num(np.clip(scaled, -1, _STEPS + 1), nan=-1)
        return np.asarray(near, dtype=np.int64)

    def value(self, step: float) -> float:
        """Return where a step lies, in the column's own units."""
        return math.ldexp(step + self.origin, -self.exponent)


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed line of whole numbers, counter-clockwise: its inside is at the left of every edge.

    Parameters
    ----------
    corners : ndarray of int64, shape (n, 2)
        Without the last one, which is the first again.
    """

    corners: Integers

    @classmethod
    def of(cls, corners: Integers) -> Ring:
        """Drop corners that lie on the one before, and turn it counter-clockwise."""
        moves = (corners != np.roll(corners, 1, axis=0)).any(axis=1)
        kept = corners[moves]
        return cls(kept if _area(kept) >= 0 else kept[::-1].copy())

    @cached_property
    def ends(self) -> Integers:
        """Where the edge that begins at each corner ends."""
        return np.roll(self.corners, -1, axis=0)

    @cached_property
    def box(self) -> tuple[Integers, Integers]:
        """The smallest and the largest numbers of each axis."""
        return self.corners.min(axis=0), self.corners.max(axis=0)


def touches_itself(ring: Ring) -> Integers | None:
    """Return a corner of an edge that meets another one of its ring, None if the ring is simple.

    Examples
    --------
    >>> bow = Ring(np.array([[0, 0], [2, 2], [2, 0], [0, 2]]))
    >>> square = Ring(np.array([[0, 0], [2, 0], [2, 2], [0, 2]]))
    >>> touches_itself(bow).tolist(), touches_itself(square)
    ([0, 0], None)
    """
    a, b = ring.corners, ring.ends
    n = len(a)
    # Two edges that follow each other share a corner, and must not go back on themselves.
    back = (_cross(a, b, np.roll(b, -1, axis=0)) == 0) & (((b - a) * (np.roll(b, -1, axis=0) - b)).sum(1) < 0)
    if back.any():
        return np.asarray(b[back][0])
    for block in _blocks(n, n):
        i, j = np.meshgrid(np.arange(n)[block], np.arange(n), indexing="ij")
        pick = (i < j) & ((j - i) % n != 1) & ((i - j) % n != 1) & _boxes_meet(a[i], b[i], a[j], b[j])
        i, j = i[pick], j[pick]
        ways = [np.sign(_cross(*three)) for three in _crossings(a[i], b[i], a[j], b[j])]
        meets = (ways[0] * ways[1] <= 0) & (ways[2] * ways[3] <= 0)
        if meets.any():
            return np.asarray(a[i[meets][0]])
    return None


def relation(one: Ring, other: Ring) -> tuple[Relation, Integers]:
    """Say how the insides of two simple rings lie to each other, and name a corner of the first.

    Rings may share corners and edges: they are "apart" if no point is inside both.

    Examples
    --------
    >>> square = Ring(np.array([[0, 0], [4, 0], [4, 4], [0, 4]]))
    >>> shifted = [Ring(square.corners + shift) for shift in ([4, 2], [2, 2], [0, 0])]
    >>> [relation(square, there)[0] for there in shifted]
    ['apart', 'across', 'inside']
    >>> relation(square, Ring(square.corners // 2 + 1))[0]
    'around'
    """
    (low, high), (lower, higher) = one.box, other.box
    if (high <= lower).any() or (higher <= low).any():
        return "apart", one.corners[0]
    crossed = _crosses(one, other)
    if crossed is not None:
        return "across", crossed
    (mine, place), (theirs, _) = _sides(one, other), _sides(other, one)
    within, without = {"in", "same"}, {"out", "opposite"}
    if mine <= within:
        return "inside", place
    if theirs <= within:
        return "around", place
    return ("apart" if mine | theirs <= without else "across"), place


def _crosses(one: Ring, other: Ring) -> Integers | None:
    """Return a corner of an edge that goes through an edge of the other ring, not at an end of either."""
    a, b, c, d = one.corners, one.ends, other.corners, other.ends
    for block in _blocks(len(a), len(c)):
        i, j = np.meshgrid(np.arange(len(a))[block], np.arange(len(c)), indexing="ij")
        near = _boxes_meet(a[i], b[i], c[j], d[j])
        i, j = i[near], j[near]
        ways = [np.sign(_cross(*three)) for three in _crossings(a[i], b[i], c[j], d[j])]
        through = (ways[0] * ways[1] < 0) & (ways[2] * ways[3] < 0)
        if through.any():
            return np.asarray(a[i[through][0]])
    return None


def _sides(one: Ring, other: Ring) -> tuple[set[str], Integers]:
    """Say where the edges of one ring run, cut at the other's corners; and a corner that is not outside.

    An edge is in the other ring or out of it; or on its line, with both insides on the "same" side or on
    "opposite" ones.
    """
    starts, ends = _cut(one, other)
    middles = starts + ends  # twice as fine as the lattice
    c, d = 2 * other.corners, 2 * other.ends
    found: set[str] = set()
    place = one.corners[0]
    for block in _blocks(len(middles), len(c)):
        p = middles[block][:, np.newaxis]
        way = _cross(c, d, p)
        on = (way == 0) & _between(c, d, p)
        up, down = c[:, 1] <= p[..., 1], d[:, 1] <= p[..., 1]
        # Edges that the line from a point to the right goes through.
        odd = (((up & ~down) & (way > 0)) | ((~up & down) & (way < 0))).sum(axis=1) % 2 == 1
        along = ((ends - starts)[block][:, np.newaxis] * (d - c)).sum(axis=2) > 0
        border = on.any(axis=1)
        same = (on & along).any(axis=1)
        found |= {"in"} if (odd & ~border).any() else set()
        found |= {"out"} if (~odd & ~border).any() else set()
        found |= {"same"} if same.any() else set()
        found |= {"opposite"} if (border & ~same).any() else set()
        deep = (odd & ~border) | same
        if deep.any():
            place = starts[block][deep][0]
    return found, place


def _cut(one: Ring, other: Ring) -> tuple[Integers, Integers]:
    """Cut the edges of a ring where corners of another lie on them."""
    a, b, corners = one.corners, one.ends, other.corners
    pieces: list[tuple[Integers, Integers]] = []
    for block in _blocks(len(a), len(corners)):
        start, end = a[block], b[block]
        p = corners[np.newaxis]
        s, e = start[:, np.newaxis], end[:, np.newaxis]
        on = (_cross(s, e, p) == 0) & _between(s, e, p) & (p != s).any(axis=2) & (p != e).any(axis=2)
        for i in range(len(start)):
            line = [start[i], end[i]]
            if on[i].any():
                inner = corners[on[i]]
                order = np.argsort(((inner - start[i]) * (end[i] - start[i])).sum(axis=1))
                line[1:1] = list(inner[order])
            pieces += [(p, q) for p, q in pairwise(line) if (p != q).any()]
    starts, ends = zip(*pieces, strict=True)
    return np.array(starts), np.array(ends)


def _area(corners: Integers) -> int:
    """Return twice the area, positive if counter-clockwise; of any size, so in Python's integers."""
    x, y = (corners - corners[:1]).T.tolist() if len(corners) else ([], [])
    return sum(x[i - 1] * y[i] - x[i] * y[i - 1] for i in range(len(x)))


def _cross(a: Integers, b: Integers, c: Integers) -> Integers:
    """Return on which side of the line from a to b points c lie: positive at the left."""
    ab, ac = b - a, c - a
    return np.asarray(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])


def _crossings(a: Integers, b: Integers, c: Integers, d: Integers) -> tuple[tuple[Integers, ...], ...]:
    return (a, b, c), (a, b, d), (c, d, a), (c, d, b)


def _between(a: Integers, b: Integers, p: Integers) -> npt.NDArray[np.bool_]:
    return np.asarray(((np.minimum(a, b) <= p) & (p <= np.maximum(a, b))).all(axis=-1))


def _boxes_meet(a: Integers, b: Integers, c: Integers, d: Integers) -> npt.NDArray[np.bool_]:
    return np.asarray(
        ((np.minimum(a, b) <= np.maximum(c, d)) & (np.minimum(c, d) <= np.maximum(a, b))).all(axis=-1)
    )


def _blocks(n: int, width: int) -> Iterator[slice]:
    rows = max(1, _PAIRS // max(width, 1))
    return (slice(start, start + rows) for start in range(0, n, rows))
