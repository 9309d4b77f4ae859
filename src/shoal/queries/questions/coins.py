"""Coins that belong to rows: a keyed hash of a row's cells and of which of its equals it is.

So a coin does not depend on where a row stands, on other rows, nor on how often or where it is tossed; and a
row more tosses one coin more and leaves all others as they are, whatever the key (docs/proofs/coins.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal._typing import Booleans, Integers
from shoal.domain import STEPS, Chunk
from shoal.domain.hashing import Hashes, hash_rows, mix


@dataclass(frozen=True)
class ByCells:
    """Deals rows out, so that equal ones come together.

    Parameters
    ----------
    key : int
        Of 64 bits.
    """

    key: int

    def __call__(self, chunk: Chunk, n: int) -> list[Chunk]:
        """Return n chunks, each with the rows whose cells have one remainder of their hash."""
        if n == 1:
            return [chunk]
        # By their cells alone: rows of other weights may be equal once these were used.
        return [part(chunk, rows) for rows in dealt(hashes_of(chunk.columns, self.key), n)]


def dealt(hashes: Hashes, n: int) -> list[Integers]:
    """Return the rows of each remainder.

    Examples
    --------
    >>> [rows.tolist() for rows in dealt(np.array([5, 2, 4, 1], dtype=np.uint64), 2)]
    [[1, 2], [0, 3]]
    """
    hand = (hashes % np.uint64(n)).astype(np.int64)
    order = np.argsort(hand, kind="stable")
    return np.split(order, np.searchsorted(hand[order], np.arange(1, n)))


def part(chunk: Chunk, rows: Integers | Booleans) -> Chunk:
    """Return some of the rows."""
    weights = None if chunk.weights is None else chunk.weights[rows]
    counts = None if chunk.counts is None else chunk.counts[rows]
    return Chunk(np.ascontiguousarray(chunk.columns[:, rows]), weights, counts)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return the different rows of all chunks, and how many there are of each; weights are cells here.

    Examples
    --------
    >>> one = Chunk(np.array([[0.5, -1.0, 0.5]], dtype=np.float32))
    >>> found = joined([one, one])
    >>> sorted(zip(found.columns[0].tolist(), found.counts.tolist()))
    [(-1.0, 2), (0.5, 4)]
    """
    columns = np.concatenate([chunk.columns for chunk in chunks], axis=1)
    some = [chunk.weights for chunk in chunks if chunk.weights is not None]
    weights = np.concatenate(some) if some else None
    counts = np.concatenate([_counts(chunk) for chunk in chunks])
    cells = [*columns, *([] if weights is None else [weights])]
    hashes = hashes_of(cells, 0)
    order = np.argsort(hashes, kind="stable")
    new = _is_new(cells, order)
    if (new[1:] & (np.diff(hashes[order]) == 0)).any():  # different rows of one hash: sort by cells
        order = np.lexsort(cells)
        new = _is_new(cells, order)
    first = np.flatnonzero(new)
    often = np.add.reduceat(counts[order], first) if len(first) else counts
    found = part(Chunk(columns, weights), order[first])
    return Chunk(found.columns, found.weights, often)


def coins(rows: Chunk, key: int) -> tuple[Integers, Hashes]:
    """Toss a coin for every row.

    Parameters
    ----------
    rows : Chunk
        Different rows with their counts, as :func:`joined` has them.
    key : int
        Of 64 bits, drawn once a question.

    Returns
    -------
    ndarray of int64
        Which of the different rows each is.
    ndarray of uint64
        Its coin, of 63 bits.
    """
    cells = [*rows.columns, *([] if rows.weights is None else [rows.weights])]
    counts = _counts(rows)
    which = np.repeat(np.arange(rows.n_rows), counts)
    occurrence = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    tossed = hashes_of(cells, key)[which] ^ mix(occurrence.astype(np.uint64) + np.uint64(1))
    return which, mix(tossed) >> np.uint64(1)


def thinned(chunks: Sequence[Chunk], key: int) -> Chunk:
    """Return the rows that count: one of weight w with probability w / max_weight, by a coin of its own."""
    rows = joined(chunks)
    if rows.weights is None:
        return rows
    which, tossed = coins(rows, key)
    kept = (tossed % np.uint64(STEPS)).astype(np.int64) < rows.weights[which]
    often = np.bincount(which[kept], minlength=rows.n_rows).astype(np.int64)
    # Rows of several weights may now be equal.
    return joined([part(Chunk(rows.columns, counts=often), often > 0)])


def hashes_of(cells: Sequence[np.ndarray] | np.ndarray, key: int) -> Hashes:
    """Return the keyed hash of every row."""
    return hash_rows(list(cells), np.full(len(cells[0]), key, dtype=np.uint64))


def _counts(chunk: Chunk) -> Integers:
    return np.ones(chunk.n_rows, dtype=np.int64) if chunk.counts is None else chunk.counts


def _is_new(cells: Sequence[np.ndarray], order: Integers) -> Booleans:
    """Say which rows, in this order, differ from the one before."""
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for values in cells:
        ordered = values[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return new
