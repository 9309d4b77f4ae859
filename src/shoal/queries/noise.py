"""Which noise an answer gets, and exactly what it costs.

`design` picks parameters from a share of the budget; `loss` says what *those parameters* cost for the
privacy unit. The ledger is charged the latter, so what it says is what was drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.accounting.budget import Currency, round_down
from shoal.accounting.events import Charge
from shoal.domain import Unit
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import (
    Entropy,
    discrete_gaussian,
    discrete_laplace,
    gaussian_variance,
    laplace_variance,
    linf_noise,
    linf_variance,
)
from shoal.queries.aggregates import Change

Noise: TypeAlias = Literal["linf", "laplace", "split", "gaussian"]
NOISES: tuple[Noise, ...] = ("linf", "laplace", "split", "gaussian")

# Su et al. (journal version): relative distance of a centroid from the middle of its domain.
RHO_CENTROID = Fraction(225, 1000)


@dataclass(frozen=True)
class Block:
    """Coordinates that share one law: `parameter` is a rate (Laplace, L-infinity) or a sigma (Gaussian)."""

    law: Literal["linf", "laplace", "gaussian"]
    parameter: Fraction
    n: int

    def draw(self, entropy: Entropy, cells: int) -> npt.NDArray[np.int64]:
        """Draw exact integer noise for every cell."""
        if self.law == "linf":
            return linf_noise(entropy, self.parameter, cells, self.n)
        sampler = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return sampler(entropy, self.parameter, cells * self.n).reshape(cells, self.n)

    @property
    def variance(self) -> float:
        """Variance of one coordinate."""
        if self.law == "linf":
            return linf_variance(self.parameter, self.n)
        return (
            laplace_variance(self.parameter) if self.law == "laplace" else gaussian_variance(self.parameter)
        )


@dataclass(frozen=True)
class NoiseLaw:
    """Integer noise for the vector of one cell; cells are independent.

    Parameters
    ----------
    blocks : tuple of Block
        Laws of consecutive coordinates, independent of each other.
    amount : Fraction
        The privacy loss of these parameters.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    blocks: tuple[Block, ...]
    amount: Fraction
    currency: Currency

    def draw(self, entropy: Entropy, cells: int) -> npt.NDArray[np.int64]:
        """Draw noise for every cell."""
        return np.concatenate([block.draw(entropy, cells) for block in self.blocks], axis=1)

    @property
    def sd(self) -> npt.NDArray[np.float64]:
        """Standard deviation of every coordinate, in integer steps."""
        return np.repeat(
            [math.sqrt(block.variance) for block in self.blocks], [block.n for block in self.blocks]
        )

    def describe(self) -> str:
        """Name the law with its parameters."""
        names = {
            "linf": "discrete L-infinity",
            "laplace": "discrete Laplace",
            "gaussian": "discrete Gaussian",
        }
        word = {"linf": "rate", "laplace": "rate", "gaussian": "sigma"}
        return ", ".join(f"{names[b.law]}({word[b.law]}={b.parameter}, n={b.n})" for b in self.blocks)

    def charge(self, question: str) -> Charge:
        """Return what is written down for an answer with this noise."""
        return Charge(question, self.describe(), self.amount, self.currency)


def design(change: Change, share: Fraction, currency: Currency, unit: Unit, noise: Noise | None) -> NoiseLaw:
    """Choose noise for one answer that costs at most `share`."""
    if noise is None:
        noise = "gaussian" if currency == "rho" else "linf"
    if noise not in NOISES:
        raise InvalidInput(f"noise is {noise!r}; it must be one of {', '.join(map(repr, NOISES))}")
    if noise == "gaussian" and currency == "epsilon":
        raise InvalidBudget("noise='gaussian' is never purely private: give delta above 0, or noise='linf'")
    if noise == "gaussian":
        blocks = _gaussian(change, share, unit)
    else:
        # A pure mechanism inside a zCDP budget: e^2/2 = share.
        pure = share if currency == "epsilon" else sqrt_down(2 * share)
        per_row = round_down(pure / unit.stretch)
        if per_row <= 0:
            raise InvalidBudget(
                f"a share of {float(share):.3g} {currency} is too small to draw noise for: raise epsilon"
            )
        blocks = _pure(change, per_row, noise)
    return NoiseLaw(blocks, loss(blocks, change, unit, currency), currency)


