"""What a studio remembers, in one SQLite file that its owner alone can read.

Every change is a transaction of its own, durable when it returns; a connection lives for one call, so that
threads, other servers of the same folder and processes of fits may all write.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput

# Seconds to wait for others who write.
_PATIENCE = 30.0

_MAKE = """
CREATE TABLE IF NOT EXISTS studies (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, source TEXT NOT NULL, draft TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  looks INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL, session TEXT, created TEXT NOT NULL, closed TEXT);
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, study TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL, state TEXT NOT NULL, progress REAL NOT NULL DEFAULT 0,
  message TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL,
  approved_by TEXT, stop INTEGER NOT NULL DEFAULT 0, result TEXT,
  created TEXT NOT NULL, updated TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS releases (
  id TEXT PRIMARY KEY, job TEXT NOT NULL UNIQUE, study TEXT NOT NULL, record TEXT NOT NULL,
  shared TEXT UNIQUE, created TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Memory:
    """The rows of a studio's database.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there, for its owner alone (0600).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        with self.writing() as connection:
            for command in filter(str.strip, _MAKE.split(";")):
                connection.execute(command)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection."""
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose changes are made together, when nobody else writes, or not at all."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        """Return the first row of an answer."""
        with self.reading() as connection:
            found: sqlite3.Row | None = connection.execute(query, values).fetchone()
            return found

    def all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of an answer."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def change(self, command: str, values: Sequence[Any] = ()) -> int:
        """Make one change; return how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(command, values).rowcount

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting of the studio."""
        row = self.one("SELECT value FROM settings WHERE name = ?", (name,))
        return default if row is None else json.loads(row["value"])

    def set(self, name: str, value: Any) -> None:
        """Keep a setting of the studio."""
        self.change("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, dumps(value)))


def dumps(value: Mapping[str, Any] | Any) -> str:
    """Write plain values as JSON; anything else is refused, by its type alone."""
    return json.dumps(value, sort_keys=True, allow_nan=False, default=_refuse)


def _refuse(value: Any) -> Any:
    raise InvalidInput(f"a {type(value).__name__} cannot be written down here")
