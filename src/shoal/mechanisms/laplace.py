"""The discrete Laplace law: integer noise for a pure budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers
from shoal.mechanisms.entropy import Entropy, fair_coins
from shoal.mechanisms.exact import LARGEST_DENOMINATOR, checked_ratio, first_accepted, geometric_exp

__all__ = ["check_laplace", "discrete_laplace", "laplace_log_pmf", "laplace_variance"]


def check_laplace(rate: Fraction) -> None:
    """Refuse what :func:`discrete_laplace` would refuse to draw: for noise that is designed, and paid for."""
    checked_ratio("rate", rate, LARGEST_DENOMINATOR)


def discrete_laplace(entropy: Entropy, rate: Fraction, size: int) -> Integers:
    """Draw integers z with probability proportional to exp(-rate * abs(z)), exactly.

    Added to an integer that one person moves by at most W, it loses exactly rate * W: a privacy budget of
    epsilon asks for a rate of epsilon / W. A geometric size and a fair sign make the draw; minus zero is
    drawn again, as zero would otherwise count twice.

    Parameters
    ----------
    entropy : Entropy
    rate : Fraction
        Positive, numerator and denominator below 2**53.
    size : int

    Returns
    -------
    int64 array of shape (size,)

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> noise = discrete_laplace(SeededEntropy(0), Fraction(1, 10), 100_000)
    >>> bool(abs(noise.var() / laplace_variance(Fraction(1, 10)) - 1) < 0.05)
    True
    """

    def attempt(tries: int) -> Integers:
        magnitude = geometric_exp(entropy, rate, tries)
        negative = fair_coins(entropy, tries)
        kept = ~(negative & (magnitude == 0))
        signed: Integers = np.where(negative, -magnitude, magnitude)[kept]
        return signed

    return first_accepted(size, attempt, tries_per_value=1.05)


def laplace_variance(rate: Fraction) -> float:
    """Return the variance of :func:`discrete_laplace`: 1 / (2 sinh(rate/2)**2), about 2 / rate**2.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(laplace_variance(Fraction(1, 10)), 3)
    199.833
    """
    half = float(rate) / 2
    return 2 * (math.exp(-half) / -math.expm1(-2 * half)) ** 2


def laplace_log_pmf(z: npt.ArrayLike, rate: Fraction) -> npt.NDArray[np.float64]:
    """Return the logarithm of the probability of each ``z`` under :func:`discrete_laplace`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> (laplace_log_pmf(3, Fraction(1, 2)) - laplace_log_pmf(5, Fraction(1, 2))).round(6)  # 2 steps of 1/2
    np.float64(1.0)
    """
    scale = float(rate)
    return np.asarray(math.log(math.tanh(scale / 2)) - scale * np.abs(np.asarray(z, dtype=np.float64)))
