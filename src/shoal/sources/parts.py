"""Which rows are in a part, and which parts of a person are read: each by rows of their own alone."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from shoal.domain import InZone, Part
from shoal.sources.columns import Piece

Mask = npt.NDArray[np.bool_]


def in_part(piece: Piece, part: Part | InZone) -> Mask:
    """Say which rows of a piece are in a part, or in a zone; a row is in exactly one of each.

    Parameters
    ----------
    piece : Piece
        Some rows, with what they say in the part's column, or their zones.
    part : Part or InZone
        Which.
    """
    if isinstance(part, InZone):
        if piece.zone is None:
            raise TypeError("the rows do not say which zone they are in")
        return np.asarray(piece.zone == part.number)
    return np.asarray(part_numbers(piece, part) == part.number)


def part_numbers(piece: Piece, part: Part) -> npt.NDArray[np.int64]:
    """Return the part that each row is in."""
    if piece.part is None:
        raise TypeError("the rows do not say which part they are in")
    return part.numbers(piece.part.words)[piece.part.codes]


class PartsOfPeople:
    """Limits every person to q parts of those that their own rows are in.

    The q parts with the smallest keyed hash of person and part are read. So a person who comes or goes
    changes q parts at most, and nobody else's rows; the key is one for all fits of a data set, so that these
    are the same parts in every fit. A row without a person is a person of its own, and in one part.

    Parameters
    ----------
    part : Part
        The part that is fitted, with the most parts of a person.
    key : int
        Drawn once per data set.
    """

    def __init__(self, part: Part, key: int) -> None:
        self._part = part
        self._key = (key % 2**128).to_bytes(16, "little")
        self._seen: dict[str, int] = {}  # a bit for each part
        self._read: dict[str, bool] = {}

    def add(self, piece: Piece) -> None:
        """Take note of the parts that the people of one piece are in."""
        people = piece.people
        if people is None:
            raise TypeError("the rows have no people")
        n = len(self._part.levels) + 1
        pairs = np.unique(people.codes * n + part_numbers(piece, self._part))
        for pair in pairs[pairs >= 0].tolist():  # nobody's rows have a code of -1
            name, number = people.words[pair // n], pair % n
            self._seen[name] = self._seen.get(name, 0) | 1 << number

    def rows(self, piece: Piece) -> Mask:
        """Say which rows of a piece are in the part and are read, once all pieces were added."""
        inside = in_part(piece, self._part)
        people = piece.people
        if people is None:
            raise TypeError("the rows have no people")
        # The last is nobody's.
        reads = np.array([*(self._reads(name) for name in people.words), True], dtype=np.bool_)
        return inside & reads[people.codes]

    def _reads(self, name: str) -> bool:
        if name not in self._read:
            self._read[name] = self._part.number in self._chosen(name)
        return self._read[name]

    def _chosen(self, name: str) -> list[int]:
        seen = self._seen.get(name, 0)
        parts = [number for number in range(len(self._part.levels) + 1) if seen >> number & 1]
        q = len(parts) if self._part.per_person is None else self._part.per_person
        return sorted(parts, key=lambda number: self._hash(name, number))[:q]

    def _hash(self, name: str, number: int) -> bytes:
        # By what it is called, so that the order in which levels are declared does not matter.
        level = self._part.levels[number] if number < len(self._part.levels) else None
        word = repr((self._part.column, level, name)).encode("utf-8", errors="surrogatepass")
        return hashlib.blake2b(word, digest_size=16, key=self._key).digest()
