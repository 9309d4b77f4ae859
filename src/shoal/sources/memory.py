"""A table in memory: put on the lattice once, then read in chunks by threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce as fold
from typing import TypeVar

from shoal.domain import Chunk, Domain
from shoal.sources.table import Table

T = TypeVar("T")

CHUNK_ROWS = 65_536


class MemorySource:
    """Rows of one table on the lattice.

    Parameters
    ----------
    table : Table
        Where the rows come from.
    domain : Domain
        Public bounds and policies; decides how a row becomes lattice values.
    chunk_rows : int
        Rows a chunk. The result of a query never depends on it.
    threads : int, optional
        Threads used by `reduce`; all available cores if not given. The result never depends on it.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.domain import Bounds
    >>> domain = Domain(Bounds.parse((0, 1), 2))
    >>> source = MemorySource(Table(np.full((10, 2), 0.5)), domain, chunk_rows=4)
    >>> source.reduce(lambda chunk: chunk.n_rows, lambda a, b: a + b)
    10
    """

    def __init__(
        self, table: Table, domain: Domain, *, chunk_rows: int = CHUNK_ROWS, threads: int | None = None
    ) -> None:
        self._table = table
        self._chunk_rows = chunk_rows
        self._threads = threads or available_cores()
        self._chunks = self._map(
            lambda span: domain.encode(table.columns(*span)), list(table.chunks(chunk_rows))
        )

    def within(self, domain: Domain) -> MemorySource:
        """Return the same rows on the lattice of another domain."""
        return MemorySource(self._table, domain, chunk_rows=self._chunk_rows, threads=self._threads)

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk and combine the results, in order."""
        return fold(combine, self._map(partial, self._chunks))

    def _map(self, function: Callable[..., T], items: Iterable[object]) -> list[T]:
        items = list(items)
        if self._threads == 1 or len(items) == 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(function, items))


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
