"""All the gate asks of a place where rows live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from shoal.domain import Chunk, Domain

T = TypeVar("T")


class Source(Protocol):
    """All the gate asks of a place where rows live."""

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk of lattice rows and combine the results."""
        ...

    def within(self, domain: Domain) -> Source:
        """Return the same rows on the lattice of another domain."""
        ...
