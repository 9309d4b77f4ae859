"""Choices among candidates: their exact probabilities, what they lose, and whether they are drawn so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from shoal.accounting import budget_of
from shoal.audit.exact import ExactLoss
from shoal.audit.laws import LEVEL, Check, LawAudit
from shoal.audit.sights import Floats
from shoal.domain import Unit
from shoal.mechanisms import Entropy, SystemEntropy
from shoal.queries.laws.choices import ChoiceLaw, design_choice
from shoal.queries.losses.cluster_cost import WIDTH

Steps: TypeAlias = npt.NDArray[np.int64]
Chooser: TypeAlias = Callable[[Entropy, Steps], Steps]

# Of more candidates the integral is not done exactly but to rounding.
_FEW = 64
# Cells in which fewer are expected are joined.
RARE = 10


def choice_probabilities(law: str, rate: Fraction, losses: Steps) -> Floats:
    """Return the probability of every candidate in one choice.

    Permute and flip picks i with probability q_i times the integral over u in [0, 1] of the product of
    1 - u q_j over all other j, where q = exp(-rate (loss - least)): a polynomial, so Gauss's rule is exact.

    Examples
    --------
    >>> choice_probabilities("permute and flip", Fraction(1), np.array([0, 0, 50])).round(3)
    array([0.5, 0.5, 0. ])
    >>> choice_probabilities("exponential mechanism", Fraction(1), np.array([0, 1])).round(3)
    array([0.731, 0.269])
    """
    q = np.exp(-float(rate) * (losses - losses.min()))
    if law == "exponential mechanism":
        return np.asarray(q / q.sum())
    if len(q) > _FEW:
        return _permute_and_flip_of_many(q)
    nodes, weights = np.polynomial.legendre.leggauss(len(q) // 2 + 1)
    u = (nodes + 1) / 2
    factors = 1 - u[:, np.newaxis] * q
    others = np.stack([np.delete(factors, i, axis=1).prod(axis=1) for i in range(len(q))], axis=1)
    return np.asarray(q * (weights / 2 @ others))


def _permute_and_flip_of_many(q: Floats) -> Floats:
    """Return the same integral by Gauss's rule on panels that widen from 0, where the product falls first.

    Candidates of the same loss are taken together. The product falls no faster than exp(-u sum(q)), so that
    panels of half the width that remains, down to far below 1 / sum(q), leave an error below rounding.

    Examples
    --------
    >>> q = np.exp(-np.arange(40) / 8)
    >>> np.allclose(_permute_and_flip_of_many(q), choice_probabilities("permute and flip", Fraction(1, 8),
    ...     np.arange(40)), rtol=1e-11)
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


def choice_loss(law: ChoiceLaw, before: Steps, after: Steps, chosen: Steps) -> float:
    """Return the loss of choices one after another: the worst of every step, along the recorded ones."""
    left, total = np.arange(len(before)), 0.0
    for pick in chosen:
        p, q = (choice_probabilities(law.law, law.rate, side[left]) for side in (before, after))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.abs(np.log(p) - np.log(q))
        # What neither table ever chooses tells nothing.
        step = float(np.nanmax(np.where((p > 1e-300) | (q > 1e-300), ratios, 0.0)))
        total += step if law.currency == "epsilon" else _range_loss(p, q)
        left = left[left != pick]
    return total


def _range_loss(p: Floats, q: Floats) -> float:
    # Bounded range e costs e^2/8 (Cesar and Rogers 2021).
    kept = (p > 1e-300) & (q > 1e-300)
    ratios = np.log(p[kept]) - np.log(q[kept])
    return math.pow(float(ratios.max() - ratios.min()), 2) / 8 if kept.any() else 0.0


