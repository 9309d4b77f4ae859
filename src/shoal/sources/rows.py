"""What all open tables share: a schema, rows in parts, and sources that put them on the lattice."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import reduce as fold
from itertools import chain, islice
from typing import Any, ClassVar, Self, TypeVar

from shoal._typing import Integers
from shoal.domain import Chunk, Domain, InZone, Part, Schema
from shoal.domain.groups import Groups, Here
from shoal.sources.columns import Piece
from shoal.sources.folds import Fold
from shoal.sources.parts import Mask, PartsOfPeople, in_part
from shoal.sources.people import Indices, Keeper

T = TypeVar("T")
S = TypeVar("S")
J = TypeVar("J")

# Rows: 256 kilobytes per column, enough that a chunk costs little more than its rows.
CHUNK_ROWS = 65_536
# Wide tables are cut finer, so that a chunk stays a few megabytes.
_CHUNK_CELLS = 2**19


class OpenTable(ABC):
    """A table whose schema is known and whose rows can be read, a part at a time.

    All that can be wrong with its schema was found when it was opened; reading a row never fails on what a
    cell holds.
    """

    schema: Schema
    keeps_copy: bool = False
    """Whether rows are costly to decode, so that a copy of them on the lattice is kept on the local disk."""
    fold: Fold | None = None
    """The fold whose rows are read, in a search; all rows, if None."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns after encoding, or None where the table has none."""
        return self.schema.names

    @property
    def n_columns(self) -> int:
        """The number of columns after encoding."""
        return self.schema.n_columns

    @abstractmethod
    def blank(self) -> Any:
        """Return the clustered columns as they are, without rows: for checks of names and their number."""

    @abstractmethod
    def parts(self, rows: int) -> Iterator[Any]:
        """Cut the table in parts of about `rows` rows, in order; an empty table has one empty part."""

    @abstractmethod
    def read(self, part: Any) -> Piece:
        """Read one part. Several threads may do so at once."""

    @abstractmethod
    def source(
        self, domain: Domain, *, key: int = 0, parts_key: int = 0, threads: int | None = None
    ) -> Source:
        """Put the rows behind `reduce`.

        Parameters
        ----------
        domain : Domain
            Public bounds and policies; its unit says how many rows of a person are kept.
        key : int
            Decides which rows of a person are kept, where the schema names a column of people.
        parts_key : int
            Decides which parts of a person are read, where the schema's part limits them.
        threads : int, optional
            Threads to use; all available cores if not given. The result never depends on it.
        """

    def zone_sources(
        self,
        zones: Sequence[InZone],
        domains: Sequence[Domain],
        *,
        key: int = 0,
        parts_key: int = 0,
        threads: int | None = None,
    ) -> Sequence[Source]:
        """Put the rows of each of some zones behind a `reduce` of its own.

        Parameters
        ----------
        zones : sequence of InZone
            Which.
        domains : sequence of Domain
            The lattice of each; all have one unit and one rule for missing cells.
        key, parts_key, threads
            As for :meth:`source`.
        """
        how: dict[str, Any] = {"key": key, "parts_key": parts_key, "threads": threads}
        pairs = zip(zones, domains, strict=True)
        return [self.in_zone(zone).source(domain, **how) for zone, domain in pairs]

    def without_people(self) -> Self:
        """Return the same table without the columns of people and parts; zones stay."""
        part = self.schema.part
        return self._with(replace(self.schema, unit=None, part=part if isinstance(part, InZone) else None))

    def in_zone(self, zone: InZone) -> Self:
        """Return the same table, of which the rows of one zone are read."""
        return self._with(replace(self.schema, part=zone))

    def _with(self, schema: Schema) -> Self:
        other = copy(self)
        other.schema = schema
        return other

    def by_zone(self, domains: Sequence[Domain]) -> Iterator[list[tuple[Integers, Chunk]]]:
        """Put every row on the lattice of its zone, some rows at a time: to label them.

        For each zone come the places of its rows among these, and the rows.
        """
        for part in self.parts(chunk_rows_for(self)):
            piece = self.read(part)
            if piece.zone is None:
                raise TypeError("the rows do not say which zone they are in")
            places = [(piece.zone == number).nonzero()[0] for number in range(len(domains))]
            pairs = zip(places, domains, strict=True)
            yield [(rows, domain.encode(piece.take(rows).columns)) for rows, domain in pairs]

    def encoded(self, domain: Domain) -> Iterator[Chunk]:
        """Put every row on the lattice, a chunk at a time: to label rows, where none may be left out."""
        for part in self.parts(chunk_rows_for(self)):
            yield domain.encode(self.read(part).columns)


