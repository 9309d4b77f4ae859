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
    check_gaussian,
    check_laplace,
    check_linf,
    cylinder_core,
    cylinder_noise,
    cylinder_variance,
    discrete_gaussian,
    discrete_laplace,
    gaussian_log_pmf,
    gaussian_variance,
    laplace_log_pmf,
    laplace_variance,
    linf_noise,
    linf_variance,
)
from shoal.queries.statistics.aggregates import Change

Noise: TypeAlias = Literal["linf", "laplace", "split", "gaussian", "cylinder"]
# What any statistic may have; those with values in a ball may also have "cylinder".
NOISES: tuple[Noise, ...] = ("linf", "laplace", "split", "gaussian")
BALL_NOISES: tuple[Noise, ...] = (*NOISES, "cylinder")

# Steps. At an epsilon of thousands integer noise is nearly always 0, and its variance underflows.
_LEAST_SD = 1e-9
# The denominators of a rate stay below 2^53, as samplers want: 52 bits for those of e and of the width.
_RATE_BITS = 52
# Su et al. (journal version): relative distance of a centroid from the middle of its domain.
RHO_CENTROID = Fraction(225, 1000)


@dataclass(frozen=True)
class Block:
    """Coordinates that share one law: `parameter` is a rate, or a sigma (Gaussian).

    Of a cylinder the last `extras` coordinates stand beside the ball.
    """

    law: Literal["linf", "laplace", "gaussian", "cylinder"]
    parameter: Fraction
    n: int
    extras: int = 0

    def check(self) -> None:
        """Refuse what the sampler would refuse, before anything is charged for it."""
        match self.law:
            case "linf":
                check_linf(self.parameter, self.n)
            case "cylinder":
                cylinder_core(self.parameter, self.n - self.extras, self.extras)
            case "laplace":
                check_laplace(self.parameter)
            case "gaussian":
                check_gaussian(self.parameter)

    def fits(self) -> bool:
        """Say whether the sampler can draw it."""
        try:
            self.check()
        except InvalidInput:
            return False
        return True

    def draw(self, entropy: Entropy, cells: int) -> npt.NDArray[np.int64]:
        """Draw exact integer noise for every cell."""
        if self.law == "linf":
            return linf_noise(entropy, self.parameter, cells, self.n)
        if self.law == "cylinder":
            return cylinder_noise(entropy, self.parameter, cells, self.n - self.extras, self.extras)
        sampler = discrete_laplace if self.law == "laplace" else discrete_gaussian
        return sampler(entropy, self.parameter, cells * self.n).reshape(cells, self.n)

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of every coordinate."""
        if self.law == "cylinder":
            of_value, of_extra = cylinder_variance(self.parameter, self.n - self.extras, self.extras)
            return (of_value,) * (self.n - self.extras) + (of_extra,) * self.extras
        if self.law == "linf":
            return (linf_variance(self.parameter, self.n),) * self.n
        of_one = laplace_variance if self.law == "laplace" else gaussian_variance
        return (of_one(self.parameter),) * self.n


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

    def added(self, exact_totals: npt.NDArray[np.int64], entropy: Entropy) -> npt.NDArray[np.float64]:
        """Add noise to exact totals, one line a cell."""
        return np.asarray(exact_totals + self.draw(entropy, len(exact_totals)), dtype=np.float64)

    @property
    def sd(self) -> npt.NDArray[np.float64]:
        """Standard deviation of every coordinate, in integer steps; never 0, so that it can be divided by."""
        variances = np.array([v for block in self.blocks for v in block.variances], dtype=np.float64)
        return np.maximum(np.sqrt(variances), _LEAST_SD)

    def shift_loss(self, shift: npt.NDArray[np.int64]) -> float:
        """Return the exact loss where totals are shifted by this much, one line a cell.

        Cells have independent noise.
        """
        if self.blocks[0].law == "gaussian":
            sigmas = np.repeat([float(b.parameter) for b in self.blocks], [b.n for b in self.blocks])
            return float(((shift / sigmas) ** 2).sum() / 2)
        changed = shift[(shift != 0).any(axis=1)]
        if not len(changed):
            return 0.0
        pure = float(most_lost(self.blocks, changed).sum())
        return pure if self.currency == "epsilon" else pure**2 / 2

    def describe(self) -> str:
        """Name the law with its parameters."""
        names = {
            "linf": "discrete L-infinity",
            "laplace": "discrete Laplace",
            "gaussian": "discrete Gaussian",
            "cylinder": "discrete cylinder",
        }

        def one(b: Block) -> str:
            word = "sigma" if b.law == "gaussian" else "rate"
            beside = f", {b.extras} beside the ball" if b.law == "cylinder" else ""
            return f"{names[b.law]}({word}={b.parameter}, n={b.n}{beside})"

        return ", ".join(map(one, self.blocks))

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


def design(change: Change, share: Fraction, currency: Currency, unit: Unit, noise: Noise | None) -> NoiseLaw:
    """Choose noise for one answer that costs at most `share`, or refuse: what is designed can be drawn.

    Without a name it is Gaussian under rho. Under epsilon it has the shape of the body: a cylinder for values
    in a ball, and else L-infinity; Laplace where the lattice is too coarse for both.
    """
    if noise is None and currency == "rho":
        noise = "gaussian"
    if noise not in (None, *BALL_NOISES):
        raise InvalidInput(f"noise is {noise!r}; it must be one of {', '.join(map(repr, BALL_NOISES))}")
    if noise == "cylinder" and not change.ball:
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
        blocks = _gaussian(change, share, unit) if noise == "gaussian" else _pure(change, per_row, noise)
        for block in blocks:
            block.check()
    except InvalidInput as error:
        # Too coarse a lattice, or numbers beyond 64 bits.
        raise type(error)(
            f"noise for a share of {float(share):.3g} {currency} cannot be drawn: {error}"
        ) from None
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
    if blocks[0].law in ("linf", "cylinder"):
        per_row = blocks[0].parameter * w
    else:
        rates = [b.parameter for b in blocks for _ in range(b.n)]
        values = rates[: change.n_values]
        # The rates of the values are all the same.
        per_row = (values[0] * change.l1 if values else Fraction(0)) + sum(rates[change.n_values :]) * w
    pure = per_row * unit.rows_apart
    return pure if currency == "epsilon" else pure**2 / 2


def _pure(change: Change, e: Fraction, noise: Noise | None) -> tuple[Block, ...]:
    d, w, m = change.n_values, change.width, change.dimension
    reach = Fraction(change.l1, w)
    bits = _RATE_BITS - (w - 1).bit_length()
    e = round_down(e, bits)
    beside = len(change.extras)
    if d > 0 and noise in (None, "linf", "cylinder"):
        box = Block("linf", e / w, m)
        # With one value, the ball is a box.
        ball = [Block("cylinder", e / w, m, beside)] if change.ball and d > 1 else []
        if noise is not None:
            return (box,) if noise == "linf" or not ball else (ball[0],)
        for block in (*ball, box):
            if block.fits():
                return (block,)
    if noise == "split" and d > 0 and beside:  # where there is no count, there is nothing to split
        # Su et al., journal version: e = d e_s + e_c with e_c = (4 d rho^2)^(1/3) e_s.
        c = Fraction(round(float(4 * d * RHO_CENTROID**2) ** (1 / 3) * 1024), 1024)
        e_sum = round_down(e / (reach + c * beside), bits)
        e_extra = round_down((e - reach * e_sum) / beside, bits)
        return (Block("laplace", e_sum / w, d), Block("laplace", e_extra / w, beside))
    # Su et al. (7): every coordinate gets Laplace noise of scale (d r + 1) / e.
    return (Block("laplace", round_down(e / (reach + beside), bits) / w, m),)


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


def log_law(blocks: tuple[Block, ...], points: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the log probability, up to a constant, of integer noise vectors.

    Examples
    --------
    >>> block = Block("linf", Fraction(1, 2), 2)
    >>> log_law((block,), np.array([[0, 0], [1, -4]]))
    array([ 0., -2.])
    """
    total, seen = np.zeros(len(points)), 0
    for block in blocks:
        part = points[:, seen : seen + block.n]
        if block.law == "linf":
            total += -float(block.parameter) * np.abs(part).max(axis=1)
        elif block.law == "cylinder":
            core = cylinder_core(block.parameter, block.n - block.extras, block.extras)
            total += -float(block.parameter) * np.maximum(_radius(block, part), core)
        elif block.law == "laplace":
            total += laplace_log_pmf(part, block.parameter).sum(axis=1)
        else:
            total += gaussian_log_pmf(part, block.parameter).sum(axis=1)
        seen += block.n
    return total


def most_lost(blocks: tuple[Block, ...], shifts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the largest log ratio over all outputs of a pure law and the same law shifted.

    These laws fall off fastest from their peak; but a cylinder's falls only outside its core, and then by its
    rate for each step of the radius.

    Examples
    --------
    >>> block = Block("cylinder", Fraction(1, 2), 3, 1)
    >>> most_lost((block,), np.array([[3, 4, 5], [1, 1, 0]]))
    array([2.5, 1. ])
    """
    if blocks[0].law == "cylinder":
        return np.asarray(float(blocks[0].parameter) * _radius(blocks[0], shifts))
    return log_law(blocks, np.zeros_like(shifts)) - log_law(blocks, shifts)


def _radius(block: Block, points: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the integer radius of the smallest cylinder that holds each point."""
    values, beside = np.split(points.astype(np.float64), [block.n - block.extras], axis=1)
    length = np.ceil(np.sqrt((values**2).sum(axis=1)))
    return np.asarray(np.maximum(length, np.abs(beside).max(axis=1, initial=0.0)))
