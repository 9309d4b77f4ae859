"""Exact private choice among candidates of integer loss: permute and flip, the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from shoal._typing import Booleans, Integers
from shoal.errors import InvalidInput
from shoal.mechanisms.entropy import Entropy, checked_integers, uniform_below
from shoal.mechanisms.exact import (
    LARGEST_DENOMINATOR,
    LARGEST_RUN,
    bernoulli_exp,
    checked_ratio,
    first_accepted,
    run_lengths,
)

__all__ = [
    "Choose",
    "check_choice",
    "choose_without_replacement",
    "exponential_choice",
    "permute_and_flip",
]

Choose: TypeAlias = Callable[[Entropy, Integers, Fraction], int]

# Rounds of proposals made at a time: one batch is enough but once in exp(8), whatever the losses are, so that
# the time a choice takes hardly depends on them.
ROUNDS = 8


def check_choice(rate: Fraction) -> None:
    """Refuse a rate that candidates cannot be chosen with: for choices that are designed, and paid for."""
    checked_ratio("rate", rate, LARGEST_DENOMINATOR)


def permute_and_flip(entropy: Entropy, losses: Integers, rate: Fraction) -> int:
    """Choose a candidate by permute and flip (McKenna and Sheldon 2020), exactly.

    As published: go through the candidates in random order, toss a coin of probability
    exp(-rate * (loss - least loss)) for each, and stop at the first true one. Coins are independent of the
    order, so the first true one in a random order is a uniform pick among all true ones: here every coin is
    tossed, and then one picked. The best candidate's coin is always true.

    It is the law of the least of losses minus independent exponential noise of this rate (Ding et al. 2021).
    So if between neighbours no two losses change by amounts further apart than W, it loses at most rate * W:
    given the others' noise, a candidate wins if its own exceeds a threshold, which moves by at most W.

    Parameters
    ----------
    entropy : Entropy
    losses : int64 array of shape (n,)
        Not negative; at least one.
    rate : Fraction
        Positive, numerator and denominator below 2**53.

    Returns
    -------
    int
        The index of the chosen candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> permute_and_flip(SeededEntropy(0), np.array([10**15, 3, 10**12]), Fraction(1, 2))
    1
    """
    true = np.flatnonzero(_coins(entropy, *_exponents(losses, rate)))
    return int(true[int(uniform_below(entropy, len(true)))])


def exponential_choice(entropy: Entropy, losses: Integers, rate: Fraction) -> int:
    """Choose a candidate with probability proportional to exp(-rate * loss), exactly.

    A uniform proposal is kept with probability exp(-rate * (loss - least loss)). The best is always kept, so
    that n proposals or fewer are needed on average.

    If between neighbours no two losses change by amounts further apart than W, log ratios of probabilities
    have a range of at most e = rate * W: the loss is e, and e^2/8 in zero-concentrated terms (Cesar and
    Rogers 2021). Permute and flip does not have the second.

    Parameters
    ----------
    entropy : Entropy
    losses : int64 array of shape (n,)
        Not negative; at least one.
    rate : Fraction
        Positive, numerator and denominator below 2**53.

    Returns
    -------
    int
        The index of the chosen candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> exponential_choice(SeededEntropy(0), np.array([10**15, 3, 10**12]), Fraction(1, 2))
    1
    """
    whole, rest, denominator = _exponents(losses, rate)

    def attempt(tries: int) -> Integers:
        proposed = uniform_below(entropy, len(whole), tries)
        return proposed[_coins(entropy, whole[proposed], rest[proposed], denominator)]

    return int(first_accepted(1, attempt, tries_per_value=ROUNDS * len(whole))[0])


def choose_without_replacement(
    entropy: Entropy, losses: Integers, rate: Fraction, n: int, choose: Choose
) -> Integers:
    """Choose n different candidates: one, then one of the others, and so on. Each choice costs as one.

    Parameters
    ----------
    entropy : Entropy
    losses : int64 array
        Not negative.
    rate : Fraction
        Of each choice.
    n : int
        From 1 to the number of candidates.
    choose : callable
        :func:`permute_and_flip` or :func:`exponential_choice`.

    Returns
    -------
    int64 array of shape (n,)
        Indices in the order they were chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mechanisms import SeededEntropy
    >>> losses = np.array([10**15, 3, 10**12])
    >>> choose_without_replacement(SeededEntropy(0), losses, Fraction(1, 2), 2, permute_and_flip)
    array([1, 2])
    """
    if not 1 <= n <= len(losses):
        raise InvalidInput(f"{n} of {len(losses)} candidates cannot be chosen")
    left = np.arange(len(losses), dtype=np.int64)
    chosen = np.empty(n, dtype=np.int64)
    for i in range(n):
        place = choose(entropy, losses[left], rate)
        chosen[i] = left[place]
        left = np.delete(left, place)
    return chosen


def _exponents(losses: Integers, rate: Fraction) -> tuple[Integers, Integers, int]:
    """Return rate * (loss - least loss) as whole parts and remainders over one denominator."""
    s, t = checked_ratio("rate", rate, LARGEST_DENOMINATOR)
    values = checked_integers("a loss", losses, least=0)
    if values.ndim != 1 or not values.size:
        raise InvalidInput(f"losses of shape {values.shape}; one for each of at least 1 candidate is wanted")
    # The products do not fit 64 bits; Python's integers hold them, each different gap once.
    gaps, place = np.unique(values - values.min(), return_inverse=True)
    parts = [divmod(s * gap, t) for gap in gaps.tolist()]
    # A longer run of coins is never drawn, so larger whole parts are all alike.
    whole = np.array([min(w, LARGEST_RUN + 1) for w, _ in parts], dtype=np.int64)
    return whole[place], np.array([r for _, r in parts], dtype=np.int64)[place], t


def _coins(entropy: Entropy, whole: Integers, rest: Integers, denominator: int) -> Booleans:
    """Toss coins of probability exp(-whole - rest/denominator).

    A run of coins of probability exp(-1) is at least w long with probability exp(-w).
    """
    runs = run_lengths(entropy, 1, len(whole))
    return (runs >= whole) & bernoulli_exp(entropy, rest, denominator)
