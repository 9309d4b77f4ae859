"""Accounts: names, roles and hashes of passwords."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import InvalidInput
from shoal.studio.access.hashing import check_password, hash_password, is_stale, verify_password
from shoal.studio.access.roles import LOCAL, Role, User
from shoal.studio.access.store import AccessStore

# A name stands in logs, in the ledger and on certificates: nothing in it that needs escaping.
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")


@dataclass(frozen=True)
class Account:
    """One line of ``shoal studio users list``."""

    name: str
    role: str
    created: float
    sessions: int
    tokens: int


class Users:
    """The accounts of a studio."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store

    def __bool__(self) -> bool:
        return self._store.row("SELECT 1 FROM users LIMIT 1") is not None

    def add(self, name: str, role: Role, password: str) -> User:
        """Make an account."""
        if not _NAME.fullmatch(name) or name == LOCAL.name:
            raise InvalidInput(
                f"{name!r} cannot be a name: wanted are up to 32 of a-z, 0-9, '.', '_' and '-', a letter "
                f"first, and not {LOCAL.name!r}"
            )
        check_password(password, name)
        hashed = hash_password(password)
        with self._store.write() as connection:
            if connection.execute("SELECT 1 FROM users WHERE name = ?", (name,)).fetchone():
                raise InvalidInput(f"there is a user {name!r} already; remove them first, or set a password")
            connection.execute(
                "INSERT INTO users VALUES (?, ?, ?, ?)", (name, role.word, hashed, self._store.clock())
            )
        return User(name, role)

    def find(self, name: str) -> User | None:
        """Whose account it is, if there is one."""
        found = self._store.row("SELECT role FROM users WHERE name = ?", name)
        return User(name, Role.parse(found[0])) if found else None

    def list(self) -> list[Account]:
        """All accounts, by name."""
        return [
            Account(*line)
            for line in self._store.rows(
                "SELECT name, role, created, "
                "(SELECT count(*) FROM sessions WHERE sessions.name = users.name), "
                "(SELECT count(*) FROM tokens WHERE tokens.name = users.name) FROM users ORDER BY name"
            )
        ]

    def remove(self, name: str) -> None:
        """Delete an account, and with it every session and token of it."""
        self._change(name, "DELETE FROM users WHERE name = ?", name, tokens=True)

    def set_password(self, name: str, password: str) -> None:
        """Give a new password; whoever is signed in with the old one is signed out."""
        check_password(password, name)
        self._change(name, "UPDATE users SET password = ? WHERE name = ?", hash_password(password), name)

    def set_role(self, name: str, role: Role) -> None:
        """Give another role; sessions and tokens that were made with the old one end."""
        self._change(name, "UPDATE users SET role = ? WHERE name = ?", role.word, name, tokens=True)

    def _change(self, name: str, statement: str, *values: str, tokens: bool = False) -> None:
        with self._store.write() as connection:
            if not connection.execute(statement, values).rowcount:
                raise InvalidInput(f"there is no user {name!r}; `shoal studio users list` shows who there is")
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
            if tokens:
                connection.execute("DELETE FROM tokens WHERE name = ?", (name,))

    def check(self, name: str, password: str) -> User | None:
        """Who it is, if the password is right. Takes as long where there is no such name."""
        found = self._store.row("SELECT role, password FROM users WHERE name = ?", name)
        kept = found[1] if found else None
        if not verify_password(kept, password) or found is None:
            return None
        if is_stale(found[1]):
            with self._store.write() as connection:
                connection.execute(
                    "UPDATE users SET password = ? WHERE name = ? AND password = ?",
                    (hash_password(password), name, kept),
                )
        return User(name, Role.parse(found[0]))
