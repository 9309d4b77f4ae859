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


@contextmanager
def server(programs: str) -> Iterator[str]:
    """Start a server with the programs in a folder; give its URL.

    `initdb` and `postgres` refuse to run as root, so root runs them as the user that Debian's package makes.
    The folder is open to that user alone, and paths of sockets are short, so it is not one of pytest's.
    """
    owner = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    os.chown(folder, owner.pw_uid, owner.pw_gid)

    def run(program: str, *arguments: str) -> None:
        who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        command = [str(Path(programs) / program), *arguments]
        # To a file, not a pipe: the server inherits it and would keep a pipe open for ever.
        with (folder / "output").open("a+") as output:
            done = subprocess.run(command, cwd=folder, stdout=output, stderr=output, check=False, **who)
            output.seek(0)
            assert done.returncode == 0, f"{program} failed:\n{output.read()}"

    try:
        # Nobody else reaches the socket, and the data are thrown away: no password, no waiting for disks.
        run("initdb", "-D", "data", "-U", "shoal", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
        options = f"-F -p {PORT} -k {folder} -c listen_addresses=''"
        run("pg_ctl", "-D", "data", "-w", "-t", str(START_SECONDS), "-o", options, "start")
        try:
            yield f"postgresql://shoal@/postgres?host={folder}&port={PORT}"
        finally:
            run("pg_ctl", "-D", "data", "-w", "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder)


def new_database(url: str) -> str:
    """Make an empty database on a server, and return its URL."""
    import psycopg

    name = f"ledger_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
