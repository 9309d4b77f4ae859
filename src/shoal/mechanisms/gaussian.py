"""The discrete Gaussian law: integer noise for a zero-concentrated budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal._typing import Booleans, Integers
from shoal.mechanisms.entropy import Entropy, fair_coins, uniform_below
from shoal.mechanisms.exact import (
    bernoulli_exp,
    bernoulli_exp_square,
    checked_ratio,
    checked_ratios,
    each_accepted,
    first_accepted,
    run_lengths,
)

__all__ = [
    "check_gaussian",
    "discrete_gaussian",
    "discrete_gaussian_each",
    "gaussian_log_pmf",
    "gaussian_variance",
]

# The products p*k and q*i below stay in int64 for terms under 2**56 and k up to this.
LARGEST_TERM = 1 << 56
LARGEST_PART = 100
# From here the law's variance and its sum differ from the continuous ones by less than a double can show.
WIDE = 4.0


def check_gaussian(sigma: Fraction) -> None:
    """Refuse what :func:`discrete_gaussian` would refuse: for noise that is designed, and paid for later."""
    checked_ratio("sigma", sigma, LARGEST_TERM)


def discrete_gaussian(entropy: Entropy, sigma: Fraction, size: int) -> Integers:
    """Draw integers z with probability proportional to exp(-z**2 / (2 sigma**2)), exactly.

    Added to integers that one person moves by at most W in Euclidean norm, it spends
    rho = W**2 / (2 sigma**2).

    Parameters
    ----------
    entropy : Entropy
    sigma : Fraction
        Positive, numerator and denominator below 2**56. Round a square root up, so that the budget is kept.
    size : int

    Returns
    -------
    int64 array of shape (size,)

    Notes
    -----
    After Karney (2016). Draw k >= 0 with probability proportional to exp(-k**2/2), a sign, and i uniform on
    the ceil(sigma) integers from ceil(k sigma) on; let x = i/sigma - k >= 0. Start again if x >= 1, if the
    draw is a minus zero, or else with probability 1 - exp(-x(2k + x)/2).

    Proof: every integer i >= 0 comes from the single k = floor(i/sigma), and then with the chance
    1/ceil(sigma), the same for all. Its weight is exp(-k**2/2) exp(-kx - x**2/2) = exp(-(k + x)**2/2),
    which is exp(-i**2 / (2 sigma**2)). Both signs weigh the same, and zero is counted once.

    With sigma = p/q, x is the ratio of the 64-bit integers qi - pk and p.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> noise = discrete_gaussian(SeededEntropy(0), Fraction(25, 2), 100_000)
    >>> bool(abs(noise.std() / 12.5 - 1) < 0.02)
    True
    """
    p, q = checked_ratio("sigma", sigma, LARGEST_TERM)
    width = -(-p // q)

    def attempt(tries: int) -> Integers:
        part = _unit_parts(entropy, tries)
        value = -(-p * part // q) + uniform_below(entropy, width, part.size)
        over = q * value - p * part
        negative = fair_coins(entropy, part.size)
        kept = np.flatnonzero((over < p) & ~(negative & (value == 0)))
        kept = kept[bernoulli_exp_square(entropy, over[kept], p)]
        kept = kept[_all_come_up(entropy, over[kept], p, part[kept])]
        signed: Integers = np.where(negative, -value, value)[kept]
        return signed

    return first_accepted(size, attempt, tries_per_value=2.5)


def discrete_gaussian_each(entropy: Entropy, sigmas: Sequence[Fraction], which: Integers) -> Integers:
    """Draw one integer for every entry of `which`, of the sigma that it points to, exactly.

    A try is that of :func:`discrete_gaussian`, for every place with its own sigma. A place whose try is
    rejected is tried again from a new k on, so that its law is that of one accepted try.

    Parameters
    ----------
    entropy : Entropy
    sigmas : sequence of Fraction
        Positive, numerators and denominators below 2**56.
    which : int64 array
        Indices of sigmas.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> sigmas = [Fraction(25, 2), Fraction(1000)]
    >>> noise = discrete_gaussian_each(SeededEntropy(0), sigmas, np.arange(100_000) % 2)
    >>> [round(float(noise[i::2].std() / sigmas[i]), 1) for i in (0, 1)]
    [1.0, 1.0]
    """
    over_all, under_all = checked_ratios("sigma", sigmas, which, LARGEST_TERM)

    def attempt(places: Integers) -> tuple[Booleans, Integers]:
        p, q = over_all[places], under_all[places]
        part = first_accepted(places.size, lambda tries: _unit_parts(entropy, tries), tries_per_value=1.5)
        value = -(-p * part // q) + uniform_below(entropy, -(-p // q), places.size)
        over = q * value - p * part
        negative = fair_coins(entropy, places.size)
        kept = np.flatnonzero((over < p) & ~(negative & (value == 0)))
        kept = kept[bernoulli_exp_square(entropy, over[kept], p[kept])]
        kept = kept[_all_come_up(entropy, over[kept], p[kept], part[kept])]
        accepted = np.zeros(places.size, dtype=np.bool_)
        accepted[kept] = True
        return accepted, np.where(negative, -value, value)

    return each_accepted(which.size, attempt)


def _unit_parts(entropy: Entropy, tries: int) -> Integers:
    """Draw integers k >= 0 with probability proportional to exp(-k**2/2); return those that were accepted.

    Runs of coins of probability exp(-1/2) give exp(-k/2); the rest, exp(-k(k - 1)/2), is the chance that a
    run of coins of probability exp(-1) is at least k(k - 1)/2 long.
    """
    runs = run_lengths(entropy, 2, tries)
    wanted = runs * (runs - 1) // 2
    long = np.flatnonzero(wanted)
    kept = np.ones(tries, dtype=np.bool_)
    kept[long] = run_lengths(entropy, 1, long.size) >= wanted[long]
    parts = runs[kept]
    if parts.size and int(parts.max()) > LARGEST_PART:
        # Probability below exp(-5000): a broken source of words, not bad luck.
        raise OverflowError("the source of random words is stuck")
    return parts


def _all_come_up(entropy: Entropy, over: Integers, p: int | Integers, coins: Integers) -> Booleans:
    """Return whether ``coins`` coins of probability exp(-over/p) all come up true."""
    result = np.ones(over.size, dtype=np.bool_)
    tossed = 0
    active = np.flatnonzero(coins > tossed)
    while active.size:
        up = bernoulli_exp(entropy, over[active], p if isinstance(p, int) else p[active])
        result[active[~up]] = False
        tossed += 1
        active = active[up & (coins[active] > tossed)]
    return result


def gaussian_variance(sigma: Fraction) -> float:
    """Return the variance of :func:`discrete_gaussian`.

    It is below sigma**2 on a coarse lattice and, from a sigma of 4, equal to it as far as a double can show.

    Examples
    --------
    >>> from fractions import Fraction
    >>> gaussian_variance(Fraction(100))
    10000.0
    >>> round(gaussian_variance(Fraction(1, 2)), 4)
    0.215
    """
    scale = float(sigma)
    if scale >= WIDE:
        return scale * scale
    steps, weights = _series(scale)
    return float((steps**2 * weights).sum() / weights.sum())


def gaussian_log_pmf(z: npt.ArrayLike, sigma: Fraction) -> npt.NDArray[np.float64]:
    """Return the logarithm of the probability of each ``z`` under :func:`discrete_gaussian`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> (gaussian_log_pmf(0, Fraction(2)) - gaussian_log_pmf(4, Fraction(2))).round(6)  # 4**2 / (2 * 2**2)
    np.float64(2.0)
    """
    scale = float(sigma)
    total = scale * math.sqrt(2 * math.pi) if scale >= WIDE else float(_series(scale)[1].sum())
    return np.asarray(-((np.asarray(z, dtype=np.float64) / scale) ** 2) / 2 - math.log(total))


def _series(scale: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    # exp(-40**2/2) is below the smallest double.
    reach = math.ceil(40 * scale)
    steps = np.arange(-reach, reach + 1, dtype=np.float64)
    return steps, np.exp(-((steps / scale) ** 2) / 2)
