import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.errors import InvalidInput, LatticeTooCoarse
from shoal.mechanisms import SeededEntropy, cylinder_core, cylinder_noise, cylinder_variance
from shoal.mechanisms.cylinder import _checked_cover, _coarse_points, _comes_up, _Cover, _no_longer

TINY = [
    (Fraction(1, 2), 2, 1),
    (Fraction(1, 12), 2, 1),
    (Fraction(1, 10), 3, 1),
    (Fraction(1, 3), 2, 2),
    (Fraction(1, 8), 3, 0),
]
# Too coarse to draw often from, but the law is the same.
COARSE = [(Fraction(5, 4), 2, 1), (Fraction(2, 3), 3, 0)]


@lru_cache
def points_in_balls(reach, dimension):
    """How many integer vectors have length at most 0, 1, ..., reach."""
    found = np.zeros(reach**2 + 1)
    found[0] = 1
    for _ in range(dimension):
        longer = found.copy()
        for step in range(1, reach + 1):
            longer[step**2 :] += 2 * found[: len(found) - step**2]
        found = longer
    return np.cumsum(found)[np.arange(reach + 1) ** 2]


def reach_of(rate, m):
    """Steps beyond which the law has nothing left."""
    return math.ceil((2 * m + 30) / rate)


def size(z, core, dimension):
    """The largest of ceil(length of the first entries), the other entries, and the core."""
    squares = (z[:, :dimension].astype(np.int64) ** 2).sum(axis=1)
    length = np.array([math.isqrt(v - 1) + 1 if v else 0 for v in squares.tolist()])
    return np.maximum(np.column_stack([length, np.abs(z[:, dimension:])]).max(axis=1), core)


def total(rate, dimension, extras, core):
    """Sum of exp(-rate * size) over all integer vectors, by the radii of the cylinders that hold them."""
    reach = reach_of(rate, dimension + extras)
    j = np.arange(core, reach + 1)
    held = points_in_balls(reach, dimension)[j] * (2.0 * j + 1) ** extras
    return float((held * np.exp(-float(rate) * j)).sum() * -math.expm1(-rate))


@lru_cache
def drawn(rate, dimension, extras):
    return cylinder_noise(SeededEntropy(dimension), rate, 12_000, dimension, extras)


def cube(reach, dimension):
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=dimension)))


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "dimension", "extras"), TINY, ids=str)
def test_joint_law(rate, dimension, extras, assert_counts):
    m, core = dimension + extras, cylinder_core(rate, dimension, extras)
    draws = drawn(rate, dimension, extras)
    reach = {3: 6, 4: 4}[m]
    cells = cube(reach, m)
    law = np.exp(-float(rate) * size(cells, core, dimension)) / total(rate, dimension, extras, core)
    inside = np.abs(draws).max(axis=1) <= reach
    place = (draws[inside] + reach) @ (2 * reach + 1) ** np.arange(m)[::-1]
    counts = np.append(np.bincount(place, minlength=len(cells)), np.count_nonzero(~inside))
    assert_counts(counts, np.append(law, 1 - law.sum()))


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "dimension", "extras"), TINY, ids=str)
def test_law_of_the_size(rate, dimension, extras, assert_law):
    core = cylinder_core(rate, dimension, extras)
    draws = size(drawn(rate, dimension, extras), core, dimension)
    j = np.arange(reach_of(rate, dimension + extras) + 1)
    held = points_in_balls(len(j) - 1, dimension)[j] * (2.0 * j + 1) ** extras
    shells = np.diff(np.where(j >= core, held, 0.0), prepend=0.0)
    law = shells * np.exp(-float(rate) * j) / total(rate, dimension, extras, core)
    assert_law(draws, j, law)


@pytest.mark.parametrize(("dimension", "extras"), [(2, 1), (5, 2), (15, 1), (60, 0)])
def test_on_a_fine_lattice_size_and_direction_have_their_laws(dimension, extras):
    rate, m = Fraction(3, 2**20), dimension + extras
    draws = cylinder_noise(SeededEntropy(dimension), rate, 3000, dimension, extras).astype(float)
    length = np.sqrt((draws[:, :dimension] ** 2).sum(axis=1))
    largest = np.column_stack([length, np.abs(draws[:, dimension:])]).max(axis=1)
    # Radii below the core are rarer than a part in a thousand, which so few draws do not show.
    assert stats.kstest(largest * float(rate), stats.gamma(m).cdf).pvalue > 1e-5
    for column in (0, dimension - 1):
        # A coordinate of a point of the sphere: its square has a beta law.
        square = (draws[:, column] / length) ** 2
        assert stats.kstest(square, stats.beta(0.5, (dimension - 1) / 2).cdf).pvalue > 1e-5
    if extras:
        # In the cylinder of radius j length and number are independent, but j is common to both.
        assert np.corrcoef(length, np.abs(draws[:, -1]))[0, 1] > 0.03
    signs = np.corrcoef(draws.T)[~np.eye(m, dtype=bool)]
    assert np.abs(signs).max() < 5.5 / math.sqrt(3000)


