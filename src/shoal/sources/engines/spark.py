"""Rows in a Spark data frame: its executors read and count them, through `mapInArrow`."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce as fold
from math import isqrt
from typing import Any, TypeVar

import narwhals.stable.v1 as nw
import pyarrow as pa

from shoal.errors import InvalidTable
from shoal.sources.columns import Piece, read_frame
from shoal.sources.engines.failures import failures_told
from shoal.sources.engines.source import EngineGroups, EngineTable, Reading
from shoal.sources.engines.spark_session import attended, check_executors, stopped
from shoal.sources.engines.spark_tasks import Dealing, Folded, Joined, Then, items, sent, unpickled
from shoal.sources.rows import chunk_rows_for
from shoal.sources.table import Table

I = TypeVar("I")  # noqa: E741 - an item of groups, and what becomes of one
J = TypeVar("J")
S = TypeVar("S")
T = TypeVar("T")

# Results that come here as they are; of more partitions, executors first add some up.
_AT_ONCE = 16
# The most groups that rows are dealt out to: rows of the shuffle grow with their square.
_MOST_GROUPS = 1000

_told = failures_told("Spark", stopped)


class SparkGroups(EngineGroups[I]):
    """Groups in the partitions of a Spark data frame, some in each.

    Parameters
    ----------
    kept : Kept
        The data frame.
    read : callable
        Makes groups of the batches of a partition.
    empty : callable
        Makes a group without rows: what a table without rows has, of whose partitions nothing comes.
    """

    def __init__(
        self, kept: Kept, read: Callable[[Iterator[Any]], Iterator[I]], empty: Callable[[], I]
    ) -> None:
        self._kept, self._read, self._empty = kept, read, empty

    def lazily(self, function: Callable[[I], J]) -> SparkGroups[J]:
        """Return what a function makes of every group, made again whenever it is asked for."""
        return SparkGroups(self._kept, Then(self._read, function), lambda: function(self._empty()))

    def mapped(self, function: Callable[[I], J]) -> SparkGroups[J]:
        """Return what a function makes of every group, kept by the executors."""
        made = self.lazily(function)
        frame = sent(self._kept.frame, made._read)
        return SparkGroups(Kept(frame, self._kept.n, persist=True), unpickled, made._empty)

    def regrouped(
        self, split: Callable[[I, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> SparkGroups[J]:
        """Deal every group out to as many as there are partitions, and join what each was dealt."""
        n = min(self._kept.n, _MOST_GROUPS)
        dealt = sent(self._kept.frame, self._read, Dealing(split, n))
        # In one order, however the shuffle went.
        with _told:
            dealt = dealt.selectExpr("*", "monotonically_increasing_id() AS place")
            together = dealt.repartitionById(n, "hand").sortWithinPartitions("place")
        frame = sent(together, Joined(join))
        return SparkGroups(Kept(frame, n, persist=True), unpickled, lambda: join(split(self._empty(), 1)))

    def reduce(self, partial: Callable[[I], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every group and combine the results, those of many partitions in two steps."""
        frame = sent(self._kept.frame, Folded(Then(self._read, partial), combine))
        if self._kept.n > _AT_ONCE:
            with _told:
                fewer = frame.repartition(isqrt(self._kept.n))
            frame = sent(fewer, Folded(unpickled, combine))
        with _told, attended(frame.sparkSession):
            rows = frame.collect()
        found: list[T] = list(items((row.item, row.trouble) for row in rows))
        return fold(combine, found or [partial(self._empty())])

    def here(self) -> Iterator[I]:
        """Bring one partition after the other here."""
        frame = sent(self._kept.frame, self._read)
        with _told, attended(frame.sparkSession):
            for row in frame.toLocalIterator():
                yield from items([(row.item, row.trouble)])


class Kept:
    """A data frame with so many partitions, which executors may keep for as long as this value lives."""

    def __init__(self, frame: Any, n: int, *, persist: bool = False) -> None:
        self.frame, self.n = frame, n
        if persist:
            with _told:
                frame.persist()
            # In a thread of its own: garbage is collected also while a call to Spark waits for its answer.
            forget = threading.Thread(target=_forget, args=(frame,), daemon=True)
            weakref.finalize(self, forget.start).atexit = False


def _forget(frame: Any) -> None:
    with suppress(Exception):  # the session may be gone, and with it all that it kept
        frame.unpersist()


@dataclass(frozen=True, eq=False)
class BatchReading(Reading):
    """Reads some rows of a data frame, which came as Arrow's."""

    def pieces(self, partition: Any) -> Iterator[Piece]:
        """Read a table of Arrow, by the types of the whole."""
        yield read_frame(nw.from_native(partition, eager_only=True), self.schema, 0)


