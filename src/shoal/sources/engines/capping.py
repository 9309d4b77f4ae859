"""People on the workers of an engine: rows of one come together by a keyed hash, and are capped there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.domain import Part, Schema
from shoal.sources.columns import Piece, Words
from shoal.sources.parts import PartsOfPeople
from shoal.sources.people import Keeper, seed_of


@dataclass(frozen=True, eq=False)
class Capping:
    """Brings the rows of a person together, and keeps at most m of them: as in memory, person by person.

    Parameters
    ----------
    schema : Schema
        With the column of people, and the part that is read.
    max_rows : int
        The most rows of a person.
    drop_incomplete : bool
        Whether rows with a missing cell are passed over.
    key, parts_key : int
        As for :class:`shoal.sources.rows.Source`.
    """

    schema: Schema
    max_rows: int
    drop_incomplete: bool
    key: int
    parts_key: int

    def split(self, pieces: Sequence[Piece], n: int) -> list[list[Piece]]:
        """Deal rows out by the keyed hash of their person; those of nobody stay together."""
        # Rows that others of the same person in this partition keep out need not travel. Not where parts are
        # limited: which of them are read follows from all rows of a person.
        part = self.schema.part
        limited = isinstance(part, Part) and part.per_person is not None
        near = list(pieces) if limited else self._kept(pieces)
        hands: list[list[Piece]] = [[] for _ in range(n)]
        for piece in near:
            people = piece.people
            assert people is not None
            of_word = np.array([*(seed_of(word, self.key) % n for word in people.words), 0], dtype=np.int64)
            hand = of_word[people.codes]
            for i in np.unique(hand).tolist():
                hands[i].append(some(piece, np.flatnonzero(hand == i)))
        return [hand or [some(pieces[0], np.empty(0, dtype=np.int64))] for hand in hands]

    def join(self, hands: Sequence[list[Piece]]) -> list[Piece]:
        """Keep the rows of all people that were dealt to one place, of all their zones together."""
        pieces = [piece for hand in hands for piece in hand]
        return [replace(piece, people=None, part=None) for piece in self._kept(pieces)]

    def _kept(self, pieces: Sequence[Piece]) -> list[Piece]:
        starts = np.cumsum([0, *(piece.n_rows for piece in pieces)])
        placed = [replace(piece, start=int(at)) for piece, at in zip(pieces, starts, strict=False)]
        part, limit = self.schema.part, None
        if isinstance(part, Part) and part.per_person is not None:
            limit = PartsOfPeople(part, self.parts_key)
            for piece in placed:
                limit.add(piece)
        keeper = Keeper(self.max_rows, self.key, drop_incomplete=self.drop_incomplete)
        for piece in placed:
            keeper.add(piece, None if limit is None else limit.rows(piece))
        places, found = keeper.places(), []
        for piece in placed:
            first, last = places.searchsorted([piece.start, piece.start + piece.n_rows])
            found.append(some(piece, places[first:last] - piece.start))
        return found


def some(piece: Piece, rows: Any) -> Piece:
    """Return some rows of a piece, with all that they say; words that are not used are left out."""
    weights = None if piece.weights is None else piece.weights[rows]
    people = None if piece.people is None else _used(piece.people, rows)
    part = None if piece.part is None else _used(piece.part, rows)
    zone = None if piece.zone is None else piece.zone[rows]
    return Piece(piece.start, [values[rows] for values in piece.columns], people, weights, part, zone)


def _used(found: Words, rows: Any) -> Words:
    codes = found.codes[rows]
    used, places = np.unique(codes, return_inverse=True)
    missing = int(used.size > 0 and used[0] < 0)
    return Words(places.astype(np.int64) - missing, [found.words[code] for code in used[missing:].tolist()])
