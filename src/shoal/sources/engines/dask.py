"""Rows in a Dask array or data frame: its workers read and count them.

Whatever scheduler Dask uses is used: that of a cluster, where there is a client, or threads of this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial as given
from functools import reduce as fold
from typing import Any, TypeVar

import narwhals.stable.v1 as nw
import numpy as np

from shoal.domain import InZone
from shoal.errors import EngineUnavailable, InvalidTable
from shoal.sources.columns import Piece, expanded, read_frame
from shoal.sources.engines.failures import failures_told
from shoal.sources.engines.source import EngineGroups, EngineTable, Reading
from shoal.sources.table import Table
from shoal.sources.zones import zones_of_array

I = TypeVar("I")  # noqa: E741 - an item of groups, and what becomes of one
J = TypeVar("J")
S = TypeVar("S")
T = TypeVar("T")

# Results that one task combines: few enough to be at hand at once, many enough for a flat tree.
_AT_ONCE = 16
# Results that are combined here, in place of by another task: each may be some megabytes.
_HERE = 4
# Bytes that a task may want at hand at once: a worker may have spilled them.
_HEAVIEST = 2**29
# The most groups that rows are dealt out to: tasks grow with their square, at about a millisecond each.
_MOST_GROUPS = 256
# Seconds to wait for a scheduler, and for a first worker.
_PATIENCE = 15

_told = failures_told("Dask")


class DaskGroups(EngineGroups[I]):
    """Groups that are delayed values of Dask.

    Parameters
    ----------
    items : sequence of Delayed
        The groups, at least one.
    kept : bool
        Whether workers hold them, or will soon.
    """

    def __init__(self, items: Sequence[Any], *, kept: bool = False) -> None:
        self._items = list(items)
        self._held = kept
        # What one task each takes, and of which threads; known once workers hold the groups.
        self._loads = [[item] for item in self._items]
        self._threads: dict[str, int] = {}

    def lazily(self, function: Callable[[I], J]) -> DaskGroups[J]:
        """Return what a function makes of every group, made again whenever it is asked for."""
        from dask import delayed

        # The function is a value of its own in the graph: it travels to each worker once.
        what = delayed(function, traverse=False)
        return DaskGroups([delayed(_call)(what, item) for item in self._items])

    def mapped(self, function: Callable[[I], J]) -> DaskGroups[J]:
        """Return what a function makes of every group, kept by the workers."""
        return self.lazily(function)._kept()

    def regrouped(
        self, split: Callable[[I, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> DaskGroups[J]:
        """Deal every group out to as many as there are, and join what each was dealt."""
        from dask import delayed

        n = min(len(self._items), _MOST_GROUPS)
        deal, together = delayed(split, traverse=False), delayed(join, traverse=False)
        hands = [delayed(_call, nout=n)(deal, item, n) for item in self._items]
        return DaskGroups([delayed(_call)(together, [hand[i] for hand in hands]) for i in range(n)])._kept()

    def reduce(self, partial: Callable[[I], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every group and combine the results, on the workers up to the last."""
        from dask import compute, delayed

        with _told:
            if self._held and self._threads:
                self._deal()
            how = delayed(combine, traverse=False)
            if self._threads:
                # A question lies in each of the few tasks: as a value of its own it would go from one worker
                # to the others first, while they wait.
                found: list[Any] = [delayed(given(_reduced, partial, combine))(*load) for load in self._loads]
            else:
                what = delayed(partial, traverse=False)
                found = [delayed(_reduced)(what, how, *load) for load in self._loads]
            while len(found) > _HERE:
                parts = (found[i : i + _AT_ONCE] for i in range(0, len(found), _AT_ONCE))
                found = [delayed(_folded)(how, part) for part in parts]
            results: Sequence[T] = compute(*found)
            if self._held and not self._threads:
                self._deal()
        return fold(combine, results)

    def _deal(self) -> None:
        """Give each thread of the workers one task, with groups that its worker holds; more for large groups.

        A task costs milliseconds of the scheduler, and what comes of it travels; workers wait for both. Where
        one comes or goes, loads are dealt anew: what is found is the same, but each should lie in one place.
        """
        client = _client()
        if client is None or (threads := client.nthreads()) == self._threads:
            return
        where, sizes = client.who_has(), client.nbytes(summary=False)
        held: dict[str, list[Any]] = {}
        for item in self._items:
            held.setdefault((*where.get(item.key, ()), "")[0], []).append(item)
        self._loads, self._threads = [], threads
        for place, items in held.items():
            at_once = threads.get(place, len(items))
            rounds = -(-sum(sizes.get(item.key, 0) for item in items) // (at_once * _HEAVIEST))
            n = min(at_once * max(rounds, 1), len(items))
            self._loads += [items[len(items) * i // n : len(items) * (i + 1) // n] for i in range(n)]

    def _kept(self) -> DaskGroups[I]:
        from dask import persist

        with _told:
            return DaskGroups(persist(*self._items), kept=True)


def _call(function: Callable[..., T], *given: Any) -> T:
    return function(*given)


def _reduced(function: Callable[[I], T], combine: Callable[[T, T], T], *items: I) -> T:
    return fold(combine, map(function, items))


def _client() -> Any:
    """Return the client of a cluster, or None where threads of this process work."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _folded(combine: Callable[[T, T], T], found: Sequence[T]) -> T:
    return fold(combine, found)


@dataclass(frozen=True, eq=False)
class FrameReading(Reading):
    """Reads a partition of a data frame; `keys` is what the frame calls its columns."""

    keys: dict[str, Any]

    def pieces(self, partition: Any) -> Iterator[Piece]:
        """Read a pandas data frame, by the types of the whole."""
        lacking = [name for name in self.schema.columns if self.keys[name] not in partition.columns]
        if lacking:
            raise InvalidTable(f"a partition of the table has no column {lacking[0]!r}; all must have it")
        frame = nw.from_native(partition, eager_only=True)
        for start in range(0, max(len(frame), 1), self.rows):
            yield read_frame(frame[start : start + self.rows], self.schema, start, keys=self.keys)


@dataclass(frozen=True, eq=False)
class ArrayReading(Reading):
    """Reads a block of an array; its last column is the weight where rows have one."""

    weighted: bool

    def pieces(self, partition: Any) -> Iterator[Piece]:
        """Read an array of NumPy, or a pair of one and of weights."""
        rows, weights = partition if self.weighted else (partition, None)
        rows, part = np.asarray(rows), self.schema.part
        for start in range(0, max(len(rows), 1), self.rows):
            block = slice(start, start + self.rows)
            cells = zip(self.schema.fields, rows[block].T, strict=True)
            columns = [column for field, one in cells for column in expanded(field, one)]
            own = None if weights is None else np.asarray(weights)[block]
            zone = zones_of_array(part.zones, rows[block]) if isinstance(part, InZone) else None
            yield Piece(start, columns, None, own, zone=zone)


class DaskTable(EngineTable):
    """A Dask array or data frame; types are those that Dask knows before any partition is computed.

    Parameters
    ----------
    data : dask Array or DataFrame
        The rows.
    weights : str, or dask or NumPy array, optional
        The column of row weights; of an array, the weights.
    roles
        As for :class:`shoal.sources.table.Table`.
    """

    def __init__(self, data: Any, *, weights: Any = None, **roles: Any) -> None:
        check_workers()
        self._frame: Any = None if _is_array(data) else data
        self._array: Any = data if _is_array(data) else None
        self._weights: Any = None
        if self._array is not None:
            if data.ndim != 2:
                raise InvalidTable(f"the Dask array has {data.ndim} dimensions; a table has rows and columns")
            self._like = Table(np.empty((0, data.shape[1]), dtype=data.dtype), **roles)
            if isinstance(weights, str):
                raise InvalidTable(f"sample_weight is {weights!r}, but an array has no names; give an array")
            self._array = data.rechunk({1: -1})
            self._weights = None if weights is None else _weights_like(self._array, weights)
        else:
            if weights is not None and not isinstance(weights, str):
                raise InvalidTable("sample_weight of a Dask frame must be the name of one of its columns")
            self._like = Table(data._meta, weights=weights, **roles)
        self.schema = self._like.schema

    def blank(self) -> Any:
        """Return the clustered columns as they are, without rows."""
        return self._like.blank()

    def partitions(self) -> DaskGroups[Any]:
        """Return the partitions."""
        return DaskGroups(self._delayed())

    def reading(self, rows: int) -> Reading:
        """Return how workers read a partition."""
        # A fold without its table, which is not to travel.
        fold = None if self.fold is None else replace(self.fold, data=None)
        if self._array is not None:
            return ArrayReading(self.schema, rows, fold, self._weights is not None)
        wanted = set(self.schema.columns)
        keys = {str(key): key for key in self._frame.columns if str(key) in wanted}
        return FrameReading(self.schema, rows, fold, keys)

    def parts(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Bring one partition after the other here: to label rows, for their holder."""
        read = self.reading(rows)
        for item in self._delayed():
            with _told:
                partition = item.compute()
            yield from ((piece.start, piece) for piece in read.pieces(partition))

    def read(self, part: tuple[int, Piece]) -> Piece:
        """Return one part, which was read already."""
        return part[1]

    def transformed(self, step: Any, names: Sequence[str]) -> Any:
        """Return the rows as a step maps them, by the workers when they are asked for."""
        if self._array is not None:
            return self._array.map_blocks(
                step.transform, dtype=np.float64, chunks=(self._array.chunks[0], (len(names),))
            )
        if step.unit is None:
            return self._frame.map_partitions(step.transform, meta=np.empty((0, len(names)))).to_dask_array()
        return self._frame.map_partitions(step.transform, meta=step.transform(self._frame._meta))

    def _delayed(self) -> list[Any]:
        if self._array is None:
            return list(self._frame.to_delayed())
        blocks = list(self._array.to_delayed().ravel())
        if self._weights is None:
            return blocks
        from dask import delayed

        weights = self._weights.to_delayed().ravel()
        return [delayed(_pair)(*both) for both in zip(blocks, weights, strict=True)]


def dask_groups(items: Sequence[Any]) -> DaskGroups[Any]:
    """Return groups of values that are here, such as names of files."""
    from dask import delayed

    return DaskGroups([delayed(item, traverse=False) for item in items])


def _pair(rows: Any, weights: Any) -> tuple[Any, Any]:
    return rows, weights


def _is_array(data: Any) -> bool:
    return hasattr(data, "dask") and hasattr(data, "chunks")


def _weights_like(array: Any, weights: Any) -> Any:
    import dask.array as da

    found = da.asarray(weights)
    if found.ndim != 1 or found.shape[0] != array.shape[0]:
        raise InvalidTable("sample_weight and the table differ in their number of rows; give a weight a row")
    if found.dtype.kind not in "fiub":
        raise InvalidTable(f"sample_weight holds {found.dtype}, not numbers")
    return found.rechunk((array.chunks[0],))


def client_at(address: str | None) -> Any:
    """Connect to a scheduler, or start a cluster of this machine; return the client.

    Parameters
    ----------
    address : str, optional
        ``host:port`` of a scheduler; a cluster of this machine if not given.
    """
    try:
        from distributed import Client
    except ImportError:
        raise EngineUnavailable("Dask is not installed here: pip install 'shoal[dask]'") from None
    try:
        return Client(processes=True) if address is None else Client(f"tcp://{address}", timeout=_PATIENCE)
    except (OSError, ValueError):
        raise EngineUnavailable(
            f"no scheduler of Dask answers at {address}: start one with `dask scheduler`, or look at the "
            "address; nothing was spent"
        ) from None


def check_workers() -> None:
    """Refuse a cluster without workers, or whose workers have no Shoal or another version of it."""
    client = _client()
    if client is None:
        return

    def version() -> tuple[str, tuple[int, ...]]:  # travels by value, so that it starts everywhere
        import sys
        from importlib import import_module

        try:
            return import_module("shoal").__version__, tuple(sys.version_info[:2])
        except ImportError:
            return "", tuple(sys.version_info[:2])

    here = version()
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        found = client.run(version, on_error="return")
    except Exception as error:  # the scheduler is gone, or nobody works for it
        raise EngineUnavailable(
            f"the cluster of Dask at {client.scheduler.address} has no workers that answer "
            f"({type(error).__name__}): start some with `dask worker`; nothing was spent"
        ) from None
    for worker, told in found.items():
        if isinstance(told, BaseException) or not told[0]:
            raise EngineUnavailable(
                f"worker {worker} of Dask has no Shoal: install shoal {here[0]} there; nothing was spent"
            )
        if tuple(told) != here:
            has, wants = (f"shoal {v} on Python {p[0]}.{p[1]}" for v, p in (told, here))
            raise EngineUnavailable(
                f"worker {worker} of Dask has {has}, and here is {wants}: install the same; nothing was spent"
            )
