"""The accountant: one budget for a table, shared by as many fits as it lasts."""

from __future__ import annotations

import threading
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol

from shoal._forks import tell_of_forks
from shoal.accounting.budget import ZCDP, Approx, Budget, Pure, budget_of, exact
from shoal.accounting.conversion import epsilon_of
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Losses, accepted, amounts_to, lanes_of, largest
from shoal.errors import BudgetExceeded, InvalidBudget

_UNPICKLED = "this accountant was unpickled and is only a record; spend from the original one"
_FORKED = (
    "this accountant was copied by a fork, and would spend its budget a second time: spend in the process "
    "that made it, and start others with multiprocessing's 'spawn'"
)


class Protected(Protocol):
    """Whom losses are counted for: a :class:`shoal.domain.Unit` is one."""

    @property
    def neighbours(self) -> str:
        """Whether a unit is added or removed, or replaced."""
        ...

    @property
    def column(self) -> str | None:
        """The column that names the person; None where a unit is a row."""
        ...


class Accountant:
    """Keeps what may be spent on one table, and refuses before the work.

    Parameters
    ----------
    epsilon : float
        Total privacy loss allowed.
    delta : float
        0 for pure differential privacy. Above it, charges are accepted if all are pure and add up to at most
        epsilon, or if all, taken as rho (zCDP), convert to (epsilon, delta).
    rho : float
        Instead of epsilon: a zCDP budget.
    pure : float
        With delta: the part of epsilon that is kept for pure fits beside others. Then charges are also
        accepted if the pure ones add up to at most `pure` and the others convert to the rest of epsilon;
        conversions are for half of delta.

    Notes
    -----
    Losses add up only for one kind of neighbours and of person: those of the first fit. Fits with different
    `max_rows` for one column do add up.

    Copies made by ``copy`` or ``sklearn.clone`` are the same accountant, so that a cloned estimator
    draws on the same budget. An unpickled or forked one is a frozen record: a budget cannot be in two
    processes.

    Examples
    --------
    >>> accountant = Accountant(epsilon=1.0)
    >>> with accountant.reserve(Pure(Fraction(3, 4)), "first fit") as allowance:
    ...     allowance.charge(Charge("count of rows", "discrete Laplace", Fraction(1, 4), "epsilon"))
    >>> accountant.left
    Fraction(3, 4)
    """

    def __init__(self, *, epsilon: Any = None, delta: Any = 0.0, rho: Any = None, pure: Any = 0.0) -> None:
        if rho is not None:
            if epsilon is not None:
                raise InvalidBudget("both epsilon and rho are given; a budget has one of them")
            self.budget: Pure | Approx | ZCDP = ZCDP(exact(rho, "rho"))
        else:
            self.budget = budget_of(epsilon, delta)
        self._lanes = lanes_of(self.budget, exact(pure, "pure"))
        self._closed = Losses()
        self._open: list[Allowance] = []
        self._charges: list[Charge] = []
        self._protects: tuple[str, str | None] | None = None
        self._lock = threading.RLock()
        self._frozen: str | None = None
        tell_of_forks(self)

    def reserve(self, budget: Budget, label: str, unit: Protected | None = None) -> Allowance:
        """Set aside a budget for one fit, or refuse. What it does not spend comes back when it closes.

        Parameters
        ----------
        budget : Budget
            What the fit may spend.
        label : str
            Who asks, for the refusal.
        unit : Unit, optional
            Whom the fit protects: one row added or removed, if not given.
        """
        with self._lock:
            self._check_mine()
            if budget.currency == "rho" and isinstance(self.budget, Pure):
                raise InvalidBudget(
                    f"a fit with {budget.describe()} cannot draw on an accountant with "
                    f"{self.budget.describe()}; give the accountant a delta as well, or the fit delta=0"
                )
            protects = ("add-remove", None) if unit is None else (unit.neighbours, unit.column)
            if self._protects not in (None, protects):
                raise InvalidBudget(
                    f"{label} protects {_whom(protects)}, and what this accountant has counted protects "
                    f"{_whom(self._protects)}: such losses do not add up. Fit alike, or give it another one"
                )
            if not accepted(self._lanes, self._held, Losses.of(budget.currency, budget.amount)):
                raise BudgetExceeded(self._refusal(budget, label))
            self._protects = protects
            allowance = Allowance(self, budget, label)
            self._open.append(allowance)
            return allowance

    def _check_mine(self) -> None:
        if self._frozen is not None:
            raise BudgetExceeded(self._frozen)

    def _refusal(self, budget: Budget, label: str) -> str:
        if isinstance(self.budget, ZCDP):
            loss = Losses.of(budget.currency, budget.amount)
            asked, left, total, currency = loss.squares + loss.rho, self.left, self.budget.rho, "rho"
        else:
            asked, delta = _in_epsilon(budget, self.budget)
            left, total, currency = self.left_for(delta), self.budget.epsilon, "epsilon"
        return (
            f"{label} asks for {budget.describe()}; {_show(left)} of {_show(total)} {currency} is left for "
            f"it: {_show(asked - left)} too much. Ask for less, or look at .charges to see where it went"
        )

    @property
    def _held(self) -> Losses:
        """What was charged and is over, and open reservations in full."""
        open_ones = (Losses.of(a.budget.currency, a.budget.amount) for a in self._open)
        return sum(open_ones, self._closed)

    @property
    def spent(self) -> Fraction:
        """What the charges so far amount to: an epsilon at the accountant's delta, or a rho."""
        with self._lock:
            charged = sum((a.losses for a in self._open), self._closed)
        if isinstance(self.budget, ZCDP):
            return charged.squares + charged.rho
        return amounts_to(self._lanes, charged)

    @property
    def left(self) -> Fraction:
        """The most that a fit may still ask for: an epsilon, pure or at the accountant's delta, or a rho.

        Open reservations count in full.
        """
        if not isinstance(self.budget, ZCDP):
            return max(self.left_for(delta) for delta in {Fraction(0), _delta(self.budget)})
        with self._lock:
            return self.budget.rho - self._held.squares - self._held.rho

    def left_for(self, delta: Any = 0.0) -> Fraction:
        """Return the largest epsilon that a fit with this delta may still ask for.

        Parameters
        ----------
        delta : float
            0 for a pure fit.

        Examples
        --------
        >>> accountant = Accountant(epsilon=2.0, delta=1e-6)
        >>> held = accountant.reserve(Pure(Fraction(1, 2)), "a pure fit")
        >>> float(accountant.left_for()), round(float(accountant.left_for(1e-6)), 3)
        (1.5, 0.0)
        """
        with self._lock:
            return largest(self._lanes, self._held, exact(delta, "delta"))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far."""
        return tuple(self._charges)

    def describe(self) -> str:
        """Say what was allowed, spent and is left."""
        currency = "rho" if isinstance(self.budget, ZCDP) else "epsilon"
        left = f"{_show(self.left)} left"
        if isinstance(self.budget, Approx):
            with_delta = self.left_for(self.budget.delta)
            left = f"{_show(self.left_for())} left for a pure fit, {_show(with_delta)} for one with delta"
        total = self.budget.amount if currency == "rho" else _in_epsilon(self.budget, self.budget)[0]
        return (
            f"{self.budget.describe()}: spent {_show(self.spent)} of {_show(total)} {currency} in "
            f"{len(self._charges)} charges, {left}"
        )

    def __repr__(self) -> str:
        return f"<Accountant {self.describe()}>"

    def __copy__(self) -> Accountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Accountant:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # What is open in this process counts as spent in the record, in full.
        with self._lock:
            return {
                "budget": self.budget,
                "_lanes": self._lanes,
                "_closed": self._held,
                "_charges": list(self._charges),
                "_protects": self._protects,
                "_open": [],
                "_frozen": _UNPICKLED,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def _forked(self) -> None:
        # Another thread may have held the lock; here it would never be given back.
        self._lock = threading.RLock()
        self._frozen = self._frozen or _FORKED


class Allowance:
    """A part of a budget, held by one fit. Made by :meth:`Accountant.reserve`."""

    def __init__(self, accountant: Accountant, budget: Budget, label: str) -> None:
        self._accountant = accountant
        self.budget = budget
        self.label = label
        self.spent = Fraction(0)
        self.losses = Losses()
        self.charges: list[Charge] = []
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

    def charge(self, charge: Charge) -> None:
        """Write a charge down, or refuse it. Called before the answer is computed."""
        with self._accountant._lock:
            self.check()
            if charge.currency != self.budget.currency:
                raise InvalidBudget(f"a charge in {charge.currency} to a budget of {self.budget.currency}")
            if charge.amount > self.left:
                cost, left, gap = map(self._show, (charge.amount, self.left, charge.amount - self.left))
                raise BudgetExceeded(
                    f"{charge.question} costs {cost} of {self.budget.describe()}, and {left} is left: {gap} "
                    "too much"
                )
            self.spent += charge.amount
            self.losses += Losses.of(charge.currency, charge.amount)
            self.charges.append(charge)
            self._accountant._charges.append(charge)

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
        return _show(amount)

    def __enter__(self) -> Allowance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _in_epsilon(budget: Budget, own: Budget) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of a budget; of a rho, at the accountant's own delta."""
    if isinstance(budget, ZCDP):
        return Fraction(epsilon_of(float(budget.rho), float(_delta(own)))), _delta(own)
    return (budget.epsilon if isinstance(budget, Pure | Approx) else Fraction(0)), _delta(budget)


def _delta(budget: Budget) -> Fraction:
    return budget.delta if isinstance(budget, Approx) else Fraction(0)


def _whom(protects: tuple[str, str | None] | None) -> str:
    neighbours, column = protects or ("add-remove", None)
    who = "one row" if column is None else f"one person (column {column!r})"
    return f"{who} {'replaced' if neighbours == 'replace' else 'added or removed'}"


def _show(value: Fraction) -> str:
    return f"{float(value):.6g}"
