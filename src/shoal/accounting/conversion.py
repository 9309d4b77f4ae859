"""From zero-concentrated differential privacy (rho) to (epsilon, delta), and back.

A rho total converts by (Canonne, Kamath, Steinke 2020, corollary 13)

    delta = inf over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1),

and *not* by the Gaussian's own formula: a ledger may hold mechanisms that are not Gaussian. Every alpha
gives a valid delta, so a numerical minimum can only be pessimistic.
"""

from __future__ import annotations

import math

# Floats are rounded against us by this much before they touch a budget.
_SAFETY = 1e-9


def delta_of(rho: float, epsilon: float) -> float:
    """Return a delta such that rho-zCDP implies (epsilon, delta)-DP.

    Examples
    --------
    >>> round(delta_of(0.1, 2.0), 6)
    4e-06
    """
    if rho <= 0:
        return 0.0
    # The exponent is convex in alpha; its derivative is (2 alpha - 1) rho - epsilon + log(1 - 1/alpha).
    low, high = 1.0, 2.0
    while (2 * high - 1) * rho - epsilon + math.log1p(-1 / high) < 0:
        low, high = high, high * 2
    for _ in range(200):
        alpha = (low + high) / 2
        if alpha in (low, high):
            break
        if (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) < 0:
            low = alpha
        else:
            high = alpha
    alpha = high
    exponent = (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)
    return min(1.0, math.exp(min(exponent, 0.0)) * (1 + _SAFETY))


def rho_of(epsilon: float, delta: float) -> float:
    """Return (just below) the largest rho whose conversion stays within (epsilon, delta).

    Examples
    --------
    >>> rho = rho_of(1.0, 1e-6)
    >>> round(rho, 4), delta_of(rho, 1.0) <= 1e-6
    (0.0244, True)
    """
    low, high = 0.0, 1.0
    while delta_of(high, epsilon) <= delta:
        low, high = high, high * 2
    for _ in range(200):
        rho = (low + high) / 2
        if rho in (low, high):
            break
        if delta_of(rho, epsilon) <= delta:
            low = rho
        else:
            high = rho
    return low * (1 - _SAFETY)


def epsilon_of(rho: float, delta: float) -> float:
    """Return (just above) the smallest epsilon with which rho-zCDP is (epsilon, delta)-DP.

    Examples
    --------
    >>> round(epsilon_of(rho_of(1.0, 1e-6), 1e-6), 6)
    1.0
    """
    if rho <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(rho, high) > delta:
        low, high = high, high * 2
    for _ in range(200):
        epsilon = (low + high) / 2
        if epsilon in (low, high):
            break
        if delta_of(rho, epsilon) > delta:
            low = epsilon
        else:
            high = epsilon
    return high * (1 + _SAFETY)
