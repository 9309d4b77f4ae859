"""How candidates are chosen, and exactly what that costs: for choices what `noise.py` is for sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.accounting.budget import Currency, round_down
from shoal.accounting.events import Charge
from shoal.domain import Unit
from shoal.errors import InvalidBudget
from shoal.mechanisms import (
    Entropy,
    check_choice,
    choose_without_replacement,
    exponential_choice,
    permute_and_flip,
)
from shoal.queries.laws.noise import sqrt_down
from shoal.queries.losses.cluster_cost import WIDTH


@dataclass(frozen=True)
class ChoiceLaw:
    """Choices one after another, each of those that are left.

    Parameters
    ----------
    law : {"permute and flip", "exponential mechanism"}
        The first is the better of the two, the second the cheaper under zCDP.
    rate : Fraction
        A candidate's loss counts as rate * loss in the exponent.
    n : int
        How many are chosen.
    amount : Fraction
        The privacy loss of all of them.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    law: Literal["permute and flip", "exponential mechanism"]
    rate: Fraction
    n: int
    amount: Fraction
    currency: Currency

    def draw(self, entropy: Entropy, losses: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the indices of the chosen, in order."""
        choose = permute_and_flip if self.law == "permute and flip" else exponential_choice
        return choose_without_replacement(entropy, losses, self.rate, self.n, choose)

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"{self.law}(rate={self.rate}, n={self.n})"

    def charge(self, question: str) -> Charge:
        """Return what is written down for these choices."""
        return Charge(question, self.describe(), self.amount, self.currency)


def design_choice(n: int, share: Fraction, currency: Currency, unit: Unit) -> ChoiceLaw:
    """Choose the rate for n choices that cost at most `share` together.

    Examples
    --------
    >>> design_choice(4, Fraction(1), "epsilon", Unit("replace")).rate * WIDTH
    Fraction(1, 8)
    """
    each = share / n
    # The exponential mechanism has bounded range, so e costs e^2/8; permute and flip would cost e^2/2.
    pure = each if currency == "epsilon" else sqrt_down(8 * each)
    per_row = round_down(pure / unit.rows_apart)
    if per_row <= 0:
        raise InvalidBudget(
            f"a share of {float(share):.3g} {currency} is too small for {n} choices: raise epsilon"
        )
    law: Literal["permute and flip", "exponential mechanism"] = (
        "permute and flip" if currency == "epsilon" else "exponential mechanism"
    )
    rate = per_row / WIDTH
    check_choice(rate)  # before anything is charged for it
    return ChoiceLaw(law, rate, n, choice_loss(law, rate, n, unit, currency), currency)


def choice_loss(law: str, rate: Fraction, n: int, unit: Unit, currency: Currency) -> Fraction:
    """Return the privacy loss of n choices at this rate.

    One row raises every loss by 0 to WIDTH, so the changes of any two are at most WIDTH apart; a row replaced
    does that twice, and so does each row of a person.
    """
    pure = rate * WIDTH * unit.rows_apart
    if currency == "epsilon":
        return n * pure
    return n * pure**2 / (8 if law == "exponential mechanism" else 2)
