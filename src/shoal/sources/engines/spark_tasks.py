"""What executors of Spark are sent to do.

What they keep, deal out and send back is a column of pickles. An error of ours is a row as well: so it comes
here in its own words, and no task is tried again for it.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from importlib import import_module
from typing import Any, Generic, TypeVar

from shoal import errors
from shoal.errors import EngineFailed, ShoalError
from shoal.sources.engines.failures import failures_told
from shoal.sources.engines.spark_session import stopped

I = TypeVar("I")  # noqa: E741 - an item of groups, and what becomes of one
J = TypeVar("J")
S = TypeVar("S")
T = TypeVar("T")

# A pickle, or words about what went wrong; and the group that it is dealt to.
COLUMNS = "item binary, trouble string, hand int"


@dataclass(frozen=True, eq=False)
class Then(Generic[I, J]):
    """Makes something of every item that is read."""

    read: Callable[[Iterator[Any]], Iterator[I]]
    function: Callable[[I], J]

    def __call__(self, batches: Iterator[Any]) -> Iterator[J]:
        """Yield what comes of the items."""
        return map(self.function, self.read(batches))


@dataclass(frozen=True, eq=False)
class Folded(Generic[T]):
    """Combines all items of a partition to one; of none, it makes none."""

    read: Callable[[Iterator[Any]], Iterator[T]]
    combine: Callable[[T, T], T]

    def __call__(self, batches: Iterator[Any]) -> Iterator[T]:
        """Yield one item, or none."""
        found = self.read(batches)
        for first in found:
            yield fold(self.combine, found, first)


@dataclass(frozen=True, eq=False)
class Joined(Generic[S, J]):
    """Joins all that was dealt to a partition."""

    join: Callable[[Sequence[S]], J]

    def __call__(self, batches: Iterator[Any]) -> Iterator[J]:
        """Yield one item, or none."""
        if found := list(unpickled(batches)):
            yield self.join(found)


@dataclass(frozen=True, eq=False)
class Dealing(Generic[I, S]):
    """Deals an item out to n groups."""

    split: Callable[[I, int], Sequence[S]]
    n: int

    def __call__(self, item: I) -> Sequence[S]:
        """Return what each group is dealt."""
        return self.split(item, self.n)


@dataclass(frozen=True, eq=False)
class Packed:
    """Pickles items, each with the number of the group that it is dealt to; tells of errors of ours."""

    read: Callable[[Iterator[Any]], Iterator[Any]]
    deal: Callable[[Any], Sequence[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[tuple[bytes | None, str | None, int]]:
        """Yield rows of `COLUMNS`."""
        try:
            for item in self.read(batches):
                for hand, one in enumerate(self.deal(item)):
                    yield pickle.dumps(one, pickle.HIGHEST_PROTOCOL), None, hand
        except ShoalError as error:
            yield None, f"{type(error).__name__}: {error}", 0


def alone(item: Any) -> tuple[Any]:
    """Deal out nothing."""
    return (item,)


def unpickled(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of batches of `COLUMNS`."""
    for batch in batches:
        pairs = zip(batch.column("item"), batch.column("trouble"), strict=True)
        yield from items((item.as_buffer(), trouble.as_py()) for item, trouble in pairs)


def items(rows: Iterable[tuple[Any, str | None]]) -> Iterator[Any]:
    """Yield what was pickled; raise what an executor told."""
    for item, trouble in rows:
        if trouble is not None:
            name, _, said = trouble.partition(": ")
            raise getattr(errors, name, EngineFailed)(said)
        yield pickle.loads(item)


def sent(
    frame: Any,
    read: Callable[[Iterator[Any]], Iterator[Any]],
    deal: Callable[[Any], Sequence[Any]] = alone,
) -> Any:
    """Let executors make items of every partition of a frame, if they have this version of Shoal.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        What they read.
    read : callable
        Makes items of the batches of a partition.
    deal : callable
        Makes several of an item, each for another group.

    Returns
    -------
    pyspark.sql.DataFrame
        With the columns `COLUMNS`.
    """
    from pyspark import cloudpickle

    here: str = import_module("shoal").__version__
    packed = cloudpickle.dumps(Packed(read, deal))

    def task(batches: Iterator[Any]) -> Iterator[Any]:  # travels by value, so that it starts everywhere
        import pickle
        from importlib import import_module

        import pyarrow as pa

        def row(item: bytes | None, trouble: str | None, hand: int) -> Any:
            cells = zip((item, trouble, hand), (pa.binary(), pa.string(), pa.int32()), strict=True)
            columns = [pa.array([cell], kind) for cell, kind in cells]
            return pa.RecordBatch.from_arrays(columns, ["item", "trouble", "hand"])

        try:
            there = f"shoal {import_module('shoal').__version__}"
        except ImportError:
            there = "no Shoal"
        if there != f"shoal {here}":
            said = f"an executor of Spark has {there}, and here is shoal {here}: install the same everywhere"
            yield row(None, f"EngineFailed: {said}", 0)
            return
        for told in pickle.loads(packed)(batches):
            yield row(*told)

    with failures_told("Spark", stopped), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas, which no row goes through
        return frame.mapInArrow(task, COLUMNS)
