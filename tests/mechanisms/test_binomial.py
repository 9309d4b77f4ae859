"""The number of empty cells over a threshold: exactly binomial, whatever the digits it starts with."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy, binomial_tail, discrete_laplace, distinct_below


def chance(rate, threshold):
    return math.exp(-float(rate) * threshold) / (1 + math.exp(-float(rate)))


CASES = [
    (1, Fraction(1, 2), 1),
    (7, Fraction(1, 10), 1),
    (60, Fraction(1), 2),
    (10**6, Fraction(1, 4), 40),
    (2**62, Fraction(3, 2), 27),
    (2**62, Fraction(10), 4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "rate", "threshold"), CASES)
def test_the_law_is_binomial(trials, rate, threshold, assert_law):
    entropy = SeededEntropy(0)
    draws = np.array([binomial_tail(entropy, trials, rate, threshold) for _ in range(1500)])
    values = np.arange(draws.max() + 1)
    assert_law(draws, values, stats.binom.pmf(values, trials, chance(rate, threshold)))


def test_the_chance_is_that_of_the_noise():
    noise = discrete_laplace(SeededEntropy(0), Fraction(1, 2), 200_000)
    for threshold in (1, 3, 6):
        p = chance(Fraction(1, 2), threshold)
        assert abs((noise >= threshold).mean() - p) < 5 * math.sqrt(p / 200_000)


@pytest.mark.parametrize(("trials", "rate", "threshold"), CASES)
def test_digits_decide_the_speed_alone(trials, rate, threshold):
    # With two digits nearly every comparison is unsure, and is settled by looking again at the same U.
    for seed in range(25):
        one, many = (binomial_tail(SeededEntropy(seed), trials, rate, threshold, digits=n) for n in (2, 300))
        assert one == many == binomial_tail(SeededEntropy(seed), trials, rate, threshold)


def test_it_inverts_the_distribution_function():
    # The same words, read as a number, against an independent distribution function.
    trials, rate, threshold = 10**6, Fraction(1, 4), 40
    for seed in range(200):
        u = int(SeededEntropy(seed).words(1)[0]) / 2**64
        drawn = binomial_tail(SeededEntropy(seed), trials, rate, threshold)
        assert drawn == stats.binom.ppf(u, trials, chance(rate, threshold))


def test_sets_are_uniform(assert_counts):
    entropy = SeededEntropy(1)
    sets = {s: i for i, s in enumerate(itertools.combinations(range(5), 3))}
    counts = np.zeros(len(sets), dtype=np.int64)
    for _ in range(5000):
        counts[sets[tuple(distinct_below(entropy, 5, 3).tolist())]] += 1
    assert_counts(counts, np.full(len(sets), 1 / len(sets)))


@pytest.mark.parametrize("given", [(0, Fraction(1), 1), (2**62 + 1, Fraction(1), 1), (5, Fraction(1), 0)])
def test_bad_input(given):
    with pytest.raises(InvalidInput):
        binomial_tail(SeededEntropy(0), *given)
    with pytest.raises(InvalidInput):
        distinct_below(SeededEntropy(0), 3, 4)
