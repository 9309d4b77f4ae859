"""The mean of all rows, and how far they lie from it: what a tree in many columns is aimed by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.kmeans.centre_round import distance_within, edges
from shoal.algorithms.shared.clustering import RowCount
from shoal.postprocess.evidence import Noisy, combine, shrink
from shoal.queries import Curator, NoisySums, Shells, Voronoi

# Shares of the budget that are tried for the mean and for how far rows lie from it, half each: the least by
# which a coordinate is known to this many half widths, and by which this many rows x epsilon tell the other.
_SHARES = (Fraction(1, 160), Fraction(1, 80), Fraction(1, 40), Fraction(1, 20), Fraction(1, 10))
_KNOWN, _TELLING = 0.15, 20.0
BALL = 1.1
"""A ball of 4/5 of the rows has this many times the root of their mean squared distance: in many columns."""
EVEN = 1 / math.sqrt(3)
"""Standard deviation of what lies evenly in the domain, in half widths."""
# Rows that lie within the first of the mean, or whose mean lies further than the second from the middle, in a
# typical column, do not fill the domain.
_WITHIN, _FROM_MIDDLE = 0.4, 0.25
# Rows that lie within this of the mean are four halvings of every column away: a tree is lost on the way.
_FAR_BELOW = 0.075


@dataclass(frozen=True, eq=False)
class Middle:
    """The mean of all rows, and their standard deviation from it, by column.

    Parameters
    ----------
    mean, sd : ndarray of shape (d,)
        In half widths of the domain; the second is the same for all columns in the units of distance.
    off : bool
        Whether rows lie in a part of the domain only, so that middles of boxes are not where they are.
    narrow : bool
        Whether that part is so small that a tree would be lost on the way to it.
    aside : bool
        Whether the mean itself is away from the middle of the domain.
    """

    mean: Array
    sd: Array
    off: bool
    narrow: bool
    aside: bool


def shrunken_mean(curator: Curator, rows: RowCount, share: Fraction) -> tuple[NoisySums, Array]:
    """Return the noisy sum of all rows, and their mean, drawn by its noise to what columns have in common.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    rows : RowCount
        How many there are: often known better than by the count that comes with the sum.
    share : Fraction
        Share of the budget.
    """
    middle = np.zeros((1, curator.domain.n_columns))
    answer = curator.sums(Voronoi(middle), share=share)
    again = Noisy.of(float(answer.counts[0]), answer.count_sd)
    count = max(combine(again, Noisy.of(rows.estimate, rows.sd)).value if rows.sd else rows.estimate, 1.0)
    mean = np.clip(answer.sums / count, -1.0, 1.0)
    return answer, drawn_together(mean, (answer.sum_sd / count) ** 2)


def drawn_together(mean: Array, noise: float) -> Array:
    """Return a noisy mean whose coordinates err less (Lindley 1962): drawn to the mean of all coordinates.

    Tables whose bounds begin at nothing and end at the largest value lie low in most columns, and one number
    has the noise of d averaged. That number is drawn to the middle of the domain.

    Parameters
    ----------
    mean : ndarray of shape (1, d)
        With noise, in half widths of the domain.
    noise : float
        Variance of the noise of a coordinate.

    Examples
    --------
    >>> mean = np.array([[-0.9, -0.7, -0.5, -0.3]])
    >>> drawn_together(mean, 0.0001).round(2), drawn_together(mean, 0.25).round(2)
    (array([[-0.9, -0.7, -0.5, -0.3]]), array([[-0.5, -0.5, -0.5, -0.5]]))
    """
    d = mean.shape[1]
    common = mean.mean(axis=1, keepdims=True)
    apart = mean - common
    # The coordinates' own mean has taken a d-th of what sets them apart, signal and noise alike.
    kept = shrink(apart * math.sqrt(d / max(d - 1, 1)), np.full(mean.shape, noise))
    return np.asarray(common * shrink(common, np.full(common.shape, noise / d)) + kept * apart)


def mean_noise(curator: Curator, rows: RowCount, rest: Fraction) -> float:
    """Return the noise of a coordinate of the mean of all rows, in half widths of the domain."""
    return curator.noise_sd(share=rest)[0] / rows.at_least


def middle_share(noise: float, rows: float) -> Fraction:
    """Return the share of the budget that tells the mean and how far rows lie from it.

    Parameters
    ----------
    noise : float
        Of a coordinate of the mean, were all of the budget spent on it, in half widths.
    rows : float
        Rows x epsilon.

    Examples
    --------
    >>> middle_share(0.0005, 10_000.0), middle_share(0.02, 10_000.0)
    (Fraction(1, 80), Fraction(1, 10))
    """
    wanted = 2 * max(noise / _KNOWN, _TELLING / max(rows, 1e-9))
    return next((share for share in _SHARES if share >= wanted), _SHARES[-1])


def find_middle(
    curator: Curator, rows: RowCount, share: Fraction, for_mean: Fraction = Fraction(1, 2)
) -> Middle:
    """Find the mean of all rows, and how far they lie from it; evenly in the domain if that cannot be told.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    rows : RowCount
        How many there are.
    share : Fraction
        Share of the budget.
    for_mean : Fraction
        Part of it that the mean has; how far rows lie from it has the rest.
    """
    d, scale = curator.domain.n_columns, curator.domain.column_scale
    scale = np.where(scale > 0, scale, 1.0)
    mean = Voronoi(shrunken_mean(curator, rows, share * for_mean)[1]).centres
    even = EVEN * math.sqrt(float((scale**2).mean()))
    sd = even
    for_spread = share * (1 - for_mean)
    if rows.estimate * curator.effective_epsilon(share=for_spread) >= _TELLING:
        evenly = (even / scale)[np.newaxis]
        shells = curator.histogram(Shells(mean, evenly, "ball", edges(d)), share=for_spread)
        sd *= distance_within(shells, rows.estimate, "ball", d) / math.sqrt(d) / BALL
    away = math.sqrt(float(((mean * scale) ** 2).mean()))
    aside = away > _FROM_MIDDLE / EVEN * even
    off = aside or sd < _WITHIN / EVEN * even
    return Middle(mean[0], sd / scale, off, sd < _FAR_BELOW / EVEN * even, aside)
