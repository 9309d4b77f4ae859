"""Choices have exactly the published laws, lose what is charged, and never hang on large losses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import InvalidInput
from shoal.mechanisms import (
    SeededEntropy,
    choose_without_replacement,
    exponential_choice,
    permute_and_flip,
)
from shoal.mechanisms.choice import _coins

CASES = [
    ([0, 1, 2, 3], Fraction(1, 2)),
    ([7, 7, 7], Fraction(3)),
    ([5, 0, 40, 3, 3], Fraction(1, 10)),
    ([10, 12, 11], Fraction(355, 113)),  # whole exponents above 1
    ([0, 2**20, 3 * 2**20], Fraction(3, 4 * 2**20)),  # as the gate asks: steps of 2^-20
]


def flip_law(losses, rate):
    """As published: every order of the candidates, the first true coin."""
    coins = [math.exp(-float(rate) * (loss - min(losses))) for loss in losses]
    law, orders = np.zeros(len(losses)), list(itertools.permutations(range(len(losses))))
    for order in orders:
        none_yet = 1.0
        for i in order:
            law[i] += none_yet * coins[i] / len(orders)
            none_yet *= 1 - coins[i]
    return law


def exponential_law(losses, rate):
    weights = np.exp(-float(rate) * (np.array(losses, dtype=float) - min(losses)))
    return weights / weights.sum()


LAWS = [(permute_and_flip, flip_law), (exponential_choice, exponential_law)]


@pytest.mark.slow
@pytest.mark.parametrize(("choose", "law"), LAWS)
@pytest.mark.parametrize(("losses", "rate"), CASES)
def test_law(choose, law, losses, rate, assert_counts):
    entropy, values = SeededEntropy(5), np.array(losses)
    draws = [choose(entropy, values, rate) for _ in range(2000)]
    assert_counts(np.bincount(draws, minlength=len(losses)), law(losses, rate))


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(6)])
def test_coins_of_any_exponent(exponent, assert_counts):
    # A choice takes a millisecond, so its coins are tested by themselves as well, in bulk.
    whole, rest = divmod(exponent.numerator, exponent.denominator)
    size = 200_000
    coins = _coins(SeededEntropy(8), np.full(size, whole), np.full(size, rest), exponent.denominator)
    true = math.exp(-exponent)
    assert_counts(np.bincount(coins.astype(int), minlength=2), np.array([1 - true, true]))


@pytest.mark.slow
@pytest.mark.parametrize(("choose", "law"), LAWS)
def test_law_without_replacement(choose, law, assert_counts):
    losses, rate, entropy = [0, 1, 3, 4], Fraction(1, 2), SeededEntropy(6)
    pairs = np.array(
        [choose_without_replacement(entropy, np.array(losses), rate, 2, choose) for _ in range(1500)]
    )
    expected = np.zeros((4, 4))
    for i in range(4):
        left = [j for j in range(4) if j != i]
        expected[i, left] = law(losses, rate)[i] * law([losses[j] for j in left], rate)
    assert_counts(np.bincount(pairs @ [4, 1], minlength=16), expected.ravel())


@pytest.mark.parametrize("law", [flip_law, exponential_law])
@pytest.mark.parametrize("rate", [Fraction(1, 6), Fraction(1, 2)])
def test_loss_is_the_rate_times_the_range_of_the_change(law, rate):
    width, worst = 3, 0.0
    changes = list(itertools.product((0, 1, 3), repeat=3))
    for losses in itertools.product((0, 1, 4, 9, 25), repeat=3):
        before = np.log(law(losses, rate))
        for change in changes:
            ratios = np.log(law([a + b for a, b in zip(losses, change, strict=True)], rate)) - before
            worst = max(worst, np.abs(ratios).max())
    assert 0.95 * float(rate) * width <= worst <= float(rate) * width * (1 + 1e-12)


def test_the_exponential_mechanism_has_bounded_range_and_permute_and_flip_has_not():
    rate, width, ranges = Fraction(1, 2), 3, {flip_law: 0.0, exponential_law: 0.0}
    e, renyi = float(rate) * width, 0.0
    for losses in itertools.product((0, 1, 4, 9), repeat=3):
        for change in itertools.product((0, 1, 3), repeat=3):
            other = [a + b for a, b in zip(losses, change, strict=True)]
            for law in ranges:
                ratios = np.log(law(other, rate)) - np.log(law(losses, rate))
                ranges[law] = max(ranges[law], np.ptp(ratios))
            p, q = exponential_law(losses, rate), exponential_law(other, rate)
            for alpha in (1.5, 2.0, 8.0):
                for one, two in ((p, q), (q, p)):
                    divergence = math.log((one**alpha * two ** (1 - alpha)).sum()) / (alpha - 1)
                    renyi = max(renyi, divergence / alpha)
    assert ranges[exponential_law] <= e * (1 + 1e-12)
    assert ranges[flip_law] > 1.1 * e
    assert renyi <= e**2 / 8 * (1 + 1e-12)


@pytest.mark.parametrize("choose", [permute_and_flip, exponential_choice])
def test_huge_losses_are_no_trouble(choose):
    losses = np.array([2**62, 2**63 - 1, 5, 2**61])
    for rate in (Fraction(1), Fraction(2**50), Fraction(1, 2**20)):
        assert choose(SeededEntropy(1), losses, rate) == 2
    assert choose(SeededEntropy(1), np.array([9]), Fraction(1)) == 0


@pytest.mark.parametrize("choose", [permute_and_flip, exponential_choice])
@pytest.mark.parametrize(
    ("losses", "rate"),
    [([], Fraction(1)), ([-1, 2], Fraction(1)), ([[1]], Fraction(1)), ([1], Fraction(0)), ([1], 0.5)],
)
def test_bad_input(choose, losses, rate):
    with pytest.raises(InvalidInput):
        choose(SeededEntropy(0), np.array(losses, dtype=np.int64), rate)


@pytest.mark.parametrize("n", [0, 4])
def test_as_many_as_there_are(n):
    with pytest.raises(InvalidInput, match="of 3 candidates"):
        choose_without_replacement(SeededEntropy(0), np.arange(3), Fraction(1), n, permute_and_flip)
