"""Bounds estimated inside the budget: log buckets find the magnitude, then quantiles tighten it.

Smith 2011 and Durfee 2023 estimate quantiles privately; here both stages are noisy histograms over public
intervals, so one lemma covers them. Proof: docs/proofs/bounds.md.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoal._typing import Array, Booleans, Integers
from shoal.domain import Bounds
from shoal.domain.magnitude import BUCKETS, POWER_OF_ONE, ZERO, edges
from shoal.errors import MostlyNoise
from shoal.postprocess.bells import sum_limits
from shoal.queries import Curator, Marginal

SHARE_FOR_BOUNDS = Fraction(1, 10)
# Columns whose magnitude noise still hides are counted again and again, up to this part of the budget.
MOST_FOR_BOUNDS = Fraction(3, 10)
# Empty buckets taken for full, over all buckets of all columns: bounds are too wide in one fit of 2,000. A
# power of two has its part of these by how usual it is: e times less for every so many powers away from 1, by
# which 2 % of all columns are beyond a thousand million, or below its inverse.
_FALSE_ALARMS, _USUAL = 0.0005, 8.0
# Buckets that are looked at together: a column seldom fills one power of two alone.
_TOGETHER = (1, 2, 4)
# Beside what surely holds rows a bucket is believed for a hundredth of the rows, but for no less than 2.5
# standard deviations and no more than 3.5: Laplace noise passes them in 1.5 and in 0.4 of 100 empty buckets,
# which doubles a range; rows that are cut off cost more. Measured by benchmarks/bounds.py.
_REACH, _WORTH, _NEAR = 1, 0.01, (2.5, 3.5)
# Where nothing stands out, this many powers of two of both signs are looked at together, and what a power
# away from 1 tells against them, in standard deviations of a bucket: a guess that is far too high costs by
# its square. Of windows that stand out powers are kept above the last, in standard deviations.
_GUESSED, _UNUSUAL, _SOME = 4, 1 / 2, 1.0
# Intervals per column and look, as many as noise allows, and looks, each within what the one before left: an
# end is off by an interval. Measured by benchmarks/bounds.py.
_FEWEST, _MOST = 32, 256
_ZOOMS = 2
# Ranges that are at most this many times as wide as the next are made as wide: two powers of two.
_ALIKE = 4.0
# Part of the rows that may be left out at each end: 99.9 % are kept.
_LEFT_OUT = 0.0005
# Standard deviations that a sum from an end must reach before rows surely begin: of 32 sums of noise one does
# in twenty zooms.
_BEGIN = 3.5
# Part of the rows that noise may hide before nothing is tightened at all. Up to it a margin is left, as
# wide as what is kept where that much may be hidden: rows cut off cost by the square of their distance.
_TOO_NOISY = 0.1


def estimate_bounds(curator: Curator, share: Fraction) -> Bounds:
    """Find bounds of all columns that have none.

    Parameters
    ----------
    curator : Curator
        Over a domain whose bounds are partly unknown.
    share : Fraction
        Share of the budget to spend, the same for every column: half on magnitudes, half on quantiles, or
        on magnitudes again where quantiles would be too noisy.
    """
    return bounds_for(curator, share, share)[0]


def bounds_for(curator: Curator, share: Fraction, most: Fraction) -> tuple[Bounds, Fraction]:
    """Find bounds as :func:`estimate_bounds` does, for more where that tells no magnitude; say for how much.

    Parameters
    ----------
    curator : Curator
        Over a domain whose bounds are partly unknown.
    share, most : Fraction
        Share of the budget to spend, and what it may be in the end.
    """
    known = curator.domain.bounds
    n_unknown = len(known.unknown)
    each, spent = share / (2 * n_unknown), share
    pairs = list(zip(known.lower, known.upper, strict=True))
    zoom_sd, lost, intervals = curator.count_sd(share=each / _ZOOMS), [], {}
    for j in known.unknown:
        first = curator.histogram(Marginal(j, BUCKETS), share=each)
        counts, sd = first.counts, first.sd
        seen = magnitude(counts, sd, n_unknown)
        # So many that their noise, added up, hides no more rows than it may.
        n = int(min((_TOO_NOISY * seen.rows / (_BEGIN * zoom_sd)) ** 2, _MOST))
        if n >= _FEWEST and seen.sure:
            intervals[j] = n
        times = 1
        while not intervals.get(j) and (times < 2 or (not seen.sure and spent + each <= most)):
            again = curator.histogram(Marginal(j, BUCKETS), share=each)
            spent += each if times > 1 else 0
            counts, times = (times * counts + again.counts) / (times + 1), times + 1
            sd = first.sd / math.sqrt(times)
            seen = magnitude(counts, sd, n_unknown)
        pairs[j] = seen.low, seen.high
        lost += [] if seen.sure else [j]
    for _ in range(_ZOOMS):
        rough = curator.within(_bounds(pairs, "rough"), Fraction(1))
        for j, n in intervals.items():
            answer = rough.histogram(Marginal(j, n), share=each / _ZOOMS)
            pairs[j] = tighten(answer.counts, answer.sd, *pairs[j])
    for j, pair in zip(known.unknown, alike([pairs[j] for j in known.unknown]), strict=True):
        pairs[j] = pair
    if lost:
        warnings.warn(
            f"no magnitude of column(s) {lost} stands out of the noise, so their bounds are a guess: give "
            "bounds, or raise epsilon",
            MostlyNoise,
            stacklevel=3,
        )
    note = f"estimated privately with {float(spent):.0%} of the budget"
    return _bounds(pairs, note if n_unknown == len(pairs) else f"given, or {note}"), spent


def _bounds(pairs: list[tuple[float, float]], source: str) -> Bounds:
    return Bounds(tuple(low for low, _ in pairs), tuple(high for _, high in pairs), source)


def alike(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Widen ranges of similar width to the widest of them.

    Distances are measured in ranges, so that noise in these would make one column count several times as much
    as another. Columns of similar magnitude mostly have one unit, as longitude and latitude do.

    Examples
    --------
    >>> alike([(0.0, 1000.0), (-3.0, 1.0), (-128.0, 128.0)])
    [(0.0, 1000.0), (-3.0, 1.0), (-500.0, 500.0)]
    """
    widths = np.array([high - low for low, high in pairs])
    order = np.argsort(-widths, kind="stable")
    for wider, j in pairwise(order.tolist()):
        if widths[wider] <= _ALIKE * (pairs[j][1] - pairs[j][0]):
            widths[j] = widths[wider]
    middles = [low / 2 + high / 2 for low, high in pairs]
    return [
        (min(low, middle - width / 2), max(high, middle + width / 2))
        for (low, high), middle, width in zip(pairs, middles, widths.tolist(), strict=True)
    ]


