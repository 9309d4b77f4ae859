"""The accountant: one budget for a table, shared by as many fits as it lasts."""

from __future__ import annotations

import threading
from fractions import Fraction
from types import TracebackType
from typing import Any

from shoal.accounting.budget import ZCDP, Budget, Pure, budget_of, exact
from shoal.accounting.events import Charge
from shoal.errors import BudgetExceeded, InvalidBudget


class Accountant:
    """Keeps what may be spent on one table, and refuses before the work.

    Parameters
    ----------
    epsilon : float
        Total privacy loss allowed.
    delta : float
        0 for pure differential privacy; above it, losses are added up as rho (zCDP).
    rho : float
        Instead of epsilon: a zCDP budget.

    Notes
    -----
    Copies made by ``copy`` or ``sklearn.clone`` are the same accountant, so that a cloned estimator
    draws on the same budget. An unpickled one is a frozen record: a budget cannot be in two processes.

    Examples
    --------
    >>> accountant = Accountant(epsilon=1.0)
    >>> with accountant.reserve(Pure(Fraction(3, 4)), "first fit") as allowance:
    ...     allowance.charge(Charge("count of rows", "discrete Laplace", Fraction(1, 4), "epsilon"))
    >>> accountant.left
    Fraction(3, 4)
    """

    def __init__(self, *, epsilon: Any = None, delta: Any = 0.0, rho: Any = None) -> None:
        if rho is not None:
            if epsilon is not None:
                raise InvalidBudget("both epsilon and rho are given; a budget has one of them")
            self.budget: Budget = ZCDP(exact(rho, "rho"))
        else:
            self.budget = budget_of(epsilon, delta)
        self._closed = Fraction(0)
        self._open: list[Allowance] = []
        self._charges: list[Charge] = []
        self._lock = threading.RLock()
        self._frozen = False

    def reserve(self, budget: Budget, label: str) -> Allowance:
        """Set aside a budget for one fit, or refuse. What it does not spend comes back when it closes."""
        if self._frozen:
            raise BudgetExceeded(
                "this accountant was unpickled and is only a record; spend from the original one"
            )
        with self._lock:
            asked = self._in_my_currency(budget)
            if asked > self.left:
                raise BudgetExceeded(
                    f"{label} asks for {_show(asked)} of {self.budget.currency}, {_show(self.left)} of "
                    f"{_show(self.budget.amount)} is left: {_show(asked - self.left)} too much. "
                    "Ask for less, or look at .charges to see where it went"
                )
            allowance = Allowance(self, budget, label)
            self._open.append(allowance)
            return allowance

    def _in_my_currency(self, budget: Budget) -> Fraction:
        return self._convert(budget, budget.amount)

    def _convert(self, budget: Budget, amount: Fraction) -> Fraction:
        if self.budget.currency == budget.currency:
            return amount
        if isinstance(budget, Pure):
            return amount**2 / 2  # epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016, proposition 3.3)
        raise InvalidBudget(
            f"a fit with {budget.describe()} cannot draw on an accountant with {self.budget.describe()}; "
            "give the accountant a delta as well, or the fit delta=0"
        )

    @property
    def spent(self) -> Fraction:
        """What has been charged so far, in the accountant's own currency."""
        with self._lock:
            return self._closed + sum((self._convert(a.budget, a.spent) for a in self._open), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be reserved; open reservations count in full."""
        with self._lock:
            held = sum((self._in_my_currency(a.budget) for a in self._open), Fraction(0))
            return self.budget.amount - self._closed - held

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far."""
        return tuple(self._charges)

    def describe(self) -> str:
        """Say what was allowed, spent and is left."""
        return (
            f"{self.budget.describe()}: spent {_show(self.spent)} of {_show(self.budget.amount)} "
            f"{self.budget.currency} in {len(self._charges)} charges, {_show(self.left)} left"
        )

    def __repr__(self) -> str:
        return f"<Accountant {self.describe()}>"

    def __copy__(self) -> Accountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Accountant:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # What is open in this process counts as spent in the record, in full.
        return {
            "budget": self.budget,
            "_closed": self.budget.amount - self.left,
            "_charges": list(self._charges),
            "_open": [],
            "_frozen": True,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


class Allowance:
    """A part of a budget, held by one fit. Made by :meth:`Accountant.reserve`."""

    def __init__(self, accountant: Accountant, budget: Budget, label: str) -> None:
        self._accountant = accountant
        self.budget = budget
        self.label = label
        self.spent = Fraction(0)
        self.charges: list[Charge] = []
        self._closed = False

    @property
    def left(self) -> Fraction:
        """What this fit may still spend, in its own currency."""
        return self.budget.amount - self.spent

    def charge(self, charge: Charge) -> None:
        """Write a charge down, or refuse it. Called before the answer is computed."""
        with self._accountant._lock:
            if self._closed:
                raise BudgetExceeded(f"{self.label} is over; its allowance cannot be charged any more")
            if charge.currency != self.budget.currency:
                raise InvalidBudget(f"a charge in {charge.currency} to a budget of {self.budget.currency}")
            if charge.amount > self.left:
                raise BudgetExceeded(
                    f"{charge.question} costs {_show(charge.amount)} of {charge.currency}, "
                    f"{_show(self.left)} of {_show(self.budget.amount)} is left: "
                    f"{_show(charge.amount - self.left)} too much"
                )
            self.spent += charge.amount
            self.charges.append(charge)
            self._accountant._charges.append(charge)

    def close(self) -> None:
        """Give back what was not spent. Safe to call twice."""
        with self._accountant._lock:
            if not self._closed:
                self._closed = True
                self._accountant._open.remove(self)
                self._accountant._closed += self._accountant._convert(self.budget, self.spent)

    def __enter__(self) -> Allowance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _show(value: Fraction) -> str:
    return f"{float(value):.6g}"
