"""Parallel composition within one fit: what a unit loses where disjoint zones are asked, each with its level.

A row is in one zone, so of all that is asked it loses what its own zone is asked. One unit can be in a few
zones at once (a person with m rows in m, a row that is replaced in two): the dearest of these add up. The
rules and why they hold are in docs/proofs/zones.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shoal.accounting.budget import ZCDP, Approx, Budget, Pure
from shoal.accounting.events import Charge
from shoal.accounting.lanes import Losses
from shoal.accounting.parts import worst
from shoal.errors import BudgetExceeded, InvalidBudget

if TYPE_CHECKING:
    from shoal.accounting.allowance import Allowance

# Questions of a zone are numbered from so many times the zone's number on: no fit asks as many.
QUESTIONS = 2**20


def zones_hit(neighbours: str, max_rows: int) -> int:
    """Return how many zones one unit can be in: a row in one, a person with m rows in m, replaced in twice.

    Examples
    --------
    >>> zones_hit("add-remove", 1), zones_hit("replace", 1), zones_hit("replace", 5)
    (1, 2, 10)
    """
    return max_rows * (2 if neighbours == "replace" else 1)


def zones_budget(budgets: Sequence[Budget], most: int) -> Pure | Approx | ZCDP:
    """Return what one unit may lose to all zones together: the sum of the largest.

    Parameters
    ----------
    budgets : sequence of Budget
        Of each zone; all pure, or all with the same delta.
    most : int
        In how many zones a unit can be.

    Examples
    --------
    >>> levels = [Pure(Fraction(1, 10)), Pure(Fraction(1)), Pure(Fraction(1, 2))]
    >>> zones_budget(levels, 1).describe(), zones_budget(levels, 2).describe()
    ('epsilon = 1', 'epsilon = 1.5')
    """
    largest = sorted(budgets, key=lambda budget: budget.amount, reverse=True)[:most]
    if len({(b.currency, getattr(b, "delta", None)) for b in budgets}) > 1:
        raise InvalidBudget("zones of different kinds of budget: all must be pure, or have one delta")
    total, first = sum((budget.amount for budget in largest), Fraction(0)), largest[0]
    if len(largest) == 1 and isinstance(first, Pure | Approx | ZCDP):
        return first
    return Pure(total) if first.currency == "epsilon" else ZCDP(total)


@dataclass
class ZoneSums:
    """What was charged to each zone of a fit.

    Parameters
    ----------
    most : int
        In how many zones a unit can be.

    Examples
    --------
    >>> sums = ZoneSums(1)
    >>> for number, amount in ((0, 1), (QUESTIONS, 2), (1, 3)):
    ...     sums.add(number, Charge("count", "Laplace", Fraction(amount), "epsilon"))
    >>> sums.spent, sums.after(QUESTIONS, Fraction(5))
    (Fraction(4, 1), Fraction(7, 1))
    """

    most: int
    amounts: dict[int, Fraction] = field(default_factory=dict)
    losses_of: dict[str | None, Losses] = field(default_factory=dict)

    def add(self, number: int, charge: Charge) -> None:
        """Take note of a charge; the number of its question says which zone it is of."""
        zone = number // QUESTIONS
        self.amounts[zone] = self.amounts.get(zone, Fraction(0)) + charge.amount
        loss = Losses.of(charge.currency, charge.amount)
        self.losses_of[str(zone)] = self.losses_of.get(str(zone), Losses()) + loss

    @property
    def spent(self) -> Fraction:
        """The most that one unit has lost, in the fit's own currency."""
        return self._largest(self.amounts)

    def after(self, number: int, amount: Fraction) -> Fraction:
        """Return the most that one unit would have lost after a further charge."""
        zone = number // QUESTIONS
        return self._largest({**self.amounts, zone: self.amounts.get(zone, Fraction(0)) + amount})

    @property
    def losses(self) -> Losses:
        """The same, in every way that lanes count."""
        return worst(Losses(), {"zone": self.losses_of}, self.most)

    def _largest(self, amounts: Mapping[int, Fraction]) -> Fraction:
        return sum(sorted(amounts.values(), reverse=True)[: self.most], Fraction(0))


class ZoneAllowance:
    """What the fit of one zone may spend: its own level, noted in the allowance of the whole.

    Parameters
    ----------
    whole : Allowance
        Of all zones together; it was reserved with `zones`.
    number : int
        Which zone.
    name : str
        What it is called, for records and refusals.
    budget : Budget
        Its level.
    """

    def __init__(self, whole: Allowance, number: int, name: str, budget: Budget) -> None:
        self._whole, self._first, self._name = whole, number * QUESTIONS, name
        self.budget = budget
        self.key, self.parts_key, self.durable = whole.key, whole.parts_key, whole.durable
        # Of a fit that is resumed: what this zone was charged, and of that, what was never answered.
        self.spent, self._lost = whole.zone_spent(number), whole.zone_lost(number)

    def check(self) -> None:
        """Refuse where nothing may be charged any more."""
        self._whole.check()

    def charge(self, charge: Charge, number: int = -1, asked: str = "") -> None:
        """Write a charge down, or refuse it. Called before the answer is computed."""
        left = self.budget.amount + self._lost - self.spent
        if charge.amount > left:
            raise BudgetExceeded(
                f"{charge.question} costs {float(charge.amount):.6g} in zone {self._name!r}, of whose "
                f"{self.budget.describe()} {float(left):.6g} {charge.currency} is left"
            )
        named = Charge(
            f"zone {self._name}: {charge.question}", charge.mechanism, charge.amount, charge.currency
        )
        self._whole.charge(named, self._first + max(number, 0), asked)
        self.spent += charge.amount

    def answered(self, number: int, asked: str) -> bytes | None:
        """Return the stored answer to a question, of a fit that is resumed; None if there is none."""
        return self._whole.answered(self._first + number, asked)

    def keep(self, number: int, asked: str, answer: bytes) -> None:
        """Store an answer before anybody sees it, where it is to survive."""
        self._whole.keep(self._first + number, asked, answer)

    @property
    def statement(self) -> dict[str, Any]:
        """What the certificate says of the ledger."""
        return self._whole.statement
