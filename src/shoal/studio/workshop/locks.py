"""One process at a time: a lock that the system takes back from whoever dies, even of kill -9."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Seconds between two tries.
_TRY = 0.1


class GivenUp(Exception):
    """Whoever waited was told to wait no longer."""


@contextmanager
def locked(paths: Path | Sequence[Path], given_up: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Hold a lock, or one of several: wait until one is free.

    SQLite's own lock of a file is used, which every system has and which ends with its process.

    Parameters
    ----------
    paths : Path or sequence of Path
        Files, made if they are not there.
    given_up : callable
        Asked between two tries; where it says so, `GivenUp` is raised.
    """
    places = [paths] if isinstance(paths, Path) else list(paths)
    while True:
        for path in places:
            connection = _hold(path)
            if connection is not None:
                try:
                    yield path
                finally:
                    connection.close()
                return
        if given_up():
            raise GivenUp
        time.sleep(_TRY)


def is_held(path: Path) -> bool:
    """Say whether somebody holds a lock."""
    connection = _hold(path)
    if connection is not None:
        connection.close()
    return connection is None


def _hold(path: Path) -> sqlite3.Connection | None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        connection.close()
        return None
    return connection
