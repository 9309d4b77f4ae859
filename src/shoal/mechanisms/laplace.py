"""The discrete Laplace law: integer noise for a pure budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal._typing import Booleans, Integers
from shoal.mechanisms.entropy import Entropy, fair_coins, uniform_below
from shoal.mechanisms.exact import (
    LARGEST_DENOMINATOR,
    bernoulli_exp,
    checked_ratio,
    checked_ratios,
    each_accepted,
    first_accepted,
    geometric_exp,
    run_lengths,
)

__all__ = [
    "check_laplace",
    "discrete_laplace",
    "discrete_laplace_each",
    "laplace_log_pmf",
    "laplace_variance",
]


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


def discrete_laplace_each(entropy: Entropy, rates: Sequence[Fraction], which: Integers) -> Integers:
    """Draw one integer for every entry of `which`, of the rate that it points to, exactly.

    A try is that of :func:`discrete_laplace` with :func:`geometric_exp`, for every place with its own rate
    s/t: U below t kept with probability exp(-U/t), the run V, a sign. A place whose try is rejected is tried
    again as a whole, so that its law is that of one accepted try, whatever becomes of its neighbours.

    Parameters
    ----------
    entropy : Entropy
    rates : sequence of Fraction
        Positive, numerators and denominators below 2**53.
    which : int64 array
        Indices of rates.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> rates = [Fraction(1, 10), Fraction(1, 1000)]
    >>> noise = discrete_laplace_each(SeededEntropy(0), rates, np.arange(100_000) % 2)
    >>> [round(float(noise[i::2].var() / laplace_variance(rates[i])), 1) for i in (0, 1)]
    [1.0, 1.0]
    """
    s, t = checked_ratios("rate", rates, which, LARGEST_DENOMINATOR)

    def attempt(places: Integers) -> tuple[Booleans, Integers]:
        under = t[places]
        low = uniform_below(entropy, under, places.size)
        kept = bernoulli_exp(entropy, low, under)
        magnitude = (low + under * run_lengths(entropy, 1, places.size)) // s[places]
        negative = fair_coins(entropy, places.size)
        kept &= ~(negative & (magnitude == 0))
        return kept, np.where(negative, -magnitude, magnitude)

    return each_accepted(which.size, attempt)


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
