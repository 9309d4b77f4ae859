"""Folds of a table, for a search that is judged on rows it was not fitted to.

Which fold a row is in is a keyed hash of the person, or of the row where there is none. So it depends on
nobody else's rows, nor on where the row stands, and a person is in one fold with all their rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.domain.hashing import hash_rows
from shoal.sources.columns import Piece


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a table, or all rows but those of one fold.

    Parameters
    ----------
    data : array-like, data frame, path or FileTable
        The table.
    key : int
        Drawn once a search: all its folds are cut by the same key.
    n_folds : int
        How many there are.
    number : int
        Which, from 0.
    inside : bool
        Whether its rows are meant, or all others.

    Examples
    --------
    >>> piece = Piece(0, [np.arange(6.0)])
    >>> inside = Fold(None, 7, 3, 1).rows(piece)
    >>> bool((inside ^ Fold(None, 7, 3, 1, inside=False).rows(piece)).all())
    True
    """

    data: Any
    key: int
    n_folds: int
    number: int
    inside: bool = True

    def rows(self, piece: Piece) -> npt.NDArray[np.bool_]:
        """Say which rows of a piece are meant."""
        cells = piece.columns if piece.weights is None else [*piece.columns, piece.weights]
        hashes = hash_rows(cells, np.full(piece.n_rows, self._seed(""), dtype=np.uint64))
        if piece.people is not None:
            # The last is that of nobody, whose rows are people of their own.
            named = np.array([*(self._seed(f"={name}") for name in piece.people.words), 0], dtype=np.uint64)
            hashes = np.where(piece.people.codes < 0, hashes, named[piece.people.codes])
        found = hashes % np.uint64(self.n_folds) == np.uint64(self.number)
        return np.asarray(found if self.inside else ~found)

    def _seed(self, word: str) -> int:
        key = (self.key % 2**128).to_bytes(16, "little")
        text = word.encode("utf-8", errors="surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "little") >> 1
