"""Which noise an answer gets, and exactly what it costs.

`design` picks parameters from a share of the budget; `loss` says what *those parameters* cost for the
privacy unit. The ledger is charged the latter, so what it says is what was drawn. This is the door: users
name laws with words, and only here words become laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.accounting.budget import Currency, round_down
from shoal.accounting.events import Charge
from shoal.domain import Unit
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.laws.block import LawBlock
from shoal.queries.laws.cylinder import design_cylinder
from shoal.queries.laws.gaussian import design_gaussian, gaussian_loss
from shoal.queries.laws.laplace import design_laplace
from shoal.queries.laws.linf import design_linf
from shoal.queries.laws.split import design_split
from shoal.queries.statistics.aggregates import RowChange

T = TypeVar("T", bound=np.generic)

Noise: TypeAlias = Literal["linf", "laplace", "split", "gaussian", "cylinder"]
# What any statistic may have; those with values in a ball may also have "cylinder".
NOISES: tuple[Noise, ...] = ("linf", "laplace", "split", "gaussian")
BALL_NOISES: tuple[Noise, ...] = (*NOISES, "cylinder")


def noises_for(change: RowChange) -> tuple[Noise, ...]:
    """Name the laws that a statistic with this change may have."""
    return BALL_NOISES if change.ball else NOISES


Design: TypeAlias = Callable[[RowChange, Fraction, int], tuple[LawBlock, ...]]
"""Makes noise from a body, the epsilon of one row, and the bits that its rates' denominators may have."""
PURE: dict[Noise, Design] = {
    "linf": design_linf,
    "laplace": design_laplace,
    "split": design_split,
    "cylinder": design_cylinder,
}
"""The pure laws by name: a new one is one file and one name here."""

# Steps. At an epsilon of thousands integer noise is nearly always 0, and its variance underflows.
_LEAST_SD = 1e-9
# The denominators of a rate stay below 2^53, as samplers want: 52 bits for those of e and of the width.
_RATE_BITS = 52


