import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from shoal.errors import InvalidInput, LatticeTooCoarse
from shoal.mechanisms import SeededEntropy, laplace_log_pmf, linf_noise, linf_variance


def log_total(rate, dimension):
    """Log of the sum of exp(-rate * max(abs(z))) over Z^m, by counting the shells of the boxes."""
    r = np.arange(math.ceil((4 * dimension + 200) / rate), dtype=float)
    shells = (2 * r + 1) ** dimension - np.where(r > 0, 2 * r - 1, 0.0) ** dimension
    return float(special.logsumexp(-float(rate) * r, b=shells))


def cube(reach, dimension):
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=dimension)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "dimension"),
    [
        (Fraction(1, 2), 2),
        (Fraction(7, 10), 2),
        (Fraction(2), 2),
        (Fraction(355, 1130), 3),
        (Fraction(4, 3), 3),
        (Fraction(1), 4),
    ],
    ids=str,
)
def test_joint_law(rate, dimension, assert_counts):
    draws = linf_noise(SeededEntropy(dimension), rate, 200_000, dimension)
    # Wrapping into a cube keeps whole vectors: the cells are joint values, and one more for what is outside.
    reach = {2: 12, 3: 6, 4: 3}[dimension]
    cells = cube(reach, dimension)
    law = np.exp(-float(rate) * np.abs(cells).max(axis=1) - log_total(rate, dimension))
    inside = np.abs(draws).max(axis=1) <= reach
    place = (draws[inside] + reach) @ (2 * reach + 1) ** np.arange(dimension)[::-1]
    counts = np.append(np.bincount(place, minlength=len(cells)), np.count_nonzero(~inside))
    assert_counts(counts, np.append(law, 1 - law.sum()))


def test_in_one_dimension_it_is_laplace(assert_law):
    rate, z = Fraction(3, 2), np.arange(-40, 41)
    draws = linf_noise(SeededEntropy(1), rate, 100_000, 1)
    assert_law(draws[:, 0], z, np.exp(laplace_log_pmf(z, rate)))


@pytest.mark.parametrize(("rate", "dimension"), [(Fraction(1, 11), 10), (Fraction(1, 100), 40)], ids=str)
def test_law_of_the_largest_entry(rate, dimension, assert_law):
    draws = np.abs(linf_noise(SeededEntropy(5), rate, 20_000, dimension)).max(axis=1)
    r = np.arange(math.ceil(4 * dimension / rate), dtype=float)
    shells = dimension * np.log(2 * r + 1)
    shells[1:] += np.log1p(-np.exp(dimension * np.log1p(-2 / (2 * r[1:] + 1))))
    law = np.exp(shells - float(rate) * r - special.logsumexp(shells - float(rate) * r))
    # Cells of about a hundredth each, so that chi-square sees the shape.
    cell = np.minimum((np.cumsum(law) * 100).astype(int), 99)
    assert_law(cell[draws], np.arange(100), np.bincount(cell, weights=law, minlength=100))


def test_entries_are_uncorrelated_and_their_signs_independent(assert_counts):
    draws = linf_noise(SeededEntropy(2), Fraction(1, 1000), 100_000, 4)
    correlation = np.corrcoef(draws.T)
    assert np.abs(correlation[~np.eye(4, dtype=bool)]).max() < 4.5 / math.sqrt(100_000)
    assert_counts(np.bincount((draws > 0) @ [1, 2, 4, 8], minlength=16), np.full(16, 1 / 16))
    # They are not independent, as they share the box: a wrong sampler made of independent entries fails here.
    sizes = np.corrcoef(np.abs(draws).T)
    assert sizes[~np.eye(4, dtype=bool)].min() > 0.1


def test_vectors_are_independent_of_each_other():
    draws = np.abs(linf_noise(SeededEntropy(3), Fraction(1, 1000), 50_000, 3)).max(axis=1).astype(float)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4.5 / math.sqrt(50_000)


@pytest.mark.parametrize("place", [0, 2500, 5000])
def test_all_entries_have_one_law_in_a_high_dimension(place):
    rate = Fraction(123457, 2**40)
    draws = linf_noise(SeededEntropy(6), rate, 64, 5001)
    assert draws.shape == (64, 5001)
    spread = math.sqrt(linf_variance(rate, 5001))
    assert abs(draws[:, place].std() / spread - 1) < 4.5 / math.sqrt(64)
    assert abs(draws.std() / spread - 1) < 0.01
    # An entry is close to uniform in a box whose half-width hardly varies.
    assert abs(np.abs(draws).max(axis=1) / (5002 / float(rate)) - 1).max() < 0.1


def exact_law_of_the_sampler(rate, dimension, z):
    """Log-law of the accepted vectors, from the sampler's steps alone: its geometric sum and its dice."""
    q = math.exp(-rate)
    j = np.arange(math.ceil(400 / rate))
    log_sum = special.gammaln(j + dimension + 1) - special.gammaln(j + 1) - special.gammaln(dimension + 1)
    log_sum = log_sum + (dimension + 1) * math.log1p(-q) - float(rate) * j
    log_dice = -np.log(2 * (j[:, None] + np.arange(1, dimension + 1))).sum(axis=1)
    by_box = np.exp(log_sum + log_dice)
    from_here = np.cumsum(by_box[::-1])[::-1]
    acceptance = (by_box * (2 * j + 1.0) ** dimension).sum()
    return np.log(from_here[np.abs(z).max(axis=1)] / acceptance), acceptance


