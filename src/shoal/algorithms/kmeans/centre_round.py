"""Follow the rows around public centres: one noisy round with radii fitted to the rows.

A look at the distances (a few per cent of the round) says how far most rows are from their centres. Offsets
are then measured in radii of their own cluster and column, so the noise is as small as the cluster is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import erf, erfinv, gammainc, gammaincinv

from shoal._typing import Array, Booleans
from shoal.postprocess.evidence import SURE, shrink, smallest_count
from shoal.queries import Curator, NoisyCounts, NoisySums, Partition, Relative, Shells, Voronoi

Body: TypeAlias = Literal["box", "ball"]

# Distances in standard deviations: edges of shells are powers of the first, from the second to the third at
# least. Between two edges the last tells how many are tried.
_APART, _NEAREST, _FURTHEST, _BETWEEN = math.sqrt(2), -14, 8, 4
# Offsets are cut at the distance that this share of the rows is within.
_INSIDE = 0.8
# What a round pays for its look at the distances: enough that noise adds up to a tenth of the rows.
_LOOKS = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(3, 20))
_LOOK_ROWS = 45.0
# Predicted errors do not take a narrower radius for granted: it may be noise that says so.
CAUTIOUS_RADIUS = 0.25
# Squares of steps in radii that are tried: from none to a whole radius.
_SIGNALS = 2.0 ** np.arange(-30, 1)
# Shells whose noise adds up to more than this share of the rows say too little by themselves.
_BLURRED = 0.08
# From this many columns on rows are far from the corners of a box: a ball is shorter, under pure budgets too.
_BALL_COLUMNS = 7
# Standard deviations that offsets are cut at where distances cannot be told.
_USUAL = 2.0
# Times the distance of most rows that boxes are tried at; how much of what is cut off lies on one side; and
# standard deviations by which far rows stand out.
_WIDER, _LEANING, _BELIEVED = tuple(2.0 ** (i / 4) for i in range(-4, 17)), 0.25, 2.0


@cache
def edges(n_columns: int) -> tuple[float, ...]:
    """Return distances in standard deviations, half a power of two apart: far too narrow to far too wide.

    Rows of a bell lie sqrt(d) standard deviations from its middle, and those at the domain's corners, if they
    are taken for even, 1.7 times that: twice that is told apart.

    Examples
    --------
    >>> edges(2)[-1], edges(64)[-1], edges(784)[-1]
    (16.0, 16.0, 64.0)
    """
    furthest = max(_FURTHEST, math.ceil(2 * math.log2(2 * math.sqrt(n_columns))))
    return tuple(2.0 ** (i / 2) for i in range(_NEAREST, furthest + 1))  # exactly two for two steps


@dataclass(frozen=True, eq=False)
class RoundResult:
    """What a round found.

    Parameters
    ----------
    centres : ndarray of shape (k, d)
        Where the centres have moved.
    counts : ndarray of shape (k,)
        Noisy sizes of the clusters they were moved by.
    variances : ndarray of shape (k, d)
        Of the noise of each coordinate; infinite where a cluster is too small to move its centre.
    centre_variance : ndarray of shape (k, d)
        How far off a centre may be: less than its noise, where a step was not trusted and so not made.
    count_sd : float
        Standard deviation of the noise of a size.
    typical_sd : float
        Noise of a sum, a coordinate, for a typical radius, and not a narrow one: for predictions.
    """

    centres: Array
    counts: Array
    variances: Array
    centre_variance: Array
    count_sd: float
    typical_sd: float

    @property
    def known(self) -> Booleans:
        """Which clusters are large enough to tell from noise."""
        return self.counts >= smallest_count(self.count_sd)


def centre_round(
    curator: Curator,
    centres: Array,
    spreads: Array,
    n_rows: float,
    share: Fraction,
    counted: tuple[Array, Array] | None = None,
    unsure: Array | None = None,
) -> RoundResult:
    """Move centres to the noisy means of their rows.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    centres : ndarray of shape (k, d)
        Public points of [-1, 1]^d.
    spreads : ndarray of shape (k, d)
        Public guess of the standard deviation of rows around them; a common factor is estimated.
    n_rows : float
        Public or noisy number of rows.
    share : Fraction
        Share of the budget.
    counted : (ndarray, ndarray), optional
        Rows of every centre that were counted before, and the variances of their noise.
    unsure : ndarray of shape (k, d), optional
        Variance of where the middle of each centre's rows may be, but for a common factor; if not given, all
        may be off by as much, in radii.
    """
    asked = _ask(curator, centres, spreads, n_rows, share)
    answer = asked.answer
    counts, sd = answer.counts, answer.count_sd
    if counted is not None:
        counts, _ = counted_twice(counts, sd, *counted)
    least = smallest_count(sd)
    known, rows = (counts >= least)[:, np.newaxis], np.maximum(counts, least)[:, np.newaxis]
    steps = answer.sums / rows
    trust = _trust(steps, (answer.sum_sd / rows) ** 2, None if unsure is None else unsure / asked.radii**2)
    return asked.result(np.where(known, steps * trust, 0.0), steps, trust, known, rows)


def round_along(
    curator: Curator,
    centres: Array,
    spreads: Array,
    n_rows: float,
    share: Fraction,
    counted: tuple[Array, Array],
    cells: Partition,
    distance: float | None = None,
) -> RoundResult:
    """Move centres that were found along a few directions to the noisy means of their rows.

    All may be off by the same in other directions, so what their steps have in common is made first. It is
    known better than any one step.

    Parameters
    ----------
    curator, centres, spreads, n_rows, share, counted
        As of :func:`centre_round`.
    cells : Partition
        Whose rows are whose.
    distance : float, optional
        That offsets are cut at, in spreads, where it is known: else a part of the share tells it.
    """
    asked = _ask(curator, centres, spreads, n_rows, share, cells, distance)
    answer = asked.answer
    counts, variance = counted_twice(answer.counts, answer.count_sd, *counted)
    least = np.maximum(1.0, SURE * np.sqrt(variance))
    known, rows = (counts >= least)[:, np.newaxis], np.maximum(counts, least)[:, np.newaxis]
    steps = answer.sums / rows
    common = common_step(answer, asked.radii, n_rows) / asked.radii
    trust = _trust(steps - common, (answer.sum_sd / rows) ** 2)
    return asked.result(common + (steps - common) * trust, steps, trust, known, rows)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Noisy offsets of rows from centres, in radii of their own."""

    centres: Array
    radii: Array
    answer: NoisySums

    def result(self, moves: Array, steps: Array, trust: Array, known: Booleans, rows: Array) -> RoundResult:
        """Return the centres moved, with the noise of the steps that were told."""
        centres, radii, answer = self.centres, self.radii, self.answer
        variances = radii**2 * (answer.sum_sd**2 + (steps * answer.count_sd) ** 2) / rows**2
        return RoundResult(
            centres=np.clip(centres + radii * np.clip(moves, -1.0, 1.0), -1.0, 1.0),
            counts=answer.counts,
            variances=np.where(known, variances, np.inf),
            centre_variance=np.where(known, variances * trust, np.inf),
            count_sd=answer.count_sd,
            typical_sd=max(float(np.sqrt((radii**2).mean())), CAUTIOUS_RADIUS) * answer.sum_sd,
        )


