"""A ledger on a PostgreSQL server, for people on several machines."""

from __future__ import annotations

from typing import Any

from shoal.errors import InvalidLedger, LedgerUnavailable
from shoal.ledger.store import Lost, Store

# Seconds to wait for a connection; the store's patience then tries again.
_CONNECT_SECONDS = 10


class PostgresStore(Store):
    """Records on a server, which every machine that reaches it shares.

    Parameters are those of :class:`shoal.ledger.store.Store`.
    """

    mark = "%s"
    make = (
        "CREATE TABLE shoal_ledger (version integer NOT NULL, id text NOT NULL)",
        "CREATE TABLE shoal_records (dataset text NOT NULL, number bigint NOT NULL, time text NOT NULL, "
        "kind text NOT NULL, key text NOT NULL, body text NOT NULL, payload bytea, previous text NOT NULL, "
        "hash text NOT NULL, PRIMARY KEY (dataset, number), UNIQUE (dataset, key))",
        "CREATE TABLE shoal_heads (dataset text PRIMARY KEY, number bigint NOT NULL, hash text NOT NULL)",
        "CREATE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a ledger is appended to, never changed'; END $$",
        "CREATE TRIGGER shoal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON shoal_records "
        "FOR EACH STATEMENT EXECUTE FUNCTION shoal_append_only()",
    )

    def _connect(self) -> Any:
        psycopg = _driver()
        connection = psycopg.connect(self.url, connect_timeout=_CONNECT_SECONDS)
        # Whatever the server's default: a commit that was answered is on its disk.
        connection.execute("SET synchronous_commit TO on")
        # What was committed before the lock was had is seen.
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.execute(f"SET lock_timeout TO {int(1000 * max(self.patience, 1))}")
        connection.commit()
        return connection

    def _begin(self, connection: Any, dataset: str) -> None:
        # One writer a data set, until the transaction ends; made before there are rows that could be locked.
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", (f"shoal:{dataset}",))

    def _translated(self, error: Exception) -> Exception | None:
        psycopg = _driver()
        if not isinstance(error, psycopg.Error):
            return None
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        state = error.sqlstate or ""
        if state.startswith(("28", "3D")):  # a wrong password or database: waiting does not help
            return LedgerUnavailable(f"the ledger cannot be reached: {said}")
        if state.startswith("53") or state == "25006":  # no space, no memory; read-only
            return LedgerUnavailable(
                f"the ledger cannot be written: {said}. Nothing more is charged or answered"
            )
        if isinstance(error, psycopg.OperationalError):
            return Lost(said)
        return LedgerUnavailable(f"the ledger cannot be read or written: {said}")

    def _has_tables(self, connection: Any) -> bool:
        return self._rows(connection, "SELECT to_regclass('shoal_ledger')")[0][0] is not None

    def _prepare(self) -> None:
        """Nothing: the database is there."""


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise InvalidLedger("a ledger on PostgreSQL needs psycopg: pip install 'shoal[postgres]'") from None
    return psycopg
