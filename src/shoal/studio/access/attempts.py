"""How often someone may try to sign in: counted in the store, so that a restart does not reset it."""

from __future__ import annotations

from shoal.studio.access.hashing import hash_of
from shoal.studio.access.store import AccessStore

# Seconds in which attempts count.
WINDOW = 15 * 60
# Failed attempts in a window, for one name from anywhere. A guesser has 480 guesses a day.
PER_NAME = 5
# The same for one address, over all names: colleagues may share one.
PER_ADDRESS = 30


class Attempts:
    """Failed attempts of the last quarter of an hour, by name and by address, both as hashes."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store

    def begin(self, name: str, address: str) -> float:
        """Count an attempt before the password is looked at; the seconds to wait, 0 if it may go on.

        Counting first leaves no gap for many guesses at the same time. An attempt that is refused does not
        count, so that nobody can be kept out for longer than the window by someone who goes on trying.
        """
        now = self._store.clock()
        keys = {f"name {hash_of(name)}": PER_NAME, f"address {hash_of(address)}": PER_ADDRESS}
        with self._store.write() as connection:
            connection.execute("DELETE FROM attempts WHERE at <= ?", (now - WINDOW,))
            waits = [0.0]
            for who, most in keys.items():
                times = connection.execute(
                    "SELECT at FROM attempts WHERE who = ? ORDER BY at", (who,)
                ).fetchall()
                if len(times) >= most:
                    waits.append(times[len(times) - most][0] + WINDOW - now)
            wait = max(waits)
            if not wait:
                connection.executemany("INSERT INTO attempts VALUES (?, ?)", [(who, now) for who in keys])
        return wait

    def succeeded(self, name: str, address: str) -> None:
        """Forget the failures of a name, and the one attempt of its address that was none."""
        address_key = f"address {hash_of(address)}"
        with self._store.write() as connection:
            connection.execute("DELETE FROM attempts WHERE who = ?", (f"name {hash_of(name)}",))
            connection.execute(
                "DELETE FROM attempts WHERE rowid = (SELECT max(rowid) FROM attempts WHERE who = ?)",
                (address_key,),
            )