def _ask(
    curator: Curator,
    centres: Array,
    spreads: Array,
    n_rows: float,
    share: Fraction,
    cells: Partition | None = None,
    distance: float | None = None,
) -> _Asked:
    """Find out how far rows lie, then ask for their offsets; rows are their nearest centre's, or by cells."""
    ball = curator.budget.currency == "rho" or centres.shape[1] >= _BALL_COLUMNS
    body: Body = "ball" if ball else "box"
    nearest = Voronoi(centres)
    centres, d = nearest.centres, centres.shape[1]
    left = share
    if distance is None:
        look = look_share(n_rows * curator.effective_epsilon(share=share))
        shells = curator.histogram(Shells(centres, spreads, body, edges(d)), share=share * look)
        distance, left = distance_within(shells, n_rows, body, d), share * (1 - look)
        if body == "box":
            one = np.ones((1, d))
            noise = curator.noise_sd(of=Relative(one, one), share=left)[0] * len(centres) / max(n_rows, 1.0)
            distance = cheapest_cut(shells, distance, noise, d)
    # No narrower than the lattice allows, no wider than the domain.
    of = Relative(centres, spreads * distance, body)
    return _Asked(centres, of.radii, curator.sums(cells or nearest, of=of, share=left))


def cheapest_cut(shells: NoisyCounts, distance: float, noise: float, n_columns: int) -> float:
    """Return at which distance to cut offsets, so that what is cut off and noise cost least together.

    Groups lean to a side, so what is cut off moves their means; a wider box has more noise. In a ball of many
    columns rows are nearly as far as each other, and a wider one has noise only.

    Parameters
    ----------
    shells : NoisyCounts
        Of :class:`Shells` with the edges of this module for that many columns.
    distance : float
        That most rows are within; it stays where noise hides how far the others are.
    noise : float
        Standard deviation of a coordinate of a centre, in units of the distance.
    n_columns : int
        Of the rows.

    Examples
    --------
    >>> counts = np.zeros(24)
    >>> counts[10], counts[16] = 900.0, 100.0
    >>> shells = NoisyCounts(counts, 1.0)
    >>> round(cheapest_cut(shells, 0.25, 1e-4, 2), 2), round(cheapest_cut(shells, 0.25, 0.5, 2), 2)
    (1.68, 0.12)
    """
    ends = np.array(edges(n_columns))
    total = max(float(shells.counts.sum()), 1.0)
    if _blurred(shells, total, n_columns):
        return distance
    # Half way through every shell; what may be noise is far, and would cost most.
    places = np.append(ends, ends[-1] * _APART) / math.sqrt(_APART)
    rows = np.where(shells.counts > _BELIEVED * shells.sd, shells.counts, 0.0) / total
    tried = distance * np.array(_WIDER)
    cut_off = (rows * np.maximum(places - tried[:, np.newaxis], 0.0)).sum(axis=1)
    return float(tried[np.argmin((_LEANING * cut_off) ** 2 + n_columns * (noise * tried) ** 2)])


