"""What was found: results by cell and seed, kept on disk as JSON lines and, when a run ends, packed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from shoal.bench.flagship.cells import Cell
from shoal.bench.plan import TOO_SLOW
from shoal.bench.results import Results, Summary
from shoal.reporting.store import Record, Store

_FACTS = tuple(field.name for field in fields(Cell))


class Found:
    """Results by cell and seed.

    Examples
    --------
    >>> cell = Cell("s1", 0.25)
    >>> found = Found({"table": "s1", "epsilon": 0.25, "seed": s, "ratio": 1.0 + s} for s in (0, 1, 7))
    >>> found.summary(cell, 0, 2).mean, found.done(cell, 7), found.done(cell, 2)
    (1.5, True, False)
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._by_cell: defaultdict[Cell, dict[int, Record]] = defaultdict(dict)
        self._slow: set[tuple[str, str]] = set()
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Take one more result."""
        cell = Cell(**{fact: record[fact] for fact in _FACTS if fact in record})
        self._by_cell[cell][record["seed"]] = record
        if str(record.get("error")).startswith(TOO_SLOW):
            self._slow.add((cell.table, cell.algorithm))

    def done(self, cell: Cell, seed: int) -> bool:
        """Tell whether there is a result, if only an error; what was too slow on a table counts as done."""
        return seed in self._by_cell.get(cell, ()) or (cell.table, cell.algorithm) in self._slow

    def records(self, cell: Cell, first: int, n: int) -> list[Record]:
        """Return the results of `n` seeds that did not fail."""
        have = self._by_cell.get(cell, {})
        return [have[s] for s in range(first, first + n) if "ratio" in have.get(s, ())]

    def summary(self, cell: Cell, first: int, n: int) -> Summary | None:
        """Sum up the ratios of `n` seeds from `first` on; None where there are none."""
        return Results(self.records(cell, first, n)).summary("ratio")

    def failed(self) -> list[Record]:
        """Return what ended in an error."""
        return [r for runs in self._by_cell.values() for r in runs.values() if "error" in r]

    def cpu(self) -> float:
        """Return the seconds of processor time of all fits."""
        return sum(float(r.get("cpu", 0.0)) for runs in self._by_cell.values() for r in runs.values())


class FlagshipStore(Store):
    """Results of the flagship's run.

    Parameters
    ----------
    path : Path
        Of the file of lines.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, facts=("table", "epsilon", "algorithm", "seed"))

    def read(self) -> list[Record]:
        """Return all results; what failed is tried again, unless it was too slow."""
        return [r for r in super().read() if not r.get("error") or r["error"].startswith(TOO_SLOW)]
