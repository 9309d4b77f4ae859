"""Budgets as frozen exact values. Floats never gate: 0.1 + 0.1 + 0.1 <= 0.3 is False in floating point."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

from shoal.accounting.conversion import rho_of
from shoal.errors import InvalidBudget

Plan: TypeAlias = tuple[Fraction, ...]
"""How a budget is cut: fractions that add up to one, exactly."""
Currency: TypeAlias = Literal["epsilon", "rho"]

# Shares keep 20 significant bits and denominators of at most 2^32, so that samplers' integers fit in 64 bits:
# the rate e / 2^20 then has a denominator of at most 2^52.
_SIGNIFICANT_BITS = 20
_DENOMINATOR_BITS = 32


def exact(value: Any, name: str = "epsilon") -> Fraction:
    """Read a number as its shortest decimal says, not as its binary does.

    Examples
    --------
    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise InvalidBudget(f"{name} is {value!r}; it must be a number such as 1.0")
    if not math.isfinite(value):
        raise InvalidBudget(f"{name} is {value!r}; it must be finite: infinity would mean no privacy at all")
    return Fraction(value) if isinstance(value, int | Decimal) else Fraction(str(float(value)))


def round_down(value: Fraction, denominator_bits: int = _DENOMINATOR_BITS) -> Fraction:
    """Round a share down to a short binary fraction; the residue is left unspent.

    Parameters
    ----------
    value : Fraction
        A share.
    denominator_bits : int
        Denominators have no more bits than these, nor than 32.

    Examples
    --------
    >>> round_down(Fraction(1, 3)) <= Fraction(1, 3)
    True
    >>> round_down(Fraction(3, 8))
    Fraction(3, 8)
    """
    if value <= 0:
        return Fraction(0)
    exponent = _SIGNIFICANT_BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    exponent = min(exponent, denominator_bits, _DENOMINATOR_BITS)
    scale = Fraction(2) ** exponent
    return Fraction(math.floor(value * scale)) / scale


@dataclass(frozen=True)
class Pure:
    """Pure epsilon-differential privacy.

    Examples
    --------
    >>> Pure(Fraction(1, 2)).describe()
    'epsilon = 0.5'
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")

    @property
    def currency(self) -> Currency:
        """What is added up: epsilon."""
        return "epsilon"

    @property
    def amount(self) -> Fraction:
        """The total to spend, in the currency."""
        return self.epsilon

    def describe(self) -> str:
        """Say the guarantee in one phrase."""
        return f"epsilon = {float(self.epsilon):g}"


@dataclass(frozen=True)
class ZCDP:
    """Zero-concentrated differential privacy.

    Examples
    --------
    >>> ZCDP(Fraction(1, 10)).describe()
    'rho = 0.1 (zCDP)'
    """

    rho: Fraction

    def __post_init__(self) -> None:
        _positive(self.rho, "rho")

    @property
    def currency(self) -> Currency:
        """What is added up: rho."""
        return "rho"

    @property
    def amount(self) -> Fraction:
        """The total to spend, in the currency."""
        return self.rho

    def describe(self) -> str:
        """Say the guarantee in one phrase."""
        return f"rho = {float(self.rho):g} (zCDP)"


@dataclass(frozen=True)
class Approx:
    """(epsilon, delta)-differential privacy, spent as rho.

    Examples
    --------
    >>> Approx(Fraction(1), Fraction(1, 10**6)).describe()
    'epsilon = 1, delta = 1e-06'
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        if not 0 < self.delta < 1:
            raise InvalidBudget(f"delta is {float(self.delta):g}; it must be above 0 and below 1")

    @property
    def currency(self) -> Currency:
        """What is added up: rho."""
        return "rho"

    @cached_property
    def amount(self) -> Fraction:
        """The largest rho that converts to no more than this epsilon and delta."""
        return round_down(Fraction(rho_of(float(self.epsilon), float(self.delta))))

    def describe(self) -> str:
        """Say the guarantee in one phrase."""
        return f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}"


@dataclass(frozen=True)
class NoGuarantee:
    """The budget of what is not private: there is nothing in it, and nothing is promised.

    Examples
    --------
    >>> NoGuarantee().describe()
    'no guarantee'
    """

    @property
    def currency(self) -> Currency:
        """None would do as well: nothing can be spent."""
        return "epsilon"

    @property
    def amount(self) -> Fraction:
        """Nothing."""
        return Fraction(0)

    def describe(self) -> str:
        """Say that there is none."""
        return "no guarantee"


Budget: TypeAlias = Pure | ZCDP | Approx | NoGuarantee


def budget_of(epsilon: Any, delta: Any = 0.0) -> Pure | Approx:
    """Make the budget a user asks for.

    Examples
    --------
    >>> budget_of(0.1)
    Pure(epsilon=Fraction(1, 10))
    """
    if epsilon is None:
        raise InvalidBudget("epsilon is missing; say how much privacy loss to allow, for example epsilon=1.0")
    eps, slack = exact(epsilon, "epsilon"), exact(delta, "delta")
    if not 0 <= slack < 1:
        raise InvalidBudget(f"delta is {delta!r}; it must be at least 0 and below 1")
    return Pure(eps) if slack == 0 else Approx(eps, slack)


def _positive(value: Fraction, name: str) -> None:
    if value <= 0:
        raise InvalidBudget(f"{name} is {float(value):g}; it must be above 0")


def weighted(weights: Sequence[int | Fraction]) -> Plan:
    """Cut in proportion to positive weights.

    Examples
    --------
    >>> weighted([1, 3])
    (Fraction(1, 4), Fraction(3, 4))
    """
    parts = [Fraction(w) for w in weights]
    if not parts or min(parts) <= 0:
        raise InvalidBudget(f"a plan needs weights above 0, got {list(weights)!r}")
    total = sum(parts, Fraction(0))
    return tuple(w / total for w in parts)


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
