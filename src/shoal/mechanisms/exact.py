"""Exact coins of probability exp(-a/b), and what is built of them: no floating-point number decides anything.

A floating-point sampler has holes: values that one dataset can release and its neighbour cannot. These have
exactly the law that the privacy proof names, because every decision compares integers. What they reject
depends on the random words alone, never on data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Rational

import numpy as np

from shoal._typing import Booleans, Integers
from shoal.errors import InvalidInput
from shoal.mechanisms.entropy import LARGEST_BOUND, Entropy, IntegerLike, checked_integers, uniform_below

__all__ = [
    "LARGEST_DENOMINATOR",
    "bernoulli_exp",
    "bernoulli_exp_square",
    "checked_ratio",
    "checked_ratios",
    "each_accepted",
    "first_accepted",
    "geometric_exp",
    "run_lengths",
]

# Tries made at a time: their arrays stay in cache, and memory stays bounded whatever the size asked for.
BLOCK = 1 << 15
# geometric_exp makes U + tV with U < t: an int64 for t below 2**53 and runs V up to 1022.
LARGEST_DENOMINATOR = 1 << 53
LARGEST_RUN = 1022


def bernoulli_exp(
    entropy: Entropy, numerator: IntegerLike, denominator: IntegerLike, size: int | None = None
) -> Booleans:
    """Toss coins that are true with probability exp(-a/b), exactly, for 0 <= a/b <= 1.

    Events of probability (a/b)/k are tried for k = 1, 2, ... until one fails; the coin is true when that is
    at an odd k. The first k events all hold with probability (a/b)^k / k!, so that the odd failures sum to
    the series of exp(-a/b) (von Neumann; Canonne, Kamath and Steinke 2020, algorithm 1).

    Parameters
    ----------
    entropy : Entropy
    numerator, denominator : int or integer array
        ``0 <= numerator <= denominator < 2**63``.
    size : int, optional
        How many coins, when both are single numbers. By default one for each entry.

    Returns
    -------
    bool array

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> float(bernoulli_exp(SeededEntropy(0), 1, 2, 100_000).mean().round(2))  # exp(-1/2) = 0.607
    0.61
    """
    over, under, shape = _checked_pair(numerator, denominator, size)

    def holds(active: Integers, k: int) -> Booleans:
        return _ratio_over(entropy, over[active], _at(under, active), k)

    return _first_failure_is_odd(over.size, holds).reshape(shape)


def bernoulli_exp_square(entropy: Entropy, numerator: IntegerLike, denominator: IntegerLike) -> Booleans:
    """Toss coins that are true with probability exp(-(a/b)**2 / 2), exactly, for 0 <= a/b <= 1.

    The series of :func:`bernoulli_exp` with events of probability (a/b)(a/b)/(2k), each made of two draws so
    that squares never leave 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> coins = bernoulli_exp_square(SeededEntropy(0), np.full(100_000, 3), 4)
    >>> bool(abs(coins.mean() - 0.755) < 0.01)  # exp(-9/32)
    True
    """
    over, under, shape = _checked_pair(numerator, denominator, None)

    def holds(active: Integers, k: int) -> Booleans:
        hit = _ratio_over(entropy, over[active], _at(under, active), 2 * k)
        left = active[hit]
        hit[hit] = _ratio_over(entropy, over[left], _at(under, left), 1)
        return hit

    return _first_failure_is_odd(over.size, holds).reshape(shape)


def _checked_pair(
    numerator: IntegerLike, denominator: IntegerLike, size: int | None
) -> tuple[Integers, int | Integers, tuple[int, ...]]:
    """Return flat numerators, the denominator (kept single if it is: division is then faster), the shape."""
    over = checked_integers("the numerator", numerator, least=0)
    under = checked_integers("the denominator", denominator, least=1)
    if np.any(over > under):
        raise InvalidInput("the numerator of exp(-a/b) must not be above its denominator")
    shape = np.broadcast_shapes(over.shape, under.shape, () if size is None else (size,))
    flat = np.broadcast_to(over, shape).ravel()
    return flat, int(under) if under.ndim == 0 else np.broadcast_to(under, shape).ravel(), shape


def _at(value: int | Integers, index: Integers) -> int | Integers:
    return value if isinstance(value, int) else value[index]


def _ratio_over(entropy: Entropy, over: Integers, under: int | Integers, k: int) -> Booleans:
    """Toss coins that are true with probability (over / under) / k."""
    if over.size and int(np.max(under)) * k < LARGEST_BOUND:
        return uniform_below(entropy, under * k, over.size) < over
    hit = uniform_below(entropy, under, over.size) < over
    hit[hit] = uniform_below(entropy, k, int(hit.sum())) == 0
    return hit


def _first_failure_is_odd(size: int, holds: Callable[[Integers, int], Booleans]) -> Booleans:
    result = np.zeros(size, dtype=np.bool_)
    active, k = np.arange(size, dtype=np.int64), 1
    while active.size:
        hit = holds(active, k)
        if k % 2:
            result[active[~hit]] = True
        active, k = active[hit], k + 1
    return result


def geometric_exp(entropy: Entropy, rate: Fraction, size: int) -> Integers:
    """Draw integers z >= 0 with probability proportional to exp(-rate * z), exactly.

    With rate = s/t: U uniform on {0, ..., t - 1} and kept with probability exp(-U/t), and V the length of a
    run of coins of probability exp(-1), make U + tV of ratio exp(-1/t); every s of its values make one of
    ours (Canonne, Kamath and Steinke 2020, algorithm 2).

    Parameters
    ----------
    entropy : Entropy
    rate : Fraction
        Positive, numerator and denominator below 2**53, so that every draw is an int64.
    size : int

    Returns
    -------
    int64 array of shape (size,)

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> draws = geometric_exp(SeededEntropy(0), Fraction(1, 2), 100_000)
    >>> float(draws.mean().round(1))  # 1 / (exp(1/2) - 1) = 1.54
    1.5
    """
    s, t = checked_ratio("rate", rate, LARGEST_DENOMINATOR)

    def attempt(tries: int) -> Integers:
        low = uniform_below(entropy, t, tries)
        low = low[bernoulli_exp(entropy, low, t)]
        return (low + t * run_lengths(entropy, 1, low.size)) // s

    return first_accepted(size, attempt, tries_per_value=1.65)


def run_lengths(entropy: Entropy, inverse_rate: int, size: int) -> Integers:
    """Draw the lengths of runs of heads of a coin of probability exp(-1/inverse_rate).

    One long row of coins is cut at its tails, and grows until it holds enough of them: to drop the run left
    open at its end would drop long runs more often than short ones.

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> run_lengths(SeededEntropy(0), 1, 5).shape
    (5,)
    """
    tails = np.array([-1], dtype=np.int64)
    tossed = 0
    while tails.size <= size:
        # A run and its tail take 1 / (1 - exp(-1/inverse_rate)) < inverse_rate + 1 tosses on average.
        tosses = (inverse_rate + 1) * (size + 1 - tails.size) + 8
        coins = bernoulli_exp(entropy, 1, inverse_rate, tosses)
        tails = np.concatenate([tails, tossed + np.flatnonzero(~coins)])
        tossed += tosses
        if int(np.diff(tails, append=tossed).max()) - 1 > LARGEST_RUN:
            # Rarer than exp(-500) for the rates in use: a broken source of words, not bad luck.
            raise OverflowError("the source of random words is stuck")
    return np.diff(tails[: size + 1]) - 1


def first_accepted(size: int, attempt: Callable[[int], Integers], tries_per_value: float) -> Integers:
    """Return the first ``size`` values that independent tries accept.

    Parameters
    ----------
    size : int
    attempt : callable
        Makes that many independent tries and returns the accepted values in the order of their tries.
    tries_per_value : float
        About how many tries an accepted value takes. It decides how many are made at a time, never the law.

    Examples
    --------
    >>> import numpy as np
    >>> first_accepted(3, lambda tries: np.arange(tries)[::2], tries_per_value=2.0)
    array([0, 2, 4])
    """
    if size < 0:
        raise InvalidInput(f"the number of draws must not be negative; got {size}")
    values = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        wanted = size - filled
        accepted = attempt(min(BLOCK, int(wanted * tries_per_value) + 8))[:wanted]
        values[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return values


def each_accepted(size: int, attempt: Callable[[Integers], tuple[Booleans, Integers]]) -> Integers:
    """Return a value for every place, each of a law of its own: a place is tried until a try is accepted.

    Parameters
    ----------
    size : int
    attempt : callable
        Makes one independent try for each of some places; returns which were accepted, and their values.

    Examples
    --------
    >>> import numpy as np
    >>> each_accepted(3, lambda places: (np.ones(len(places), dtype=bool), places * 10))
    array([ 0, 10, 20])
    """
    values = np.empty(size, dtype=np.int64)
    for start in range(0, size, BLOCK):
        places = np.arange(start, min(start + BLOCK, size), dtype=np.int64)
        while places.size:
            accepted, tried = attempt(places)
            values[places[accepted]] = tried[accepted]
            places = places[~accepted]
    return values


def checked_ratios(
    name: str, values: Sequence[Fraction], which: Integers, limit: int
) -> tuple[Integers, Integers]:
    """Return numerators and denominators of the fractions that `which` points to, one for each entry."""
    pairs = np.array([checked_ratio(name, value, limit) for value in values], dtype=np.int64).reshape(-1, 2)
    return pairs[which, 0], pairs[which, 1]


def checked_ratio(name: str, value: Fraction, limit: int) -> tuple[int, int]:
    """Return the numerator and denominator of a positive fraction, both below ``limit``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> checked_ratio("rate", Fraction(2, 4), 2**53)
    (1, 2)
    """
    if not isinstance(value, Rational):
        raise InvalidInput(f"{name} must be a Fraction, as in Fraction('0.1'); got {value!r}")
    if value <= 0:
        raise InvalidInput(f"{name} must be positive; got {value}")
    if max(value.numerator, value.denominator) >= limit:
        raise InvalidInput(
            f"{name} must have a numerator and a denominator below 2**{limit.bit_length() - 1}, for its draws"
            f" to stay in 64 bits; got {value}. Round it first: a rate down, a sigma up"
        )
    return int(value.numerator), int(value.denominator)