@dataclass(frozen=True)
class NoiseLaw:
    """Integer noise for the vector of one cell; cells are independent.

    Parameters
    ----------
    blocks : tuple of LawBlock
        Laws of consecutive coordinates, independent of each other.
    amount : Fraction
        The privacy loss of these parameters.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    blocks: tuple[LawBlock, ...]
    amount: Fraction
    currency: Currency

    def draw(self, entropy: Entropy, cells: int) -> Integers:
        """Draw noise for every cell."""
        return np.concatenate([block.draw(entropy, cells) for block in self.blocks], axis=1)

    def added(self, exact_totals: Integers, entropy: Entropy) -> Array:
        """Add noise to exact totals, one line per cell."""
        return np.asarray(exact_totals + self.draw(entropy, len(exact_totals)), dtype=np.float64)

    @property
    def pure(self) -> bool:
        """Whether its loss is an epsilon, not a rho."""
        return self.blocks[0].pure

    @property
    def sd(self) -> Array:
        """Standard deviation of every coordinate, in integer steps; never 0, so that it can be divided by."""
        variances = np.array([v for block in self.blocks for v in block.variances], dtype=np.float64)
        return np.maximum(np.sqrt(variances), _LEAST_SD)

    def parts(self, vectors: npt.NDArray[T]) -> list[tuple[LawBlock, npt.NDArray[T]]]:
        """Return every law with its own coordinates of some vectors, one line each."""
        ends = np.cumsum([block.n for block in self.blocks])
        return list(zip(self.blocks, np.split(vectors, ends[:-1], axis=1), strict=True))

    def log_pmf(self, points: Integers) -> Array:
        """Return the log probability, up to a constant, of integer noise vectors."""
        return np.asarray(np.sum([block.log_pmf(part) for block, part in self.parts(points)], axis=0))

    def most_lost(self, shifts: Integers) -> Array:
        """Return the largest log ratio over all outputs of a pure law and the same law shifted."""
        return np.asarray(np.sum([block.most_lost(part) for block, part in self.parts(shifts)], axis=0))

    def shift_loss(self, shift: Integers) -> float:
        """Return the exact loss where totals are shifted by this much, one line per cell.

        Cells have independent noise.
        """
        if not self.pure:
            sigmas = np.repeat([float(b.parameter) for b in self.blocks], [b.n for b in self.blocks])
            return float(((shift / sigmas) ** 2).sum() / 2)
        changed = shift[(shift != 0).any(axis=1)]
        if not len(changed):
            return 0.0
        pure = float(self.most_lost(changed).sum())
        return pure if self.currency == "epsilon" else pure**2 / 2

    def describe(self) -> str:
        """Name the law with its parameters."""
        return ", ".join(block.describe() for block in self.blocks)

    def charge(self, question: str) -> Charge:
        """Return what is written down for an answer with this noise."""
        return Charge(question, self.describe(), self.amount, self.currency)


# What one row may be charged, at the least and at the most, for noise to be drawn in 64 bits: a budget at
# either end can still be cut into 4,096 shares, or be spent as a whole.
LEAST_EPSILON = Fraction(1, 2**20)
MOST_EPSILON = Fraction(2**40)


def check_budget(amount: Fraction, currency: Currency, unit: Unit) -> None:
    """Refuse a budget that samplers would refuse shares of, before any of it is charged.

    Examples
    --------
    >>> check_budget(Fraction(1), "epsilon", Unit(max_rows=50))
    """
    pure = amount if currency == "epsilon" else sqrt_down(2 * amount)
    if not LEAST_EPSILON <= pure / unit.rows_apart <= MOST_EPSILON:
        least, most = (float(end * unit.rows_apart) for end in (LEAST_EPSILON, MOST_EPSILON))
        raise InvalidBudget(
            f"a budget of {float(amount):.3g} {currency} is {float(pure):.3g} as a pure epsilon; noise can "
            f"be drawn from {least:.3g} to {most:.3g} where the guarantee is for {unit.describe()}: "
            f"{'raise' if pure < least else 'lower'} epsilon"
        )


def design(
    change: RowChange, share: Fraction, currency: Currency, unit: Unit, noise: Noise | None
) -> NoiseLaw:
    """Choose noise for one answer that costs at most `share`, or refuse: what is designed can be drawn.

    Without a name it is Gaussian under rho. Under epsilon it has the shape of the body: a cylinder for values
    in a ball, and else L-infinity; Laplace where the lattice is too coarse for both.
    """
    if noise is None and currency == "rho":
        noise = "gaussian"
    if noise not in (None, *BALL_NOISES):
        raise InvalidInput(f"noise is {noise!r}; it must be one of {', '.join(map(repr, BALL_NOISES))}")
    if noise == "cylinder" and noise not in noises_for(change):
        raise InvalidInput("noise='cylinder' is for values in a ball, not in a box: use noise='linf'")
    if noise == "gaussian" and currency == "epsilon":
        raise InvalidBudget("noise='gaussian' is never purely private: give delta above 0, or noise='linf'")
    # A pure mechanism inside a zCDP budget: e^2/2 = share.
    pure = share if currency == "epsilon" else sqrt_down(2 * share)
    per_row = round_down(pure / unit.rows_apart)
    if per_row <= 0:
        raise InvalidBudget(
            f"a share of {float(share):.3g} {currency} is too small to draw noise for: raise epsilon"
        )
    try:
        if noise == "gaussian":
            blocks = design_gaussian(change, share, unit)
        else:
            blocks = _pure(change, per_row, noise)
        for block in blocks:
            block.check()
    except InvalidInput as error:
        # Too coarse a lattice, or numbers beyond 64 bits.
        raise type(error)(
            f"noise for a share of {float(share):.3g} {currency} cannot be drawn: {error}"
        ) from None
    return NoiseLaw(blocks, loss(blocks, change, unit, currency), currency)


def _pure(change: RowChange, e: Fraction, noise: Noise | None) -> tuple[LawBlock, ...]:
    bits = _RATE_BITS - (change.width - 1).bit_length()
    e = round_down(e, bits)
    if noise is not None:
        return PURE[noise](change, e, bits)
    # The shape of the body, on a lattice fine enough for it.
    for of_shape in (design_cylinder, design_linf) if change.ball else (design_linf,):
        blocks = of_shape(change, e, bits)
        if all(block.fits() for block in blocks):
            return blocks
    return design_laplace(change, e, bits)


def loss(blocks: tuple[LawBlock, ...], change: RowChange, unit: Unit, currency: Currency) -> Fraction:
    """Return the privacy loss of adding this noise to a statistic with this change.

    Pure laws: the weighted norm of one row's change, times the rows between neighbours. Gaussian: half the
    squared norm of the change over sigma.
    """
    if not blocks[0].pure:
        return gaussian_loss(blocks, change, unit)
    per_row, first = Fraction(0), 0
    for block in blocks:
        per_row += block.row_loss(change, first)
        first += block.n
    pure = per_row * unit.rows_apart
    return pure if currency == "epsilon" else pure**2 / 2


def sqrt_down(value: Fraction) -> Fraction:
    """Return the square root, rounded down."""
    bits = 80
    return Fraction(math.isqrt(math.floor(value * 4**bits)), 2**bits)
