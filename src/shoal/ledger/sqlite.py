"""A ledger in one file: the default.

A commit is durable when it returns: the journal is written and synchronised before the file, and the folder
after the journal is gone (``synchronous=EXTRA``). The older journal is used, not the write-ahead log, so
that a ledger is one file, which can be copied while nobody writes.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from shoal.errors import InvalidLedger, LedgerUnavailable
from shoal.ledger.store import Lost, Store

_APPEND_ONLY = tuple(
    f"CREATE TRIGGER shoal_no_{word.lower()} BEFORE {word} ON shoal_records "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is appended to, never changed'); END"
    for word in ("UPDATE", "DELETE")
)


class SqliteStore(Store):
    """Records in a file of SQLite, which its owner alone can read (0600).

    Parameters are those of :class:`shoal.ledger.store.Store`.
    """

    mark = "?"
    make = (
        "CREATE TABLE shoal_ledger (version INTEGER NOT NULL, id TEXT NOT NULL)",
        "CREATE TABLE shoal_records (dataset TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL, "
        "kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, payload BLOB, previous TEXT NOT NULL, "
        "hash TEXT NOT NULL, PRIMARY KEY (dataset, number), UNIQUE (dataset, key))",
        "CREATE TABLE shoal_heads (dataset TEXT PRIMARY KEY, number INTEGER NOT NULL, hash TEXT NOT NULL)",
        *_APPEND_ONLY,
    )

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.url)

    def _connect(self) -> Any:
        if not self.path.is_file():
            raise InvalidLedger(f"there is no ledger at {self.shown}; make one with `shoal budget create`")
        connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode=rw", uri=True, timeout=self.patience, isolation_level=None
        )
        connection.execute("PRAGMA synchronous = EXTRA")
        return connection

    def _begin(self, connection: Any, dataset: str) -> None:  # noqa: ARG002 - the file has one writer
        connection.execute("BEGIN IMMEDIATE")

    def _translated(self, error: Exception) -> Exception | None:
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Lost("another process holds it")
        if primary == sqlite3.SQLITE_NOTADB:
            return InvalidLedger(f"{self.shown} is not a ledger: it is no SQLite file")
        if primary == sqlite3.SQLITE_CORRUPT:
            return InvalidLedger(f"{self.shown} is damaged: restore a backup, and verify it")
        return LedgerUnavailable(
            f"the ledger {self.shown} cannot be read or written: {error}. Nothing more is charged or "
            "answered; a fit that was under way can be resumed when that is mended"
        )

    def _has_tables(self, connection: Any) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'shoal_ledger'"
        return bool(self._rows(connection, query))

    def _prepare(self) -> None:
        try:
            # Closed to others from its first moment.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise LedgerUnavailable(f"a ledger cannot be made at {self.shown}: {error.strerror}") from None
