"""Where groups can hardly be told from noise: centres spread around the mean of all rows.

k centres on one point waste all but one of them. Rows with standard deviation s in a typical column lie, as
seen along a random direction, about s from their mean. Let u_1 ... u_k be directions as far apart as can be
and m the mean of the largest of <u_j, z> for standard normal z: k centres at a distance r along them cost
2 r s m - r^2 less than one, a share m^2 / d of all at r = s m, and less than one at any r < 2 s m. So how far
rows lie need be known to a factor of two only, and no group. Where noise leaves some of it, each centre is
then moved to the mean of the rows that are nearest to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from shoal._typing import Array
from shoal.algorithms.kmeans.centre_round import bell_shells, distances, edges, round_along
from shoal.algorithms.kmeans.directions import mean_share, scale_of
from shoal.algorithms.kmeans.middle import BALL, EVEN, shrunken_mean
from shoal.algorithms.kmeans.tree import to_clustering
from shoal.algorithms.shared.clustering import Clustering, RowCount
from shoal.postprocess.shown import Shown, without_noise
from shoal.queries import Curator, NoisyCounts, NoisySums, Shells, Voronoi
from shoal.queries.partitions.projections import orthogonal

# Shares of the budget: how far rows lie from their mean; where centres stay, how many rows each has. Twice
# either is as good, and so is half of the second.
_FOR_SPREAD, _FOR_SIZES = Fraction(1, 20), Fraction(1, 20)
# What is left of the variance around the centres, at least, where rows are made up from them.
_LEAST_LEFT = 0.1


def spread_around(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> Clustering:
    """Spread centres around the mean, and count the rows of each: where noise would hide any other step.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    n_clusters : int
        How many centres; at least two.
    rows : RowCount
        How many rows there are.
    rest : Fraction
        What is left of the budget.
    """
    around = _Around.find(curator, n_clusters, rows, rest, 1 - _FOR_SPREAD - _FOR_SIZES)
    sizes = curator.histogram(Voronoi(around.centres), share=rest * _FOR_SIZES)
    return Clustering(
        centres=around.centres,
        sizes=sizes.counts,
        # No centre rests on its own rows, so how far it is from their mean is not known.
        centre_sd=np.full(around.centres.shape, np.inf),
        size_sd=sizes.sd,
        n_iter=1,
        predicted_sd=n_clusters * around.answer.sum_sd / rows.at_least,
        domain=curator.domain,
        merged_into=np.arange(n_clusters, dtype=np.int64),
        shown=around.shown(around.centres, sizes.counts, rows.estimate),
    )


def moved_around(curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction) -> Clustering:
    """Spread centres around the mean, then move each to its rows, as far as that stands out of its noise.

    Parameters are those of :func:`spread_around`.
    """
    for_mean = mean_share(curator, rows, rest)
    around = _Around.find(curator, n_clusters, rows, rest, for_mean)
    # Cells of random directions have about as many rows each, give or take as many.
    even = np.full(n_clusters, rows.estimate / n_clusters)
    found = round_along(
        curator,
        around.centres,
        np.tile(around.sd, (n_clusters, 1)),
        rows.estimate,
        rest * (1 - for_mean - _FOR_SPREAD),
        (even, even**2),
        Voronoi(around.centres),
        BALL * math.sqrt(curator.domain.n_columns),
    )
    # Centres that noise cannot tell apart cost less apart: they are spread.
    found = replace(found, centre_variance=np.zeros_like(found.centre_variance))
    shown = around.shown(found.centres, found.counts, rows.estimate)
    return replace(to_clustering(curator, found, rows, n_iter=2), shown=shown)


@dataclass(frozen=True, eq=False)
class _Around:
    """Centres around a mean: `sd` is that of rows from it, by column, in half widths of the domain."""

    centres: Array
    sd: Array
    answer: NoisySums

    @classmethod
    def find(
        cls, curator: Curator, n_clusters: int, rows: RowCount, rest: Fraction, for_mean: Fraction
    ) -> _Around:
        """Ask for the mean and for how far rows lie from it, and spread centres by both."""
        d, scale = curator.domain.n_columns, scale_of(curator)
        answer, noisy = shrunken_mean(curator, rows, rest * for_mean)
        mean = Voronoi(noisy).centres
        even = EVEN * math.sqrt(float((scale**2).mean()))
        of = Shells(mean, (even / scale)[np.newaxis], "ball", edges(d))
        shells = curator.histogram(of, share=rest * _FOR_SPREAD)
        sd = even * expected_spread(shells, rows.estimate, d) / scale
        apart = far_apart(n_clusters, d, curator.public_rng("around the mean"))
        return cls(
            Voronoi(np.clip(mean + best_reach(n_clusters) * sd * apart, -1.0, 1.0)).centres, sd, answer
        )

    def shown(self, centres: Array, counts: Array, rows: float) -> Shown:
        """Return where rows are: around the centres, with what is left of the variance."""
        weights = without_noise(counts, rows)
        shares = (weights / weights.sum())[:, np.newaxis]
        told = (shares * (centres - (shares * centres).sum(axis=0)) ** 2).sum(axis=0)
        left = np.maximum(self.sd**2 - told, _LEAST_LEFT * self.sd**2)
        return Shown(centres, weights, np.tile(left, (len(centres), 1)), rows)


def far_apart(n: int, n_columns: int, rng: np.random.Generator) -> Array:
    """Return random directions as far apart as can be: the corners of a simplex, if columns allow for it.

    Parameters
    ----------
    n : int
        How many; at least two.
    n_columns : int
        Of each.
    rng : numpy Generator
        Public randomness.

    Examples
    --------
    >>> found = far_apart(3, 8, np.random.default_rng(0))
    >>> (found @ found.T).round(3)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    found = np.zeros((0, n_columns))
    while len(found) < n:
        axes = orthogonal(min(n, n_columns), n_columns, rng)
        found = np.vstack([found, axes, -axes])
    away = found[:n] - found[:n].mean(axis=0)
    return np.asarray(away / np.sqrt((away**2).sum(axis=1, keepdims=True)))