def exact_law_of_the_sampler(rate, dimension, extras, z):
    """Law of the accepted vectors, from the sampler's steps alone: cover, geometric sum and dice."""
    cover, m = _checked_cover(rate, dimension, extras), dimension + extras
    coarse = points_in_balls(cover.radius, dimension)[-1]
    j = np.arange(reach_of(rate, m) + 1)
    by_radius = np.exp(-float(rate) * j) * (-math.expm1(-rate)) ** (m + 1) / math.factorial(m)
    by_radius *= np.where(j >= cover.core, 1.0, 0.0)
    for i in range(1, m + 1):
        # The geometric sum's factor, then the die's: M of j + i numbers lead to one place in a cell.
        by_radius *= j + i
        by_radius *= cover.cells / (j + i) if i <= dimension else 1 / (2 * (j + i))
    by_radius /= coarse
    from_here = np.cumsum(by_radius[::-1])[::-1]
    held = points_in_balls(len(j) - 1, dimension)[j] * (2.0 * j + 1) ** extras
    acceptance = (by_radius * held).sum()
    return from_here[size(z, cover.core, dimension)] / acceptance, acceptance


@pytest.mark.parametrize(("rate", "dimension", "extras"), TINY + COARSE, ids=str)
def test_loss_of_the_sampler_is_exactly_rate_times_width(rate, dimension, extras):
    width, m, core = 3, dimension + extras, cylinder_core(rate, dimension, extras)
    inner = cube(3, m)
    law, _ = exact_law_of_the_sampler(rate, dimension, extras, inner)
    expected = np.exp(-float(rate) * size(inner, core, dimension)) / total(rate, dimension, extras, core)
    assert law == pytest.approx(expected, rel=1e-9)
    shifts = cube(width, m)
    shifts = shifts[(shifts[:, :dimension] ** 2).sum(axis=1) <= width**2]
    worst = 0.0
    # Beyond the core, where the law falls.
    for start in ([0] * m, [core] + [0] * (m - 1), [core, core] + [1] * (m - 2)):
        at, moved = (
            exact_law_of_the_sampler(rate, dimension, extras, z)[0]
            for z in (np.array([start]), np.array(start) + shifts)
        )
        worst = max(worst, np.abs(np.log(at) - np.log(moved)).max())
    assert worst == pytest.approx(float(rate) * width, rel=1e-9)


def test_a_longer_move_than_the_width_loses_more():
    # (3, 3) is longer than 4: a box of half width 3 is no part of the ball that a rate is charged for.
    z = np.array([[1, 1, 0], [4, 4, 0]])
    law, _ = exact_law_of_the_sampler(Fraction(1, 2), 2, 1, z)
    assert math.log(law[0] / law[1]) > 3 * 0.5 + 0.4


