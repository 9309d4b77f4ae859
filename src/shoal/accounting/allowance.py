"""What one fit may spend, while it lasts."""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any

from shoal.accounting.budget import Approx, Budget
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Losses
from shoal.accounting.zones import ZoneSums
from shoal.errors import BudgetExceeded, InvalidBudget

if TYPE_CHECKING:
    from shoal.accounting.accountant import Accountant


class Allowance:
    """A part of a budget, held by one fit. Made by :meth:`Accountant.reserve`."""

    durable = False
    """Whether what is charged and answered survives this process."""

    parts_key = 0
    """Decides which parts of a person are read, where a ledger limits them."""

    def __init__(
        self, accountant: Accountant, budget: Budget, label: str, key: int = 0, zones: int | None = None
    ) -> None:
        self._accountant = accountant
        self.key = key
        self.budget = budget
        self.label = label
        self.spent = Fraction(0)
        self.losses = Losses()
        self.charges: list[Charge] = []
        self._zones = None if zones is None else ZoneSums(zones)
        self._closed = False

    @property
    def left(self) -> Fraction:
        """What this fit may still spend, in its own currency."""
        return self.budget.amount - self.spent

    def check(self) -> None:
        """Refuse where nothing may be charged any more, nor noise be drawn for what was."""
        self._accountant._check_mine()
        if self._closed:
            raise BudgetExceeded(f"{self.label} is over; its allowance cannot be charged any more")

    def charge(self, charge: Charge, number: int = -1, asked: str = "") -> None:  # noqa: ARG002
        """Write a charge down, or refuse it. Called before the answer is computed.

        Parameters
        ----------
        charge : Charge
            What is charged.
        number, asked : int and str
            Which question of the fit it is for, and its hash: for those that can be resumed.
        """
        with self._accountant._lock:
            self.check()
            self._check_charge(charge, number)
            self._take(charge, number)
            self._accountant._charges.append(charge)

    def answered(self, number: int, asked: str) -> bytes | None:  # noqa: ARG002 - nothing was stored
        """Return the stored answer to a question, of a fit that is resumed; None if there is none."""
        return None

    def keep(self, number: int, asked: str, answer: bytes) -> None:
        """Store an answer before anybody sees it, where it is to survive."""

    @property
    def statement(self) -> dict[str, Any]:
        """What the certificate says of the ledger; nothing, where there is none."""
        return {}

    def zone_spent(self, zone: int) -> Fraction:
        """Return what one zone was charged so far: of a fit that is resumed, before."""
        return Fraction(0) if self._zones is None else self._zones.amounts.get(zone, Fraction(0))

    def zone_lost(self, zone: int) -> Fraction:  # noqa: ARG002 - nothing was resumed
        """Return what one zone was charged for answers that never came."""
        return Fraction(0)

    def _grows(self, charge: Charge, number: int) -> Fraction:
        """Return by how much a charge raises what one unit loses: of zones, only the dearest count."""
        return charge.amount if self._zones is None else self._zones.after(number, charge.amount) - self.spent

    def _check_charge(self, charge: Charge, number: int) -> None:
        if charge.currency != self.budget.currency:
            raise InvalidBudget(f"a charge in {charge.currency} to a budget of {self.budget.currency}")
        grows = self._grows(charge, number)
        if grows > self.left:
            cost, left, gap = map(self._show, (grows, self.left, grows - self.left))
            raise BudgetExceeded(
                f"{charge.question} costs {cost} of {self.budget.describe()}, and {left} is left: {gap} "
                "too much"
            )

    def _take(self, charge: Charge, number: int) -> None:
        self.spent += self._grows(charge, number)
        if self._zones is None:
            self.losses += Losses.of(charge.currency, charge.amount)
        else:
            self._zones.add(number, charge)
            self.losses = self._zones.losses
        self.charges.append(charge)

    def describe_spent(self) -> str:
        """Say what was spent, in the terms that the budget was given in."""
        if not self.spent:
            return "nothing was spent"
        return f"{self._show(self.spent)} of {self.budget.describe()} was spent and is gone"

    def close(self) -> None:
        """Give back what was not spent. Safe to call twice."""
        accountant = self._accountant
        with accountant._lock:
            if not self._closed:
                self._closed = True
                accountant._open.remove(self)
                accountant._closed += self.losses
                if not accountant._open and not accountant._charges:
                    accountant._protects = None  # nothing was counted for anybody yet

    def _show(self, amount: Fraction) -> str:
        # Whoever gave epsilon and delta does not think in rho: a part of the budget says more.
        if isinstance(self.budget, Approx):
            return f"{100 * float(amount / self.budget.amount):.3g} %"
        return show(amount)

    def __enter__(self) -> Allowance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def show(value: Fraction) -> str:
    """Write an amount for people."""
    return f"{float(value):.6g}"