def audit_choice(
    law: ChoiceLaw,
    losses: Steps,
    chooser: Chooser | None = None,
    *,
    draws: int = 1000,
    entropy: Entropy | None = None,
    level: float = LEVEL,
) -> LawAudit:
    """Choose many times and test how often each came up, by chi-square against the exact probabilities.

    Parameters
    ----------
    law : ChoiceLaw
        What is claimed, and its price.
    losses : ndarray of int64
        Of a few candidates, which should be near enough to each other that all come up.
    chooser : callable, optional
        ``chooser(entropy, losses)`` returns the chosen indices in order; the law's own if not given.
    draws, entropy, level
        As for :func:`shoal.audit.audit_law`.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> law = design_choice(2, Fraction(1), "epsilon", Unit())
    >>> losses = np.array([0, WIDTH, 3 * WIDTH])
    >>> audit_choice(law, losses, draws=400, entropy=SeededEntropy(0)).passed
    True
    """
    choose, source = chooser or law.draw, entropy or SystemEntropy()
    drawn = [tuple(int(i) for i in choose(source, losses)) for _ in range(draws)]
    outcomes = list(itertools.permutations(range(len(losses)), law.n))
    counts = np.array([drawn.count(outcome) for outcome in outcomes], dtype=np.float64)
    checks = [Check("is a choice", float(counts.sum() == draws))]
    if counts.sum():
        checks.append(Check("how often each is chosen", _chi_square(counts, _all_probabilities(law, losses))))
    charged = float(law.amount)
    power = 1 if law.currency == "epsilon" else 2  # rho grows with the square of the rate
    measured = charged * _sharpness(law, losses, counts) ** power
    return LawAudit(law.describe(), measured, charged, law.currency, draws, tuple(checks), level)


def _all_probabilities(law: ChoiceLaw, losses: Steps, factor: float = 1.0) -> Floats:
    rate, found = Fraction(factor) * law.rate, []
    for outcome in itertools.permutations(range(len(losses)), law.n):
        left, probability = np.arange(len(losses)), 1.0
        for pick in outcome:
            probability *= float(choice_probabilities(law.law, rate, losses[left])[left == pick][0])
            left = left[left != pick]
        found.append(probability)
    return np.array(found)


def _chi_square(counts: Floats, probabilities: Floats) -> float:
    expected = probabilities * counts.sum()
    rare = expected < RARE
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return float(stats.chi2.sf(statistic, max(1, len(wanted) - 1)))


def _sharpness(law: ChoiceLaw, losses: Steps, counts: Floats) -> float:
    """Return how many times the rate the choices look like: the most likely factor."""

    def unlikely(log_factor: float) -> float:
        p = _all_probabilities(law, losses, math.exp(log_factor))
        return -float((counts * np.log(np.maximum(p, 1e-300))).sum())

    found = optimize.minimize_scalar(unlikely, bounds=(-3, 3), method="bounded")
    return math.exp(float(found.x))


def audit_choosers(
    epsilon: float, *, draws: int = 1000, entropy: Entropy | None = None, level: float = LEVEL
) -> list[LawAudit]:
    """Audit both ways of choosing that the gate has, two of four candidates."""
    found = []
    for delta in (0.0, 1e-6):
        budget = budget_of(epsilon, delta)
        law = design_choice(2, budget.amount, budget.currency, Unit())
        losses = WIDTH * np.array([0, 1, 1, 2])
        found.append(audit_choice(law, losses, draws=draws, entropy=entropy, level=level))
    return found


def choices_exactly(epsilon: float) -> list[ExactLoss]:
    """Try every change that a row can cause, at the corners of its range, on small sets of candidates.

    Examples
    --------
    >>> all(loss.passed for loss in choices_exactly(1.0))
    True
    """
    found = []
    for delta, unit, n in itertools.product((0.0, 1e-6), (Unit(), Unit("replace")), (1, 2)):
        budget = budget_of(epsilon, delta)
        law = design_choice(n, budget.amount, budget.currency, unit)
        what = f"{law.law}, {n} of 3 candidates, {unit.describe()}"
        found.append(ExactLoss(what, worst_choice(law, unit), float(law.amount), law.currency))
    return found


def worst_choice(law: ChoiceLaw, unit: Unit) -> float:
    """Return the largest loss of choices among three candidates, over losses and changes of one row."""
    corners = [WIDTH * np.array(corner) for corner in itertools.product((0, 1), repeat=3)]
    # A replaced row takes its old share away and brings a new one.
    gone = corners if unit.replace else corners[:1]
    changes = {tuple(come - go) for come in corners for go in gone}
    worst = 0.0
    for before in ((0, 0, 0), (0, 1, 4)):  # alike, and one that is hardly ever chosen
        losses = WIDTH * np.array(before)
        for change, order in itertools.product(changes, itertools.permutations(range(3), law.n)):
            worst = max(worst, choice_loss(law, losses, losses + np.array(change), np.array(order)))
    return worst
