"""Files that the workers of an engine read: with the same readers, so that a row is read as it is here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import EngineFailed, InvalidInput
from shoal.sources.arrow import FileTable
from shoal.sources.columns import Piece, read_frame
from shoal.sources.engines.source import EngineGroups, OnWorkers, Reading
from shoal.sources.formats import Part
from shoal.sources.lines import decode


@dataclass(frozen=True, eq=False)
class FilesReading(Reading):
    """Reads a file, or some row groups of one."""

    is_text: bool

    def pieces(self, partition: Part) -> Iterator[Piece]:
        """Stream a part to the lattice, as :class:`shoal.sources.arrow.ArrowSource` does."""
        if not partition.path.exists():
            raise EngineFailed(f"a worker does not see {partition.path}: files must lie where all workers do")
        names, start = list(self.schema.columns), 0
        for batch in partition.scan(names, self.rows):
            yield self._read(pa.Table.from_batches([batch]), start)
            start += len(batch)
        if not start:
            fields = [partition.schema.field(name) for name in names]
            yield self._read(pa.schema(fields).empty_table(), 0)

    def _read(self, table: Any, start: int) -> Piece:
        frame = nw.from_native(table, eager_only=True)
        return read_frame(frame, self.schema, start, decode=decode if self.is_text else None)


class EngineFiles(OnWorkers, FileTable):
    """A table in files that the workers of an engine read, each some of it.

    A file of Parquet is cut at its row groups; a file of another kind is read by one worker.

    Parameters
    ----------
    path : str or path, or a list of these
        As for :class:`shoal.sources.arrow.FileTable`; where all workers see it.
    engine : str
        As for :func:`connected`, which must have been called with it.
    options
        As for :class:`shoal.sources.arrow.FileTable`.
    """

    def __init__(
        self,
        path: str | PathLike[str] | Sequence[str | PathLike[str]],
        *args: Any,
        engine: str | None,
        **options: Any,
    ) -> None:
        several = [path] if isinstance(path, str | PathLike) else list(path)
        # Workers are in other folders than this process.
        super().__init__([str(Path(fspath(one)).absolute()) for one in several], *args, **options)
        self._engine = engine

    def partitions(self) -> EngineGroups[Part]:
        """Return the files, or their row groups."""
        return self._groups([one for part in self._parts for one in _cut(part)])

    def reading(self, rows: int) -> Reading:
        """Return how workers read a file."""
        # A fold without its table, which is not to travel.
        fold = None if self.fold is None else replace(self.fold, data=None)
        return FilesReading(self.schema, rows, fold, self._is_text)

    def _groups(self, parts: list[Part]) -> EngineGroups[Part]:
        if str(self._engine).startswith("spark"):
            from shoal.sources.engines.spark import spark_groups

            return spark_groups(parts)
        from shoal.sources.engines.dask import dask_groups

        return dask_groups(parts)


def _cut(part: Part) -> list[Part]:
    """Cut a file of Parquet at its row groups; others are one part."""
    if part.path.suffix != ".parquet":
        return [part]
    n = pq.read_metadata(part.path).num_row_groups
    return [replace(part, batches=partial(_row_group, part.path, i)) for i in range(n)] or [part]


def _row_group(path: Path, which: int, names: list[str], rows: int) -> Iterator[Any]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=rows, row_groups=[which], columns=names):
            yield batch.select(names)


def connected(engine: str) -> AbstractContextManager[Any]:
    """Connect to an engine for a while.

    Parameters
    ----------
    engine : str
        ``"dask"`` starts a cluster of this machine, ``"dask://host:port"`` connects to a scheduler;
        ``"spark"`` is Spark as it is set up here, ``"spark://host:port"`` has a master of its own.
    """
    name, _, address = engine.partition("://")
    if name == "dask":
        from shoal.sources.engines.dask import check_workers, client_at

        client: AbstractContextManager[Any] = client_at(address or None)
        check_workers()
        return client
    if name == "spark":
        from shoal.sources.engines.spark_session import session_at

        return session_at(address or None)
    raise InvalidInput(f"engine is {engine!r}; it must be dask, dask://host:port, spark or spark://host:port")