@given(st.integers(2, 40), st.integers(0, 3), st.integers(1, 2**34), st.data())
def test_every_vector_of_the_ball_has_a_cell_in_the_cover(dimension, extras, inverse, data):
    try:
        cover = _checked_cover(Fraction(1, inverse), dimension, extras)
    except LatticeTooCoarse:
        return
    radius = data.draw(st.integers(cover.core, 40 * cover.core))
    side = radius // cover.cells
    entry = st.floats(-1, 1)
    away = np.array(data.draw(st.lists(entry, min_size=dimension, max_size=dimension)))
    away = away / max(1e-9, float(np.sqrt((away**2).sum()))) * radius
    s = [math.trunc(v) for v in away]
    z = [(v + side // 2) // side for v in s]
    assert all(0 <= v - side * c + side // 2 < side for v, c in zip(s, z, strict=True))
    if sum(v * v for v in s) <= radius**2:
        assert sum(c * c for c in z) <= cover.radius**2


@pytest.mark.parametrize(("radius", "dimension"), [(3, 2), (4, 3), (2, 5)])
def test_coarse_points_are_uniform_on_the_ball(radius, dimension, assert_counts):
    points = _coarse_points(SeededEntropy(radius), _Cover(1, 1, radius), 100_000, dimension)
    ball = cube(radius, dimension)
    ball = ball[(ball**2).sum(axis=1) <= radius**2]
    side = (2 * radius + 1) ** np.arange(dimension)[::-1]
    keys = (ball + radius) @ side
    counts = np.bincount(np.searchsorted(keys, (points + radius) @ side), minlength=len(ball))
    assert counts.sum() == len(points) > 3000
    assert_counts(counts, np.full(len(ball), 1 / len(ball)))


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=6), st.integers(-2, 2))
def test_lengths_are_compared_exactly(vector, near):
    radius = max(0, math.isqrt(sum(v * v for v in vector)) + near)
    found = _no_longer(np.array([vector]), np.array([radius]))
    assert found.tolist() == [sum(v * v for v in vector) <= radius**2]


class Words:
    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        found, self.left = self.left[:n], self.left[n:]
        return np.array(found, dtype=np.uint64)


def test_a_coin_that_64_bits_cannot_tell_draws_more():
    third = 2**64 // 3
    assert _comes_up(Words(), third - 1, 1, 3)
    assert not _comes_up(Words(), third + 1, 1, 3)
    assert _comes_up(Words(third - 1), third, 1, 3)
    assert not _comes_up(Words(third, third + 1), third, 1, 3)
    # Dyadic chances are told at once, on both sides.
    assert _comes_up(Words(), 2**63 - 1, 1, 2)
    assert not _comes_up(Words(), 2**63, 1, 2)
    assert _comes_up(Words(), 2**64 - 1, 5, 5)


@pytest.mark.parametrize(
    ("rate", "dimension"), [(Fraction(2), 2), (Fraction(1, 3), 10), (Fraction(1, 2**20), 1000)], ids=str
)
def test_a_coarse_lattice_is_refused_without_randomness(rate, dimension):
    entropy = SeededEntropy(0)
    with pytest.raises(LatticeTooCoarse, match="finer lattice"):
        cylinder_noise(entropy, rate * 2**12 if dimension == 1000 else rate, 1, dimension)
    assert np.array_equal(entropy.words(4), SeededEntropy(0).words(4))


def test_other_refusals():
    with pytest.raises(InvalidInput, match="64 bits"):
        cylinder_noise(SeededEntropy(0), Fraction(1, 2**44), 1, 5)
    for count, dimension, extras in ((-1, 2, 1), (1, 1, 1), (1, 2, -1), (1, 2000, 1)):
        with pytest.raises(InvalidInput):
            cylinder_noise(SeededEntropy(0), Fraction(1, 2**20), count, dimension, extras)
    with pytest.raises(InvalidInput, match="Fraction"):
        cylinder_noise(SeededEntropy(0), 0.01, 1, 2)
    assert cylinder_noise(SeededEntropy(0), Fraction(1, 100), 0, 3).shape == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "dimension", "extras"),
    [
        (Fraction(1, 2**20), 2, 1),
        (Fraction(1, 300), 3, 2),
        (Fraction(7, 2**30), 11, 1),
        (Fraction(1, 60), 2, 0),
    ],
    ids=str,
)
def test_draws_have_the_stated_variance(rate, dimension, extras):
    draws = cylinder_noise(SeededEntropy(12), rate, 30_000, dimension, extras).astype(float)
    of_s, of_c = cylinder_variance(rate, dimension, extras)
    for part, stated in ((draws[:, :dimension], of_s), (draws[:, dimension:], of_c)):
        if part.size:
            squares = (part**2).mean(axis=1)
            error = squares.std() / math.sqrt(len(squares))
            assert abs(squares.mean() - stated) < 4.5 * error + 1e-3 * stated
    m = dimension + extras
    assert of_s == pytest.approx((m + 1) * (m + 2) / float(rate) ** 2 / (dimension + 2), rel=0.01)


def test_blocks_do_not_change_the_law(monkeypatch, assert_counts):
    monkeypatch.setattr("shoal.mechanisms.cylinder.BLOCK", 500)
    rate = Fraction(1, 2)
    draws = cylinder_noise(SeededEntropy(0), rate, 1500, 2)
    cells = cube(1, 3)
    law = np.exp(-size(cells, 1, 2) / 2) / total(rate, 2, 1, cylinder_core(rate, 2))
    inside = draws[np.abs(draws).max(axis=1) <= 1]
    counts = np.append(np.bincount((inside + 1) @ [9, 3, 1], minlength=27), len(draws) - len(inside))
    assert_counts(counts, np.append(law, 1 - law.sum()))
