"""Where rows live. A source has one verb, `reduce`, and hands out rows on the lattice, in chunks."""

from shoal.sources.arrow import ArrowSource, FileTable
from shoal.sources.rows import OpenTable
from shoal.sources.table import MemorySource, Table, open_beside, open_like, open_table

__all__ = [
    "ArrowSource",
    "FileTable",
    "MemorySource",
    "OpenTable",
    "Table",
    "open_beside",
    "open_like",
    "open_table",
]
