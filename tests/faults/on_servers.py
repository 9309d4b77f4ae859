"""Faults of a ledger on a server: gone in the middle of a fit, for good or for a moment; and races on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import needs
import postgres_server
from faults.harness import Fault, Reference, check, create, fit, refused, stepping
from faults.in_files import race
from shoal.errors import LedgerUnavailable


def servers(reference: Reference) -> Iterator[Fault]:
    """A server that is gone in the middle of a fit, for good or for a moment; and races on it."""
    programs = needs.postgres()
    if programs is None:
        print("no PostgreSQL server programs: its faults are left out", file=sys.stderr)
        return
    started: list[postgres_server.Server] = []

    def server() -> postgres_server.Server:
        if not started:
            started.append(postgres_server.Server(programs))
            started[0].start()
        return started[0]

    def gone(n: int, *, returns: bool) -> Callable[[Path], None]:
        def run(_: Path) -> None:
            ours = server()
            url, count = create(postgres_server.new_database(ours.url)), [0]

            def stop_at(step: int) -> None:
                count[0] = step
                if step == n:
                    ours.stop("immediate")
                    if returns:
                        ours.start()

            with stepping(stop_at):
                if returns:
                    assert fit(url) == reference.transcript
                else:
                    refused(lambda: fit(url, patience=0.2), LedgerUnavailable, "does not answer")
                    ours.start()
            check(url, reference.transcript)

        return run

    for n in (4, 20, 45, 70, 101):
        yield Fault("server gone", f"step {n}", gone(n, returns=False))
    for n in (7, 33, 62):
        yield Fault("server restarted", f"step {n}", gone(n, returns=True))

    def racing(_: Path) -> None:
        race(postgres_server.new_database(server().url))

    for n in range(3):
        yield Fault("16 processes race", f"on a server, {n}", racing)

    def stop(_: Path) -> None:
        if started:
            started[0].stop()
            started[0].remove()

    yield Fault("", "stop", stop)