def _blurred(shells: NoisyCounts, n_rows: float, n_columns: int) -> bool:
    """Return whether noise hides how far rows are."""
    return shells.sd * math.sqrt(len(edges(n_columns)) / 2) > _BLURRED * n_rows


def counted_twice(counts: Array, count_sd: float, before: Array, variance: Array) -> tuple[Array, Array]:
    """Return what counts say together with those of before, each by its noise, and the variance of that.

    Parameters
    ----------
    counts : ndarray of shape (k,)
        Rows of every centre.
    count_sd : float
        Standard deviation of their noise.
    before, variance : ndarray of shape (k,)
        Rows that were counted before, and the variances of their noise.

    Examples
    --------
    >>> counted_twice(np.array([14.0]), 1.0, np.array([10.0]), np.array([3.0]))
    (array([13.]), array([0.75]))
    """
    again = count_sd**2
    return (counts * variance + before * again) / (variance + again), variance * again / (variance + again)


def _trust(steps: Array, noise: Array, unsure: Array | None = None) -> Array:
    """Return by how much steps are shrunk: their squares are signal and noise, and signal is what counts.

    Signal is taken to be alike for all; or as large as places were unsure, but for a common factor.
    """
    alike = np.ones_like(steps) if unsure is None else unsure / max(float(unsure.mean()), 1e-300)
    signal = likeliest_signal(steps, noise, alike) * alike
    return np.asarray(signal / (signal + noise))


def common_step(answer: NoisySums, radii: Array, n_rows: float) -> Array:
    """Return how far the mean of all rows is from that of their centres, less its noise: shape (1, d).

    Parameters
    ----------
    answer : NoisySums
        Of offsets, in radii.
    radii : ndarray of shape (k, d)
        Of every centre.
    n_rows : float
        Public or noisy number of rows.
    """
    rows = max(n_rows, 1.0)
    step = (radii * answer.sums).sum(axis=0, keepdims=True) / rows
    noise = (radii**2).sum(axis=0, keepdims=True) * (answer.sum_sd / rows) ** 2
    return np.asarray(step * shrink(step, noise))


