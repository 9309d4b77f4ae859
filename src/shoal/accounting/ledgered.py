"""An accountant whose budget lies in a ledger: shared by processes, people and months."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any

from shoal._forks import tell_of_forks
from shoal.accounting.accountant import Accountant, Protected, protects_whom
from shoal.accounting.allowance import show
from shoal.accounting.book import (
    CLOSED,
    CREATED,
    NOTED,
    RESERVED,
    RESUMED,
    Book,
)
from shoal.accounting.budget import Approx, Budget, NoGuarantee, exact
from shoal.accounting.charter import Charter, plain_budget
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Losses
from shoal.accounting.ledgered_fit import LedgerAllowance
from shoal.errors import BudgetExceeded, InvalidBudget, InvalidInput, InvalidLedger
from shoal.ledger import Draft, Record, Store, open_store
from shoal.ledger.transfer import no_such_dataset

# The name of a fit is drawn at random, so that it says nothing of the table.
_NAME = re.compile(r"[0-9a-f]{16,64}")


class _Refused(Exception):
    """What is asked for is not left."""


class LedgerAccountant(Accountant):
    """One data set of a ledger. Made by :meth:`Accountant.open` and :meth:`Accountant.create`.

    Parameters
    ----------
    store : Store
        The ledger.
    dataset : str
        The data set.
    part : mapping of str to str, optional
        The part that fits are of.
    resume : str, optional
        A fit to go on with.
    fit : str, optional
        The name of the fit: begun under it, or gone on with.
    """

    def __init__(
        self,
        store: Store,
        dataset: str,
        *,
        part: Mapping[str, Any] | None = None,
        resume: str | None = None,
        fit: str | None = None,
    ) -> None:
        self._store, self._dataset = store, dataset
        self._given = part, resume, fit
        self._history = f"`shoal budget history {dataset}`"
        self._lock = threading.RLock()
        self._frozen = None
        self._book = Book(dataset)
        self._refresh()
        if self._book.known[0] == 0:
            raise InvalidLedger(no_such_dataset(store, dataset))
        self.charter: Charter = self._book.charter
        self.budget = self.charter.budget
        self._lanes = self.charter.lanes
        self.place = self.charter.place(part)
        self._resume = None if resume is None else self._named(resume)
        self._fit = _named_once(fit, resume)
        tell_of_forks(self)

    @classmethod
    def created(cls, store: Store, dataset: str, **terms: Any) -> LedgerAccountant:
        """Put a data set into a ledger, which is made if it is not there."""
        if not isinstance(dataset, str) or not dataset.strip() or not dataset.isprintable():
            raise InvalidBudget(f"the data set is called {dataset!r}; give it a name to be known by")
        charter = Charter.lay_down(secrets.token_hex(16), parts_key=secrets.randbits(128), **terms)
        store.create()

        def decide(news: Sequence[Record], _: str) -> Draft:
            if news:
                raise InvalidLedger(f"the ledger {store.shown} has a data set {dataset!r} already")
            return Draft(CREATED, {"charter": charter.to_plain()})

        book = Book(dataset)
        store.append(dataset, f"create:{charter.id}", decide, lambda: book.known)
        return cls(store, dataset)

    durable = True
    """That the budget survives this process."""
    last_fit: str | None = None
    """The fit that was begun or resumed last with this object."""

    # What it says.

    @property
    def ledger(self) -> str:
        """Where it is kept, without a password."""
        return self._store.shown

    @property
    def dataset(self) -> str:
        """The data set's name."""
        return self._dataset

    @property
    def book(self) -> Book:
        """What the ledger says now: fits, charges, windows and notes. Not to be changed."""
        with self._lock:
            self._refresh()
            return self._book

    @property
    def window(self) -> str:
        """The window that a fit would draw on now; "" where the budget does not renew."""
        with self._lock:
            return self._book.window(max(self._store._now(), self._book.time))

    @property
    def spent(self) -> Fraction:
        """What was lost so far, in this window if it renews: an epsilon at its delta, or a rho."""
        with self._lock:
            return self.book.spent(self.window)

    def left_for(self, delta: Any = 0.0) -> Fraction:
        """Return the largest epsilon that a fit with this delta may still ask for.

        Parameters
        ----------
        delta : float
            0 for a pure fit.
        """
        with self._lock:
            held, lanes = self._held, self._book.lanes_left(self.window)
        return max((lane.largest(held, exact(delta, "delta")) for lane in lanes), default=Fraction(0))

    @property
    def _held(self) -> Losses:
        with self._lock:
            return self.book.losses(self.window, through=self.place)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far, of all windows."""
        with self._lock:
            return tuple(charge for fit in self.book.fits.values() for _, _, charge in fit.charges)

    @property
    def _charges(self) -> Sequence[Charge]:  # type: ignore[override]
        return self.charges

    def records(self) -> tuple[Record, ...]:
        """Return all records, in order; see `shoal budget history`."""
        return tuple(self._store.news(self._dataset))

    def summary(self) -> list[tuple[str, str]]:
        """Say in a few lines what was laid down, what was spent and what is left."""
        with self._lock:
            book, charter = self.book, self.charter
            renewed = (
                "" if charter.renewal is None else f", {charter.renewal} as decided by {charter.decided_by}"
            )
            left = show(self.left)
            if isinstance(self.budget, Approx):
                with_delta = show(self.left_for(self.budget.delta))
                left = f"{show(self.left_for())} for a pure fit, {with_delta} for one with delta"
            charges = sum(len(fit.charges) for fit in book.fits.values())
            lines = [
                ("data set", f"{self.dataset} in {self.ledger}"),
                ("total", self.budget.describe() + renewed),
                ("protects", protects_whom((charter.neighbours, charter.column))),
                ("adds up", charter.describe_parts()),
            ]
            lines += [
                ("parts", f"{name}: {', '.join(of)}, others") for name, of in charter.partitions.items()
            ]
            if charter.renewal is not None:
                lines.append(("window", f"{self.window}; {book.all_windows()}"))
            lines += [("spent", f"{show(self.spent)} in {charges} charges, {len(book.fits)} fits so far")]
            lines += [("left", left), *([] if book.closed is None else [("closed", book.closed)])]
            lines += [("noted", text) for text in book.notes]
            lines += [
                ("not over", f"fit {fit.id} ({fit.label}, {fit.budget.describe()}) since {fit.time}")
                for fit in book.fits.values()
                if fit.open
            ]
            return [*lines, ("head", f"record {book.known[0]}, sha256 {book.known[1]}")]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self.summary()
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        return f"<Accountant {self._dataset!r} in {self.ledger}: {self.describe()}>"

    # What it does.

    def reserve(
        self,
        budget: Budget,
        label: str,
        unit: Protected | None = None,
        *,
        key: int = 0,
        plan: str = "",
        zones: int | None = None,
    ) -> LedgerAllowance:
        """Set aside a budget for one fit, durably, or refuse.

        Parameters
        ----------
        budget : Budget
            What the fit may spend.
        label : str
            Who asks, for the refusal.
        unit : Unit, optional
            Whom the fit protects: one row added or removed, if not given.
        key : int
            Decides which rows of a person are kept. Of a fit that is resumed, the one it had.
        plan : str
            The hash of the fit's public parameters: it is resumed with the same ones only.
        zones : int, optional
            Of a fit of disjoint zones, in how many of them one unit can be: the dearest so many add up.
        """
        if isinstance(budget, NoGuarantee):
            raise InvalidBudget(
                f"{label} promises nothing, and data set {self._dataset!r} does: after it no fit of the same "
                "rows could promise anything. Run it without the ledger, on other rows"
            )
        self._check_currency(budget)
        wanted = (self.charter.neighbours, self.charter.column)
        found = ("add-remove", None) if unit is None else (unit.neighbours, unit.column)
        if found != wanted:
            raise InvalidBudget(
                f"{label} protects {protects_whom(found)}, and data set {self._dataset!r} protects "
                f"{protects_whom(wanted)}: such losses do not add up"
            )
        run = secrets.token_hex(8)
        with self._lock:
            begun = self._fit if self._fit is not None and self._fit in self.book.fits else self._resume
            if begun is not None:
                id, key_of = begun, f"resume:{begun}:{run}"
                decide = self._resuming(id, run, budget, label, plan)
            else:
                id = self._fit or secrets.token_hex(8)
                key_of, decide = f"reserve:{id}", self._reserving(id, run, budget, label, key, plan, zones)
            try:
                self._append(key_of, decide)
            except _Refused:
                raise BudgetExceeded(self._refusal(budget, label)) from None
            self.last_fit = id
            return LedgerAllowance(self, budget, label, self._book.fits[id], run)

    def note(self, text: str) -> None:
        """Write down something that every later certificate is to say, such as a look at the rows.

        Parameters
        ----------
        text : str
            One line.
        """
        with self._lock:
            self._append(f"note:{secrets.token_hex(8)}", lambda _: Draft(NOTED, {"text": str(text)}))

    def close(self) -> None:
        """End the data set: nothing more can be reserved. Fits under way may go on."""

        def decide(_: str) -> Draft:
            if self._book.closed is not None:
                raise InvalidLedger(f"data set {self._dataset!r} is closed: {self._book.closed}")
            return Draft(CLOSED)

        with self._lock:
            self._append(f"close:{secrets.token_hex(8)}", decide)

    def _reserving(
        self, id: str, run: str, budget: Any, label: str, key: int, plan: str, zones: int | None
    ) -> Callable[[str], Draft]:
        def decide(time: str) -> Draft:
            window = self._book.window(time)
            if self._book.closed is not None:
                raise BudgetExceeded(f"{label}: nothing can be reserved any more: {self._book.closed}")
            if not self._book.fits_in(window, self.place, Losses.of(budget.currency, budget.amount)):
                raise _Refused
            return Draft(
                RESERVED,
                {
                    "fit": id,
                    "run": run,
                    "label": label,
                    "budget": plain_budget(budget),
                    "window": window,
                    "part": None if self.place is None else list(self.place),
                    "key": str(key),
                    "plan": plan,
                    **({} if zones is None else {"zones": zones}),
                },
            )

        return decide

    def _resuming(self, id: str, run: str, budget: Any, label: str, plan: str) -> Callable[[str], Draft]:
        def decide(_: str) -> Draft:
            fit = self._book.fits[id]
            if (fit.budget, fit.place, fit.label, fit.plan) != (budget, self.place, label, plan):
                raise InvalidLedger(
                    f"fit {id} is {fit.label} with {fit.budget.describe()} and other parameters: a fit is "
                    "resumed with all parameters as they were, and on the same rows"
                )
            if self._book.closed is not None:
                raise BudgetExceeded(f"fit {id} cannot be resumed: {self._book.closed}")
            lost = fit.unanswered
            # What was charged and not answered is charged again, or this is the end of it.
            loss = Losses.of(budget.currency, budget.amount + lost)
            if not self._book.fits_in(fit.window, fit.place, loss, without=id):
                raise BudgetExceeded(
                    f"fit {id} cannot go on: {float(lost):.6g} {budget.currency} was charged for answers "
                    "that never came, would be charged again, and is not left"
                )
            return Draft(RESUMED, {"fit": id, "run": run, "lost": str(lost)})

        return decide

    def _named(self, resume: str) -> str:
        found = [id for id in self._book.fits if id.startswith(resume)] if resume else []
        if len(found) != 1:
            there = ", ".join(fit.id for fit in self._book.fits.values() if fit.open) or "none"
            raise InvalidLedger(
                f"data set {self._dataset!r} has no one fit {resume!r}; those that are not over are: {there}"
            )
        return found[0]

    def _append(self, key: str, decide: Callable[[str], Draft]) -> Record:
        """Write a record that is decided on with all others read, and take note of it."""

        def deciding(news: Sequence[Record], time: str) -> Draft:
            self._book.read(news)  # they are there, whether or not this one is written
            return decide(time)

        record = self._store.append(self._dataset, key, deciding, lambda: self._book.known)
        if record.number == self._book.known[0] + 1:
            self._book.read([record])
        else:  # it was written in a try whose answer was lost
            self._refresh()
        return record

    def _refresh(self) -> None:
        self._book.read(self._store.news(self._dataset, self._book.known))

    # Copies.

    def __reduce__(self) -> Any:
        part, resume, fit = self._given
        return _opened, (self._store.url, self._dataset, part, resume, self._store.patience, fit)

    def _forked(self) -> None:
        # Another thread may have held the lock, or have been reading.
        self._lock = threading.RLock()
        self._book = Book(self._dataset)


def _opened(
    url: str,
    dataset: str,
    part: Mapping[str, Any] | None,
    resume: str | None,
    patience: float,
    fit: str | None = None,
) -> LedgerAccountant:
    return LedgerAccountant(open_store(url, patience), dataset, part=part, resume=resume, fit=fit)


def _named_once(fit: Any, resume: str | None) -> str | None:
    """Return the name that a fit is begun under, so that whoever asks for it twice spends once."""
    if fit is None:
        return None
    if resume is not None:
        raise InvalidInput(
            "both fit and resume are given: fit begins one, or goes on with it if it was begun"
        )
    if not isinstance(fit, str) or not _NAME.fullmatch(fit):
        raise InvalidInput(
            f"fit is {fit!r}; draw a name of 16 to 64 hexadecimal digits, such as secrets.token_hex(8)"
        )
    return fit
