"""Where rows live. A source has one verb, `reduce`, and hands out rows on the lattice, in chunks."""

from shoal.sources.memory import MemorySource
from shoal.sources.table import Table

__all__ = ["MemorySource", "Table"]
