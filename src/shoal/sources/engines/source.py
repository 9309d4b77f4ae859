"""What all engines share: rows are read, put on the lattice and counted by workers, a partition at a time.

What goes out is public (a question, the domain, the schema) or a key drawn for the fit; what comes back is
what questions add up: integers. Everything that workers do is a function of the partition and of what went
out, so a task that is done twice, or on another worker, changes nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce as fold
from typing import Any, Generic, Self, TypeVar

import numpy as np

from shoal.domain import Chunk, Domain, InZone, Part, Schema
from shoal.domain.groups import Groups
from shoal.sources.columns import Piece
from shoal.sources.engines.capping import Capping, some
from shoal.sources.folds import Fold
from shoal.sources.parts import in_part
from shoal.sources.rows import OpenTable, Source, chunk_rows_for

I = TypeVar("I")  # noqa: E741 - an item of groups, and what becomes of one
J = TypeVar("J")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Reading:
    """How workers read a partition: as pieces of at most so many rows, each row by itself.

    Parameters
    ----------
    schema : Schema
        Which columns, and how each becomes numbers; from the types of the whole table, not of a partition.
    rows : int
        Rows a piece.
    fold : Fold, optional
        Which rows are read, in a search.
    """

    schema: Schema
    rows: int
    fold: Fold | None

    @abstractmethod
    def pieces(self, partition: Any) -> Iterator[Piece]:
        """Read a partition; at least one piece, which may be empty."""

    def __call__(self, partition: Any) -> list[Piece]:
        """Read the rows of a partition that are wanted, with their people where there are some."""
        found = []
        for piece in self.pieces(partition):
            wanted = np.ones(piece.n_rows, dtype=np.bool_)
            if self.fold is not None:
                wanted &= self.fold.rows(piece)
            part = self.schema.part
            if isinstance(part, Part) and part.per_person is None:
                wanted &= in_part(piece, part)
            found.append(piece if wanted.all() else some(piece, wanted.nonzero()[0]))
        return found


@dataclass(frozen=True, eq=False)
class OfZone:
    """Leaves out rows of other zones: not before a person's rows were kept, from all zones together."""

    zone: InZone

    def __call__(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return as many pieces, some of which may be empty."""
        return [piece.take(in_part(piece, self.zone).nonzero()[0]) for piece in pieces]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Puts pieces on the lattice."""

    domain: Domain

    def __call__(self, pieces: Sequence[Piece]) -> list[Chunk]:
        """Return a chunk for each piece."""
        return [self.domain.encode(piece.columns, piece.weights) for piece in pieces]


@dataclass(frozen=True, eq=False)
class OfEach(Generic[T]):
    """Applies a function to every chunk of a partition and combines the results; also tells of their rows."""

    partial: Callable[[Chunk], T]
    combine: Callable[[T, T], T]

    def __call__(self, chunks: Sequence[Chunk]) -> tuple[int, T]:
        """Return how many rows there are, and what was found."""
        return sum(chunk.n_rows for chunk in chunks), fold(self.combine, map(self.partial, chunks))


@dataclass(frozen=True, eq=False)
class Both(Generic[T]):
    """Combines what was found in two places."""

    combine: Callable[[T, T], T]

    def __call__(self, one: tuple[int, T], other: tuple[int, T]) -> tuple[int, T]:
        """Add up the rows, and combine the rest."""
        return one[0] + other[0], self.combine(one[1], other[1])


@dataclass(frozen=True, eq=False)
class SplitEach(Generic[S]):
    """Deals out every chunk of a partition."""

    split: Callable[[Chunk, int], Sequence[S]]

    def __call__(self, chunks: Sequence[Chunk], n: int) -> list[list[S]]:
        """Return n lists of what the chunks dealt out."""
        hands = [self.split(chunk, n) for chunk in chunks]
        return [[hand[i] for hand in hands] for i in range(n)]


@dataclass(frozen=True, eq=False)
class JoinEach(Generic[S, J]):
    """Joins what the chunks of all partitions dealt out."""

    join: Callable[[Sequence[S]], J]

    def __call__(self, hands: Sequence[Sequence[S]]) -> J:
        """Return one group."""
        return self.join([part for hand in hands for part in hand])


class EngineGroups(Groups[I]):
    """Groups on the workers of an engine."""

    @abstractmethod
    def lazily(self, function: Callable[[I], J]) -> EngineGroups[J]:
        """Return what a function makes of every group, made again whenever it is asked for."""

    @abstractmethod
    def mapped(self, function: Callable[[I], J]) -> EngineGroups[J]:
        """Return what a function makes of every group, kept by the workers."""

    @abstractmethod
    def regrouped(
        self, split: Callable[[I, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> EngineGroups[J]:
        """Deal every group out to some number of groups, and join what each was dealt."""


class EngineSource(Source):
    """Rows on the workers of an engine; the answers are those of a table in memory.

    They are put on the lattice once, and kept by the workers in that form.

    Parameters
    ----------
    pieces : EngineGroups of lists of Piece
        The rows as they are read.
    domain : Domain
        Public bounds and policies.
    """

    def __init__(self, pieces: EngineGroups[list[Piece]], domain: Domain) -> None:
        self._saw = None
        self._read_pieces = pieces
        self._chunks = pieces.mapped(Encoding(domain))

    here = False

    def read_now(self) -> Self:
        """Let workers read all rows: what cannot be read, or by a worker that cannot, is found here."""
        self.reduce(_nothing, _neither)
        return self

    def within(self, domain: Domain) -> Self:
        """Return the same rows on the lattice of another domain."""
        other = copy(self)
        other._chunks = self._read_pieces.mapped(Encoding(domain))
        return other

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk, where it is, and combine the results."""
        rows, found = self._chunks.reduce(OfEach(partial, combine), Both(combine))
        if self._saw is not None:
            self._saw(rows)
        return found

    def regrouped(
        self, split: Callable[[Chunk, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Deal every chunk out to some number of groups, and join what each was dealt."""
        return self._chunks.regrouped(SplitEach(split), JoinEach(join))


class OnWorkers(OpenTable):
    """A table whose rows are read by the workers of an engine."""

    @abstractmethod
    def partitions(self) -> EngineGroups[Any]:
        """Return the partitions, where they are."""

    @abstractmethod
    def reading(self, rows: int) -> Reading:
        """Return how workers read a partition."""

    def source(
        self,
        domain: Domain,
        *,
        key: int = 0,
        parts_key: int = 0,
        threads: int | None = None,  # noqa: ARG002 - workers have their own
    ) -> EngineSource:
        """Put the rows on the lattice, on the workers; before anything is spent."""
        pieces, part = self._pieces(domain, key, parts_key), self.schema.part
        if isinstance(part, InZone):
            pieces = pieces.lazily(OfZone(part))
        return EngineSource(pieces, domain).read_now()

    def zone_sources(
        self,
        zones: Sequence[InZone],
        domains: Sequence[Domain],
        *,
        key: int = 0,
        parts_key: int = 0,
        threads: int | None = None,  # noqa: ARG002 - workers have their own
    ) -> list[EngineSource]:
        """Put the rows of each zone on its lattice; people are brought together once, for all zones."""
        pieces = self._pieces(domains[0], key, parts_key)
        pairs = zip(zones, domains, strict=True)
        found = [EngineSource(pieces.lazily(OfZone(zone)), domain) for zone, domain in pairs]
        found[0].read_now()  # to find a zone's rows, all must be read
        return found

    def _pieces(self, domain: Domain, key: int, parts_key: int) -> EngineGroups[list[Piece]]:
        """Return the rows as they are read; those of people brought together by a keyed hash, and kept."""
        pieces: EngineGroups[list[Piece]] = self.partitions().lazily(self.reading(chunk_rows_for(self)))
        if self.schema.unit is None:
            return pieces
        capping = Capping(self.schema, domain.unit.max_rows, domain.missing == "drop", key, parts_key)
        return pieces.regrouped(capping.split, capping.join)


class EngineTable(OnWorkers):
    """A table that an engine has."""

    @abstractmethod
    def transformed(self, step: Any, names: Sequence[str]) -> Any:
        """Return the rows as a step maps them, in a table of the same engine.

        Parameters
        ----------
        step : estimator
            Fitted; it maps the rows of a partition.
        names : sequence of str
            Columns of what comes out.
        """


def _nothing(_: Chunk) -> int:
    return 0


def _neither(_one: int, _other: int) -> int:
    return 0
