"""Noise shaped like a box: a whole vector under one pure budget, whatever its dimension."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shoal._typing import Integers
from shoal.errors import InvalidInput, LatticeTooCoarse
from shoal.mechanisms.entropy import Entropy, uniform_below
from shoal.mechanisms.exact import LARGEST_DENOMINATOR, checked_ratio, geometric_exp
from shoal.mechanisms.laplace import laplace_variance

__all__ = ["check_linf", "linf_noise", "linf_variance"]

# Largest dimension * rate: rows are accepted with probability at least exp(-4/2), one in seven.
COARSEST = 4
# Mean of the box's half-width, (dimension + 1) / rate: a thousand times more still fits in an int64.
WIDEST = 1 << 51
# Entries made at a time.
BLOCK = 1 << 18


def linf_noise(entropy: Entropy, rate: Fraction, size: int, dimension: int) -> Integers:
    """Draw integer vectors z with probability proportional to exp(-rate * max(abs(z))), exactly.

    Added to an integer vector of which one person moves every entry by at most W, it loses exactly rate * W
    in all, where independent Laplace noise would lose that for each entry.

    Parameters
    ----------
    entropy : Entropy
    rate : Fraction
        Positive, numerator and denominator below 2**53.
    size : int
        How many vectors.
    dimension : int
        Entries in each, m below.

    Returns
    -------
    int64 array of shape (size, dimension)

    Raises
    ------
    LatticeTooCoarse
        If dimension * rate is above 4. Only these two public numbers decide.

    Notes
    -----
    Let j be the sum of m + 1 geometric draws: it has probability proportional to (j + 1)...(j + m)
    exp(-rate * j). Draw w_i uniform on {0, ..., 2(j + i) - 1} for i = 1..m; start again from j if some w_i
    > 2j, else return z_i = w_i - j.

    Proof: a given z in the box {-j..j}^m comes out with probability 1 / (2^m (j + 1)...(j + m)). The products
    cancel: j and z together weigh exp(-rate * j), and the sum over j >= max(abs(z)) is proportional to
    exp(-rate * max(abs(z))).

    A vector is accepted with probability (1 - q)^(m + 1) / (2^m m!) times the sum over j of (2j + 1)^m q^j,
    for q = exp(-rate). On a fine lattice that is exp(-m * rate / 2), and never less where m * rate is at
    most 4.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> linf_noise(SeededEntropy(0), Fraction(1, 100), 4, 3).shape
    (4, 3)
    """
    check_linf(rate, dimension)
    if size < 0:
        raise InvalidInput(f"the number of draws must not be negative; got {size}")
    noise = np.empty((size, dimension), dtype=np.int64)
    block = max(1, BLOCK // dimension)
    filled = 0
    while filled < size:
        rows = _accepted_rows(entropy, rate, min(block, size - filled), dimension)
        noise[filled : filled + len(rows)] = rows
        filled += len(rows)
    return noise


def _accepted_rows(entropy: Entropy, rate: Fraction, tries: int, dimension: int) -> Integers:
    parts = geometric_exp(entropy, rate, tries * (dimension + 1))
    half_width = parts.reshape(tries, dimension + 1).sum(axis=1, keepdims=True)
    draws = uniform_below(entropy, 2 * (half_width + np.arange(1, dimension + 1)))
    accepted: Integers = (draws - half_width)[(draws <= 2 * half_width).all(axis=1)]
    return accepted


def check_linf(rate: Fraction, dimension: int) -> None:
    """Refuse what :func:`linf_noise` would refuse to draw: for noise that is designed, and paid for later."""
    if dimension < 1:
        raise InvalidInput(f"the dimension must be at least 1; got {dimension}")
    s, t = checked_ratio("rate", rate, LARGEST_DENOMINATOR)
    if dimension * s > COARSEST * t:
        raise LatticeTooCoarse(
            f"dimension * rate is {dimension} * {float(rate):.4g} = {dimension * float(rate):.4g}; it should"
            f" be at most about 1 and is refused above {COARSEST}. Use a finer lattice or a smaller budget"
            " per query"
        )
    if (dimension + 1) * t > WIDEST * s:
        raise InvalidInput(
            f"(dimension + 1) / rate is {(dimension + 1) / float(rate):.4g}; above 2**51 draws could leave 64"
            " bits. Use a coarser lattice or a larger budget per query"
        )


def linf_variance(rate: Fraction, dimension: int) -> float:
    """Return the variance of one entry of :func:`linf_noise`: about (m + 1)(m + 2) / (3 rate**2) - 1/12.

    Given the box's half-width j, of probability proportional to (2j + 1)^m exp(-rate * j), an entry is
    uniform on {-j..j} and has variance j(j + 1)/3 = ((2j + 1)^2 - 1)/12. By Poisson's summation formula the
    mean of (2j + 1)^2 is 4(m + 1)(m + 2) / rate**2 up to a relative (rate / 2 pi)^(m + 1), m being the
    dimension; where that is above 1e-14, the series itself is summed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(linf_variance(Fraction(1, 100), 3), 3)  # 4 * 5 / (3 * 0.01**2) - 1/12
    66666.583
    """
    if dimension < 1:
        raise InvalidInput(f"the dimension must be at least 1; got {dimension}")
    s = float(rate)
    if dimension == 1:
        return laplace_variance(rate)
    if (dimension + 1) * math.log(s / (2 * math.pi)) < math.log(1e-14):
        return ((dimension + 1) * (dimension + 2) / s**2 - 0.25) / 3
    # Beyond this many steps the weights are below exp(-40) of the largest.
    reach = math.ceil((2 * dimension + 80 + 10 * math.sqrt(dimension)) / s)
    j = np.arange(reach + 1, dtype=np.float64)
    log_weights = dimension * np.log(2 * j + 1) - s * j
    weights = np.exp(log_weights - log_weights.max())
    return float((weights * j * (j + 1)).sum() / weights.sum()) / 3