class Source:
    """Rows of an open table on the lattice, read again for every question.

    Parameters
    ----------
    table : OpenTable
        Where the rows come from.
    domain : Domain
        Public bounds and policies; decides how a row becomes lattice values.
    key : int
        Decides which rows of a person are kept.
    parts_key : int
        Decides which parts of a person are read.
    chunk_rows : int, optional
        Rows a chunk. The result of a query never depends on it.
    threads : int, optional
        Threads used by `reduce`; all available cores if not given. The result never depends on it.
    """

    def __init__(
        self,
        table: OpenTable,
        domain: Domain,
        *,
        key: int = 0,
        parts_key: int = 0,
        chunk_rows: int | None = None,
        threads: int | None = None,
    ) -> None:
        self._table = table
        self._domain = domain
        self._chunk_rows = chunk_rows or chunk_rows_for(table)
        self._threads = threads or available_cores()
        self._saw: Callable[[int], None] | None = None
        self._kept: Indices | None = None
        if table.schema.unit is not None:
            self._kept = self._keep(key, parts_key)
            self._table = table.without_people()

    here: ClassVar[bool] = True
    """Whether all rows can be brought together in this process."""

    def within(self, domain: Domain) -> Self:
        """Return the same rows on the lattice of another domain."""
        other = copy(self)
        other._domain = domain
        return other

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk and combine the results, in order."""
        return fold(combine, self._map(self._told(partial)))

    def regrouped(
        self, split: Callable[[Chunk, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Join what every chunk deals out, in one group."""
        return Here([join(self.reduce(lambda chunk: [split(chunk, 1)[0]], lambda one, more: [*one, *more]))])

    def watched(self, saw: Callable[[int], None]) -> Self:
        """Return the same rows, which tell how many of them were read, for the data holder's own screen."""
        other = copy(self)
        other._saw = saw
        return other

    def _told(self, partial: Callable[[Chunk], T]) -> Callable[[Chunk], T]:
        """Return the same function, which also tells of the rows of each chunk, in threads."""
        saw = self._saw
        if saw is None:
            return partial

        def seen(chunk: Chunk) -> T:
            found = partial(chunk)
            saw(chunk.n_rows)
            return found

        return seen

    def _map(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        parts = self._table.parts(self._chunk_rows)
        return in_order(lambda part: function(self._encode(part)), parts, self._threads)

    def _encode(self, part: Any) -> Chunk:
        piece = self._table.read(part)
        if self._kept is not None:
            first, last = self._kept.searchsorted([piece.start, piece.start + piece.n_rows])
            rows = self._kept[first:last] - piece.start
            # A person's rows were kept from all zones together: now those of one are read.
            piece = piece.take(rows if self._zone is None else rows[in_part(piece, self._zone)[rows]])
        elif (among := self._among(piece, part=self._table.schema.part)) is not None:
            piece = piece.take(among.nonzero()[0])
        return self._domain.encode(piece.columns, piece.weights)

    def _keep(self, key: int, parts_key: int) -> Indices:
        # One pass to find the rows to keep; their places serve every later pass.
        drop, part = self._domain.missing == "drop", self._table.schema.part
        keeper = Keeper(self._domain.unit.max_rows, key, drop_incomplete=drop)
        limit = None
        if isinstance(part, Part) and part.per_person is not None:  # and one before, for whose parts are read
            limit = PartsOfPeople(part, parts_key)
            for piece in self._pieces():
                limit.add(piece)
        for piece in self._pieces():
            # From all zones: a person has so many rows in the whole table, and so is in so many zones.
            keeper.add(piece, self._among(piece, limit, part=None if self._zone is not None else part))
        return keeper.places()

    @property
    def _zone(self) -> InZone | None:
        part = self._table.schema.part
        return part if isinstance(part, InZone) else None

    def _among(
        self, piece: Piece, limit: PartsOfPeople | None = None, *, part: Part | InZone | None
    ) -> Mask | None:
        """Say which rows of a piece are in the part and the fold that are read; None for all."""
        fold = self._table.fold
        if part is None:
            return None if fold is None else fold.rows(piece)
        inside = in_part(piece, part) if limit is None else limit.rows(piece)
        return inside if fold is None else inside & fold.rows(piece)

    def _pieces(self) -> Iterator[Piece]:
        return in_order(self._table.read, self._table.parts(self._chunk_rows), self._threads)


def in_order(function: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """Apply a function in threads and yield the results in order, few of them waiting at a time.

    Examples
    --------
    >>> list(in_order(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    rest = iter(items)
    first_two = list(islice(rest, 2))
    items = chain(first_two, rest)
    if threads == 1 or len(first_two) < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def chunk_rows_for(table: OpenTable) -> int:
    """Return how many rows to read at a time; public, since it depends on the number of columns only."""
    return max(1024, min(CHUNK_ROWS, _CHUNK_CELLS // table.n_columns))


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
