"""Noise shaped like a cylinder: a vector of bounded length beside a few numbers, under one pure budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shoal._typing import Booleans, Integers
from shoal.errors import InvalidInput, LatticeTooCoarse
from shoal.mechanisms.entropy import Entropy, uniform_below
from shoal.mechanisms.exact import LARGEST_DENOMINATOR, checked_ratio, geometric_exp

__all__ = ["cylinder_core", "cylinder_noise", "cylinder_variance"]

# The core's radius is this part of the mean radius: radii below it are rarer than one in a thousand.
CORE_PART = 16
# Largest (m + 1) * rate, and the most points of the cover for one of the ball: both keep tries few.
COARSEST = 5
MOST_COVERED = 64
# Cells of the cover per d^1.5: more gain nothing and make tables long.
MOST_CELLS = 16
# Mean radius, (m + 1) / rate: a thousand times more still fits where squares are compared.
WIDEST = 1 << 45
# Longest vectors: sums of their squares stay in 64 bits.
LONGEST = 1024
# Entries made at a time.
BLOCK = 1 << 18
# Squares are compared in two halves of this many bits.
_HALF = 26
# The largest weight of a table, and exp(-1/2) of it, rounded down by more than the table's own rounding.
_HEAVIEST = 1 << 30
_LIGHTEST = int(_HEAVIEST * 0.606530)


@dataclass(frozen=True)
class _Cover:
    """The coarse ball that covers a ball of radius j in cells of side h = j // cells.

    Parameters
    ----------
    cells : int
        Cells in a radius, M below.
    least_side : int
        The least side of a cell, L; radii below M * L are not drawn.
    radius : int
        Coarse radius R: at least M + M/L + sqrt(d)/2.
    """

    cells: int
    least_side: int
    radius: int

    @property
    def core(self) -> int:
        return self.cells * self.least_side


def cylinder_noise(entropy: Entropy, rate: Fraction, size: int, dimension: int, extras: int = 1) -> Integers:
    """Draw integer vectors (s, c) with probability proportional to exp(-rate * g(s, c)), exactly.

    g(s, c) = max(ceil(|s|), abs(c_1), abs(c_2), ..., core) with the Euclidean length |s|. Added to integers
    of which one person moves the first ``dimension`` by a vector no longer than W and each of the others by
    at most W, it loses exactly rate * W in all.

    Parameters
    ----------
    entropy : Entropy
    rate : Fraction
        Positive, numerator and denominator below 2**53.
    size : int
        How many vectors.
    dimension : int
        Entries of s, d below; at least 2.
    extras : int
        Entries of c, x below; may be 0.

    Returns
    -------
    int64 array of shape (size, dimension + extras)

    Raises
    ------
    LatticeTooCoarse
        If the lattice is so coarse that most tries would fail. Only rate, dimension and extras decide.

    Notes
    -----
    **Loss.** Let a person move (s, c) by (t, u) with |t| <= W and abs(u_i) <= W for an integer W. Then
    |s + t| <= |s| + W, and ceil(a + W) = ceil(a) + W. So each term of the maximum grows by at most W (the
    core, see :func:`cylinder_core`, by nothing), and so does g; back again likewise. The probabilities of an
    output differ by a factor of at most exp(rate * W), and by just that between s = (core, 0, ...) and
    s + (W, 0, ...).

    **Sampler.** With m = d + x and public integers M and L, core = ML, R >= M + M/L + sqrt(d)/2:

    1. Draw the d entries of z from {-R, ..., R} with the integer weights u(z_i) = ceil(2^30 exp(-d z_i^2 / (2
       R^2))), about. Start again if |z| > R, or else with probability 1 - b^d / (u(z_1)...u(z_d)) for an
       integer b < 2^30 exp(-1/2): the weights cancel, and z is uniform on the integer vectors no longer than
       R. On these u(z_1)...u(z_d) is at least 2^(30 d) exp(-d/2) > b^d.
    2. j is the sum of m + 1 geometric draws: it has probability proportional to (j + 1)...(j + m)
       exp(-rate * j). Start again if j < core. Let h = floor(j / M) >= L.
    3. Draw w_i uniform on {0, ..., j + i - 1} for i = 1..d; start again if some w_i >= hM; let s_i = h z_i +
       (w_i mod h) - floor(h / 2). Start again if |s| > j.
    4. Draw w_i uniform on {0, ..., 2(j + i) - 1} for i = d + 1..m; start again if some w_i > 2j; the entries
       of c are w_i - j.

    Proof: every integer vector s has one z, with abs(s_i - h z_i) <= h/2. If |s| <= j then |z| <= j/h +
    sqrt(d)/2, and j < (h + 1)M gives j/h < M + M/L: so z is among those of step 1. Hence, given j, each (s,
    c) with |s| <= j and abs(c_i) <= j comes out with probability proportional to M^d / ((j + 1)...(j + m)),
    the factors being the same for all j. The products cancel: j, s and c together weigh exp(-rate * j), and
    the sum over j >= g(s, c) is proportional to exp(-rate * g(s, c)).

    On a fine lattice a try is accepted with probability about 1 / sqrt(pi d), that of step 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.mechanisms import SeededEntropy
    >>> cylinder_noise(SeededEntropy(0), Fraction(1, 100), 4, 3).shape
    (4, 4)
    """
    if size < 0:
        raise InvalidInput(f"the number of draws must not be negative; got {size}")
    cover = _checked_cover(rate, dimension, extras)
    noise = np.empty((size, dimension + extras), dtype=np.int64)
    block = max(1, BLOCK // dimension)
    # A few more tries than are needed on average: a second pass costs more than they do.
    per_row = 1.25 * math.sqrt(math.pi * dimension) * (cover.radius / cover.cells) ** dimension
    filled = 0
    while filled < size:
        tries = min(block, int((size - filled) * per_row) + 16)
        rows = _accepted_rows(entropy, rate, cover, tries, dimension, extras)[: size - filled]
        noise[filled : filled + len(rows)] = rows
        filled += len(rows)
    return noise


def _accepted_rows(
    entropy: Entropy, rate: Fraction, cover: _Cover, tries: int, dimension: int, extras: int
) -> Integers:
    coarse = _coarse_points(entropy, cover, tries, dimension)
    parts = geometric_exp(entropy, rate, len(coarse) * (dimension + extras + 1))
    radius = parts.reshape(len(coarse), dimension + extras + 1).sum(axis=1, keepdims=True)
    kept = radius[:, 0] >= cover.core
    coarse, radius = coarse[kept], radius[kept]
    side = radius // cover.cells
    within = uniform_below(entropy, radius + np.arange(1, dimension + 1))
    beside = uniform_below(entropy, 2 * (radius + np.arange(dimension + 1, dimension + extras + 1)))
    kept = (within < side * cover.cells).all(axis=1) & (beside <= 2 * radius).all(axis=1)
    coarse, radius, side, within, beside = (part[kept] for part in (coarse, radius, side, within, beside))
    vectors = side * coarse + within % side - side // 2
    return np.concatenate([vectors, beside - radius], axis=1)[_no_longer(vectors, radius[:, 0])]


def _coarse_points(entropy: Entropy, cover: _Cover, tries: int, dimension: int) -> Integers:
    """Return the accepted ones of ``tries`` points: uniform on the integer vectors no longer than R."""
    weights, ends = _table(cover.radius, dimension)
    places = np.searchsorted(ends, uniform_below(entropy, int(ends[-1]), tries * dimension), side="right")
    places = places.reshape(tries, dimension)
    points = places - cover.radius
    short = (points * points).sum(axis=1) <= cover.radius**2
    points, chances = points[short], weights[places[short]].tolist()
    least = _LIGHTEST**dimension
    kept = [
        _comes_up(entropy, word, least, math.prod(chance))
        for word, chance in zip(entropy.words(len(chances)).tolist(), chances, strict=True)
    ]
    accepted: Integers = points[np.array(kept, dtype=np.bool_)]
    return accepted


@lru_cache(maxsize=64)
def _table(radius: int, dimension: int) -> tuple[Integers, Integers]:
    """Return the weights of -R, ..., R and their running sums. Any positive integers would do, but slower."""
    steps = np.arange(-radius, radius + 1) / radius
    weights = np.ceil(_HEAVIEST * np.exp(-dimension / 2 * steps**2)).astype(np.int64)
    return weights, np.cumsum(weights)


def _comes_up(entropy: Entropy, word: int, over: int, under: int) -> bool:
    """Say whether a uniform number of [0, 1), whose first 64 bits are given, is below over/under."""
    over <<= 64
    # One time in 2^64 that cannot be told yet.
    while word * under < over < (word + 1) * under:
        word, over = word << 64 | int(entropy.words(1)[0]), over << 64
    return word * under < over


def _no_longer(vectors: Integers, radius: Integers) -> Booleans:
    """Return whether |vector| <= radius: with v = 2^26 a + b, v^2 is 4^26 a^2 + 2^26 2ab + b^2."""
    a, b = vectors >> _HALF, vectors & ((1 << _HALF) - 1)
    high, low = radius >> _HALF, radius & ((1 << _HALF) - 1)
    ones = low * low - (b * b).sum(axis=1)
    middle = 2 * (high * low - (a * b).sum(axis=1)) + (ones >> _HALF)
    result: Booleans = high * high - (a * a).sum(axis=1) + (middle >> _HALF) >= 0
    return result


def cylinder_core(rate: Fraction, dimension: int, extras: int = 1) -> int:
    """Return the radius within which all vectors of :func:`cylinder_noise` are equally likely.

    It is at most a sixteenth of the mean radius (m + 1) / rate, or 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> cylinder_core(Fraction(1, 1000), 2), cylinder_core(Fraction(1, 3), 2)
    (242, 1)
    """
    return _checked_cover(rate, dimension, extras).core


def _checked_cover(rate: Fraction, dimension: int, extras: int) -> _Cover:
    if not 2 <= dimension <= LONGEST:
        raise InvalidInput(f"the dimension must be from 2 to {LONGEST}; got {dimension}")
    if extras < 0:
        raise InvalidInput(f"the number of further entries must not be negative; got {extras}")
    s, t = checked_ratio("rate", rate, LARGEST_DENOMINATOR)
    shape = dimension + extras + 1
    if shape * t > WIDEST * s:
        raise InvalidInput(
            f"(dimension + extras + 1) / rate is {shape / float(rate):.4g}; above 2**45 draws could leave 64"
            " bits. Use a coarser lattice or a larger budget per query"
        )
    target = max(1, shape * t // (CORE_PART * s))
    # Of M * L = core, M = sqrt(core * sqrt(d) / 2) makes M/L + sqrt(d)/2 the smallest part of M.
    # More than a few times d^(3/2) gain nothing and make tables long.
    cells = max(1, math.isqrt(target * math.isqrt(4 * dimension) // 4))
    cells = min(cells, MOST_CELLS * (math.isqrt(dimension**3) + 1))
    side = max(1, target // cells)
    # The last term is sqrt(d) / 2, rounded up.
    radius = cells - (-cells // side) + math.isqrt(dimension - 1) // 2 + 1
    if shape * s > COARSEST * t or dimension * math.log(radius / cells) > math.log(MOST_COVERED):
        raise LatticeTooCoarse(
            f"a cylinder of {dimension} + {extras} entries at rate {float(rate):.4g} has a mean radius of"
            f" {shape / float(rate):.4g} steps, too few to draw from. Use a finer lattice or a smaller budget"
            " per query"
        )
    return _Cover(cells, side, radius)


@lru_cache(maxsize=256)
def cylinder_variance(rate: Fraction, dimension: int, extras: int = 1) -> tuple[float, float]:
    """Return the variances of one entry of s and one of c of :func:`cylinder_noise`.

    About (m + 1)(m + 2) / rate**2 times 1/(d + 2) and 1/3: given the radius j, of probability proportional to
    about j^d (2j + 1)^x exp(-rate * j) from the core on, s is uniform in the ball and c in the cube. Lattice
    points are counted by volume, which is off by less than a part in a thousand on a lattice in use.

    Examples
    --------
    >>> from fractions import Fraction
    >>> of_s, of_c = cylinder_variance(Fraction(1, 1000), 3)  # 5 * 6 / 0.001**2 / 5, and / 3
    >>> round(of_s / 1e6, 2), round(of_c / 1e6, 2)
    (6.0, 10.0)
    """
    core, m, s = cylinder_core(rate, dimension, extras), dimension + extras, float(rate)
    # Beyond this many steps the weights are below exp(-40) of the largest.
    reach = math.ceil((2 * m + 80 + 10 * math.sqrt(m)) / s)
    # A smooth sum: its trapezoids with this many nodes are exact to far more digits than are claimed.
    j = np.linspace(core, reach, 1 << 14) if reach - core >= 1 << 14 else np.arange(core, reach + 1.0)
    log_weights = dimension * np.log(j) + extras * np.log(2 * j + 1) - s * j
    weights = np.exp(log_weights - log_weights.max())
    mean, square = ((weights * power).sum() / weights.sum() for power in (j, j * j))
    return float(square) / (dimension + 2), float(square + mean) / 3
