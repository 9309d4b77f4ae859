"""How candidates are chosen, and exactly what that costs: for choices what `noise.py` is for sums."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal._typing import Array, Integers
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

# Of more candidates the integral is not done exactly but to rounding.
_FEW = 64


@dataclass(frozen=True)
class ChoiceLaw(ABC):
    """Choices one after another, each of those that are left.

    Parameters
    ----------
    rate : Fraction
        A candidate's loss counts as rate * loss in the exponent.
    n : int
        How many are chosen.
    amount : Fraction
        The privacy loss of all of them.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    rate: Fraction
    n: int
    amount: Fraction
    currency: Currency

    name: ClassVar[str]
    squares: ClassVar[int]
    """What the square of a pure loss is divided by to have it as rho."""

    @abstractmethod
    def choose(self, entropy: Entropy, losses: Integers, rate: Fraction) -> int:
        """Choose one."""

    @abstractmethod
    def probabilities(self, losses: Integers) -> Array:
        """Return the probability of every candidate in one choice."""

    def draw(self, entropy: Entropy, losses: Integers) -> Integers:
        """Return the indices of the chosen, in order."""
        return choose_without_replacement(entropy, losses, self.rate, self.n, self.choose)

    def told_apart(self, before: Integers, after: Integers, chosen: Integers) -> float:
        """Return the exact loss of choices one after another: the worst of every step, along the chosen."""
        left, total = np.arange(len(before)), 0.0
        for pick in chosen:
            p, q = (self.probabilities(side[left]) for side in (before, after))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.abs(np.log(p) - np.log(q))
            # What neither table ever chooses tells nothing.
            step = float(np.nanmax(np.where((p > 1e-300) | (q > 1e-300), ratios, 0.0)))
            total += step if self.currency == "epsilon" else _range_loss(p, q)
            left = left[left != pick]
        return total

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"{self.name}(rate={self.rate}, n={self.n})"

    def charge(self, question: str) -> Charge:
        """Return what is written down for these choices."""
        return Charge(question, self.describe(), self.amount, self.currency)


@dataclass(frozen=True)
class PermuteAndFlip(ChoiceLaw):
    """The better of the two; it has no bounded range to claim."""

    name: ClassVar[str] = "permute and flip"
    squares: ClassVar[int] = 2

    def choose(self, entropy: Entropy, losses: Integers, rate: Fraction) -> int:
        """Choose one."""
        return permute_and_flip(entropy, losses, rate)

    def probabilities(self, losses: Integers) -> Array:
        """Return the probability of every candidate in one choice.

        i is chosen with probability q_i times the integral over u in [0, 1] of the product of 1 - u q_j over
        all other j, where q = exp(-rate (loss - least)): a polynomial, so Gauss's rule is exact.

        Examples
        --------
        >>> law = PermuteAndFlip(Fraction(1), 1, Fraction(1), "epsilon")
        >>> law.probabilities(np.array([0, 0, 50])).round(3)
        array([0.5, 0.5, 0. ])
        """
        q = np.exp(-float(self.rate) * (losses - losses.min()))
        if len(q) > _FEW:
            return _permute_and_flip_of_many(q)
        nodes, weights = np.polynomial.legendre.leggauss(len(q) // 2 + 1)
        u = (nodes + 1) / 2
        factors = 1 - u[:, np.newaxis] * q
        others = np.stack([np.delete(factors, i, axis=1).prod(axis=1) for i in range(len(q))], axis=1)
        return np.asarray(q * (weights / 2 @ others))


@dataclass(frozen=True)
class ExponentialMechanism(ChoiceLaw):
    """The cheaper of the two under zCDP: it has bounded range, so e costs e^2/8."""

    name: ClassVar[str] = "exponential mechanism"
    squares: ClassVar[int] = 8

    def choose(self, entropy: Entropy, losses: Integers, rate: Fraction) -> int:
        """Choose one."""
        return exponential_choice(entropy, losses, rate)

    def probabilities(self, losses: Integers) -> Array:
        """Return the probability of every candidate in one choice.

        Examples
        --------
        >>> law = ExponentialMechanism(Fraction(1), 1, Fraction(1, 8), "rho")
        >>> law.probabilities(np.array([0, 1])).round(3)
        array([0.731, 0.269])
        """
        q = np.exp(-float(self.rate) * (losses - losses.min()))
        return np.asarray(q / q.sum())


def design_choice(n: int, share: Fraction, currency: Currency, unit: Unit) -> ChoiceLaw:
    """Choose the rate for n choices that cost at most `share` together.

    Examples
    --------
    >>> design_choice(4, Fraction(1), "epsilon", Unit("replace")).rate * WIDTH
    Fraction(1, 8)
    """
    each = share / n
    law: type[ChoiceLaw] = PermuteAndFlip if currency == "epsilon" else ExponentialMechanism
    pure = each if currency == "epsilon" else sqrt_down(law.squares * each)
    per_row = round_down(pure / unit.rows_apart)
    if per_row <= 0:
        raise InvalidBudget(
            f"a share of {float(share):.3g} {currency} is too small for {n} choices: raise epsilon"
        )
    rate = per_row / WIDTH
    check_choice(rate)  # before anything is charged for it
    return law(rate, n, choice_loss(law, rate, n, unit, currency), currency)


def choice_loss(law: type[ChoiceLaw], rate: Fraction, n: int, unit: Unit, currency: Currency) -> Fraction:
    """Return the privacy loss of n choices at this rate.

    One row raises every loss by 0 to WIDTH, so the changes of any two are at most WIDTH apart; a row replaced
    does that twice, and so does each row of a person.
    """
    pure = rate * WIDTH * unit.rows_apart
    return n * pure if currency == "epsilon" else n * pure**2 / law.squares


def _permute_and_flip_of_many(q: Array) -> Array:
    """Return the same integral by Gauss's rule on panels that widen from 0, where the product falls first.

    Candidates of the same loss are taken together. The product falls no faster than exp(-u sum(q)), so that
    panels of half the width that remains, down to far below 1 / sum(q), leave an error below rounding.

    Examples
    --------
    >>> few = PermuteAndFlip(Fraction(1, 8), 1, Fraction(1), "epsilon").probabilities(np.arange(40))
    >>> np.allclose(_permute_and_flip_of_many(np.exp(-np.arange(40) / 8)), few, rtol=1e-11)
    True
    """
    values, place, often = np.unique(q, return_inverse=True, return_counts=True)
    edges = np.append(0.0, 2.0 ** np.arange(-math.ceil(math.log2(64 * q.sum())), 1))
    nodes, weights = np.polynomial.legendre.leggauss(32)
    width = np.diff(edges)
    u = (edges[:-1, np.newaxis] + width[:, np.newaxis] * (nodes + 1) / 2).ravel()
    share = (width[:, np.newaxis] * weights / 2).ravel()
    logs = np.log1p(-u[:, np.newaxis] * values)
    others = np.exp((logs @ often)[:, np.newaxis] - logs)
    return np.asarray((values * (share @ others))[place])


def _range_loss(p: Array, q: Array) -> float:
    # Bounded range e costs e^2/8 (Cesar and Rogers 2021).
    kept = (p > 1e-300) & (q > 1e-300)
    ratios = np.log(p[kept]) - np.log(q[kept])
    return math.pow(float(ratios.max() - ratios.min()), 2) / 8 if kept.any() else 0.0
