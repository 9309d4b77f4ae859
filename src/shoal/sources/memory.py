"""A table in memory: put on the lattice once, then read in chunks by threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as fold
from typing import Any, Self, TypeVar

from shoal.domain import Chunk, Domain
from shoal.sources.rows import OpenTable, Source, in_order

T = TypeVar("T")


class MemorySource(Source):
    """Rows of a table, kept on the lattice.

    Parameters are those of :class:`shoal.sources.rows.Source`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.domain import Bounds
    >>> from shoal.sources import Table
    >>> domain = Domain(Bounds.parse((0, 1), 2))
    >>> source = MemorySource(Table(np.full((10, 2), 0.5)), domain, chunk_rows=4)
    >>> source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b)
    10
    """

    def __init__(self, table: OpenTable, domain: Domain, **how: Any) -> None:
        super().__init__(table, domain, **how)
        self._chunks = list(self._map(lambda chunk: chunk))

    def within(self, domain: Domain) -> Self:
        """Return the same rows on the lattice of another domain."""
        other = super().within(domain)
        other._chunks = list(other._map(lambda chunk: chunk))
        return other

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk and combine the results, in order."""
        return fold(combine, in_order(partial, self._chunks, self._threads))
