"""A fit whose charges and answers lie in a ledger, so that it can be resumed."""

from __future__ import annotations

import contextlib
import hashlib
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any

from shoal._forks import tell_of_forks
from shoal.accounting.allowance import Allowance
from shoal.accounting.book import ANSWERED, CHARGED, ENDED, Fit
from shoal.accounting.budget import Budget
from shoal.accounting.events import Charge
from shoal.errors import BudgetExceeded, InvalidLedger, LedgerUnavailable, ShoalError
from shoal.ledger import Draft
from shoal.ledger.records import PAYLOAD

if TYPE_CHECKING:
    from shoal.accounting.ledgered import LedgerAccountant

_FORKED = "this fit was copied by a fork: it goes on in the process that began it, and nowhere else"


class LedgerAllowance(Allowance):
    """A part of a ledger's budget, held by one fit. Made by :meth:`LedgerAccountant.reserve`."""

    durable = True

    def __init__(self, accountant: LedgerAccountant, budget: Budget, label: str, fit: Fit, run: str) -> None:
        super().__init__(accountant, budget, label, zones=fit.zones)
        self._before = fit
        self._ledger = accountant
        self._run = run
        self.fit, self.key = fit.id, fit.key
        self.parts_key = accountant.charter.parts_key
        self.spent = fit.spent
        if fit.zones is not None:
            self._zones = fit.zone_sums
        self._lost = fit.lost
        self._answers = dict(fit.answers)
        self._frozen: str | None = None
        self._statement: dict[str, Any] = {}
        tell_of_forks(self)

    @property
    def left(self) -> Fraction:
        """What this fit may still spend, in its own currency."""
        return self.budget.amount + self._lost - self.spent

    def zone_lost(self, zone: int) -> Fraction:
        """Return what one zone was charged for answers that never came."""
        return self._before.lost_of.get(zone, Fraction(0))

    @property
    def statement(self) -> dict[str, Any]:
        """What the certificate says of the ledger; once the fit is over."""
        return self._statement

    def check(self) -> None:
        """Refuse where nothing may be charged any more, nor noise be drawn for what was."""
        if self._frozen is not None:
            raise BudgetExceeded(self._frozen)
        super().check()

    def charge(self, charge: Charge, number: int = -1, asked: str = "") -> None:
        """Write a charge down, durably, or refuse it. Called before the answer is computed."""
        with self._ledger._lock:
            self.check()
            number = len(self.charges) if number < 0 else number
            self._check_charge(charge, number)
            body = {
                "fit": self.fit,
                "run": self._run,
                "number": number,
                "asked": asked,
                "question": charge.question,
                "mechanism": charge.mechanism,
                "amount": str(charge.amount),
                "currency": charge.currency,
            }
            self._write(f"charge:{self.fit}:{self._run}:{number}", Draft(CHARGED, body))
            self._take(charge, number)

    def answered(self, number: int, asked: str) -> bytes | None:
        """Return the stored answer to a question that this fit asked before it was resumed, if there is."""
        if number not in self._answers:
            return None
        then, record = self._answers[number]
        if then != asked:
            raise InvalidLedger(
                f"fit {self.fit} asks another question than it did before: its parameters, or Shoal, are not "
                "those that it was begun with"
            )
        found, written = self._ledger._store.payload(self._ledger.dataset, record)
        if hashlib.sha256(found).hexdigest() != written.content.get(PAYLOAD):
            raise InvalidLedger(f"the answer beside record {record} is not as it was written")
        return found

    def keep(self, number: int, asked: str, answer: bytes) -> None:
        """Store an answer, durably: called before anybody sees it."""
        body = {"fit": self.fit, "run": self._run, "number": number, "asked": asked}
        with self._ledger._lock:
            self.check()
            self._write(f"answer:{self.fit}:{self._run}:{number}", Draft(ANSWERED, body, answer))

    def close(self, outcome: str = "done") -> None:
        """End the fit, and give back what it did not spend. Safe to call twice."""
        with self._ledger._lock:
            if self._closed or self._frozen is not None:
                return
            body = {"fit": self.fit, "run": self._run, "outcome": outcome}
            self._write(f"end:{self.fit}:{self._run}", Draft(ENDED, body))
            self._closed = True
            self._statement = self._ledger._book.statement(self.fit)

    def _write(self, key: str, draft: Draft) -> None:
        def decide(_: str) -> Draft:
            try:
                self._ledger._book._running(draft.body)
            except InvalidLedger as error:
                self._closed = True  # another run has it
                raise BudgetExceeded(str(error)) from None
            return draft

        self._ledger._append(key, decide)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(ShoalError):
            self.close("stopped")
        if isinstance(error, LedgerUnavailable):
            error.args = (f"{error}. Resume fit {self.fit}",)

    def _forked(self) -> None:
        self._frozen = _FORKED
