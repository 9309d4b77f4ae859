"""In which ways losses may add up, and whether another fits: public arithmetic on past charges.

A lane is a limit that was fixed when the accountant was made. Charges fit if they fit one lane as a whole;
whichever it turns out to be, the guarantee is the accountant's (docs/proofs/accounting.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shoal.accounting.budget import ZCDP, Approx, Budget, Currency, round_down
from shoal.accounting.conversion import epsilon_of, rho_of
from shoal.errors import InvalidBudget

# What is said to be left is rounded down by this part, so that it can indeed be had.
_MARGIN = 1e-8


@dataclass(frozen=True)
class Losses:
    """What charges add up to, in every way that lanes count.

    Parameters
    ----------
    epsilon : Fraction
        The sum of the pure ones.
    squares : Fraction
        The same as rho: epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016, proposition 3.3), one by one.
    rho : Fraction
        The sum of those that are not pure.

    Examples
    --------
    >>> Losses.of("epsilon", Fraction(1)) + Losses.of("rho", Fraction(1, 10))
    Losses(epsilon=Fraction(1, 1), squares=Fraction(1, 2), rho=Fraction(1, 10))
    """

    epsilon: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def of(cls, currency: Currency, amount: Fraction) -> Losses:
        """Return the loss of one charge, or the most that a reservation of this amount can lose."""
        return cls(amount, amount**2 / 2) if currency == "epsilon" else cls(rho=amount)

    def __add__(self, other: Losses) -> Losses:
        return Losses(self.epsilon + other.epsilon, self.squares + other.squares, self.rho + other.rho)


@dataclass(frozen=True)
class Lane:
    """One way to add up.

    Parameters
    ----------
    pure : Fraction or None
        The most that pure charges may add up to as epsilons; None where they are counted as rho too.
    rho : Fraction
        The most that everything else may add up to.
    delta : Fraction
        The lane's own share of delta, for which its rho converts.
    """

    pure: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)

    def fits(self, losses: Losses) -> bool:
        """Say whether charges keep within this lane."""
        if self.pure is None:
            return losses.squares + losses.rho <= self.rho
        return losses.epsilon <= self.pure and losses.rho <= self.rho

    def epsilon_of(self, losses: Losses) -> Fraction:
        """Return the epsilon that charges amount to, at the lane's share of delta."""
        rho = losses.rho + (losses.squares if self.pure is None else 0)
        return (losses.epsilon if self.pure is not None else 0) + _epsilon(rho, self.delta)

    def largest(self, losses: Losses, delta: Fraction) -> Fraction:
        """Return the largest epsilon of a further fit, which has this delta (0: a pure one)."""
        if not self.fits(losses):
            return Fraction(0)
        if self.pure is not None and delta == 0:
            return self.pure - losses.epsilon
        room = self.rho - losses.rho - (losses.squares if self.pure is None else 0)
        if room <= 0:
            return Fraction(0)
        most = math.sqrt(2 * room) if delta == 0 else epsilon_of(float(room), float(delta))
        return round_down(Fraction(most * (1 - _MARGIN)))


def lanes_of(budget: Budget, pure: Fraction = Fraction(0)) -> tuple[Lane, ...]:
    """Return the lanes of an accountant: fixed before anything is charged.

    Parameters
    ----------
    budget : Budget
        What all charges together may lose.
    pure : Fraction
        For a budget with delta: the part of epsilon that is kept for pure charges beside others. With it
        there is a mixed lane, which takes half of delta: two lanes that each may fail with probability
        delta would fail with twice that.

    Examples
    --------
    >>> lanes_of(ZCDP(Fraction(1)))
    (Lane(pure=None, rho=Fraction(1, 1), delta=Fraction(0, 1)),)
    >>> len(lanes_of(Approx(Fraction(2), Fraction(1, 10**6)), Fraction(1)))
    3
    """
    if pure and not isinstance(budget, Approx):
        raise InvalidBudget("pure is for a budget with delta: without one all charges are of one kind")
    if isinstance(budget, ZCDP):
        return (Lane(None, budget.rho),)
    if not isinstance(budget, Approx):
        return (Lane(budget.amount, Fraction(0)),)
    if not 0 <= pure < budget.epsilon:
        raise InvalidBudget(f"pure is {float(pure):g}; it must be from 0 to below epsilon")
    delta = budget.delta / 2 if pure else budget.delta
    lanes = (Lane(budget.epsilon, Fraction(0)), Lane(None, _rho(budget.epsilon, delta), delta))
    return (*lanes, Lane(pure, _rho(budget.epsilon - pure, delta), delta)) if pure else lanes


def accepted(lanes: Iterable[Lane], past: Losses, asked: Losses) -> bool:
    """Say whether what is asked for may be added to what was charged or is held.

    Examples
    --------
    >>> lanes = lanes_of(Approx(Fraction(2), Fraction(1, 10**6)))
    >>> half = Losses.of("epsilon", Fraction(1, 2))
    >>> accepted(lanes, half + half + half, half), accepted(lanes, half + half + half + half, half)
    (True, False)
    """
    total = past + asked
    return any(lane.fits(total) for lane in lanes)


def largest(lanes: Iterable[Lane], past: Losses, delta: Fraction) -> Fraction:
    """Return the largest epsilon of a further fit with this delta, 0 for a pure one."""
    return max(lane.largest(past, delta) for lane in lanes)


def amounts_to(lanes: Iterable[Lane], past: Losses) -> Fraction:
    """Return the epsilon that charges amount to, by the best of the lanes that they fit."""
    return min(lane.epsilon_of(past) for lane in lanes if lane.fits(past))


def _epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    return Fraction(epsilon_of(float(rho), float(delta))) if rho else Fraction(0)


def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return round_down(Fraction(rho_of(float(epsilon), float(delta))))
