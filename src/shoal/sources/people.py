"""At most m rows per person, chosen by a keyed hash of the person and the row, never by position.

Which rows of a person are kept is a function of that person's own rows and of a key drawn once per fit. So a
person who comes or goes changes at most m of the rows that are kept, and nobody else's.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.domain.hashing import Hashes, hash_rows
from shoal.domain.lattice import as_doubles
from shoal.sources.columns import Piece, Words

Indices = npt.NDArray[np.int64]

# Rows held back before the best of each person are picked: picking is cheaper in bulk.
_WAITING = 2**18
_NO_LIMIT = np.uint64(2**64 - 1)


class Keeper:
    """Reads pieces of a table one after the other and remembers the rows to keep.

    The m rows of a person with the smallest hashes are kept; rows with the same cells have the same hash, and
    it does not matter which of them is kept. A row can only be pushed out by smaller ones, so what was
    dropped never has to come back: the result does not depend on the order or on how the table was cut. It
    holds a few hundred bytes per person and m places, whatever the number of rows. A row without a person is
    a person of its own.

    Parameters
    ----------
    max_rows : int
        The most rows of a person.
    key : int
        Drawn once per fit; the same key keeps the same rows.
    drop_incomplete : bool
        Whether rows with a missing cell are passed over, so that they do not use up a person's rows.

    Examples
    --------
    >>> keeper = Keeper(2, key=7)
    >>> keeper.add(Piece(0, [np.arange(5.0)], Words(np.array([0, 0, 0, 0, -1]), ["Ada"])))
    >>> len(keeper.places()), bool(4 in keeper.places())
    (3, True)
    """

    def __init__(self, max_rows: int, key: int, *, drop_incomplete: bool = False) -> None:
        self._max_rows = max_rows
        self._drop_incomplete = drop_incomplete
        self._register = _Register(key)
        self._held = _Rows.none()
        self._waiting: list[_Rows] = []
        self._limit = np.empty(0, np.uint64)
        self._alone: list[Indices] = []

    def add(self, piece: Piece, among: npt.NDArray[np.bool_] | None = None) -> None:
        """Take note of the rows of one piece, or of some of them."""
        if piece.people is None:
            raise TypeError("the rows have no people")
        people, seeds = self._register.find(piece.people)
        places = piece.start + np.arange(piece.n_rows)
        usable = np.ones(piece.n_rows, dtype=np.bool_) if among is None else among.copy()
        if self._drop_incomplete:
            for values in piece.columns:
                usable &= np.isfinite(as_doubles(values))
        self._alone.append(places[usable & (people < 0)])
        named = usable & (people >= 0)
        rows = _Rows(people[named], hash_rows(piece.cells, seeds)[named], places[named])
        self._waiting.append(rows.take(self._has_a_chance(rows)))
        if sum(len(rows.people) for rows in self._waiting) > max(_WAITING, len(self._held.people)):
            self._pick()

    def places(self) -> Indices:
        """Return the places of all rows to keep, in order."""
        self._pick()
        return np.sort(np.concatenate([self._held.places, *self._alone]))

    def _has_a_chance(self, rows: _Rows) -> npt.NDArray[np.bool_]:
        # Saves work only: whoever has m rows takes another but for one with a smaller hash.
        known = rows.people < len(self._limit)
        chance = ~known
        chance[known] = rows.hashes[known] < self._limit[rows.people[known]]
        return chance

    def _pick(self) -> None:
        rows = _Rows.joined([self._held, *self._waiting])
        best = keep(rows.people, rows.hashes, self._max_rows)
        self._held, self._waiting = rows.take(best), []
        self._limit = self._limits()

    def _limits(self) -> Hashes:
        """Return for each person the largest hash held, or more than any where there is room."""
        people, n = self._held.people, len(self._register)
        limit = np.full(n, _NO_LIMIT)
        limit[people] = self._held.hashes  # in order, so that the largest of each person stays
        return np.where(np.bincount(people, minlength=n) == self._max_rows, limit, _NO_LIMIT)


class _Register(dict[str, int]):
    """Numbers people by name, so that two never share rows because their hashes are the same."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self._key = key
        self._seeds = array("Q")

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        self._seeds.append(seed_of(word, self._key))
        return self[word]

    def find(self, found: Words) -> tuple[Indices, Hashes]:
        """Return each row's person, -1 for nobody, and the seed of the hash of their rows."""
        numbers = np.array([self[word] for word in found.words] + [-1], dtype=np.int64)[found.codes]
        # Those of nobody get some seed or other, which is not used.
        return numbers, np.array(self._seeds or [0], dtype=np.uint64)[numbers]


class _Rows:
    """Candidates: whose, with which hash, and where."""

    def __init__(self, people: Indices, hashes: Hashes, places: Indices) -> None:
        self.people, self.hashes, self.places = people, hashes, places

    @classmethod
    def none(cls) -> _Rows:
        return cls(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[_Rows]) -> _Rows:
        return cls(
            np.concatenate([part.people for part in parts]),
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.places for part in parts]),
        )

    def take(self, rows: Indices | npt.NDArray[np.bool_]) -> _Rows:
        return _Rows(self.people[rows], self.hashes[rows], self.places[rows])


def keep(people: Indices, hashes: Hashes, max_rows: int) -> Indices:
    """Return which rows to keep: of each person those with the smallest hashes, in order.

    Keeping from what was kept and some more rows gives the same as keeping from all of them: a row behind
    `max_rows` others of its person stays behind them, whatever is added.

    Examples
    --------
    >>> people, hashes = np.array([0, 0, 0, 1]), np.array([9, 9, 4, 7], dtype=np.uint64)
    >>> keep(people, hashes, 2).tolist()
    [2, 0, 3]
    """
    order = np.lexsort((hashes, people))
    ranked = people[order]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    return np.asarray(order[rank < max_rows], dtype=np.int64)


def seed_of(word: str, key: int) -> int:
    """Return the keyed hash of a person, of 64 bits."""
    text, secret = word.encode("utf-8", errors="surrogatepass"), (key % 2**128).to_bytes(16, "little")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=secret).digest(), "little")
