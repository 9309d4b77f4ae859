"""Bell-shaped sums of noisy counts: what stands out of the noise, in one box or in several together.

A group that is spread over many boxes stands out of none. So counts are also summed around every box, weighed
by bells of several widths, and held against what noise alone would reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import log_ndtr

from shoal._typing import Array, Booleans, Integers
from shoal.postprocess.mixture import NoisyBoxes
from shoal.postprocess.sum_loops import RUN, STEPS, weighed_sums

WIDTHS = (0.6, 1.2, 2.4)
"""Of the bells, in sides of a box: from a box and its neighbours to some forty boxes."""

# Levels that boxes of one sum may be apart, or one less than columns: twice as large or small in two of them.
# With more, sums take twice as long in six columns and tell no more (0.998, 0.985 at epsilon 0.1, 0.25
# of the cost on 21 tables of 4 to 6 columns, by benchmarks/wide_boxes.py).
_ALIKE = 2
# A weight ends at three widths of its bell, where it has fallen to 1 %.
_ENDS = 3.0
# Boxes of a run are at most this many sides from the one before: what is near one is near the others.
_BESIDE = 4.0
# Standard deviations that tails of sums are worked out at.
_SDS = np.geomspace(0.3, 60.0, 300)


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighed sums around every box.

    Parameters
    ----------
    values, sds : ndarray of shape (n,)
        The sums, and the standard deviations of their noise.
    boxes : ndarray of shape (n,)
        How many boxes the noise of each sum comes from, in effect.
    """

    values: Array
    sds: Array
    boxes: Array


def bell_sums(boxes: NoisyBoxes, levels: Integers, width: float, among: Booleans | None = None) -> Sums:
    """Sum counts around every box.

    Parameters
    ----------
    boxes : NoisyBoxes
        What was released: halves of halves of one box, or a grid.
    levels : ndarray of int64
        How often each box was halved: those of one level are alike, much larger and smaller ones are no
        evidence for each other.
    width : float
        Of the bell, in sides of a box.
    among : ndarray of bool, optional
        Which boxes have a say; all if not given.
    """
    n, d = boxes.lower.shape
    values, noise, fourth = np.zeros(n), np.zeros(n), np.zeros(n)
    middles, sides = np.ascontiguousarray(boxes.middles), np.ascontiguousarray(boxes.widths)
    say = np.arange(n) if among is None else np.flatnonzero(among)
    # By level, then in strips of one first coordinate, then by the second: far boxes are never looked at.
    say = say[np.lexsort((middles[say, min(1, d - 1)], middles[say, 0], levels[say]))]
    strip = np.flatnonzero(
        (np.diff(levels[say], prepend=-1) != 0) | (np.diff(middles[say, 0], prepend=np.inf) != 0)
    )
    weighed_sums()(
        middles, sides, levels, _runs(middles, sides, levels),
        np.ascontiguousarray(middles[say].T), boxes.counts[say], boxes.variances[say],
        np.searchsorted(levels[say][strip], np.arange(levels.max(initial=0) + 2)),
        middles[say, 0][strip], np.append(strip, len(say)), min(d - 1, _ALIKE), _bell(width),
        values, noise, fourth,
    )  # fmt: skip
    effective = np.where(fourth > 0, noise**2 / np.where(fourth > 0, fourth, 1.0), 1.0)
    return Sums(values, np.sqrt(noise), effective)


def _runs(middles: Array, sides: Array, levels: Integers) -> Integers:
    """Return where runs of boxes begin that are of one level and close together, and where the last ends."""
    n = len(levels)
    apart = (np.abs(np.diff(middles, axis=0, prepend=np.inf)) > _BESIDE * sides).any(axis=1)
    new = np.flatnonzero(apart | (np.diff(levels, prepend=-1) != 0))
    place = np.arange(n) - np.repeat(new, np.diff(new, append=n))
    return np.append(np.flatnonzero(place % RUN == 0), n)


@cache
def _bell(width: float) -> Array:
    """Return the weights at all squared distances, in squared parts of a side; beyond them nothing."""
    most = int((_ENDS * width * STEPS) ** 2)
    return np.array([math.exp(-0.5 * t / STEPS**2 / (width * width)) for t in range(most + 1)] + [0.0])


def laplace_sum_limit(n: Array, nats: float) -> Array:
    """Return what a sum of n Laplace variables passes with probability exp(-nats), in its own sds.

    Parameters
    ----------
    n : ndarray
        How many; at least 1, and it need not be whole.
    nats : float
        Minus the logarithm of the probability.

    Examples
    --------
    >>> laplace_sum_limit(np.array([1.0, 1000.0]), 9.0).round(1)
    array([5.9, 3.7])
    """
    grid = np.geomspace(1.0, 4096.0, 60)
    return np.asarray(np.interp(n, grid, sum_limits(grid, np.array(nats))))


def sum_limits(n: Array, nats: Array) -> Array:
    """Return the limits of :func:`laplace_sum_limit` for pairs of numbers, as they are broadcast.

    Examples
    --------
    >>> sum_limits(np.array(4.0), np.array([5.0, 10.0])).round(1)
    array([2.7, 4.9])
    """
    many, wanted = np.broadcast_arrays(n, nats)
    limits = np.empty(many.shape)
    for one in np.unique(many):
        limits[many == one] = np.interp(wanted[many == one], _tail(float(one)), _SDS)
    return limits


@cache
def _tail(n: float) -> Array:
    """Return minus the logarithm of the probability that n Laplace variables add up to more than `_SDS`.

    Lugannani and Rice's approximation (1980), which is right to a few hundredths.
    """
    x = _SDS * math.sqrt(2 * n)
    t = (np.sqrt(n * n + x * x) - n) / x  # where the derivative of the cumulants, -n log(1 - t^2), is x
    w2 = 2 * (t * x + n * np.log1p(-t * t))
    w, u = np.sqrt(w2), t * np.sqrt(2 * n * (1 + t * t)) / (1 - t * t)
    bell = 0.5 * (w2 + math.log(2 * math.pi))
    return np.asarray(bell - np.log(np.exp(log_ndtr(-w) + bell) + 1 / u - 1 / w))