class Magnitude(NamedTuple):
    """The range of the powers of two that rows have."""

    low: float
    high: float
    rows: float
    """Noisy, in the buckets that are believed."""
    sure: bool
    """Whether any bucket stands out of the noise."""


@cache
def _floors(n_columns: int) -> dict[int, Array]:
    """Return what so many buckets without rows hardly ever pass, in their sds, for every power of two."""
    usual = np.exp(-np.abs(np.arange(ZERO) - POWER_OF_ONE) / _USUAL)
    looks = 3 * len(_TOGETHER) * n_columns  # of each sign, and of both
    nats = np.log(looks * usual.sum() / (2 * _FALSE_ALARMS * usual))
    return {n: sum_limits(np.array(float(n)), nats) for n in {*_TOGETHER, *(2 * n for n in _TOGETHER)}}


def _surely_full(held: Array, sd: float, n_columns: int) -> Booleans:
    """Return the buckets of windows that stand out of the noise: of one sign, or of both together.

    Narrow windows first: a wider one counts only where none within it stands out.
    """
    floors, sure = _floors(n_columns), np.zeros(len(held), dtype=np.bool_)
    powers = np.arange(ZERO)
    signs = ZERO + 1 + powers, ZERO - 1 - powers
    looks = [(chosen, length) for length in _TOGETHER for chosen in ((signs[0],), (signs[1],), signs)]
    for chosen, length in looks:
        n = length * len(chosen)
        counts = np.add.reduce([held[sign] for sign in chosen])
        above = np.convolve(counts, np.ones(length), "valid")
        above -= floors[n][: len(above)] * sd * math.sqrt(n)
        taken = np.add.reduce([sure[sign] for sign in chosen])
        above[np.convolve(taken, np.ones(length), "valid") > 0] = 0.0
        while above.max() > 0:
            start = int(np.argmax(above))
            window = powers[start : start + length]
            least = min(_SOME * sd * math.sqrt(len(chosen)), counts[window].max())
            for sign in chosen:
                sure[sign[window[counts[window] >= least]]] = True
            above[max(start - length + 1, 0) : start + length] = 0.0
    return sure


