"""Bounds estimated inside the budget: log buckets find the magnitude, then quantiles tighten it.

Smith 2011 and Durfee 2023 estimate quantiles privately; here both stages are noisy histograms over public
intervals, so one lemma covers them. Proof: docs/proofs/bounds.md.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.shared.clustering import Algorithm, Clustering
from shoal.domain import Bounds
from shoal.domain.magnitude import BUCKETS, edges
from shoal.errors import MostlyNoise
from shoal.postprocess.evidence import SURE, noise_floor
from shoal.queries import Curator, Marginal

SHARE_FOR_BOUNDS = Fraction(1, 10)
# Empty buckets taken for full, over all buckets of all columns: bounds are too wide in one fit of 200.
_FALSE_ALARMS = 0.005
_INTERVALS = 32
_ZOOMS = 2
_QUANTILE = 0.005
_TOO_NOISY = 0.1
# What a column gets when no magnitude stands out of the noise: as good as any, and public.
_DEFAULT = (-1.0, 1.0)


@dataclass(frozen=True)
class WithPrivateBounds:
    """Estimate the bounds of columns that have none, then run an algorithm on the rest of the budget.

    Parameters
    ----------
    algorithm : Algorithm
        What to run.
    share : Fraction
        Share of the budget for the bounds.
    """

    algorithm: Algorithm
    share: Fraction = SHARE_FOR_BOUNDS

    def run(self, curator: Curator) -> Clustering:
        """Estimate, then run."""
        bounds = estimate_bounds(curator, self.share)
        return self.algorithm.run(curator.within(bounds, 1 - self.share))


def bounded(curator: Curator) -> Curator:
    """Return a curator that knows all bounds: the same, or one within bounds that were paid for.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    """
    if not curator.domain.bounds.unknown:
        return curator
    return curator.within(estimate_bounds(curator, SHARE_FOR_BOUNDS), 1 - SHARE_FOR_BOUNDS)


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
    buckets = BUCKETS * len(known.unknown)
    threshold = noise_floor(buckets, curator.count_sd(share=each), _FALSE_ALARMS)
    pairs = list(zip(known.lower, known.upper, strict=True))
    for j in known.unknown:
        pairs[j] = _magnitude(curator.histogram(Marginal(j, BUCKETS), share=each).counts, threshold)
    lost = [j for j in known.unknown if pairs[j] == _DEFAULT]
    for _ in range(_ZOOMS):
        rough = curator.within(_bounds(pairs, "rough"), Fraction(1))
        for j in known.unknown:
            answer = rough.histogram(Marginal(j, _INTERVALS), share=each / _ZOOMS)
            pairs[j] = tighten(answer.counts, answer.sd, *pairs[j])
    if lost:
        warnings.warn(
            f"no magnitude of column(s) {lost} stands out of the noise, so their bounds are the default "
            f"{_DEFAULT}: give bounds, or raise epsilon",
            MostlyNoise,
            stacklevel=2,
        )
    note = f"estimated privately with {float(share):.0%} of the budget"
    return _bounds(pairs, note if len(known.unknown) == len(pairs) else f"given, or {note}")


def _bounds(pairs: list[tuple[float, float]], source: str) -> Bounds:
    return Bounds(tuple(low for low, _ in pairs), tuple(high for _, high in pairs), source)


def _magnitude(counts: Array, threshold: float) -> tuple[float, float]:
    # The last bucket holds missing cells, which say nothing of magnitude.
    full = np.flatnonzero(counts[:-1] > threshold)
    if len(full) == 0:
        return _DEFAULT
    return edges(int(full[0]))[0], edges(int(full[-1]))[1]


def tighten(counts: Array, sd: float, low: float, high: float) -> tuple[float, float]:
    """Return a range that leaves out about half a per cent of the rows at each end, by noisy counts."""
    # Scanned from each end, so that only the noise of few intervals adds up before the rows begin.
    # Stopping too early by chance leaves the bounds a little wide, which is the harmless side.
    rows = max(float(counts.sum()), 0.0)
    noise = SURE * sd * np.sqrt(np.arange(1, len(counts) + 1))
    if noise[-1] > _TOO_NOISY * rows:  # would clip real rows for the sake of noise
        return low, high
    least = _QUANTILE * rows
    full = np.cumsum(counts) >= np.maximum(least, noise)
    full_back = np.cumsum(counts[::-1]) >= np.maximum(least, noise)
    first = int(np.argmax(full)) if full.any() else 0
    last = len(counts) - int(np.argmax(full_back)) if full_back.any() else len(counts)
    if first >= last:
        return low, high
    width = (high - low) / len(counts)
    return low + first * width, high - (len(counts) - last) * width


def with_bounds(algorithm: Algorithm, bounds: Bounds) -> Algorithm:
    """Return the algorithm, made to estimate bounds first where some are unknown."""
    return WithPrivateBounds(algorithm) if bounds.unknown else algorithm
