"""A fit that can be stopped at every step, and what has to hold after anything that goes wrong.

After every fault: the chain verifies and keeps to its total, every record that was acknowledged is there,
every answer that an algorithm has seen is there, and the fit, resumed, gives what it gives uninterrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from shoal import Accountant, DPLloyd
from shoal.accounting.ledgered import LedgerAccountant
from shoal.accounting.ledgered_fit import LedgerAllowance
from shoal.accounting.verifying import verify_dataset
from shoal.errors import ShoalWarning
from shoal.ledger import open_store
from shoal.ledger.sqlite import SqliteStore
from shoal.ledger.store import Store
from shoal.queries import LiveCurator

TOTAL = 8
ROWS = np.random.default_rng(2).random((300, 2))
# Every call of these is a step of a fit, and so is its return.
STEPS = (
    *((Store, name) for name in ("_news", "_find", "_insert", "_commit")),
    *((SqliteStore, name) for name in ("_connect", "_begin")),
    *((LedgerAllowance, name) for name in ("charge", "keep", "close")),
    (LiveCurator, "_noisy"),
)


def model(budget: object) -> DPLloyd:
    return DPLloyd(2, epsilon=2, bounds=(0, 1), max_iter=8, n_jobs=1, random_state=4, budget=budget)


def fit(url: str, resume: str | None = None, patience: float = 30.0) -> str:
    """Run the fit, or go on with it; return what came out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        budget = Accountant.open(url, "trips", resume=resume, patience=patience)
        return str(model(budget).fit(ROWS).certificate_.transcript)


def create(url: str) -> str:
    Accountant.create(url, "trips", epsilon=TOTAL)
    return url


@contextmanager
def stepping(on_step: Callable[[int], None]) -> Iterator[None]:
    """Have every step of a fit told, before and after it is done."""
    count = [0]

    def wrapped(original):
        def call(*args, **kwargs):
            count[0] += 1
            on_step(count[0])
            found = original(*args, **kwargs)
            count[0] += 1
            on_step(count[0])
            return found

        return call

    patches = [mock.patch.object(kind, name, wrapped(getattr(kind, name))) for kind, name in STEPS]
    try:
        for patch in patches:
            patch.start()
        yield
    finally:
        mock.patch.stopall()


def in_child(work: Callable[[], object]) -> int:
    """Do some work in a process of its own; return how that ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = int(bool(work()))
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Write down what was acknowledged and what an algorithm has seen, by other means than the ledger."""
    append, ask = Store.append, LiveCurator._ask

    def write(line: str) -> None:
        with path.open("a") as file:
            file.write(line + "\n")

    def appended(self, *args):
        record = append(self, *args)
        write(f"record {record.number} {record.hash}")
        return record

    def asked(self, question):
        number = len(self.transcript.entries)
        answer = ask(self, question)
        write(f"answer {number}")
        return answer

    with mock.patch.object(Store, "append", appended), mock.patch.object(LiveCurator, "_ask", asked):
        yield


def check(url: str, wanted: str, acknowledged: Path | None = None) -> None:
    """Check that nothing was overspent and nothing lost; then resume, and check again."""
    trips = sound(url)
    fits = trips.book.fits
    assert len(fits) <= 1
    if acknowledged is not None and acknowledged.exists():
        there = {record.number: record.hash for record in trips.records()}
        answers = {number for one in fits.values() for number in one.answers}
        for line in acknowledged.read_text().splitlines():
            what, number, *hashed = line.split()
            if what == "record":
                assert there[int(number)] == hashed[0], "an acknowledged record is lost"
            else:
                assert int(number) in answers, "an answer was seen that is not stored"
    before = trips.spent
    resume = next(iter(fits), None)
    assert fit(url, resume) == wanted, "the resumed fit is another one"
    after = sound(url)
    (one,) = after.book.fits.values()
    assert not one.open
    assert after.spent == one.spent >= before
    answered = sum(charge.amount for charge in {n: c for n, _, c in one.charges}.values())
    assert answered <= 2
    assert one.spent == answered + one.unanswered


def sound(url: str) -> LedgerAccountant:
    found = verify_dataset(open_store(url), "trips")
    assert all(one.ok for one in found), found
    trips = Accountant.open(url, "trips")
    assert trips.spent <= TOTAL
    assert trips.left >= 0
    return trips


def refused(work: Callable[[], object], kind: type[Exception], said: str) -> None:
    """Check that some work ends with an error that says so."""
    try:
        work()
    except kind as error:
        if said not in str(error):
            raise AssertionError(f"it says {error}") from error
        return
    raise AssertionError(f"there was no {kind.__name__}")


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong at one place."""

    kind: str
    where: str
    run: Callable[[Path], None]


class Reference:
    """What the fit gives where nothing goes wrong, and how many steps it takes."""

    def __init__(self, folder: Path) -> None:
        steps = []
        url = create(str(folder / "reference.ledger"))
        with stepping(steps.append):
            self.transcript = fit(url)
        self.steps = len(steps)
