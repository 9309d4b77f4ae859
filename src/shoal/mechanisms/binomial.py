"""How many of very many cells noise alone lifts over a threshold: an exact binomial draw."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from shoal._typing import Integers
from shoal.errors import InvalidInput
from shoal.mechanisms.entropy import Entropy, uniform_below
from shoal.mechanisms.exact import LARGEST_DENOMINATOR, checked_ratio

__all__ = ["binomial_tail", "distinct_below"]

# Enough that a second look is needed about once in 10**30 draws.
_DIGITS = 60


def binomial_tail(
    entropy: Entropy, trials: int, rate: Fraction, threshold: int, *, digits: int = _DIGITS
) -> int:
    """Draw how many of independent discrete Laplace draws are at or above a threshold, exactly.

    Each is with probability p = q^threshold / (1 + q), q = exp(-rate), so the number is binomial. It is the
    smallest b with U < F(b), for U uniform on [0, 1) and F the binomial's distribution function. Of U some
    bits are known, and of F(b) an interval; where these do not settle a comparison, U gets further bits
    *after the ones it has* and F twice the digits. So the result is that of infinite precision: no rounding
    ever decides, and a Poisson law or a float would not do.

    Parameters
    ----------
    entropy : Entropy
    trials : int
        How many draws there would be, from 1 to 2**62. Time grows with the result, not with them.
    rate : Fraction
        Of the discrete Laplace law: positive, numerator and denominator below 2**53.
    threshold : int
        At least 1.
    digits : int
        To begin with. They decide the speed, never the result.

    Returns
    -------
    int

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> draws = [binomial_tail(SeededEntropy(i), 10**12, Fraction(1), 25) for i in range(400)]
    >>> round(sum(draws) / 400)  # 10**12 exp(-25) / (1 + exp(-1)) = 10.2
    10
    """
    checked_ratio("rate", rate, LARGEST_DENOMINATOR)
    if not 1 <= trials <= 1 << 62 or threshold < 1 or digits < 1:
        raise InvalidInput(
            f"{trials} trials over a threshold of {threshold} to {digits} digits: 1 to 2**62 trials are "
            "wanted, and at least 1 of the others"
        )
    known, bits = 0, 0
    while True:
        while bits < 4 * digits:  # 10 < 2**4: U is known at least as well as F
            known, bits = known << 64 | int(entropy.words(1)[0]), bits + 64
        (down, up), whole = _contexts(digits), Decimal(1 << bits)
        low, high = down.divide(Decimal(known), whole), up.divide(Decimal(known + 1), whole)
        found = _smallest_above(low, high, _cumulated(trials, rate, threshold, digits))
        if found is not None:
            return found
        digits *= 2


def _smallest_above(
    low_u: Decimal, high_u: Decimal, cumulated: Iterator[tuple[Decimal, Decimal]]
) -> int | None:
    """Return the first place where F is above U, None where their intervals overlap."""
    place = -1
    for place, (low, high) in enumerate(cumulated):
        if low >= high_u:
            return place
        if high > low_u:
            return None
    return place + 1  # the last place, where F is one


def _contexts(digits: int) -> tuple[Context, Context]:
    """Return arithmetic that rounds down, and such that rounds up, without under- or overflow."""
    down, up = (
        Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    )
    return down, up


def _cumulated(trials: int, rate: Fraction, threshold: int, digits: int) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield lower and upper ends of F(0), F(1), ..., F(trials - 1), by directed rounding throughout."""
    down, up = _contexts(digits)
    one, n = Decimal(1), Decimal(trials)

    def exp_minus(times: int) -> tuple[Decimal, Decimal]:
        over, under = Decimal(times * rate.numerator), Decimal(rate.denominator)
        # exp and ln round to nearest whatever the context says: one step further is surely outside.
        # A bare minus would round to the digits of the thread's own context; copy_negate rounds nothing.
        return (
            down.next_minus(down.exp(up.divide(over, under).copy_negate())),
            up.next_plus(up.exp(down.divide(over, under).copy_negate())),
        )

    q_low, q_high = exp_minus(1)
    tail_low, tail_high = exp_minus(threshold)
    p_low = max(Decimal(0), down.divide(tail_low, up.add(one, q_high)))
    p_high = up.divide(tail_high, down.add(one, q_low))
    if not p_high < one:  # too few digits to say anything
        yield Decimal(0), one
        return
    rest_low, rest_high = down.subtract(one, p_high), up.subtract(one, p_low)
    # (1 - p)^n; the logarithm is at most 0, so the upper end is too.
    term_low = down.next_minus(down.exp(down.multiply(n, down.next_minus(down.ln(rest_low)))))
    none_high = min(Decimal(0), up.multiply(n, up.next_plus(up.ln(rest_high))))
    term_low, term_high = max(Decimal(0), term_low), min(one, up.next_plus(up.exp(none_high)))
    odds_low, odds_high = down.divide(p_low, rest_high), up.divide(p_high, rest_low)
    low, high = term_low, term_high
    for b in range(trials):
        yield low, min(one, high)
        left, next_b = Decimal(trials - b), Decimal(b + 1)
        term_low = down.divide(down.multiply(down.multiply(term_low, left), odds_low), next_b)
        term_high = up.divide(up.multiply(up.multiply(term_high, left), odds_high), next_b)
        low, high = down.add(low, term_low), up.add(high, term_high)


def distinct_below(entropy: Entropy, bound: int, size: int) -> Integers:
    """Draw a uniform set of `size` different integers of {0, ..., bound - 1}.

    Uniform draws are made until there are enough different ones, and the first of these are kept: no set is
    favoured, as renaming the integers changes nothing.

    Parameters
    ----------
    entropy : Entropy
    bound : int
        Below 2**63.
    size : int
        At most `bound`.

    Returns
    -------
    int64 array, sorted

    Examples
    --------
    >>> from shoal.mechanisms import SeededEntropy
    >>> distinct_below(SeededEntropy(0), 4, 4)
    array([0, 1, 2, 3])
    """
    if not 0 <= size <= bound:
        raise InvalidInput(f"there are no {size} different integers below {bound}")
    drawn = np.empty(0, dtype=np.int64)
    while True:
        values, first = np.unique(drawn, return_index=True)
        if values.size >= size:
            return np.sort(values[np.argsort(first)[:size]])
        drawn = np.concatenate([drawn[np.sort(first)], uniform_below(entropy, bound, 2 * size + 8)])
