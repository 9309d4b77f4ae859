"""The exact audit: no statistics, the true privacy loss by enumeration.

On a tiny lattice every output and every change that a row can cause is tried against the noise that the gate
designs. What an algorithm's own questions lose on a pair of tables is computed in `pairs.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Integers
from shoal.accounting import budget_of
from shoal.accounting.budget import Currency
from shoal.domain import Unit
from shoal.errors import LatticeTooCoarse
from shoal.queries.laws.noise import BALL_NOISES, PURE, Noise, NoiseLaw, design, noises_for
from shoal.queries.statistics.aggregates import RowChange

# Small bodies of every kind that a row statistic declares.
CHANGES = (
    RowChange(1, 0),
    RowChange(3, 1),
    RowChange(2, 1, extras=("count", "cost")),
    RowChange(3, 2, ball=True),
    RowChange(4, 2, ball=True, reach=5),
)
# Outputs further out than this add nothing: the loss of pure laws is constant there.
REACH = 60
# Orders of the divergence that are tried; rho bounds all above 1.
ALPHAS = (1.5, 2.0, 4.0)
# Sums of doubles are rounded.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ExactLoss:
    """A privacy loss that was computed, beside what was charged for it.

    Parameters
    ----------
    what : str
        Which noise, or which questions.
    true, charged : float
        In the currency.
    currency : {"epsilon", "rho"}
        What both are counted in.
    """

    what: str
    true: float
    charged: float
    currency: Currency

    @property
    def passed(self) -> bool:
        """Whether no more was lost than charged."""
        return self.true <= self.charged * (1 + ROUNDING)

    def __str__(self) -> str:
        word = "holds" if self.passed else "leaks"
        return f"{word}: {self.what} loses {self.true:.6g} {self.currency}, charged {self.charged:.6g}"


def changes_of_one_row(change: RowChange) -> Iterator[tuple[int, ...]]:
    """Give every integer vector that adding one row can cause.

    Examples
    --------
    >>> list(changes_of_one_row(RowChange(1, 1)))
    [(-1, 1), (0, 1), (1, 1)]
    """
    side = range(-change.width, change.width + 1)
    for values in itertools.product(side, repeat=change.n_values):
        outside = change.ball and sum(v * v for v in values) > change.width**2
        if outside or sum(map(abs, values)) > change.l1:
            continue
        for cost in side if "cost" in change.extras else [None]:
            yield (*values, change.width, *([] if cost is None else [cost]))


def pure_loss(law: NoiseLaw, change: RowChange, unit: Unit | None = None) -> float:
    """Return the largest log ratio of an output's probabilities on neighbours, over all outputs.

    A replaced row may leave one cell for another, where both losses add up, or change within its cell. Of
    a unit with several rows only the worst case of all rows alike is tried.
    """
    who = unit or Unit()
    reach = REACH // change.dimension**2 + 2 * who.max_rows * change.width
    outputs = _cube(reach, change.dimension)
    without = law.log_pmf(outputs)

    def loss(shift: Integers) -> float:
        return float(np.abs(law.log_pmf(outputs - who.max_rows * shift) - without).max())

    rows = list(changes_of_one_row(change))
    worst = max(loss(np.array(row)) for row in rows)
    if not who.replace:
        return worst
    within = {tuple(a - b for a, b in zip(*pair, strict=True)) for pair in itertools.product(rows, rows)}
    return max(2 * worst, *(loss(np.array(shift)) for shift in within))


def renyi_loss(law: NoiseLaw, change: RowChange) -> float:
    """Return the smallest rho for which every Rényi divergence of order alpha stays below alpha rho."""
    # Far enough that what is cut off weighs nothing.
    sigma = max(float(block.parameter) for block in law.blocks)
    outputs = _cube(change.width + math.ceil(9 * sigma), change.dimension)
    p = law.log_pmf(outputs)
    p -= np.logaddexp.reduce(p)
    worst = 0.0
    for shift in changes_of_one_row(change):
        q = law.log_pmf(outputs - np.array(shift))
        q -= np.logaddexp.reduce(q)
        for alpha in ALPHAS:
            divergence = float(np.logaddexp.reduce(alpha * p + (1 - alpha) * q)) / (alpha - 1)
            worst = max(worst, divergence / alpha)
    return worst


def _cube(reach: int, dimension: int) -> Integers:
    axes = [np.arange(-reach, reach + 1)] * dimension
    return np.stack([g.ravel() for g in np.meshgrid(*axes)], axis=1)


def audit_laws_exactly(epsilon: float) -> list[ExactLoss]:
    """Enumerate every noise law that the gate designs for this epsilon, on bodies of every kind.

    Examples
    --------
    >>> all(loss.passed for loss in audit_laws_exactly(1.0))
    True
    """
    found = []
    share = budget_of(epsilon).amount
    for noise, change in itertools.product(BALL_NOISES, CHANGES):
        if noise not in noises_for(change):
            continue
        if noise not in PURE:
            # A divergence needs sums over all outputs, so the shift is seen along one coordinate or two.
            if change.dimension <= 2:
                rho = _small_rho(epsilon)
                law = design(change, rho, "rho", Unit(), noise)
                found.append(_loss(law, noise, change, Unit(), renyi_loss(law, change)))
            continue
        for unit in (Unit(), Unit("replace")):
            try:
                law = design(change, share, "epsilon", unit, noise)
            except LatticeTooCoarse:  # refused, so that nothing is lost
                continue
            found.append(_loss(law, noise, change, unit, pure_loss(law, change, unit)))
    return found


def _small_rho(epsilon: float) -> Fraction:
    # Large enough to enumerate, and growing with epsilon as the real one does.
    return Fraction(str(epsilon)) ** 2 / 10


def _loss(law: NoiseLaw, noise: Noise, change: RowChange, unit: Unit, true: float) -> ExactLoss:
    shape = ("cut " if change.reach else "") + ("ball" if change.ball else "box")
    body = f"{shape} of {change.dimension} coordinates"
    return ExactLoss(f"{noise} on a {body}, {unit.describe()}", true, float(law.amount), law.currency)
