"""Rows dealt out to blocks at random: a view of those of one block.

Which block a row is in is a keyed hash of its own cells. So a row more changes one block and leaves the
others as they are, whatever the key; equal rows are in one block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from shoal.domain import Chunk, Domain
from shoal.domain.groups import Groups
from shoal.queries.questions.base import Source
from shoal.queries.questions.coins import hashes_of, part

T = TypeVar("T")
S = TypeVar("S")
J = TypeVar("J")


@dataclass(frozen=True)
class Block:
    """One of some blocks.

    Parameters
    ----------
    key : int
        Of 64 bits; the same for all blocks of a fit.
    number, of : int
        Which, of how many.
    """

    key: int
    number: int
    of: int

    def taken(self, chunk: Chunk) -> Chunk:
        """Return the rows of a chunk that are in this block."""
        hand = hashes_of(chunk.columns, self.key) % np.uint64(self.of)
        return part(chunk, hand == np.uint64(self.number))


@dataclass(frozen=True)
class _OfBlock:
    """A function of the rows of one block. A value, so that it pickles for workers."""

    block: Block
    function: Callable[..., Any]

    def __call__(self, chunk: Chunk, *more: Any) -> Any:
        return self.function(self.block.taken(chunk), *more)


@dataclass(frozen=True, eq=False)
class DealtSource:
    """The rows of one block of a source.

    Parameters
    ----------
    source : Source
        All rows.
    block : Block
        Which are read.
    """

    source: Any
    block: Block

    @property
    def here(self) -> bool:
        """Whether all rows can be brought together in this process."""
        return bool(getattr(self.source, "here", True))

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to the block's rows of every chunk and combine the results, in order."""
        found: T = self.source.reduce(_OfBlock(self.block, partial), combine)
        return found

    def regrouped(
        self, split: Callable[[Chunk, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Deal the block's rows of every chunk out to groups, and join what each was dealt."""
        groups: Groups[J] = self.source.regrouped(_OfBlock(self.block, split), join)
        return groups

    def within(self, domain: Domain) -> Source:
        """Refuse: on another lattice rows would be in other blocks."""
        raise TypeError(f"blocks are of one domain; {domain} is another")

    def watched(self, saw: Callable[[int], None]) -> Self:
        """Return the same rows, which tell how many of them were read, for the data holder's own screen."""
        return type(self)(self.source.watched(saw), self.block)
