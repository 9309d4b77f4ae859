"""A copy of encoded rows on the local disk, so that a file is decoded once and not for every question.

The copy has no name from the moment it is made: nobody else can open it, and when the process ends, by
whatever cause, it is gone. It is read into buffers, not mapped, so that memory does not grow with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.domain import Chunk

# Bytes of the disk that are left to others: a copy that would take them is given up, and the file read again.
SPARED = 2 * 2**30


@dataclass(frozen=True)
class Place:
    """Where a chunk lies; it tells how many rows there are, so it stays within the source.

    Parameters
    ----------
    start : int
        Its first byte.
    n_rows : int
        Its rows.
    weighted : bool
        Whether weights follow the columns.
    """

    start: int
    n_rows: int
    weighted: bool


def can_copy() -> bool:
    """Say whether this system reads and writes at a place of a file, in threads, and lets it have no name."""
    return hasattr(os, "preadv") and hasattr(os, "pwrite")


class Spool:
    """Chunks on disk, in the order of their numbers; several threads may add and read them.

    Parameters
    ----------
    n_columns : int
        Columns of every chunk.

    Examples
    --------
    >>> spool = Spool(2)
    >>> spool.add(0, Chunk(np.zeros((2, 3), dtype=np.float32)))
    True
    >>> spool.close_after(1)
    >>> [spool.read(place).n_rows for place in spool.places()]
    [3]
    """

    def __init__(self, n_columns: int) -> None:
        self._n_columns = n_columns
        self._handle, name = tempfile.mkstemp(prefix="shoal-")  # readable by its owner alone
        Path(name).unlink()
        weakref.finalize(self, os.close, self._handle)
        self._lock, self._end = Lock(), 0
        self._places: dict[int, Place] = {}
        self._whole = self._given_up = False

    def add(self, number: int, chunk: Chunk) -> bool:
        """Keep a chunk; False where the disk has no room for it, and then for none."""
        columns = np.ascontiguousarray(chunk.columns)
        size = columns.nbytes + (0 if chunk.weights is None else chunk.weights.nbytes)
        with self._lock:
            if self._given_up or (number % 64 == 0 and self._crowded()):
                self._give_up()
                return False
            start, self._end = self._end, self._end + size
        try:
            _write(self._handle, columns, start)
            if chunk.weights is not None:
                _write(self._handle, np.ascontiguousarray(chunk.weights), start + columns.nbytes)
        except OSError:
            with self._lock:
                self._give_up()
            return False
        with self._lock:
            self._places[number] = Place(start, chunk.n_rows, chunk.weights is not None)
        return True

    def close_after(self, n_chunks: int) -> None:
        """Take note that a pass is over: the copy is whole if all its chunks are there."""
        with self._lock:
            self._whole = not self._given_up and len(self._places) == n_chunks

    @property
    def whole(self) -> bool:
        """Whether all chunks are there."""
        return self._whole

    def places(self) -> Iterator[Place]:
        """Return where the chunks lie, in order."""
        return (self._places[number] for number in range(len(self._places)))

    def read(self, place: Place) -> Chunk:
        """Read one chunk."""
        shape = (self._n_columns, place.n_rows)
        columns: npt.NDArray[np.float32] = np.empty(shape, dtype=np.float32)
        _read(self._handle, columns, place.start)
        if not place.weighted:
            return Chunk(columns)
        weights = np.empty(place.n_rows, dtype=np.int32)
        _read(self._handle, weights, place.start + columns.nbytes)
        return Chunk(columns, weights)

    def _crowded(self) -> bool:
        return shutil.disk_usage(tempfile.gettempdir()).free < SPARED

    def _give_up(self) -> None:
        if not self._given_up:
            self._given_up = True
            self._places = {}
            os.ftruncate(self._handle, 0)  # give the room back at once


def _write(handle: int, values: npt.NDArray[Any], start: int) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while left.nbytes:
        done = os.pwrite(handle, left, start)
        start, left = start + done, left[done:]


def _read(handle: int, values: npt.NDArray[Any], start: int) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while left.nbytes:
        done = os.preadv(handle, [left], start)
        if done == 0:
            raise OSError("the copy of the rows on the local disk has been cut short")
        start, left = start + done, left[done:]
