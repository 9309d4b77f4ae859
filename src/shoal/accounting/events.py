"""What is written down for every answer the gate gives."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shoal.accounting.budget import Currency


@dataclass(frozen=True)
class Charge:
    """One priced answer.

    Parameters
    ----------
    question : str
        What was asked, in words.
    mechanism : str
        The noise that was drawn, with its parameters.
    amount : Fraction
        The privacy loss of exactly that noise for the privacy unit.
    currency : {"epsilon", "rho"}
        What the amount is counted in.

    Examples
    --------
    >>> Charge("count of rows", "discrete Laplace", Fraction(1, 4), "epsilon").describe()
    'epsilon 0.25: count of rows, discrete Laplace'
    """

    question: str
    mechanism: str
    amount: Fraction
    currency: Currency

    def describe(self) -> str:
        """Say the charge in one line."""
        return f"{self.currency} {float(self.amount):.6g}: {self.question}, {self.mechanism}"
