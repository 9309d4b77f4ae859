"""The accountant: one budget for a table, shared by as many fits as it lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from shoal._forks import tell_of_forks
from shoal.accounting.allowance import Allowance, show
from shoal.accounting.budget import ZCDP, Approx, Budget, Pure, budget_of, exact
from shoal.accounting.conversion import epsilon_of
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Losses, accepted, amounts_to, lanes_of, largest
from shoal.accounting.parts import Place
from shoal.errors import BudgetExceeded, InvalidBudget

if TYPE_CHECKING:
    from shoal.accounting.ledgered import LedgerAccountant

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

    @classmethod
    def create(
        cls,
        ledger: Any,
        dataset: str,
        *,
        epsilon: Any = None,
        delta: Any = 0.0,
        rho: Any = None,
        pure: Any = 0.0,
        unit: str | None = None,
        neighbours: str = "add-remove",
        parts: Mapping[str, Iterable[str | int]] | None = None,
        parts_per_person: int | None = None,
        renewal: str | None = None,
        decided_by: str | None = None,
        patience: float = 30.0,
    ) -> LedgerAccountant:
        """Put a data set with a budget into a ledger, where it survives this process.

        Parameters
        ----------
        ledger : str or path
            A file, which is made if it is not there, or a ``postgresql://`` URL.
        dataset : str
            The name of the data set: one table, with one total for all fits of anybody.
        epsilon, delta, rho, pure : float
            The total, as above.
        unit : str, optional
            The column that names the person; a row is protected, if not given.
        neighbours : {"add-remove", "replace"}
            What all fits protect: one unit added or removed, or one replaced.
        parts : mapping of str to list of str or int, optional
            Public columns with public levels, which cut the table into disjoint parts.
        parts_per_person : int, optional
            The most parts of each column that the gate reads of one person.
        renewal : {"yearly", "quarterly", "monthly"}, optional
            How often the budget is there anew: not a new guarantee.
        decided_by : str, optional
            Who has decided that it renews; certificates name them.
        patience : float
            Seconds to wait for others, or for a server to come back.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> trips = Accountant.create(f"{folder.name}/budget.ledger", "trips", epsilon=4, unit="user_id")
        >>> Accountant.open(f"{folder.name}/budget.ledger", "trips").left
        Fraction(4, 1)
        >>> folder.cleanup()
        """
        from shoal.accounting.ledgered import LedgerAccountant
        from shoal.ledger import open_store

        return LedgerAccountant.created(
            open_store(ledger, patience),
            dataset,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            pure=pure,
            unit=unit,
            neighbours=neighbours,
            parts=parts,
            parts_per_person=parts_per_person,
            renewal=renewal,
            decided_by=decided_by,
        )

    @classmethod
    def open(
        cls,
        ledger: Any,
        dataset: str,
        *,
        part: Mapping[str, Any] | None = None,
        resume: str | None = None,
        fit: str | None = None,
        patience: float = 30.0,
    ) -> LedgerAccountant:
        """Return the accountant of a data set in a ledger. Pickled or forked, it opens the ledger anew.

        Parameters
        ----------
        ledger : str or path
            A file or a ``postgresql://`` URL.
        dataset : str
            The name of the data set.
        part : mapping of str to str, optional
            One declared column and its level, such as ``{"region": "north"}``: fits read the rows of this
            part only. A level of None is that of rows that have none of the declared ones.
        resume : str, optional
            The fit to go on with: its answers so far are read, not asked again. Give its estimator all
            parameters as they were, and the same rows.
        fit : str, optional
            A name for the fit, drawn at random (``secrets.token_hex(8)``) and kept before it begins: if the
            ledger has it, the fit goes on, or is read back for nothing. So what asks twice spends once.
        patience : float
            Seconds to wait for others, or for a server to come back.
        """
        from shoal.accounting.ledgered import LedgerAccountant
        from shoal.ledger import open_store

        return LedgerAccountant(open_store(ledger, patience), dataset, part=part, resume=resume, fit=fit)

    place: Place | None = None
    """The part of the table that fits are of; None for all of it."""

    def reserve(
        self,
        budget: Budget,
        label: str,
        unit: Protected | None = None,
        *,
        key: int = 0,
        plan: str = "",  # noqa: ARG002 - for those that can be resumed
        zones: int | None = None,
    ) -> Allowance:
        """Set aside a budget for one fit, or refuse. What it does not spend comes back when it closes.

        Parameters
        ----------
        budget : Budget
            What the fit may spend.
        label : str
            Who asks, for the refusal.
        unit : Unit, optional
            Whom the fit protects: one row added or removed, if not given.
        key : int
            Decides which rows of a person are kept.
        plan : str
            The hash of the fit's public parameters.
        zones : int, optional
            Of a fit of disjoint zones, in how many of them one unit can be: the dearest so many add up.
        """
        with self._lock:
            self._check_mine()
            self._check_currency(budget)
            protects = ("add-remove", None) if unit is None else (unit.neighbours, unit.column)
            if self._protects not in (None, protects):
                raise InvalidBudget(
                    f"{label} protects {protects_whom(protects)}, and what this accountant has counted "
                    f"protects {protects_whom(self._protects)}: such losses do not add up. Fit alike, or "
                    "give it another one"
                )
            if not accepted(self._lanes, self._held, Losses.of(budget.currency, budget.amount)):
                raise BudgetExceeded(self._refusal(budget, label))
            self._protects = protects
            allowance = Allowance(self, budget, label, key, zones)
            self._open.append(allowance)
            return allowance

    def _check_mine(self) -> None:
        if self._frozen is not None:
            raise BudgetExceeded(self._frozen)

    _history = ".charges"

    def _check_currency(self, budget: Budget) -> None:
        if budget.currency == "rho" and isinstance(self.budget, Pure):
            raise InvalidBudget(
                f"a fit with {budget.describe()} cannot draw on an accountant with "
                f"{self.budget.describe()}; give the accountant a delta as well, or the fit delta=0"
            )

    def _refusal(self, budget: Budget, label: str) -> str:
        if isinstance(self.budget, ZCDP):
            loss = Losses.of(budget.currency, budget.amount)
            asked, left, total, currency = loss.squares + loss.rho, self.left, self.budget.rho, "rho"
        else:
            asked, delta = _in_epsilon(budget, self.budget)
            left, total, currency = self.left_for(delta), self.budget.epsilon, "epsilon"
        return (
            f"{label} asks for {budget.describe()}; {show(left)} of {show(total)} {currency} is left for "
            f"it: {show(asked - left)} too much. Ask for less, or look at {self._history} to see where it "
            "went"
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
        left = f"{show(self.left)} left"
        if isinstance(self.budget, Approx):
            with_delta = self.left_for(self.budget.delta)
            left = f"{show(self.left_for())} left for a pure fit, {show(with_delta)} for one with delta"
        total = self.budget.amount if currency == "rho" else _in_epsilon(self.budget, self.budget)[0]
        return (
            f"{self.budget.describe()}: spent {show(self.spent)} of {show(total)} {currency} in "
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


def _in_epsilon(budget: Budget, own: Budget) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of a budget; of a rho, at the accountant's own delta."""
    if isinstance(budget, ZCDP):
        return Fraction(epsilon_of(float(budget.rho), float(_delta(own)))), _delta(own)
    return (budget.epsilon if isinstance(budget, Pure | Approx) else Fraction(0)), _delta(budget)


def _delta(budget: Budget) -> Fraction:
    return budget.delta if isinstance(budget, Approx) else Fraction(0)


def protects_whom(protects: tuple[str, str | None] | None) -> str:
    """Say whom losses are counted for."""
    neighbours, column = protects or ("add-remove", None)
    who = "one row" if column is None else f"one person (column {column!r})"
    return f"{who} {'replaced' if neighbours == 'replace' else 'added or removed'}"
