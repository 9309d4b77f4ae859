"""The file where accounts, sessions, tokens, links and failed attempts are kept; secrets only as hashes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput

# What the file's tables look like: raised when they change.
_FORMAT = 1

_TABLES = """
CREATE TABLE users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, created REAL NOT NULL
) STRICT;
CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, created REAL NOT NULL, seen REAL NOT NULL
) STRICT;
CREATE INDEX sessions_of ON sessions (name);
CREATE TABLE tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
    label TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL
) STRICT;
CREATE TABLE links (hash TEXT PRIMARY KEY, expires REAL NOT NULL) STRICT;
CREATE TABLE attempts (who TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE INDEX attempts_of ON attempts (who, at);
CREATE TABLE running (url TEXT NOT NULL) STRICT;
"""

# Seconds to wait for another process (the command line) that writes: its transactions take milliseconds.
_BUSY = 10.0


class AccessStore:
    """One SQLite file with mode 0600, shared by a running studio and the command line.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.
    clock : callable
        Seconds since 1970; for tests.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock
        self._lock = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Made with its mode before SQLite opens it, so that there is no moment at which others can read it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
        self._connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._connection.execute("PRAGMA journal_mode=WAL")
        with self.write() as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == 0:
                for statement in _TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={_FORMAT}")
            elif found != _FORMAT:
                raise InvalidInput(f"{path} has format {found}; this version of shoal reads {_FORMAT}")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read."""
        with self._lock:
            return self._connection.execute(question, values).fetchall()

    def row(self, question: str, *values: Any) -> tuple[Any, ...] | None:
        """Read one, if there is one."""
        found = self.rows(question, *values)
        return found[0] if found else None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
