import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from shoal.errors import InvalidInput
from shoal.mechanisms import (
    SeededEntropy,
    discrete_laplace,
    discrete_laplace_each,
    laplace_log_pmf,
    laplace_variance,
)

RATES = [
    Fraction(3),
    Fraction(355, 113),
    Fraction(1),
    Fraction(7, 10),
    Fraction(1, 2),
    Fraction(12345, 2**18),
]


def support(rate):
    reach = math.ceil(45 / rate)
    return np.arange(-reach, reach + 1)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_law(rate, assert_law):
    z = support(rate)
    assert_law(discrete_laplace(SeededEntropy(17), rate, 200_000), z, np.exp(laplace_log_pmf(z, rate)))


@pytest.mark.slow
def test_every_place_has_the_law_of_its_own_rate(assert_law):
    which = np.random.default_rng(1).integers(0, len(RATES), 60_000 * len(RATES))
    draws = discrete_laplace_each(SeededEntropy(5), RATES, which)
    for i, rate in enumerate(RATES):
        z = support(rate)
        assert_law(draws[which == i], z, np.exp(laplace_log_pmf(z, rate)))
    # Places are independent, those next to each other too.
    spread = draws / np.array([draws[which == i].std() for i in range(len(RATES))])[which]
    assert abs(np.corrcoef(spread[1:], spread[:-1])[0, 1]) < 5 / np.sqrt(len(draws))


def test_no_place_at_all_draws_nothing():
    none = np.zeros(0, dtype=np.int64)
    assert discrete_laplace_each(SeededEntropy(0), [Fraction(1)], none).shape == (0,)
    with pytest.raises(InvalidInput, match="rate"):
        discrete_laplace_each(SeededEntropy(0), [Fraction(1, 2**60)], none)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_law_of_small_requests(size, assert_law):
    entropy, rate = SeededEntropy(size), Fraction(2, 3)
    draws = np.concatenate([discrete_laplace(entropy, rate, size) for _ in range(800)])
    assert_law(draws, support(rate), np.exp(laplace_log_pmf(support(rate), rate)))


@pytest.mark.parametrize(
    "rate", [Fraction(1, 2**20), Fraction(123457, 2**40), Fraction(3, 2**53 - 111)], ids=str
)
def test_law_on_a_fine_lattice(rate, assert_counts):
    draws = discrete_laplace(SeededEntropy(23), rate, 100_000)
    # Twenty equally likely cells of the continuous law, from which these lattices are too fine to differ.
    upper = -np.log(2 * (1 - np.arange(11, 20) / 20)) / float(rate)
    edges = np.concatenate([[-(2.0**63)], -upper[::-1], [0.0], upper, [2.0**63]])
    assert_counts(np.histogram(draws, bins=edges)[0], np.full(20, 0.05))
    # Every residue is as likely: no holes for a neighbour's release to show through.
    assert_counts(np.bincount(draws % 32, minlength=32), np.full(32, 1 / 32))


def test_draws_are_independent(assert_counts):
    rate = Fraction(1)
    pairs = np.clip(discrete_laplace(SeededEntropy(4), rate, 200_000), -2, 2).reshape(-1, 2) + 2
    one = np.exp(laplace_log_pmf(np.arange(-40, 41), rate))
    one = np.array([one[:39].sum(), one[39], one[40], one[41], one[42:].sum()])
    assert_counts(np.bincount(pairs @ [5, 1], minlength=25), np.outer(one, one).ravel())


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_loss_is_exactly_rate_times_shift(rate, shift):
    z = support(rate)
    loss = laplace_log_pmf(z, rate) - laplace_log_pmf(z - shift, rate)
    assert np.abs(loss).max() == pytest.approx(float(rate) * shift, rel=1e-12)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_pmf_sums_to_one_and_has_the_stated_variance(rate):
    z = support(rate)
    weights = np.exp(-float(rate) * np.abs(z))
    assert np.exp(laplace_log_pmf(z, rate)) == pytest.approx(weights / weights.sum(), rel=1e-9)
    assert laplace_variance(rate) == pytest.approx((z**2 * weights).sum() / weights.sum(), rel=1e-12)


def test_variance_of_extreme_rates():
    assert laplace_variance(Fraction(1, 2**40)) == pytest.approx(2.0**81, rel=1e-12)
    assert laplace_variance(Fraction(100)) == pytest.approx(2 * math.exp(-100), rel=1e-12)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)], ids=str)
def test_same_law_as_opendp(scale, assert_same_law):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    oracle = np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * 40_000))
    assert_same_law(discrete_laplace(SeededEntropy(8), 1 / scale, 40_000), oracle)


def test_sizes_and_refusals():
    assert discrete_laplace(SeededEntropy(0), Fraction(1), 0).shape == (0,)
    assert discrete_laplace(SeededEntropy(0), Fraction(1), 7).dtype == np.int64
    for rate in (0.5, Fraction(0), Fraction(-1), Fraction(1, 2**60)):
        with pytest.raises(InvalidInput, match="rate"):
            discrete_laplace(SeededEntropy(0), rate, 3)
    with pytest.raises(InvalidInput, match="negative"):
        discrete_laplace(SeededEntropy(0), Fraction(1), -1)
