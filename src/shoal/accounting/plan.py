"""How a budget is cut: fractions that add up to one, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from shoal.errors import InvalidBudget

Plan: TypeAlias = tuple[Fraction, ...]


def weighted(weights: Sequence[int | Fraction]) -> Plan:
    """Cut in proportion to positive weights.

    Examples
    --------
    >>> weighted([1, 3])
    (Fraction(1, 4), Fraction(3, 4))
    """
    exact = [Fraction(w) for w in weights]
    if not exact or min(exact) <= 0:
        raise InvalidBudget(f"a plan needs weights above 0, got {list(weights)!r}")
    total = sum(exact, Fraction(0))
    return tuple(w / total for w in exact)


def equal(n: int) -> Plan:
    """Cut into n equal shares.

    Examples
    --------
    >>> equal(4)
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))
    """
    return weighted([1] * n)


def growing(n: int, ratio: Fraction = Fraction(5, 4)) -> Plan:
    """Cut into n shares, each `ratio` times the one before: late steps matter more.

    Examples
    --------
    >>> growing(2, Fraction(3))
    (Fraction(1, 4), Fraction(3, 4))
    """
    return weighted([ratio**i for i in range(n)])


def portion(plan: Plan, share: Fraction) -> Plan:
    """Scale a plan to a share of the budget.

    Examples
    --------
    >>> portion(equal(2), Fraction(1, 2))
    (Fraction(1, 4), Fraction(1, 4))
    """
    return tuple(share * part for part in plan)
