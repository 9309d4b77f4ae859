"""Sessions that expire, idle or after a working day; only the hash of an id is kept."""

from __future__ import annotations

from shoal.errors import InvalidInput
from shoal.studio.access.hashing import csrf_of, hash_of, new_secret
from shoal.studio.access.roles import LOCAL, Role, User, Visit
from shoal.studio.access.store import AccessStore

# Seconds without a request or an event after which a session ends.
IDLE = 60 * 60.0
# Seconds after which it ends whatever happens: a working day.
ABSOLUTE = 12 * 60 * 60.0
# Seconds that may pass before the time of the last request is written again: not at every move of a slider.
_WRITTEN = 30.0
# Seconds for which a link with a one-time token can be opened.
LINK = 60 * 60.0


class Sessions:
    """Who is signed in.

    Parameters
    ----------
    store : AccessStore
    idle, absolute : float
        Seconds.
    local : bool
        Whether the one local curator of a studio without users may have sessions.
    """

    def __init__(
        self, store: AccessStore, *, idle: float = IDLE, absolute: float = ABSOLUTE, local: bool = False
    ) -> None:
        self._store, self.idle, self.absolute, self._local = store, idle, absolute, local

    def start(self, user: User) -> str:
        """Begin a session and give its id, which is for the cookie alone."""
        session_id, now = new_secret(), self._store.clock()
        with self._store.write() as connection:
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?)",
                (hash_of(session_id), user.name, user.role.word, now, now),
            )
        return session_id

    def visit(self, session_id: str) -> Visit | None:
        """Who has this id, if the session lives; the time is taken down."""
        hashed = hash_of(session_id)
        user = self.touch(hashed)
        return Visit(user, hashed, csrf_of(session_id), hashed) if user else None

    def touch(self, hashed: str) -> User | None:
        """Who has a session, if it lives, and take down that something happened."""
        user, seen = self._look(hashed)
        if user and self._store.clock() - seen > min(_WRITTEN, self.idle / 10):
            with self._store.write() as connection:
                connection.execute(
                    "UPDATE sessions SET seen = ? WHERE hash = ?", (self._store.clock(), hashed)
                )
        return user

    def peek(self, hashed: str) -> User | None:
        """Who has a session, if it lives; asking does not keep it alive."""
        return self._look(hashed)[0]

    def alive(self, hashed: str) -> bool:
        """Whether a session lives; asking does not keep it alive."""
        return self.peek(hashed) is not None

    def _look(self, hashed: str) -> tuple[User | None, float]:
        found = self._store.row(
            "SELECT sessions.name, sessions.role, sessions.created, seen, users.role FROM sessions "
            "LEFT JOIN users ON users.name = sessions.name WHERE hash = ?",
            hashed,
        )
        if found is None:
            return None, 0.0
        name, role, created, seen, role_now = found
        now = self._store.clock()
        if now - seen > self.idle or now - created > self.absolute:
            return None, seen
        if self._local:
            return (LOCAL if name == LOCAL.name else None), seen
        return (User(name, Role.parse(role)) if role_now == role else None), seen

    def end(self, hashed: str) -> None:
        """Sign out."""
        with self._store.write() as connection:
            connection.execute("DELETE FROM sessions WHERE hash = ?", (hashed,))

    def end_all(self, name: str) -> list[str]:
        """Sign out everywhere; the hashes of what ended."""
        with self._store.write() as connection:
            ended = connection.execute(
                "DELETE FROM sessions WHERE name = ? RETURNING hash", (name,)
            ).fetchall()
        return [hashed for (hashed,) in ended]

    def sweep(self) -> None:
        """Delete sessions and links that have ended."""
        now = self._store.clock()
        with self._store.write() as connection:
            connection.execute(
                "DELETE FROM sessions WHERE seen < ? OR created < ?", (now - self.idle, now - self.absolute)
            )
            connection.execute("DELETE FROM links WHERE expires < ?", (now,))

    def names(self) -> frozenset[str]:
        """Everybody who has a session that lives."""
        hashes = self._store.rows("SELECT hash, name FROM sessions")
        return frozenset(name for hashed, name in hashes if self.alive(hashed))


def new_link(store: AccessStore, url: str | None = None) -> str:
    """Make a link with a one-time token for the local curator.

    Parameters
    ----------
    store : AccessStore
    url : str, optional
        Where the studio is; where it was said to be last, if not given.
    """
    token = new_secret()
    with store.write() as connection:
        if url is not None:
            connection.execute("DELETE FROM running")
            connection.execute("INSERT INTO running VALUES (?)", (url,))
        found = connection.execute("SELECT url FROM running").fetchone()
        if found is None:
            raise InvalidInput(
                f"no studio without users was started in {store.path.parent}; `shoal studio` starts one"
            )
        connection.execute("INSERT INTO links VALUES (?, ?)", (hash_of(token), store.clock() + LINK))
    return f"{found[0]}/enter?token={token}"


def use_link(store: AccessStore, token: str) -> bool:
    """Whether a one-time token is good; it is not a second time."""
    with store.write() as connection:
        used = connection.execute(
            "DELETE FROM links WHERE hash = ? AND expires >= ?", (hash_of(token), store.clock())
        )
        return used.rowcount == 1
