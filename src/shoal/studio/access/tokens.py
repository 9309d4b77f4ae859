"""Bearer tokens for the JSON API: hashed, of one role, and with an end."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from shoal.errors import InvalidInput
from shoal.studio.access.hashing import hash_of, new_secret
from shoal.studio.access.roles import LOCAL, Role, User
from shoal.studio.access.store import AccessStore

# What every token begins with, so that tools which look for leaked secrets know it.
PREFIX = "shoal_"
# Days for which a token is good at most.
MOST_DAYS = 366
_DAY = 24 * 60 * 60.0


@dataclass(frozen=True)
class Token:
    """One line of ``shoal studio tokens list``: not the token itself."""

    id: str
    name: str
    role: str
    label: str
    created: float
    expires: float


class Tokens:
    """The tokens of a studio."""

    def __init__(self, store: AccessStore, *, local: bool = False) -> None:
        self._store, self._local = store, local

    def create(self, user: User, role: Role, days: float, label: str = "") -> tuple[Token, str]:
        """Make a token that acts as `user`, at most with `role`; it is shown once."""
        if not user.may(role):
            raise InvalidInput(f"{user.name} is a {user.role.word} and cannot have a token of a {role.word}")
        if not 0 < days <= MOST_DAYS:
            raise InvalidInput(f"a token is good for up to {MOST_DAYS} days, not {days:g}")
        secret, now = PREFIX + new_secret(), self._store.clock()
        made = Token(secrets.token_hex(4), user.name, role.word, label, now, now + days * _DAY)
        with self._store.write() as connection:
            connection.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)",
                (made.id, hash_of(secret), made.name, made.role, label, made.created, made.expires),
            )
        return made, secret

    def find(self, secret: str) -> User | None:
        """Who acts with a token, if it is good."""
        return self._look(hash_of(secret))

    def alive(self, hashed: str) -> bool:
        """Whether there is a good token with this hash."""
        return self._look(hashed) is not None

    def _look(self, hashed: str) -> User | None:
        found = self._store.row(
            "SELECT tokens.name, tokens.role, expires, users.role FROM tokens "
            "LEFT JOIN users ON users.name = tokens.name WHERE hash = ?",
            hashed,
        )
        if found is None or self._store.clock() >= found[2]:
            return None
        role = Role.parse(found[1])
        if self._local:
            return User(LOCAL.name, role) if found[0] == LOCAL.name else None
        if found[3] is None or Role.parse(found[3]) < role:
            return None
        return User(found[0], role)

    def list(self) -> list[Token]:
        """All tokens, oldest first."""
        return [
            Token(*line)
            for line in self._store.rows(
                "SELECT id, name, role, label, created, expires FROM tokens ORDER BY created"
            )
        ]

    def revoke(self, token_id: str) -> None:
        """End a token at once."""
        with self._store.write() as connection:
            if not connection.execute("DELETE FROM tokens WHERE id = ?", (token_id,)).rowcount:
                raise InvalidInput(f"there is no token {token_id!r}; `shoal studio tokens list` shows them")
