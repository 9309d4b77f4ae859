"""How a tree's boxes are chosen to be halved, and exactly what that costs (Zhang, Xiao, Xie 2016, PrivTree).

Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from shoal._typing import Integers
from shoal.accounting.budget import Currency, round_down
from shoal.accounting.events import Charge
from shoal.domain import Unit
from shoal.errors import InvalidBudget
from shoal.mechanisms import Entropy, check_laplace, discrete_laplace
from shoal.queries.laws.noise import sqrt_down

# The exact counts below boxes (their least keys, their level, how far below): one line a box.
CellCounter: TypeAlias = Callable[[Integers, int, int], Integers]

# One row passes on at most three times the loss of one noisy count: docs/proofs/tree.md.
_PATH = 3
# Cells that are counted in one pass: few beside the rows of a table that is worth a tree.
_MOST_COUNTED = 2**15
# ln 2, rounded up: a penalty of at least ln 2 / rate halves what each ancestor adds to the loss.
_LN_2 = Fraction(693147180559945310, 10**18)


@dataclass(frozen=True)
class GrowthLaw:
    """How boxes are chosen to be halved, and exactly what that costs.

    A box at level t with count c is halved if max(c - t penalty, -penalty) plus discrete Laplace noise is
    above zero. Without the lower limit the loss would grow with the number of levels.

    Parameters
    ----------
    rate : Fraction
        Of the noise.
    penalty : int
        What a count loses a level; at least ln 2 / rate.
    amount : Fraction
        The privacy loss of the whole tree, however deep.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    rate: Fraction
    penalty: int
    amount: Fraction
    currency: Currency

    def grow(self, entropy: Entropy, exact: CellCounter, n_levels: int) -> tuple[Integers, Integers]:
        """Return starts and levels of the boxes, in the order of their keys.

        Parameters
        ----------
        entropy : Entropy
            Where noise comes from.
        exact : callable
            Counts the rows of the cells some levels below boxes; asked as often as the tree is deep, which
            the tree itself tells.
        n_levels : int
            The most levels.
        """
        active = np.zeros(1, dtype=np.int64)
        exact_below: Integers | None = None
        starts, levels = [], []
        for level in range(n_levels):
            if not len(active):
                break
            if exact_below is None:
                deeper = max(1, (_MOST_COUNTED // len(active)).bit_length() - 1)
                exact_below = exact(active, level, min(deeper, n_levels - level))
            biased = np.maximum(exact_below.sum(axis=1) - level * self.penalty, -self.penalty)
            halved = biased + discrete_laplace(entropy, self.rate, len(active)) > 0
            starts.append(active[~halved])
            levels.append(np.full(len(starts[-1]), level))
            lower = active[halved]
            active = np.concatenate([lower, lower + (np.int64(1) << (n_levels - level - 1))])
            half = exact_below.shape[1] // 2
            inner = exact_below[halved]
            exact_below = np.concatenate([inner[:, :half], inner[:, half:]]) if half else None
        starts.append(active)
        levels.append(np.full(len(active), n_levels))
        all_starts = np.concatenate(starts)
        order = np.argsort(all_starts)
        return all_starts[order], np.concatenate(levels).astype(np.int64)[order]

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"PrivTree(rate={self.rate}, penalty={self.penalty})"

    def charge(self, question: str) -> Charge:
        """Return what is written down for a tree."""
        return Charge(question, self.describe(), self.amount, self.currency)


def design_growth(width: int, share: Fraction, currency: Currency, unit: Unit) -> GrowthLaw:
    """Choose the noise for a tree that costs at most `share`.

    Parameters
    ----------
    width : int
        What one row changes a count by: 1, or the steps of the largest weight.
    share : Fraction
        Share of the budget.
    currency : {"epsilon", "rho"}
        What the share is counted in.
    unit : Unit
        Who neighbours are.

    Examples
    --------
    >>> law = design_growth(1, Fraction(3, 8), "epsilon", Unit())
    >>> law.rate, law.penalty, law.amount
    (Fraction(1, 8), 6, Fraction(3, 8))
    """
    pure = share if currency == "epsilon" else sqrt_down(2 * share)
    rate = round_down(pure / unit.rows_apart / _PATH) / width
    if rate <= 0:
        raise InvalidBudget(
            f"a share of {float(share):.3g} {currency} is too small to grow a tree: raise epsilon"
        )
    check_laplace(rate)  # before anything is charged for it
    penalty = -(-_LN_2 // rate)
    loss = rate * width * _PATH * unit.rows_apart
    return GrowthLaw(rate, int(penalty), loss if currency == "epsilon" else loss**2 / 2, currency)