def likeliest_signal(steps: Array, noise: Array, alike: Array | float = 1.0) -> float:
    """Return the variance of signal that makes steps with this variance of noise likeliest.

    A mean of squares less a mean of noise would be drowned by the noise of one small cluster.

    Parameters
    ----------
    steps : ndarray of shape (k, d)
        In radii.
    noise : ndarray of shape (k, 1)
        Variance of the noise of a cluster's steps.
    alike : ndarray of shape (k, d)
        Variances of the signal of each step, but for a common factor: that is returned.

    Examples
    --------
    >>> steps = np.array([[0.5, -0.5], [0.4, 0.6], [9.0, -9.0]])
    >>> likeliest_signal(steps, np.array([[0.01], [0.01], [81.0]])) > 0.1
    True
    """
    total = _SIGNALS[:, np.newaxis, np.newaxis] * alike + noise
    fit = (np.log(total) + steps**2 / total).sum(axis=(1, 2))
    return float(_SIGNALS[np.argmin(fit)])


def look_share(rows_epsilon: float) -> Fraction:
    """Return the share of a round that its look at the distances is worth.

    Examples
    --------
    >>> look_share(5000.0), look_share(500.0), look_share(3.0)
    (Fraction(1, 50), Fraction(1, 10), Fraction(3, 20))
    """
    wanted = _LOOK_ROWS / max(rows_epsilon, 1e-9)
    return next((share for share in _LOOKS if share >= wanted), _LOOKS[-1])


def distance_within(
    shells: NoisyCounts, n_rows: float, body: Body, n_columns: int, inside: float = _INSIDE
) -> float:
    """Return the distance that this share of the rows is within, in the units of the shells.

    Between the edges of a shell rows are taken to lie evenly by the logarithm of their distance: noise grows
    with the radius, and in many columns nearly all rows lie in one shell. Where noise would hide the share,
    it is the distance that fits best if rows are spread like a bell.

    Parameters
    ----------
    shells : NoisyCounts
        Of :class:`Shells` with the edges of this module for that many columns.
    n_rows : float
        Public or noisy number of rows.
    body : {"box", "ball"}
        As of the shells.
    n_columns : int
        Of the rows.
    inside : float
        The share.
    """
    ends = edges(n_columns)
    if _blurred(shells, n_rows, n_columns):
        misfits = ((shells.counts - n_rows * bell_shells(body, n_columns, inside)) ** 2).sum(axis=1)
        return distances(n_columns)[int(np.argmin(misfits))]
    within = np.cumsum(shells.counts)[:-1]
    reached = np.flatnonzero(within >= inside * n_rows)
    if not len(reached):
        return _USUAL
    i = int(reached[0])
    before = float(within[i - 1]) if i else 0.0
    part = max(inside * n_rows - before, 0.0) / max(float(within[i]) - before, 1e-9)
    return float(ends[i] * _APART ** (min(part, 1.0) - 1))


@cache
def distances(n_columns: int) -> tuple[float, ...]:
    """Return distances that a bell may reach: several between any two edges."""
    ends = edges(n_columns)
    return tuple(end * _APART ** (i / _BETWEEN) for end in ends[:-1] for i in range(_BETWEEN)) + ends[-1:]


@cache
def bell_shells(body: Body, n_columns: int, inside: float) -> Array:
    """Return the shares of the shells, for every distance that may have this share of a bell inside.

    The largest coordinate of a bell is within t with probability erf(t / sqrt 2)^d; its length by the chi
    distribution.

    Examples
    --------
    >>> shares = bell_shells("box", 3, 0.8)
    >>> shares.shape, bool(np.allclose(np.cumsum(shares[::4], axis=1).diagonal(), 0.8))
    ((89, 24), True)
    """
    ladder, wanted = np.array(edges(n_columns)), np.array(distances(n_columns))
    if body == "box":
        usual = math.sqrt(2) * float(erfinv(inside ** (1 / n_columns)))
    else:
        usual = math.sqrt(2 * float(gammaincinv(n_columns / 2, inside)))
    t = usual * ladder[np.newaxis, :] / wanted[:, np.newaxis]
    within = erf(t / math.sqrt(2)) ** n_columns if body == "box" else gammainc(n_columns / 2, t**2 / 2)
    ends = np.zeros((len(wanted), 1))
    return np.diff(np.hstack([ends, within, ends + 1]), axis=1)
