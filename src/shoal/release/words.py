"""What a budget means, in words for people who have never heard of epsilon."""

from __future__ import annotations

import math

from shoal.accounting import Approx, Budget, NoGuarantee, epsilon_of

_LEVELS = (
    (0.1, "very strong"),
    (0.5, "strong"),
    (1.0, "good, the usual choice"),
    (3.0, "moderate"),
    (8.0, "weak"),
    (math.inf, "hardly any"),
)


def privacy_level(epsilon: float) -> str:
    """Name the strength of an epsilon.

    Examples
    --------
    >>> privacy_level(0.05), privacy_level(1.0), privacy_level(20)
    ('very strong', 'good, the usual choice', 'hardly any')
    """
    return next(word for most, word in _LEVELS if epsilon <= most)


def risk_sentence(budget: Budget) -> str:
    """Say what somebody could learn from a release about one person.

    A prior of one half becomes at most e^epsilon / (1 + e^epsilon).

    Examples
    --------
    >>> from shoal.accounting import budget_of
    >>> risk_sentence(budget_of(1.0)).split(": ")[0]
    'good, the usual choice'
    """
    if isinstance(budget, NoGuarantee):
        return "no guarantee: anything can be learnt about anybody"
    if isinstance(budget, Approx):
        epsilon, tail = float(budget.epsilon), f", except with probability {float(budget.delta):g}"
    elif budget.currency == "rho":
        epsilon, tail = epsilon_of(float(budget.amount), 1e-6), ", except with probability 1e-06"
    else:
        epsilon, tail = float(budget.amount), ""
    sure = 100 / (1 + math.exp(-epsilon))
    shown = f"{sure:.0f} %" if sure < 99 else "practically" if sure > 99.9 else f"{sure:.1f} %"
    return (
        f"{privacy_level(epsilon)}: somebody who gives even odds that a certain person is in the table "
        f"can be {'' if shown == 'practically' else 'at most '}{shown} sure after seeing the release{tail}"
    )
