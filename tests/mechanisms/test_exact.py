import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy, bernoulli_exp, exact, geometric_exp, uniform_below
from shoal.mechanisms.entropy import fair_coins
from shoal.mechanisms.exact import bernoulli_exp_square, first_accepted, run_lengths


class Scripted:
    """Hands out given words, and zeros after them."""

    private = False

    def __init__(self, words):
        self.left = np.asarray(words, dtype=np.uint64)
        self.calls = 0

    def words(self, n):
        self.calls += 1
        assert self.calls < 100, "a word was rejected that should have been taken"
        given_now, self.left = self.left[:n], self.left[n:]
        return np.concatenate([given_now, np.zeros(n - len(given_now), dtype=np.uint64)])

    def describe(self):
        return "scripted"


# A remainder alone would give the lower two thirds of this range three words for every two of the upper
# third.
AWKWARD = 2**62 + 2**61


@pytest.mark.parametrize("as_array", [False, True])
def test_uniform_below_has_no_modulo_bias(as_array, assert_counts):
    size = 60_000
    bound = np.full(size, AWKWARD) if as_array else AWKWARD
    draws = uniform_below(SeededEntropy(0), bound, size)
    assert draws.min() >= 0
    assert draws.max() < AWKWARD
    assert_counts(np.bincount(draws // 2**61, minlength=3), np.full(3, 1 / 3))


@given(bound=st.integers(2, 256))
def test_uniform_below_small_is_fair_over_every_sixteen_bit_lane(bound):
    lanes = np.arange(2**16, dtype=np.uint16).view(np.uint64)
    counts = np.bincount(uniform_below(Scripted(lanes), bound, 2**16), minlength=bound)
    # Each lane value once: every result equally often, and the unfair lanes drawn again, here as zeros.
    share, unfair = divmod(2**16, bound)
    assert counts[0] == share + unfair
    assert np.all(counts[1:] == share)


@given(bound=st.integers(2**8 + 1, 2**63 - 1))
def test_uniform_below_rejects_exactly_the_words_of_the_incomplete_copy(bound):
    bits = 32 if bound <= 2**24 else 64
    span = 2**bits
    fair = span - span % bound
    assert uniform_below(Scripted([fair - 1]), bound) == bound - 1
    if fair < span:
        assert uniform_below(Scripted([fair, 7]), bound) == 7
    # The rule for arrays rejects from the other end.
    unfair = 2**64 % bound
    each = np.array([bound])
    assert uniform_below(Scripted([unfair]), each)[0] == unfair % bound
    assert uniform_below(Scripted([2**64 - 1]), each)[0] == (2**64 - 1) % bound
    if unfair:
        assert uniform_below(Scripted([unfair - 1, bound + unfair + 1]), each)[0] == (unfair + 1) % bound


@pytest.mark.parametrize("bound", [2, 3, 251, 256, 257, 1000, 2**24, 2**24 + 1, 2**40, 10**12])
def test_uniform_below_fills_its_range(bound, assert_counts):
    draws = uniform_below(SeededEntropy(bound), bound, 50_000)
    cells = min(bound, 16)
    edges = [-(-bound * i // cells) for i in range(cells + 1)]
    counts = np.histogram(draws, bins=np.array(edges, dtype=np.float64))[0]
    assert_counts(counts, np.diff(edges) / bound)
    assert draws.min() >= 0
    assert draws.max() < bound


def test_uniform_below_gives_each_entry_its_own_bound(assert_counts):
    bounds = np.tile(np.array([[4, 2, 3], [5, 7, 2**40]]), (20_000, 1, 1))
    draws = uniform_below(SeededEntropy(0), bounds)
    assert draws.shape == bounds.shape
    assert draws.dtype == np.int64
    for (i, j), bound in np.ndenumerate(bounds[0]):
        here = draws[:, i, j]
        if bound < 10:
            assert_counts(np.bincount(here, minlength=bound), np.full(bound, 1 / bound))
        else:
            assert abs(here.mean() / bound - 0.5) < 0.01


def test_uniform_below_shapes():
    assert uniform_below(SeededEntropy(0), 10).shape == ()
    assert uniform_below(SeededEntropy(0), 10, 4).shape == (4,)
    assert uniform_below(SeededEntropy(0), np.array([4, 5], dtype=np.uint64)).shape == (2,)
    assert uniform_below(SeededEntropy(0), np.array([], dtype=np.int64)).shape == (0,)
    assert not uniform_below(SeededEntropy(0), 1, 9).any()


@pytest.mark.parametrize("bound", [0, -3, 2**63, 2.0, np.array([3, 0]), np.array([2**63], dtype=np.uint64)])
def test_uniform_below_refuses_bounds_it_cannot_honour(bound):
    with pytest.raises(InvalidInput, match="bound"):
        uniform_below(SeededEntropy(0), bound)


def test_uniform_below_refuses_a_size_that_is_not_the_bounds():
    with pytest.raises(InvalidInput, match="shape"):
        uniform_below(SeededEntropy(0), np.array([3, 4]), 5)


def test_fair_coins_are_fair_and_independent(assert_counts):
    coins = fair_coins(SeededEntropy(0), 3 * 50_001)
    assert len(coins) == 3 * 50_001
    assert_counts(np.bincount(coins.reshape(-1, 3) @ [1, 2, 4], minlength=8), np.full(8, 1 / 8))


def assert_probability(coins, probability):
    error = math.sqrt(max(probability * (1 - probability), 1e-12) / coins.size)
    assert abs(coins.mean() - probability) < 4.5 * error + 1e-12


RATIOS = [
    (0, 1),
    (1, 1),
    (1, 2),
    (2, 3),
    (355, 1130),
    (1, 10**6),
    (2**52, 2**53 - 1),
    (2**62, 2**63 - 1),
    (2**63 - 2, 2**63 - 1),
]


@pytest.mark.parametrize(("a", "b"), RATIOS)
def test_bernoulli_exp_probability(a, b):
    n = 100_000
    assert_probability(bernoulli_exp(SeededEntropy(1), a, b, n), math.exp(-a / b))
    assert_probability(bernoulli_exp(SeededEntropy(2), np.full(n, a), np.full(n, b)), math.exp(-a / b))


@pytest.mark.parametrize(("a", "b"), RATIOS)
def test_bernoulli_exp_square_probability(a, b):
    coins = bernoulli_exp_square(SeededEntropy(3), np.full(100_000, a), b)
    assert_probability(coins, math.exp(-((a / b) ** 2) / 2))


def test_bernoulli_exp_gives_each_entry_its_own_probability():
    a, b = np.meshgrid([0, 1, 3], [3, 5, 2**40])
    coins = bernoulli_exp(SeededEntropy(0), np.tile(a, (50_000, 1, 1)), np.tile(b, (50_000, 1, 1)))
    for (i, j), over in np.ndenumerate(a):
        assert_probability(coins[:, i, j], math.exp(-over / b[i, j]))


def test_bernoulli_exp_coins_are_independent(assert_counts):
    p = math.exp(-3 / 4)
    coins = bernoulli_exp(SeededEntropy(0), 3, 4, 120_000).reshape(-1, 3)
    ones = np.array([bin(pattern).count("1") for pattern in range(8)])
    assert_counts(np.bincount(coins @ [1, 2, 4], minlength=8), p**ones * (1 - p) ** (3 - ones))


@pytest.mark.parametrize(
    ("a", "b"), [(2, 1), (-1, 2), (0, 0), (1, -1), (0.5, 1), (np.array([1, 3]), 2), (1, 2**63)]
)
def test_bernoulli_exp_refuses_what_is_no_probability(a, b):
    with pytest.raises(InvalidInput):
        bernoulli_exp(SeededEntropy(0), a, b)


@pytest.mark.slow
@pytest.mark.parametrize("inverse_rate", [1, 2])
@pytest.mark.parametrize("size", [1, 3, 20_000])
def test_run_lengths_keep_the_run_left_open_at_the_end(inverse_rate, size, assert_law):
    entropy = SeededEntropy(size)
    runs = np.concatenate([run_lengths(entropy, inverse_rate, size) for _ in range(max(1, 5000 // size))])
    values = np.arange(40)
    q = math.exp(-1 / inverse_rate)
    assert_law(runs, values, (1 - q) * q**values)


def test_a_run_goes_on_in_the_next_row_of_coins(monkeypatch):
    # All heads, then a tail: to start afresh would drop long runs more often than short ones. That happens
    # too seldom for a test of the law to see it.
    rows = iter([True, False])
    monkeypatch.setattr(exact, "bernoulli_exp", lambda entropy, a, b, n: np.full(n, next(rows)))
    (run,) = run_lengths(SeededEntropy(0), 1, 1)
    assert run == 2 * (1 + 1 - 1) + 8  # as many heads as the first row has coins


@pytest.mark.parametrize(
    "rate",
    [Fraction(1), Fraction(7, 10), Fraction(355, 113), Fraction(1, 30), Fraction(12345, 2**20)],
    ids=str,
)
def test_geometric_law(rate, assert_law):
    draws = geometric_exp(SeededEntropy(rate.numerator), rate, 100_000)
    values = np.arange(math.ceil(40 / rate))
    assert_law(draws, values, -math.expm1(-rate) * np.exp(-float(rate) * values))


def test_geometric_draws_fill_the_finest_lattice(assert_counts):
    # Rounding through a double would leave even numbers only, or holes, among the large draws.
    rate = Fraction(3, 2**53 - 111)
    draws = geometric_exp(SeededEntropy(9), rate, 50_000)
    assert_counts(np.bincount(draws % 16, minlength=16), np.full(16, 1 / 16))
    deciles = np.floor(-np.log1p(-np.arange(10) / 10) / float(rate))
    assert_counts(np.histogram(draws, bins=np.append(deciles, 2.0**63))[0], np.full(10, 0.1))


@pytest.mark.parametrize("rate", [Fraction(1, 2**53), Fraction(2**53, 3), Fraction(3, 2**60)], ids=str)
def test_geometric_refuses_rates_whose_draws_could_overflow(rate):
    with pytest.raises(InvalidInput, match=r"2\*\*53"):
        geometric_exp(SeededEntropy(0), rate, 1)


@pytest.mark.parametrize("rate", [0.5, Fraction(0), Fraction(-1, 2), "1/2", None])
def test_geometric_refuses_what_is_not_a_positive_fraction(rate):
    with pytest.raises(InvalidInput, match="rate"):
        geometric_exp(SeededEntropy(0), rate, 1)


@pytest.mark.parametrize("tail_every", [2000, 10**9])
def test_a_stuck_source_is_refused_rather_than_wrapped_or_waited_for(tail_every, monkeypatch):
    # Heads without end: runs that would take t*V out of 64 bits.
    tossed = 0

    def heads(entropy, numerator, denominator, size):
        nonlocal tossed
        tossed += size
        return np.arange(tossed - size, tossed) % tail_every != tail_every - 1

    monkeypatch.setattr("shoal.mechanisms.exact.bernoulli_exp", heads)
    with pytest.raises(OverflowError, match="stuck"):
        run_lengths(SeededEntropy(0), 1, 3)


def test_first_accepted_takes_the_values_in_order_and_no_more():
    tried = 0

    def attempt(tries):
        nonlocal tried
        numbers = np.arange(tried, tried + tries)
        tried += tries
        return numbers[numbers % 3 == 0]

    assert np.array_equal(first_accepted(100_000, attempt, tries_per_value=1.0), 3 * np.arange(100_000))
    with pytest.raises(InvalidInput, match="negative"):
        first_accepted(-1, attempt, tries_per_value=1.0)
