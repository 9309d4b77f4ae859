"""A PostgreSQL server for tests: in a folder of its own, on a socket, gone afterwards."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A port only names the socket here; nothing listens on the network.
PORT = 5432
START_SECONDS = 60


class Server:
    """A server that can be stopped and started again.

    `initdb` and `postgres` refuse to run as root, so root runs them as the user that Debian's package makes.
    The folder is open to that user alone, and paths of sockets are short, so it is not one of pytest's.
    """

    def __init__(self, programs: str) -> None:
        self._programs = Path(programs)
        root = os.geteuid() == 0
        self._owner = pwd.getpwnam("postgres") if root else pwd.getpwuid(os.geteuid())
        self._who = (
            {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []} if root else {}
        )
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
        os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)
        self.url = f"postgresql://shoal@/postgres?host={self._folder}&port={PORT}"
        # Nobody else reaches the socket, and the data are thrown away: no password, no waiting for disks.
        how = ("-U", "shoal", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
        self._run("initdb", "-D", "data", *how)

    def start(self) -> None:
        options = f"-F -p {PORT} -k {self._folder} -c listen_addresses=''"
        self._run("pg_ctl", "-D", "data", "-w", "-t", str(START_SECONDS), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop it: "fast" after hanging up on everybody, "immediate" as if the power was cut."""
        self._run("pg_ctl", "-D", "data", "-w", "-m", how, "stop")

    def remove(self) -> None:
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        # To a file, not a pipe: the server inherits it and would keep a pipe open for ever.
        with (self._folder / "output").open("a+") as output:
            done = subprocess.run(
                command, cwd=self._folder, stdout=output, stderr=output, check=False, **self._who
            )
            output.seek(0)
            assert done.returncode == 0, f"{program} failed:\n{output.read()}"


@contextmanager
def server(programs: str) -> Iterator[str]:
    """Start a server with the programs in a folder; give its URL."""
    made = Server(programs)
    try:
        made.start()
        try:
            yield made.url
        finally:
            made.stop()
    finally:
        made.remove()


def new_database(url: str) -> str:
    """Make an empty database on a server, and return its URL."""
    import psycopg

    name = f"ledger_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