def magnitude(counts: Array, sd: float, n_columns: int = 1) -> Magnitude:
    """Return the range of the powers of two that rows have.

    Rows seldom fill one bucket alone, so neighbours are looked at together too, and both signs. Near what
    surely holds rows, or at its mirror image, a bucket is believed for little, and all that is nearer to 0 or
    of the other sign is kept unless it surely has next to nothing: a wide range costs less than rows cut off.

    Parameters
    ----------
    counts : ndarray of shape (BUCKETS,)
        Noisy counts.
    sd : float
        Standard deviation of their noise.
    n_columns : int
        Columns that are looked at: all share the false alarms.

    Examples
    --------
    >>> from shoal.domain.magnitude import bucket
    >>> counts = np.zeros(BUCKETS)
    >>> counts[bucket(np.array([-74.0, -40.0]))] = 900.0, 20.0
    >>> magnitude(counts, 10.0)[:2], magnitude(counts, 0.001)[:2]
    ((-128.0, 128.0), (-128.0, -32.0))
    """
    held = counts[:-1].copy()
    zeros, held[ZERO] = held[ZERO], 0.0  # as missing cells, they say nothing of magnitude
    sure = _surely_full(held, sd, n_columns)
    stands_out = bool(sure.any())
    if not stands_out:
        sure[_guess(held, sd)] = True
    near = held > np.clip(_WORTH * held[sure].sum(), _NEAR[0] * sd, _NEAR[1] * sd)
    while True:
        full = np.flatnonzero(sure | sure[::-1])
        reach = np.zeros_like(sure)
        for step in range(-_REACH, _REACH + 1):
            reach[np.clip(full + step, 0, len(reach) - 1)] = True
        grown = sure | (near & reach)
        if (grown == sure).all():
            break
        sure = grown
    full = np.flatnonzero(sure)
    low, high = edges(int(full[0]))[0], edges(int(full[-1]))[1]
    top = max(-low, high)
    # All that is nearer to 0, or of the other sign, is kept too, unless noise hides next to nothing there.
    most = int(np.abs(full - ZERO).max())
    outside = np.r_[held[ZERO - most : full[0]], held[full[-1] + 1 : ZERO + most + 1]]
    rows = max(float(held[full[0] : full[-1] + 1].sum() + zeros), 0.0)
    if outside.sum() + _NEAR[1] * sd * math.sqrt(len(outside)) > 2 * _LEFT_OUT * rows:
        low, high = -top, top
    elif zeros > _NEAR[1] * sd:
        low, high = min(low, 0.0), max(high, 0.0)
    return Magnitude(low, high, rows, stands_out)


def _guess(held: Array, sd: float) -> Integers:
    """Return the fullest buckets of a few neighbouring powers of two, of both signs."""
    powers = np.arange(ZERO)
    both = held[ZERO + 1 + powers] + held[ZERO - 1 - powers]
    unusual = _UNUSUAL * sd * np.abs(powers - POWER_OF_ONE)  # of the highest power of each window
    start = int(np.argmax(np.convolve(both, np.ones(_GUESSED), "valid") - unusual[_GUESSED - 1 :]))
    full = powers[start : start + _GUESSED]
    return np.concatenate([ZERO + 1 + full, ZERO - 1 - full])


def tighten(counts: Array, sd: float, low: float, high: float) -> tuple[float, float]:
    """Return a range that keeps 99.9 % of the rows, by noisy counts of its equal intervals.

    Where noise could hide more rows than that, the range found is widened by a quarter of itself at each end.
    """
    # Scanned from each end, so that only the noise of few intervals adds up before the rows begin.
    # Stopping too early by chance leaves the bounds a little wide, which is the harmless side.
    rows = max(float(counts.sum()), 0.0)
    noise = _BEGIN * sd * np.sqrt(np.arange(1, len(counts) + 1))
    if noise[-1] > _TOO_NOISY * rows:  # would clip real rows for the sake of noise
        return low, high
    least = np.maximum(_LEFT_OUT * rows, noise)
    full, full_back = np.cumsum(counts) >= least, np.cumsum(counts[::-1]) >= least
    first = int(np.argmax(full)) if full.any() else 0
    last = len(counts) - int(np.argmax(full_back)) if full_back.any() else len(counts)
    if first >= last:
        return low, high
    # How many rows may lie before the first interval that surely has some.
    unsure = max(noise[first], noise[len(counts) - last])
    hidden = unsure > _LEFT_OUT * rows
    margin = math.ceil((last - first) * math.sqrt(unsure / (_TOO_NOISY * rows))) if hidden else 0
    first, last = max(first - margin, 0), min(last + margin, len(counts))
    width = (high - low) / len(counts)
    return low + first * width, high - (len(counts) - last) * width
