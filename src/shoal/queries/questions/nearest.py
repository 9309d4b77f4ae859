"""Which rows are the n nearest to a public point, wherever rows are: by counting, digit by digit.

Rows are ordered by distance, then by their coordinates: an order on all possible rows, whatever the table
is. So two tables of which one has a row more still differ by one row when the first n are gone
(docs/proofs/coreset.md). The place of the n-th in that order is found as numbers are sorted by their digits:
how many rows have each value of the first digit, then of the second among those that share the first with it,
and so on. Only these counts are brought together; rows stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shoal._typing import Booleans, Columns, Integers, Metric
from shoal.domain import STEPS, Chunk
from shoal.domain.groups import Groups
from shoal.queries.questions.coins import part

# Bits of a digit: half a megabyte of counts, and four passes over the distances.
_DIGIT = 16
# Bits of a coordinate, which is a whole number from 0 to 2^21.
_BITS_OF_STEPS = 22


@dataclass(frozen=True, eq=False)
class Nearest:
    """The public order of rows around a point: by distance, then column by column.

    Parameters
    ----------
    centre : ndarray of int64, shape (n_columns,)
        A public point, in lattice steps.
    metric : ndarray of shape (n_columns,), optional
        Weights of the squared distance.
    """

    centre: Integers
    metric: Metric

    @property
    def bits(self) -> list[int]:
        """How many bits each key of a row has."""
        d = len(self.centre)
        # Squares of whole numbers up to 2^21; or the bits of a double that is not negative.
        of_distance = 42 + d.bit_length() if self.metric is None else 63
        return [of_distance, *[_BITS_OF_STEPS] * d]

    def key(self, chunk: Chunk, which: int) -> Integers:
        """Return a key of every row: the distance, or a coordinate."""
        return self._distances(chunk) if which == 0 else _steps(chunk.columns[which - 1]) + STEPS

    def _distances(self, chunk: Chunk) -> Integers:
        """Return squared distances: exact integers, or rounded by the same operations for every row."""
        if self.metric is None:
            exact = np.zeros(chunk.n_rows, dtype=np.int64)
            for values, at in zip(chunk.columns, self.centre, strict=True):
                exact += (_steps(values) - at) ** 2
            return exact
        rounded = np.zeros(chunk.n_rows)
        for values, at, weight in zip(chunk.columns, self.centre, self.metric, strict=True):
            rounded += (values.astype(np.float64) - at / STEPS) ** 2 * weight
        return rounded.view(np.int64)  # doubles that are not negative are in the order of their bits


@dataclass(frozen=True, eq=False)
class Cut:
    """A place in the order: what is before it is taken away, and some of the rows that lie on it.

    Parameters
    ----------
    nearest : Nearest
        The order.
    known : tuple of int
        The first keys of the rows that lie on it.
    low, high : int
        Their next key is from `low` up to, not including, `high`.
    taken : int
        How many of the rows that lie on it are taken away; they are then all equal.
    """

    nearest: Nearest
    known: tuple[int, ...] = ()
    low: int = 0
    high: int = 0
    taken: int = 0

    def sides(self, chunk: Chunk) -> tuple[Booleans, Booleans]:
        """Say which rows are before it, and which lie on it."""
        before = np.zeros(chunk.n_rows, dtype=np.bool_)
        on = np.ones(chunk.n_rows, dtype=np.bool_)
        for which, value in enumerate((*self.known, self.low)):
            keys = self.nearest.key(chunk, which)
            before |= on & (keys < value)
            on &= (keys >= value) & (keys < self.high) if which == len(self.known) else keys == value
        return before, on

    def exact_digits(self, chunk: Chunk, shift: int) -> Integers:
        """Count the rows that lie on it by the next digit of their key."""
        _, on = self.sides(chunk)
        some = part(chunk, on)
        digits = (self.nearest.key(some, len(self.known)) - self.low) >> shift
        return np.bincount(digits, some.counts, 2**_DIGIT).astype(np.int64)

    def __call__(self, chunk: Chunk) -> Chunk:
        """Take rows away."""
        before, on = self.sides(chunk)
        counts = np.ones(chunk.n_rows, dtype=np.int64) if chunk.counts is None else chunk.counts
        left = np.where(before, 0, counts - on * self.taken)
        return part(replace(chunk, counts=left), left > 0)


def exact_cut(groups: Groups[Chunk], nearest: Nearest, n: int) -> Cut:
    """Find the place in the order that has n rows before it, or all if they are fewer.

    Parameters
    ----------
    groups : Groups of Chunk
        Rows: every different one in one group, once, with its count.
    nearest : Nearest
        The order.
    n : int
        How many rows to take away.
    """
    cut, taken = Cut(nearest), n
    for bits in nearest.bits:
        cut = replace(cut, high=1 << bits)
        for shift in reversed(range(0, bits, _DIGIT)):
            counts = groups.reduce(partial(cut.exact_digits, shift=shift), np.add)
            reach = np.cumsum(counts)
            digit = int(np.searchsorted(reach, taken, side="right"))
            if digit == len(counts):  # all of them
                return replace(cut, low=cut.high)
            taken -= int(reach[digit - 1]) if digit else 0
            low = cut.low + (digit << shift)
            cut = replace(cut, low=low, high=low + (1 << shift))
            if not taken:
                return replace(cut, high=low)
        cut = Cut(nearest, (*cut.known, cut.low))
    # All keys are known, so the rows that lie here are equal.
    *known, low = cut.known
    return replace(cut, known=tuple(known), low=low, high=low + 1, taken=taken)


def _steps(values: Columns) -> Integers:
    return (values * np.float32(STEPS)).astype(np.int64)
