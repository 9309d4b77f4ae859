"""Choices among candidates: their exact probabilities, what they lose, and whether they are drawn so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from scipy import optimize, stats

from shoal._typing import Array, Integers
from shoal.accounting import budget_of
from shoal.audit.exact import ExactLoss
from shoal.audit.laws import LEVEL, Check, LawAudit
from shoal.domain import Unit
from shoal.mechanisms import Entropy, SystemEntropy
from shoal.queries.laws.choices import ChoiceLaw, design_choice
from shoal.queries.losses.cluster_cost import WIDTH

Chooser: TypeAlias = Callable[[Entropy, Integers], Integers]

# Cells in which fewer are expected are joined.
RARE = 10


def audit_choice(
    law: ChoiceLaw,
    losses: Integers,
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


def _all_probabilities(law: ChoiceLaw, losses: Integers, factor: float = 1.0) -> Array:
    sharper = replace(law, rate=Fraction(factor) * law.rate)
    found = []
    for outcome in itertools.permutations(range(len(losses)), law.n):
        left, probability = np.arange(len(losses)), 1.0
        for pick in outcome:
            probability *= float(sharper.probabilities(losses[left])[left == pick][0])
            left = left[left != pick]
        found.append(probability)
    return np.array(found)


def _chi_square(counts: Array, probabilities: Array) -> float:
    expected = probabilities * counts.sum()
    rare = expected < RARE
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return float(stats.chi2.sf(statistic, max(1, len(wanted) - 1)))


def _sharpness(law: ChoiceLaw, losses: Integers, counts: Array) -> float:
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
        what = f"{law.name}, {n} of 3 candidates, {unit.describe()}"
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
            worst = max(worst, law.told_apart(losses, losses + np.array(change), np.array(order)))
    return worst
