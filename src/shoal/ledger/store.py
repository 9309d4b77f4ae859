"""Where records lie: appended one at a time, each in a transaction of its own that is durable when it ends.

A store keeps no connection between two calls. So a copy of it in another thread, in a forked child or out of
a pickle is as good as the original, and a server that was restarted is found again.
"""

from __future__ import annotations

import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias, TypeVar

from shoal.errors import InvalidLedger, LedgerUnavailable
from shoal.ledger.records import GENESIS, PAYLOAD, Draft, Record, check_chain

T = TypeVar("T")

VERSION = 1
"""The version of ledgers that this Shoal reads and writes."""

Known: TypeAlias = tuple[int, str]
"""The number and the hash of a record that was seen."""
Decide: TypeAlias = Callable[[Sequence[Record], str], Draft]
"""Told of the records that are new since the last one known, and the time, says what to write, or raises."""

# Waits between two tries grow from the first to the last, in seconds.
_FIRST_WAIT, _LAST_WAIT = 0.05, 1.0

_PASSWORD = re.compile(r"//([^/:@]*):[^@]*@")
_COLUMNS = "dataset, number, time, kind, key, body, previous, hash"


class Lost(Exception):
    """The connection was lost or the file is busy: whether a commit was made is not known. Try again."""


class Store(ABC):
    """A ledger's records, in a database.

    Parameters
    ----------
    url : str
        Where it is.
    patience : float
        Seconds to wait for others, or for a server to come back.
    """

    mark: str
    """What stands for a value in SQL."""
    make: tuple[str, ...]
    """SQL that makes an empty ledger."""
    upgrades: ClassVar[dict[int, tuple[str, ...]]] = {}
    """SQL that brings a ledger of a version up to the next one."""

    def __init__(self, url: str, patience: float = 30.0) -> None:
        self.url = url
        self.patience = patience

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return _PASSWORD.sub("//\\1@", self.url)

    # What databases differ in.

    @abstractmethod
    def _connect(self) -> Any:
        """Open a connection, or raise `Lost` or `LedgerUnavailable`."""

    @abstractmethod
    def _begin(self, connection: Any, dataset: str) -> None:
        """Begin to write to one data set, when nobody else does."""

    @abstractmethod
    def _translated(self, error: Exception) -> Exception | None:
        """Return what to raise for an error of the database, None for any other."""

    @abstractmethod
    def _has_tables(self, connection: Any) -> bool:
        """Say whether there is a ledger of any version."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make what a ledger lies in, if it is not there."""

    # What is asked of them.

    def append(self, dataset: str, key: str, decide: Decide, known: Callable[[], Known]) -> Record:
        """Write one record, and return it when it is durable.

        Parameters
        ----------
        dataset : str
            Whose chain it goes to.
        key : str
            Names what is written: if a try was lost on its way, the next one finds it.
        decide : callable
            Called in the transaction with the records that are new, while nobody else can write. What it
            raises is raised, and nothing is written.
        known : callable
            Returns the last record that `decide` has seen.
        """

        def write(connection: Any) -> Record:
            self._begin(connection, dataset)
            news = self._news(connection, dataset, known())
            made = self._find(connection, dataset, key)
            if made is not None:  # in a try whose answer was lost
                connection.rollback()
                return made
            last = news[-1] if news else self._at(connection, dataset, known()[0])
            # A clock that went back is not followed.
            time = self._now() if last is None else max(self._now(), last.time)
            draft = decide(news, time)
            record = Record.after(last, dataset, time, key, draft)
            self._insert(connection, record, draft.payload)
            self._commit(connection)
            return record

        return self._tried(write)

    def news(self, dataset: str, known: Known = (0, GENESIS)) -> list[Record]:
        """Return the records that follow one that is known, after checking that they do."""
        return self._tried(lambda connection: self._news(connection, dataset, known))

    def payloads(self, dataset: str) -> Iterator[tuple[Record, bytes | None]]:
        """Return all records with what lies beside them, unchecked."""
        rows = self._tried(
            lambda c: self._rows(
                c,
                f"SELECT {_COLUMNS}, payload FROM shoal_records WHERE dataset = ? ORDER BY number",
                (dataset,),
            )
        )
        for *values, payload in rows:
            yield Record(*values), None if payload is None else bytes(payload)

    def payload(self, dataset: str, number: int) -> tuple[bytes, Record]:
        """Return what lies beside one record, and the record."""
        query = f"SELECT {_COLUMNS}, payload FROM shoal_records WHERE dataset = ? AND number = ?"
        rows = self._tried(lambda c: self._rows(c, query, (dataset, number)))
        if not rows or rows[0][-1] is None:
            raise InvalidLedger(f"what lies beside record {number} of data set {dataset!r} was removed")
        return bytes(rows[0][-1]), Record(*rows[0][:-1])

    def head(self, dataset: str) -> Known:
        """Return the number and hash that the ledger itself keeps of its last record."""
        query = "SELECT number, hash FROM shoal_heads WHERE dataset = ?"
        rows = self._tried(lambda c: self._rows(c, query, (dataset,)))
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, GENESIS)

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all data sets."""
        query = "SELECT DISTINCT dataset FROM shoal_records ORDER BY dataset"
        return tuple(row[0] for row in self._tried(lambda c: self._rows(c, query)))

    def create(self) -> None:
        """Make an empty ledger where there is none."""
        self._prepare()

        def make(connection: Any) -> None:
            self._begin(connection, "")
            if not self._has_tables(connection):
                for command in self.make:
                    self._run(connection, command)
                self._run(
                    connection, "INSERT INTO shoal_ledger VALUES (?, ?)", (VERSION, secrets.token_hex(16))
                )
                self._commit(connection)
            else:
                connection.rollback()

        self._tried(make, made=False)
        self._tried(lambda _: None)

    def upgrade(self) -> tuple[int, int]:
        """Bring a ledger of an older version up to this one; return the versions before and after."""

        def work(connection: Any) -> tuple[int, int]:
            self._begin(connection, "")
            if not self._has_tables(connection):
                raise InvalidLedger(f"{self.shown} is not a ledger; make one with `shoal budget create`")
            found = int(self._rows(connection, "SELECT version FROM shoal_ledger")[0][0])
            if not 1 <= found <= VERSION:
                raise InvalidLedger(
                    f"{self.shown} is a ledger of version {found}, which this Shoal cannot read"
                )
            for version in range(found, VERSION):
                for command in self.upgrades[version]:
                    self._run(connection, command)
            self._run(connection, "UPDATE shoal_ledger SET version = ?", (VERSION,))
            self._commit(connection)
            return found, VERSION

        return self._tried(work, made=False)

    def copy_in(self, dataset: str, records: Sequence[tuple[Record, bytes | None]]) -> None:
        """Write a whole chain into a ledger that has none of this name."""

        def write(connection: Any) -> None:
            self._begin(connection, dataset)
            if self._rows(connection, "SELECT 1 FROM shoal_heads WHERE dataset = ?", (dataset,)):
                raise InvalidLedger(f"{self.shown} has a data set {dataset!r} already; nothing was changed")
            for record, payload in records:
                self._insert(connection, record, payload)
            self._commit(connection)

        self._tried(write)

    # How.

    def _tried(self, work: Callable[[Any], T], *, made: bool = True) -> T:
        """Do some work on a connection; again, with patience, where that was lost."""
        until, wait = time.monotonic() + self.patience, _FIRST_WAIT
        while True:
            try:
                with self._connected() as connection:
                    if made:
                        self._check_version(connection)
                    return work(connection)
            except Lost as lost:
                if time.monotonic() + wait > until:
                    raise LedgerUnavailable(
                        f"the ledger {self.shown} does not answer: {lost}. What was charged counts; a fit "
                        "that was under way can be resumed when it is back"
                    ) from None
            time.sleep(wait)
            wait = min(2 * wait, _LAST_WAIT)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()  # and take back what was not committed
        except Exception as error:
            found = self._translated(error)
            if found is None:
                raise
            raise found from None

    def _check_version(self, connection: Any) -> None:
        if not self._has_tables(connection):
            raise InvalidLedger(f"{self.shown} is not a ledger; make one with `shoal budget create`")
        found = self._rows(connection, "SELECT version FROM shoal_ledger")[0][0]
        if found != VERSION:
            what = "migrate it: shoal budget migrate" if found < VERSION else "use a newer Shoal"
            raise InvalidLedger(
                f"{self.shown} is a ledger of version {found}, and this Shoal keeps version {VERSION}: {what}"
                ". Nothing was changed"
            )

    def _news(self, connection: Any, dataset: str, known: Known) -> list[Record]:
        number, seen = known
        records = [
            Record(*row)
            for row in self._rows(
                connection,
                f"SELECT {_COLUMNS} FROM shoal_records WHERE dataset = ? AND number >= ? ORDER BY number",
                (dataset, number),
            )
        ]
        if number:
            if not records or records[0].number != number or records[0].hash != seen:
                raise InvalidLedger(
                    f"record {number} of data set {dataset!r} in {self.shown} is not the one that was seen "
                    "before: an old copy was put in its place, or it was cut or changed"
                )
            records = records[1:]
        check_chain(records, known)
        return records

    def _find(self, connection: Any, dataset: str, key: str) -> Record | None:
        query = f"SELECT {_COLUMNS} FROM shoal_records WHERE dataset = ? AND key = ?"
        rows = self._rows(connection, query, (dataset, key))
        return Record(*rows[0]) if rows else None

    def _at(self, connection: Any, dataset: str, number: int) -> Record | None:
        query = f"SELECT {_COLUMNS} FROM shoal_records WHERE dataset = ? AND number = ?"
        rows = self._rows(connection, query, (dataset, number))
        return Record(*rows[0]) if rows else None

    def _insert(self, connection: Any, record: Record, payload: bytes | None) -> None:
        own = (record.dataset, record.number, record.time, record.kind, record.key, record.body)
        values = (*own, record.previous, record.hash, payload)
        self._run(
            connection,
            f"INSERT INTO shoal_records ({_COLUMNS}, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        self._run(connection, "DELETE FROM shoal_heads WHERE dataset = ?", (record.dataset,))
        self._run(
            connection,
            "INSERT INTO shoal_heads VALUES (?, ?, ?)",
            (record.dataset, record.number, record.hash),
        )

    def _commit(self, connection: Any) -> None:
        connection.commit()

    def _run(self, connection: Any, command: str, values: Sequence[Any] = ()) -> Any:
        return connection.execute(command.replace("?", self.mark), tuple(values))

    def _rows(self, connection: Any, command: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._run(connection, command, values).fetchall())

    def _now(self) -> str:
        return now()


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def open_store(url: Any, patience: float = 30.0) -> Store:
    """Return the store of a path or URL. Nothing is opened yet.

    Parameters
    ----------
    url : str or path
        A file, for SQLite; or ``postgresql://...``.
    patience : float
        Seconds to wait for others, or for a server to come back.

    Examples
    --------
    >>> type(open_store("budget.ledger")).__name__
    'SqliteStore'
    """
    text = str(url)
    if text.startswith(("postgresql://", "postgres://")):
        from shoal.ledger.postgres import PostgresStore

        return PostgresStore(text, patience)
    from shoal.ledger.sqlite import SqliteStore

    if "://" in text:
        raise InvalidLedger(f"{text!r} is no ledger: give a path, or a URL that begins with postgresql://")
    return SqliteStore(text, patience)


__all__ = ["PAYLOAD", "VERSION", "Known", "Lost", "Store", "now", "open_store"]
