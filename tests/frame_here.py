# ruff: noqa: N802, N815 - the names are Spark's
"""A stand-in for a data frame of Spark: all that Shoal asks of one, done in this process.

What is sent is pickled as Spark does it, batches are Arrow's, and partitions are dealt with one after the
other. So the code that runs on executors runs here, in a hundredth of the time; what Spark itself does is not
tested by it.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa


class FrameHere:
    """Partitions, as tables of Arrow, and what can be asked of a data frame."""

    __module__ = "pyspark.here"  # by which a table of Spark is known
    isStreaming = False
    # Sets of rows that were kept, and forgotten again.
    kept = 0

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.rdd = self.sparkSession = self.sparkContext = self

    @classmethod
    def of(cls, table: Any, rows: int) -> FrameHere:
        """Cut a pandas data frame into partitions."""
        whole = pa.Table.from_pandas(table, preserve_index=False)
        return cls([whole.slice(start, rows) for start in range(0, max(len(table), 1), rows)])

    def getNumPartitions(self) -> int:
        return len(self.parts)

    def limit(self, n: int) -> FrameHere:
        return FrameHere([self.parts[0].slice(0, n)])

    def toArrow(self) -> Any:
        return pa.concat_tables(self.parts)

    def select(self, *names: str) -> FrameHere:
        return FrameHere([part.select([name.strip("`") for name in names]) for part in self.parts])

    def toDF(self, *names: str) -> FrameHere:
        return FrameHere([part.rename_columns(list(names)) for part in self.parts])

    def mapInArrow(self, function: Any, columns: str) -> FrameHere:
        from pyspark import cloudpickle

        schema = pa.schema([("item", pa.binary()), ("trouble", pa.string()), ("hand", pa.int32())])
        task = cloudpickle.loads(cloudpickle.dumps(function))
        found = (task(iter(part.to_batches(max_chunksize=50))) for part in self.parts)
        return FrameHere([pa.Table.from_batches(list(batches), schema) for batches in found])

    def selectExpr(self, *_: str) -> FrameHere:
        ends = np.cumsum([0, *map(len, self.parts)])
        places = [np.arange(a, b) for a, b in pairwise(ends)]
        pairs = zip(self.parts, places, strict=True)
        return FrameHere([part.append_column("place", pa.array(place)) for part, place in pairs])

    def repartitionById(self, n: int, name: str) -> FrameHere:
        # As they come from a shuffle: in no order.
        whole = pa.concat_tables(self.parts[::-1])
        return FrameHere([whole.filter(pa.array(whole[name].to_numpy() == i)) for i in range(n)])

    def sortWithinPartitions(self, name: str) -> FrameHere:
        return FrameHere([part.sort_by(name) for part in self.parts])

    def repartition(self, n: int) -> FrameHere:
        whole = pa.concat_tables(self.parts)
        return FrameHere([whole.take(pa.array(np.arange(i, len(whole), n))) for i in range(n)])

    def persist(self) -> FrameHere:
        FrameHere.kept += 1
        return self

    def unpersist(self) -> FrameHere:
        FrameHere.kept -= 1
        return self

    def collect(self) -> list[Any]:
        return [SimpleNamespace(**row) for row in pa.concat_tables(self.parts).to_pylist()]

    def toLocalIterator(self) -> Any:
        return iter(self.collect())

    def addJobTag(self, tag: str) -> None:
        """Nothing is waited for."""

    def removeJobTag(self, tag: str) -> None:
        """Nothing is waited for."""
