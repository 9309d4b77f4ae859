"""Rows that are held, many equal ones as one, so that those nearest to a public point can be taken away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from shoal._typing import Integers
from shoal.domain import STEPS, Chunk, Domain
from shoal.domain.groups import Groups, Here
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.partitions.cells import Grid
from shoal.queries.questions.base import Source
from shoal.queries.questions.coins import ByCells, thinned
from shoal.queries.questions.nearest import Nearest, exact_cut

T = TypeVar("T")
S = TypeVar("S")
J = TypeVar("J")

MOST_BOXES = 2**24
"""More boxes than this are not counted one by one."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A source of rows of which some may have been taken away, and all those that it began with.

    Every different row is in one group, once, with its count.
    """

    groups: Groups[Chunk]
    whole: Groups[Chunk]

    @classmethod
    def of(cls, groups: Groups[Chunk]) -> HeldRows:
        """Hold rows of which none was taken away."""
        return cls(groups, groups)

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every group and combine the results."""
        return self.groups.reduce(partial, combine)

    def regrouped(
        self, split: Callable[[Chunk, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Deal every group out to some number of new ones."""
        return self.groups.regrouped(split, join)

    def without(self, nearest: Nearest, n: int) -> HeldRows:
        """Take away the n nearest rows, or all if they are fewer."""
        return HeldRows(self.groups.mapped(exact_cut(self.groups, nearest, n)), self.whole)

    def within(self, domain: Domain) -> HeldRows:
        """Refuse: what lies on one lattice cannot be put on another."""
        raise InvalidInput("rows that are held cannot be put within other bounds; do that first")


def check_grid(grid: Grid | None, n_columns: int) -> None:
    """Refuse a grid whose middles are not on the lattice, or whose boxes cannot all be counted."""
    if grid is None:
        return
    if len(grid.shape) != n_columns:
        raise InvalidInput(f"a grid of {len(grid.shape)} columns; the table has {n_columns}")
    if any(m & (m - 1) or m > STEPS for m in grid.shape) or grid.n_cells > MOST_BOXES:
        raise InvalidInput(
            f"rows cannot be moved to a grid of shape {grid.shape}: powers of 2 are wanted, and at most "
            f"{MOST_BOXES} boxes in all"
        )


def hold(source: Source, grid: Grid | None, entropy: Entropy, *, weighted: bool) -> HeldRows:
    """Put equal rows together, moved to the middle of their box where a grid is given.

    A row of weight w counts as a whole row with probability w / max_weight, by a coin of its own: so it is a
    row or none, and neighbours stay neighbours.

    Parameters
    ----------
    source : Source
        Where the rows live.
    grid : Grid, optional
        Equal boxes; only their counts are kept, so that a large table need not fit in memory.
    entropy : Entropy
        For the key of the coins.
    weighted : bool
        Whether rows have weights.
    """
    if grid is not None and not weighted:
        return HeldRows.of(_of_boxes(grid, source.reduce(partial(exact_boxes, grid), np.add)))
    key = int(entropy.words(1)[0]) if weighted else 0
    rows = source.regrouped(ByCells(key), partial(thinned, key=key))
    if grid is None:
        return HeldRows.of(rows)
    return HeldRows.of(_of_boxes(grid, rows.reduce(partial(exact_boxes, grid), np.add)))


def exact_boxes(grid: Grid, chunk: Chunk) -> Integers:
    """Count the rows of every box, each of which may stand for many."""
    labels = grid.assign(chunk.columns, None)
    return np.bincount(labels, chunk.counts, grid.n_cells).astype(np.int64)


def _of_boxes(grid: Grid, counts: Integers) -> Here[Chunk]:
    full = np.flatnonzero(counts)
    middles = np.ascontiguousarray(grid.centres_of(full).T, dtype=np.float32)
    return Here([Chunk(middles, counts=counts[full])])
