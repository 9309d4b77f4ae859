"""Bounds estimated inside the budget: log buckets find the magnitude, then quantiles tighten it.

Smith 2011 and Durfee 2023 estimate quantiles privately; here both stages are noisy histograms over public
intervals, so one lemma covers them. Proof: docs/proofs/bounds.md.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.domain import Bounds
from shoal.domain.magnitude import BUCKETS, POWER_OF_ONE, ZERO, edges
from shoal.errors import MostlyNoise
from shoal.postprocess.evidence import noise_floor
from shoal.queries import Curator, Marginal

SHARE_FOR_BOUNDS = Fraction(1, 10)
# Empty buckets taken for full, over all buckets of all columns: bounds are too wide in one fit of 200.
_FALSE_ALARMS = 0.005
# Buckets that are looked at together: a column seldom fills one power of two alone.
_TOGETHER = (1, 2, 4)
# Within 2 powers of two of what surely holds rows a bucket is believed for a hundredth of the rows, but for
# no less than 1.5 standard deviations and no more than 3: Laplace noise passes them in 6 and in 0.7 of 100
# empty buckets, which doubles a range; rows that are cut off cost far more. Measured by benchmarks/bounds.py.
_REACH, _WORTH, _NEAR = 2, 0.01, (1.5, 3.0)
# Where nothing stands out, what a power of two away from 1 tells against a bucket, in standard deviations.
_UNUSUAL = 1 / 16
# Intervals per column and look, and looks, each within what the one before left: an end is off by a 32nd of
# that. Not tuned.
_INTERVALS = 32
_ZOOMS = 2
# Part of the rows that may be left out at each end: 99.9 % are kept.
_LEFT_OUT = 0.0005
# Standard deviations that a sum from an end must reach before rows surely begin: of 32 sums of noise one does
# in twenty zooms.
_BEGIN = 3.5
# Part of the rows that noise may hide before nothing is tightened at all.
_TOO_NOISY = 0.1


def estimate_bounds(curator: Curator, share: Fraction) -> Bounds:
    """Find bounds of all columns that have none.

    Parameters
    ----------
    curator : Curator
        Over a domain whose bounds are partly unknown.
    share : Fraction
        Share of the budget to spend, the same for every column: half on magnitudes, half on quantiles.
    """
    known = curator.domain.bounds
    each = share / (2 * len(known.unknown))
    looks = BUCKETS * len(known.unknown) * len(_TOGETHER)
    floor = noise_floor(looks, curator.count_sd(share=each), _FALSE_ALARMS)
    pairs = list(zip(known.lower, known.upper, strict=True))
    lost = []
    for j in known.unknown:
        answer = curator.histogram(Marginal(j, BUCKETS), share=each)
        *pair, found = magnitude(answer.counts, answer.sd, floor)
        pairs[j] = pair[0], pair[1]
        lost += [] if found else [j]
    for _ in range(_ZOOMS):
        rough = curator.within(_bounds(pairs, "rough"), Fraction(1))
        for j in known.unknown:
            answer = rough.histogram(Marginal(j, _INTERVALS), share=each / _ZOOMS)
            pairs[j] = tighten(answer.counts, answer.sd, *pairs[j])
    if lost:
        warnings.warn(
            f"no magnitude of column(s) {lost} stands out of the noise, so their bounds are a guess: give "
            "bounds, or raise epsilon",
            MostlyNoise,
            stacklevel=2,
        )
    note = f"estimated privately with {float(share):.0%} of the budget"
    return _bounds(pairs, note if len(known.unknown) == len(pairs) else f"given, or {note}")


def _bounds(pairs: list[tuple[float, float]], source: str) -> Bounds:
    return Bounds(tuple(low for low, _ in pairs), tuple(high for _, high in pairs), source)


def magnitude(counts: Array, sd: float, floor: float) -> tuple[float, float, bool]:
    """Return the range of the powers of two that rows have, and whether any stands out of the noise.

    Rows seldom fill one bucket alone, so neighbours are looked at together too. Near what surely holds rows,
    or at its mirror image, a bucket is believed for little: a wide range costs less than rows cut off.

    Parameters
    ----------
    counts : ndarray of shape (BUCKETS,)
        Noisy counts.
    sd : float
        Standard deviation of their noise.
    floor : float
        What a bucket without rows hardly ever passes.

    Examples
    --------
    >>> from shoal.domain.magnitude import bucket
    >>> counts = np.zeros(BUCKETS)
    >>> counts[bucket(np.array([-74.0, -40.0]))] = 900.0, 20.0
    >>> magnitude(counts, 10.0, 100.0)
    (-128.0, -32.0, True)
    """
    held = counts[:-1]  # missing cells say nothing of magnitude
    sure = np.zeros(len(held), dtype=np.bool_)
    for length in _TOGETHER:
        sums = np.convolve(held, np.ones(length), "valid") / math.sqrt(length)
        for start in np.flatnonzero(sums > floor):
            window = slice(start, start + length)
            sure[window] |= held[window] >= min(_NEAR[0] * sd, held[window].max())
    found = bool(sure.any())
    if not found:
        unusual = np.abs(np.abs(np.arange(len(held)) - ZERO) - 1 - POWER_OF_ONE)
        sure[np.argmax(held - _UNUSUAL * sd * unusual)] = True
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
    return edges(int(full[0]))[0], edges(int(full[-1]))[1], found


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
    hidden = max(noise[first], noise[len(counts) - last]) > _LEFT_OUT * rows
    margin = math.ceil((last - first) / 4) if hidden else 0
    first, last = max(first - margin, 0), min(last + margin, len(counts))
    width = (high - low) / len(counts)
    return low + first * width, high - (len(counts) - last) * width