def best_reach(n: int) -> float:
    """Return how far along such directions centres cost least, in standard deviations of a column.

    It is the mean of the largest of n standard normal numbers (Blom 1958), for directions that are further
    apart than right angles.

    Examples
    --------
    >>> round(best_reach(2), 2), round(best_reach(3), 2), round(best_reach(16), 2)
    (0.83, 1.06, 1.83)
    """
    return math.sqrt(n / (n - 1)) * float(ndtri((n - 0.375) / (n + 0.25)))


def expected_spread(shells: NoisyCounts, n_rows: float, n_columns: int) -> float:
    """Return the expected standard deviation of rows in a column, in the units of the shells.

    What is saved is 2 r s m - r^2, so that r = m E[s] saves most where s is not known. Any s is as likely as
    any other, by its logarithm, up to half of the domain: no rows lie further from their mean, on average.

    Parameters
    ----------
    shells : NoisyCounts
        Of distances from the mean, with the edges of :mod:`centre_round` for that many columns.
    n_rows : float
        Public or noisy number of rows.
    n_columns : int
        Of the rows.

    Examples
    --------
    >>> counts = 1000 * bell_shells("ball", 20, 0.5)[70]
    >>> round(distances(20)[70] / 20**0.5, 2), round(expected_spread(NoisyCounts(counts, 5.0), 1000.0, 20), 2)
    (0.75, 0.75)
    >>> round(expected_spread(NoisyCounts(counts, 5000.0), 1000.0, 20), 2)
    0.28
    """
    spreads = np.array(distances(n_columns)) / math.sqrt(n_columns)
    # Half of a bell lies within sqrt(d) standard deviations. Tails are those of Laplace noise, the widest.
    misfits = np.abs(shells.counts - n_rows * bell_shells("ball", n_columns, 0.5)).sum(axis=1)
    likely = np.where(spreads <= 1 / EVEN, np.exp((misfits.min() - misfits) * math.sqrt(2) / shells.sd), 0.0)
    return float((likely * spreads).sum() / likely.sum())