def loss(blocks: tuple[Block, ...], change: Change, unit: Unit, currency: Currency) -> Fraction:
    """Return the privacy loss of adding this noise to a statistic with this change.

    Pure laws: the weighted norm of one row's change, times the rows between neighbours. Gaussian: half
    the squared norm of the change over sigma; a replaced row changes one cell by a difference of two
    values, or two cells by one each, whichever is worse.
    """
    w = change.width
    if blocks[0].law == "gaussian":
        one_row = _gaussian_loss(blocks, change, difference=False)
        if unit.replace:
            one_row = max(2 * one_row, _gaussian_loss(blocks, change, difference=True))
        return one_row * unit.max_rows**2
    if blocks[0].law == "linf":
        per_row = blocks[0].parameter * w
    else:
        rates = [b.parameter for b in blocks for _ in range(b.n)]
        values = rates[: change.n_values]
        # The rates of the values are all the same.
        per_row = (values[0] * change.l1 if values else Fraction(0)) + sum(rates[change.n_values :]) * w
    pure = per_row * unit.stretch
    return pure if currency == "epsilon" else pure**2 / 2


def _pure(change: Change, e: Fraction, noise: Noise) -> tuple[Block, ...]:
    d, w, m = change.n_values, change.width, change.dimension
    reach = Fraction(change.l1, w)
    if noise == "linf" and d > 0:
        return (Block("linf", e / w, m),)
    if noise == "split" and d > 0:
        # Su et al., journal version: e = d e_s + e_c with e_c = (4 d rho^2)^(1/3) e_s.
        c = Fraction(round(float(4 * d * RHO_CENTROID**2) ** (1 / 3) * 1024), 1024)
        extras = len(change.extras)
        e_sum = round_down(e / (reach + c * extras))
        e_extra = round_down((e - reach * e_sum) / extras)
        return (Block("laplace", e_sum / w, d), Block("laplace", e_extra / w, extras))
    # Su et al. (7): every coordinate gets Laplace noise of scale (d r + 1) / e.
    return (Block("laplace", round_down(e / (reach + len(change.extras))) / w, m),)


def _gaussian(change: Change, rho: Fraction, unit: Unit) -> tuple[Block, ...]:
    # sigma enters the loss as 1/sigma^2: scale up from the loss at sigma = W.
    def with_sigma(sigma: Fraction) -> tuple[Block, ...]:
        return tuple(Block("gaussian", sigma * s, n) for s, n in _gaussian_shape(change))

    at_width = loss(with_sigma(Fraction(change.width)), change, unit, "rho")
    square = at_width * change.width**2 / rho
    bits = max(0, 22 - math.isqrt(math.ceil(square)).bit_length())
    sigma = Fraction(_ceil_sqrt(math.ceil(square * 4**bits)), 2**bits)
    return with_sigma(sigma)


def _gaussian_shape(change: Change) -> list[tuple[int, int]]:
    # A cost has half the reach of a count in its own units, so it may have twice the noise.
    extras = [(2 if name == "cost" else 1, 1) for name in change.extras]
    return ([(1, change.n_values)] if change.n_values else []) + extras


def _gaussian_loss(blocks: tuple[Block, ...], change: Change, *, difference: bool) -> Fraction:
    # Two values of one body differ by at most twice its radius; two counts of one row only by their weights.
    total, seen = Fraction(0), 0
    for block in blocks:
        if seen < change.n_values:
            square = Fraction(change.width**2 * (1 if change.ball else block.n)) * (4 if difference else 1)
        else:
            is_count = change.extras[seen - change.n_values] == "count"
            apart = (int(change.weighted) if is_count else 4) if difference else 1
            square = Fraction(change.width**2 * apart)
        total += square / (2 * block.parameter**2)
        seen += block.n
    return total


def _ceil_sqrt(value: int) -> int:
    root = math.isqrt(value)
    return root if root * root == value else root + 1


def sqrt_down(value: Fraction) -> Fraction:
    """Return the square root, rounded down."""
    bits = 80
    return Fraction(math.isqrt(math.floor(value * 4**bits)), 2**bits)
