"""Faults of a ledger in a file: processes that die, disks that are full, answers that are lost."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from unittest import mock

from faults.harness import (
    TOTAL,
    Fault,
    Reference,
    check,
    create,
    fit,
    in_child,
    refused,
    sound,
    stepping,
    told,
)
from shoal import Accountant
from shoal.accounting import Charge, Pure
from shoal.errors import BudgetExceeded, InvalidLedger, LedgerUnavailable
from shoal.ledger import store as stores
from shoal.ledger.sqlite import SqliteStore
from shoal.ledger.store import Lost, Store


def kills(reference: Reference) -> Iterator[Fault]:
    """A kill -9 at every step of a fit, and at some moments between."""

    def at(step: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url, seen = create(str(folder / "l")), folder / "seen"

            def die(count: int) -> None:
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)

            def work() -> None:
                with told(seen), stepping(die):
                    fit(url)

            assert in_child(work) == -signal.SIGKILL
            check(url, reference.transcript, seen)

        return run

    for step in range(1, reference.steps + 1):
        yield Fault("kill -9 at a step", f"step {step}", at(step))

    def sometime(seed: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url, seen = create(str(folder / "l")), folder / "seen"
            child = os.fork()
            if child == 0:
                with told(seen):
                    fit(url)
                os._exit(0)
            time.sleep(random.Random(seed).uniform(0.0, 0.25))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            check(url, reference.transcript, seen)

        return run

    for seed in range(40):
        yield Fault("kill -9 at any moment", f"moment {seed}", sometime(seed))


def full_disks(reference: Reference) -> Iterator[Fault]:
    """No room for the next record: as SQLite says it, and as the system does."""

    def pages(more: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url = create(str(folder / "l"))
            limit = sqlite3.connect(url).execute("PRAGMA page_count").fetchone()[0] + more
            connect = SqliteStore._connect

            def limited(self):
                connection = connect(self)
                connection.execute(f"PRAGMA max_page_count = {limit}")
                return connection

            with mock.patch.object(SqliteStore, "_connect", limited):
                refused(lambda: fit(url), LedgerUnavailable, "full")
            check(url, reference.transcript)

        return run

    def size(more: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url, seen = create(str(folder / "l")), folder / "seen"

            def work() -> bool:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                largest = Path(url).stat().st_size + more
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
                try:
                    with told(seen):
                        fit(url)
                except LedgerUnavailable:
                    return False
                return True

            assert in_child(work) == 0
            check(url, reference.transcript, seen)

        return run

    for more in range(4):
        yield Fault("full disk", f"{more} pages left", pages(more))
    for more in (0, 1, 1000, 4096, 9000, 12000):
        yield Fault("full disk", f"{more} bytes left", size(more))


def read_only(reference: Reference) -> Iterator[Fault]:
    """A ledger that may be read and not written."""

    def run(folder: Path) -> None:
        url = create(str(folder / "l"))

        def work() -> bool:
            if os.geteuid() == 0:  # whom no mode stops
                os.chown(url, 65534, 65534)
                os.chown(folder, 65534, 65534)
                Path(url).chmod(0o444)
                Path(folder).chmod(0o555)
                os.setuid(65534)
            try:
                fit(url)
            except LedgerUnavailable:
                return False
            return True

        Path(url).chmod(0o444)
        Path(folder).chmod(0o555)
        code = in_child(work)
        Path(folder).chmod(0o755)
        Path(url).chmod(0o600)
        assert code == 0
        check(url, reference.transcript)

    yield Fault("read-only file", "from the start", run)

    def later(step: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url = create(str(folder / "l"))
            connect, count = SqliteStore._connect, [0]

            def locked(self):
                connection = connect(self)
                count[0] += 1
                if count[0] >= step:
                    connection.execute("PRAGMA query_only = ON")
                return connection

            with mock.patch.object(SqliteStore, "_connect", locked):
                refused(lambda: fit(url), LedgerUnavailable, "readonly")
            check(url, reference.transcript)

        return run

    for step in (2, 5, 9, 14):
        yield Fault("read-only file", f"from connection {step} on", later(step))


def lost_answers(reference: Reference) -> Iterator[Fault]:
    """A commit that was made, or was not, and whose answer never came: it counts once."""

    def at(n: int, *, made: bool) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url = create(str(folder / "l"))
            commit, count = Store._commit, [0]

            def losing(self, connection):
                count[0] += 1
                if count[0] != n:
                    commit(self, connection)
                    return
                if made:
                    commit(self, connection)
                raise Lost("the answer was lost on its way")

            with mock.patch.object(Store, "_commit", losing):
                assert fit(url) == reference.transcript
            (one,) = sound(url).book.fits.values()
            assert len({number for number, _, _ in one.charges}) == len(one.charges) == 8
            assert one.unanswered == 0

        return run

    for n in range(1, 20):
        yield Fault("answer of a commit lost", f"commit {n}, made", at(n, made=True))
    for n in range(1, 20, 3):
        yield Fault("answer of a commit lost", f"commit {n}, not made", at(n, made=False))


def races(_: Reference) -> Iterator[Fault]:
    """Sixteen processes that all want the last tenth."""

    for n in range(10):
        yield Fault("16 processes race", f"in a file, {n}", lambda folder: race(str(folder / "l")))


def race(url: str) -> None:
    """Have sixteen processes ask for the last tenth at once: one gets it."""
    trips = Accountant.create(url, "trips", epsilon=TOTAL)
    tenth = Fraction(1, 10)
    with trips.reserve(Pure(TOTAL - tenth), "the rest") as allowance:
        allowance.charge(Charge("q", "n", TOTAL - tenth, "epsilon"))
    gate, go = os.pipe()
    children = []
    for _ in range(16):
        child = os.fork()
        if child == 0:
            os.read(gate, 1)
            try:
                with Accountant.open(url, "trips").reserve(Pure(tenth), "mine") as mine:
                    mine.charge(Charge("q", "n", tenth, "epsilon"))
                os._exit(7)
            except BudgetExceeded:
                os._exit(0)
        children.append(child)
    os.write(go, b"x" * 16)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(gate)
    os.close(go)
    assert sorted(ends) == [0] * 15 + [7], ends
    assert sound(url).spent == TOTAL


def clocks(reference: Reference) -> Iterator[Fault]:
    """A clock that goes back in the middle of a fit."""

    def at(n: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url, count = str(folder / "l"), [0]
            how = {"epsilon": TOTAL, "renewal": "yearly", "decided_by": "somebody"}
            Accountant.create(url, "trips", **how)

            def now() -> str:
                count[0] += 1
                return "2031-01-01T00:00:00Z" if count[0] < n else "2019-01-01T00:00:00Z"

            with mock.patch.object(stores, "now", now):
                assert fit(url) == reference.transcript
                trips = sound(url)
                if n > 1:
                    assert trips.book.windows() == ("2031",)
                assert trips.spent > 1
            times = [record.time for record in trips.records()]
            assert times == sorted(times)

        return run

    for n in (1, 2, 3, 8, 15, 21):
        yield Fault("clock goes back", f"at call {n}", at(n))


def versions(reference: Reference) -> Iterator[Fault]:
    """A ledger of another version."""

    def run(version: int) -> Callable[[Path], None]:
        def run(folder: Path) -> None:
            url = create(str(folder / "l"))

            def write(number: int) -> None:
                with sqlite3.connect(url) as connection:
                    connection.execute("UPDATE shoal_ledger SET version = ?", (number,))
                connection.close()

            write(version)
            before = Path(url).read_bytes()
            refused(lambda: fit(url), InvalidLedger, f"version {version}")
            assert Path(url).read_bytes() == before
            write(1)
            check(url, reference.transcript)

        return run

    for version in (0, 2, 99):
        yield Fault("another version", f"version {version}", run(version))