@dataclass(frozen=True, eq=False)
class Tables:
    """Makes tables of about so many rows of the batches of a partition, with the names of the columns."""

    rows: int
    names: Sequence[str]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield tables of Arrow."""
        waiting: list[Any] = []
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= self.rows:
                yield self._named(waiting)
                waiting = []
        if waiting:
            yield self._named(waiting)

    def _named(self, batches: list[Any]) -> Any:
        return pa.Table.from_batches(batches).rename_columns(list(self.names))


@dataclass(frozen=True, eq=False)
class Numbered:
    """Says which of some values that travelled along, such as names of files, a partition's numbers mean."""

    values: Sequence[Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield values."""
        for batch in batches:
            yield from (self.values[i] for i in batch.column(0).to_pylist())


@dataclass(frozen=True, eq=False)
class Transforming:
    """Maps rows by a step that was fitted."""

    step: Any
    read: Tables
    names: Sequence[str]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches of new columns."""
        for table in self.read(batches):
            found = self.step.transform(table)
            if not isinstance(found, pa.Table):
                found = pa.table(list(found.T.copy()), list(self.names))
            yield from found.select(list(self.names)).to_batches()


class SparkTable(EngineTable):
    """A Spark data frame; types are those of its schema.

    Parameters
    ----------
    data : pyspark.sql.DataFrame
        The rows.
    weights : str, optional
        The column of row weights.
    roles
        As for :class:`shoal.sources.table.Table`.
    """

    def __init__(self, data: Any, *, weights: Any = None, **roles: Any) -> None:
        if data.isStreaming:
            raise InvalidTable(
                "the data frame of Spark is a stream without an end; fit what was stored of it"
            )
        if weights is not None and not isinstance(weights, str):
            raise InvalidTable("sample_weight of a Spark frame must be the name of one of its columns")
        check_executors(data.sparkSession)
        with _told, attended(data.sparkSession):
            blank = data.limit(0).toArrow()
        self._frame, self._blank = data, blank
        self._like = Table(blank, weights=weights, **roles)
        self.schema = self._like.schema

    def blank(self) -> Any:
        """Return the clustered columns as they are, without rows."""
        return self._like.blank()

    def partitions(self) -> SparkGroups[Any]:
        """Return the rows that are read, some thousands at a time."""
        names = list(self.schema.columns)
        with _told:
            frame = _selected(self._frame, names)
            n = frame.rdd.getNumPartitions()
        read = Tables(chunk_rows_for(self), names)
        return SparkGroups(Kept(frame, max(n, 1)), read, lambda: self._blank.select(names))

    def reading(self, rows: int) -> Reading:
        """Return how executors read rows."""
        # A fold without its table, which is not to travel.
        fold = None if self.fold is None else replace(self.fold, data=None)
        return BatchReading(self.schema, rows, fold)

    def parts(self, rows: int) -> Iterator[Any]:
        """Bring one partition after the other here: to label rows, for their holder."""
        read = replace(self.reading(rows), fold=None)
        found = (piece for pieces in self.partitions().lazily(read).here() for piece in pieces)
        yield from found

    def read(self, part: Piece) -> Piece:
        """Return one part, which was read already."""
        return part

    def transformed(self, step: Any, names: Sequence[str]) -> Any:
        """Return the rows as a step maps them, by the executors when they are asked for."""
        from pyspark.sql.types import DoubleType, StructField, StructType

        people = {} if step.unit is None else {step.unit: self._frame.schema[step.unit].dataType}
        schema = StructType([StructField(name, people.get(name, DoubleType())) for name in names])
        given = list(self.schema.columns)
        work = Transforming(step, Tables(chunk_rows_for(self), given), list(names))
        with _told, warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas
            return _selected(self._frame, given).mapInArrow(work, schema)


def spark_groups(values: Sequence[Any]) -> SparkGroups[Any]:
    """Return groups of values that are here, such as names of files."""
    from pyspark.sql import SparkSession

    n = len(values)
    with _told:
        frame = SparkSession.active().range(0, n, 1, n)
    return SparkGroups(Kept(frame, n), Numbered(values), _never)


def _never() -> Any:
    raise AssertionError("something comes of every value, at least a piece without rows")


def _selected(frame: Any, names: Sequence[str]) -> Any:
    """Return some columns under other names: `mapInArrow` takes a point in a name for another thing."""
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*quoted).toDF(*(f"c{i}" for i in range(len(quoted))))
