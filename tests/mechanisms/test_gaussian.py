import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from shoal.errors import InvalidInput
from shoal.mechanisms import (
    SeededEntropy,
    discrete_gaussian,
    discrete_gaussian_each,
    gaussian_log_pmf,
    gaussian_variance,
)

SIGMAS = [
    Fraction(3, 10),
    Fraction(1, 2),
    Fraction(99, 100),
    Fraction(1),
    Fraction(101, 100),
    Fraction(3, 2),
    Fraction(355, 113),
    Fraction(10),
    Fraction(12345678901, 987654321),
]


def support(sigma):
    reach = math.ceil(38 * sigma)
    return np.arange(-reach, reach + 1)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_law(sigma, assert_law):
    z = support(sigma)
    assert_law(discrete_gaussian(SeededEntropy(31), sigma, 200_000), z, np.exp(gaussian_log_pmf(z, sigma)))


@pytest.mark.slow
def test_every_place_has_the_law_of_its_own_sigma(assert_law):
    which = np.random.default_rng(1).integers(0, len(SIGMAS), 60_000 * len(SIGMAS))
    draws = discrete_gaussian_each(SeededEntropy(5), SIGMAS, which)
    for i, sigma in enumerate(SIGMAS):
        z = support(sigma)
        assert_law(draws[which == i], z, np.exp(gaussian_log_pmf(z, sigma)))
    # Places are independent, those next to each other too.
    spread = draws / np.array([draws[which == i].std() for i in range(len(SIGMAS))])[which]
    assert abs(np.corrcoef(spread[1:], spread[:-1])[0, 1]) < 5 / np.sqrt(len(draws))


def test_no_place_at_all_draws_nothing():
    none = np.zeros(0, dtype=np.int64)
    assert discrete_gaussian_each(SeededEntropy(0), [Fraction(1)], none).shape == (0,)
    with pytest.raises(InvalidInput, match="sigma"):
        discrete_gaussian_each(SeededEntropy(0), [Fraction(1, 2**60)], none)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_law_of_small_requests(size, assert_law):
    entropy, sigma = SeededEntropy(size), Fraction(4, 3)
    draws = np.concatenate([discrete_gaussian(entropy, sigma, size) for _ in range(800)])
    assert_law(draws, support(sigma), np.exp(gaussian_log_pmf(support(sigma), sigma)))


@pytest.mark.parametrize(
    "sigma",
    [Fraction(2**20 + 1, 3), Fraction(2**53 - 1, 2**10 + 1), Fraction(2**45), Fraction(2**56 - 1, 2001)],
    ids=str,
)
def test_law_on_a_fine_lattice(sigma, assert_counts):
    draws = discrete_gaussian(SeededEntropy(37), sigma, 100_000)
    edges = np.append(-(2.0**63), stats.norm.ppf(np.arange(1, 40) / 40) * float(sigma))
    assert_counts(np.histogram(draws, bins=np.append(edges, 2.0**63))[0], np.full(40, 1 / 40))
    assert_counts(np.bincount(draws % 32, minlength=32), np.full(32, 1 / 32))


def test_tails_are_gaussian():
    # Cells of the bulk say little about the part of the sampler that makes large values.
    draws = np.abs(discrete_gaussian(SeededEntropy(41), Fraction(1000), 1_000_000))
    for multiple in (2, 3, 4):
        expected = 1_000_000 * 2 * stats.norm.sf(multiple)
        assert abs(np.count_nonzero(draws > 1000 * multiple) - expected) < 4.5 * math.sqrt(expected)
    assert draws.max() < 7000


def test_draws_are_independent(assert_counts):
    sigma = Fraction(1)
    pairs = np.clip(discrete_gaussian(SeededEntropy(4), sigma, 200_000), -2, 2).reshape(-1, 2) + 2
    one = np.exp(gaussian_log_pmf(np.arange(-38, 39), sigma))
    one = np.array([one[:37].sum(), one[37], one[38], one[39], one[40:].sum()])
    assert_counts(np.bincount(pairs @ [5, 1], minlength=25), np.outer(one, one).ravel())


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_renyi_divergence_is_within_the_charge(sigma, shift):
    z = np.arange(-300, 301) if sigma > 3 else np.arange(-100, 101)
    log_p, log_q = gaussian_log_pmf(z - shift, sigma), gaussian_log_pmf(z, sigma)
    for alpha in (1.01, 1.5, 2, 3, 10):
        terms = alpha * log_p + (1 - alpha) * log_q
        divergence = (np.log(np.exp(terms - terms.max()).sum()) + terms.max()) / (alpha - 1)
        charge = alpha * shift**2 / (2 * float(sigma) ** 2)
        assert divergence <= charge * (1 + 1e-9) + 1e-9
        if float(alpha * shift).is_integer():
            # The shifted terms are then the law itself, moved: the charge is not only enough but exact.
            assert divergence == pytest.approx(charge, rel=1e-9)


@pytest.mark.parametrize("sigma", [*SIGMAS, Fraction(399, 100), Fraction(4), Fraction(5)], ids=str)
def test_pmf_sums_to_one_and_has_the_stated_variance(sigma):
    z = support(sigma)
    weights = np.exp(-((z / float(sigma)) ** 2) / 2)
    assert np.exp(gaussian_log_pmf(z, sigma)) == pytest.approx(weights / weights.sum(), rel=1e-9)
    assert gaussian_variance(sigma) == pytest.approx((z**2 * weights).sum() / weights.sum(), rel=1e-12)
    assert gaussian_variance(sigma) <= float(sigma) ** 2 * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.7, 4.0])
def test_same_law_as_opendp(sigma, assert_same_law):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    oracle = np.array(dp.m.make_gaussian(*space, scale=sigma)([0] * 40_000))
    assert_same_law(discrete_gaussian(SeededEntropy(8), Fraction(str(sigma)), 40_000), oracle)


def test_sizes_and_refusals():
    assert discrete_gaussian(SeededEntropy(0), Fraction(1), 0).shape == (0,)
    assert discrete_gaussian(SeededEntropy(0), Fraction(1), 7).dtype == np.int64
    for sigma in (0.5, Fraction(0), Fraction(-1), Fraction(2**56), Fraction(1, 2**56)):
        with pytest.raises(InvalidInput, match="sigma"):
            discrete_gaussian(SeededEntropy(0), sigma, 3)