@pytest.mark.parametrize(
    ("rate", "dimension"),
    [(Fraction(1, 2), 2), (Fraction(2), 2), (Fraction(1, 3), 3), (Fraction(4, 3), 3)],
    ids=str,
)
def test_loss_of_the_sampler_is_exactly_rate_times_width(rate, dimension):
    width = 3
    inner = cube(4, dimension)
    law, acceptance = exact_law_of_the_sampler(rate, dimension, inner)
    expected = -float(rate) * np.abs(inner).max(axis=1) - log_total(rate, dimension)
    assert law == pytest.approx(expected, rel=1e-9)
    assert acceptance >= math.exp(-dimension * rate / 2)
    worst = 0.0
    for shift in cube(width, dimension):
        moved, _ = exact_law_of_the_sampler(rate, dimension, inner - shift)
        worst = max(worst, np.abs(law - moved).max())
    assert worst == pytest.approx(float(rate) * width, rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 100, 500])
@pytest.mark.parametrize("product", [4, 2, 1, 0.5])
def test_acceptance_is_at_least_the_bound_that_refusal_relies_on(dimension, product):
    rate = product / dimension
    j = np.arange(math.ceil((3 * dimension + 200) / rate), dtype=float)
    log_sum = special.logsumexp(dimension * np.log(2 * j + 1) - rate * j)
    log_sum += (dimension + 1) * math.log(-math.expm1(-rate))
    log_sum -= dimension * math.log(2) + special.gammaln(dimension + 1)
    assert log_sum >= -product / 2 - 1e-6


@pytest.mark.parametrize(
    ("rate", "dimension"), [(Fraction(1), 1000), (Fraction(9, 2), 1), (Fraction(4001, 10**6), 1000)]
)
def test_a_coarse_lattice_is_refused(rate, dimension):
    with pytest.raises(LatticeTooCoarse, match=rf"dimension \* rate is {dimension} \* .* finer lattice"):
        linf_noise(SeededEntropy(0), rate, 1, dimension)


def test_refusal_asks_for_no_randomness():
    entropy = SeededEntropy(0)
    with pytest.raises(LatticeTooCoarse):
        linf_noise(entropy, Fraction(1), 1, 1000)
    assert np.array_equal(entropy.words(4), SeededEntropy(0).words(4))


def test_the_coarsest_lattice_allowed_still_returns():
    assert linf_noise(SeededEntropy(0), Fraction(4, 1000), 5, 1000).shape == (5, 1000)


def test_other_refusals():
    with pytest.raises(InvalidInput, match="64 bits"):
        linf_noise(SeededEntropy(0), Fraction(1, 2**52), 1, 5)
    for size, dimension in ((-1, 2), (1, 0)):
        with pytest.raises(InvalidInput):
            linf_noise(SeededEntropy(0), Fraction(1, 100), size, dimension)
    with pytest.raises(InvalidInput, match="Fraction"):
        linf_noise(SeededEntropy(0), 0.01, 1, 2)
    with pytest.raises(InvalidInput, match="dimension"):
        linf_variance(Fraction(1), 0)
    assert linf_noise(SeededEntropy(0), Fraction(1, 100), 0, 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("rate", "dimension"),
    [(Fraction(2), 1), (Fraction(2), 2), (Fraction(1, 2), 3), (Fraction(1, 50), 2), (Fraction(1, 50), 8)],
    ids=str,
)
def test_variance_is_that_of_the_discrete_law(rate, dimension):
    # Over the shells: in the shell of largest entry r, an entry's mean square is that of the boxes'
    # difference.
    r = np.arange(math.ceil(200 / rate), dtype=float)
    box = (2 * r + 1) ** dimension
    squares = box * r * (r + 1) / 3
    weights = np.exp(-float(rate) * r)
    total = (np.diff(box, prepend=0) * weights).sum()
    expected = (np.diff(squares, prepend=0) * weights).sum() / total
    assert linf_variance(rate, dimension) == pytest.approx(expected, rel=1e-10)


def test_variance_is_continuous_where_the_closed_form_takes_over():
    for dimension in (2, 3, 7):
        edge = 2 * math.pi * 1e-14 ** (1 / (dimension + 1))
        below, above = (Fraction(edge * factor) for factor in (0.999, 1.001))
        for rate in (below, above):
            closed = ((dimension + 1) * (dimension + 2) / float(rate) ** 2 - 0.25) / 3
            assert linf_variance(rate, dimension) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "dimension"), [(Fraction(1), 2), (Fraction(1, 7), 5), (Fraction(1, 2**20), 11)], ids=str
)
def test_draws_have_the_stated_variance(rate, dimension):
    draws = linf_noise(SeededEntropy(12), rate, 100_000, dimension).astype(float)
    squares = (draws**2).mean(axis=1)
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - linf_variance(rate, dimension)) < 4.5 * error


@pytest.mark.slow
def test_blocks_do_not_change_the_law(monkeypatch, assert_counts):
    monkeypatch.setattr("shoal.mechanisms.linf.BLOCK", 7)
    draws = linf_noise(SeededEntropy(0), Fraction(1), 1500, 2)
    cells = cube(1, 2)
    law = np.exp(-np.abs(cells).max(axis=1) - log_total(Fraction(1), 2))
    inside = draws[np.abs(draws).max(axis=1) <= 1]
    counts = np.append(np.bincount((inside + 1) @ [3, 1], minlength=9), len(draws) - len(inside))
    assert_counts(counts, np.append(law, 1 - law.sum()))
