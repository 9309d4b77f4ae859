"""Balcan, Dick, Liang, Mou, Zhang 2017, algorithm 4, last part: from groups in few columns to centres in all.

Rows are grouped by their image under a projection; what is summed with noise are the rows themselves. Proof:
docs/proofs/projected.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal._typing import Array
from shoal.algorithms.shared.clustering import Clustering
from shoal.postprocess import centre_sd, recentre
from shoal.postprocess.evidence import Noisy, combine, shrink, smallest_count
from shoal.queries import (
    Ball,
    Box,
    Curator,
    Noise,
    NoisyCounts,
    NoisySums,
    Offset,
    Partition,
    Projected,
    Projection,
    Voronoi,
)

# Half widths of a box, or radius of a ball, around a rough centre, in typical distances of a row from it.
_BOX, _BALL = 2.0, 1.2
# A further round must be predicted to leave less than this of the noise.
_WORTH_IT = 0.8
# Rounds that are considered, from 2 on; what each leaves of the noise is predicted. Not tuned.
_MOST_ROUNDS = 4
# Centres are moved if less than this of what they show is not noise.
_SHRINK_BELOW = 0.9


def lift(projection: Projection, image: Array, metric: Array | None) -> Array:
    """Return the points of least weighted length that a projection maps to these.

    Examples
    --------
    >>> lift(Projection(np.array([[0.6, 0.8]])), np.array([[0.5]]), None).round(3)
    array([[0.3, 0.4]])
    """
    weights = np.ones(projection.n_columns) if metric is None else metric
    scaled = projection.matrix / np.where(weights > 0, weights, 1.0)
    points = np.zeros((len(image), projection.n_columns))
    # Directions are orthogonal: each adds by itself, in elementwise arithmetic that is the same everywhere.
    for direction, row, place in zip(projection.matrix, scaled, image.T, strict=True):
        points += place[:, np.newaxis] * row / (direction * row).sum()
    return np.clip(points, -1.0, 1.0)


def zero_of(curator: Curator) -> Array:
    """Return the table's own zero, or what of the bounds is nearest to it, in scaled units."""
    bounds = curator.domain.bounds
    lower, half = np.asarray(bounds.lower, dtype=np.float64), bounds.half_width
    place = -(lower + half) / np.where(half > 0, half, 1.0)
    return np.where(half > 0, np.clip(place, -1.0, 1.0), 0.0)


def with_sizes(answer: NoisySums, sizes: NoisyCounts | None) -> NoisySums:
    """Average counts with what is known of them already, if that is better known.

    Examples
    --------
    >>> noisy = NoisySums(np.zeros((1, 2)), np.array([100.0]), 40.0, 40.0)
    >>> with_sizes(noisy, NoisyCounts(np.array([150.0]), 20.0)).counts
    array([140.])
    """
    if sizes is None or sizes.sd >= answer.count_sd:
        return answer
    both = combine(Noisy.of(sizes.counts, sizes.sd), Noisy.of(answer.counts, answer.count_sd))
    return replace(answer, counts=both.value, count_sd=both.sd)


def shrunk(answer: NoisySums, towards: Array) -> Array:
    """Divide sums by counts, and move what noise has drowned back to where rows were grouped.

    In many columns noise may be wider than the domain. Groups lie around the mean of all rows, which has less
    noise than theirs, as the points lie around theirs: so first this mean is moved to the points', and then
    every centre to its point, moved along.

    Parameters
    ----------
    answer : NoisySums
        Sums of scaled rows.
    towards : ndarray of shape (n_clusters, n_columns)
        Public points, also for groups without rows.

    Examples
    --------
    >>> noisy = NoisySums(np.array([[90.0, -90.0], [2.0, 0.0]]), np.array([100.0, 1.0]), 100.0, 1.0)
    >>> shrunk(noisy, np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    least = smallest_count(answer.count_sd)
    held = answer.counts >= least
    if not held.any():
        return towards
    counts = np.where(held, answer.counts, least)[:, np.newaxis]
    shares = (answer.counts * held)[:, np.newaxis] / answer.counts[held].sum()
    middle = (shares * towards).sum(axis=0, keepdims=True)
    means, noise = answer.sums / counts, (answer.sum_sd / counts) ** 2
    moved = _pull((shares * means).sum(axis=0, keepdims=True), middle, (shares**2 * noise).sum(axis=0))
    points = np.clip(towards + (moved - middle), -1.0, 1.0)
    centres = np.clip(_pull(means, points, noise, shares**2), -1.0, 1.0)
    return np.where(held[:, np.newaxis], centres, points)


def _pull(means: Array, towards: Array, noise: Array, weights: Array | float = 1.0) -> Array:
    """Return averages of noisy means and points, weighted so that they err least."""
    apart = means - towards
    kept = shrink(apart, noise, weights)
    # A little is not worth having centres that are not plain means.
    return np.asarray(towards + np.where(kept < _SHRINK_BELOW, kept, 1.0) * apart)


@dataclass(frozen=True)
class Recovery:
    """How centres are found once rows are grouped.

    Parameters
    ----------
    n_rows, fewest_rows : float
        Public or noisy number of rows, and how many there surely are.
    share : Fraction
        Share of the budget.
    noise : Noise, optional
        Law of the noise.
    spread : float, optional
        Typical distance of a row from its centre, a column; not known if not given.
    shrinks : bool
        Whether centres that noise has drowned are moved back to where rows were grouped: ours.
    """

    n_rows: float
    fewest_rows: float
    share: Fraction
    noise: Noise | None = None
    spread: float | None = None
    shrinks: bool = True

    def run(
        self, curator: Curator, projection: Projection, image: Array, sizes: NoisyCounts | None = None
    ) -> Clustering:
        """Sum the rows of each group; where it pays, do so again, as offsets from the centres found.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        projection : Projection
            To the columns that rows are grouped in.
        image : ndarray of shape (n_clusters, n_directions)
            Public centres there.
        sizes : NoisyCounts, optional
            What is known of the groups' sizes already.
        """
        shapes = self.rounds(curator, len(image))
        share = self.share / (len(shapes) + 1)
        cells: Partition = Projected(projection, Voronoi(image))
        answer = with_sizes(curator.sums(cells, share=share, noise=self.noise), sizes)
        fallback = lift(projection, image, curator.domain.metric)
        if self.shrinks:
            centres = means = shrunk(answer, fallback)
        else:
            centres = means = recentre(answer.sums, answer.counts, answer.count_sd, fallback=fallback)
        for shape in shapes:
            cells = Voronoi(centres)
            near = Offset(cells.centres, shape)
            answer = with_sizes(curator.sums(cells, of=near, share=share, noise=self.noise), sizes)
            stay = np.zeros_like(centres)
            means = recentre(answer.sums, answer.counts, answer.count_sd, fallback=stay)
            centres = np.clip(near.anchors + means, -1.0, 1.0)
        return self._clustering(curator, centres, means, answer, 1 + len(shapes))

    def rounds(self, curator: Curator, n_clusters: int) -> list[Box | Ball]:
        """Return where rows are expected around the centres of each further round, by released values.

        A round leaves centres off by s a column. Around them rows are spread by s and by their own spread,
        which is often much less than the domain, and so is then the noise of the next round: more rounds
        pay as long as what is left at the end falls by more than their shares cost.
        """
        best: list[Box | Ball] = []
        if self.spread is None or curator.domain.metric is not None:
            return best
        least = self._least_radius(curator)
        left = self._left(curator, n_clusters, best, 1)
        for n in range(2, _MOST_ROUNDS + 1):
            shapes: list[Box | Ball] = []
            for _ in range(n - 1):
                off = self._left(curator, n_clusters, shapes, n)
                shapes.append(self._around(curator, math.hypot(off, self.spread), least))
            again = self._left(curator, n_clusters, shapes, n)
            if again < _WORTH_IT * left:
                best, left = shapes, again
        return best

    def _left(self, curator: Curator, n_clusters: int, shapes: list[Box | Ball], n: int) -> float:
        """Return the predicted error of an average centre, a column, after some of n rounds."""
        nowhere = np.zeros((1, curator.domain.n_columns))
        of = Offset(nowhere, shapes[-1]) if shapes else None
        return curator.noise_sd(of=of, share=self.share / n, noise=self.noise)[0] * n_clusters / self.n_rows

    def _around(self, curator: Curator, typical: float, least: float) -> Box | Ball:
        if curator.budget.currency == "rho" and self.noise in (None, "gaussian"):
            return Ball(min(max(_BALL * typical * math.sqrt(curator.domain.n_columns), least), 1023.0))
        return Box(min(max(_BOX * typical, least), 2.0))

    def _least_radius(self, curator: Curator) -> float:
        """Return the least radius in whose steps the noise is still fine.

        L-infinity noise of m coordinates spreads over about m / e radii, and the exact sampler wants steps of
        at most 1 / (m e) of a radius. There are 2^20 steps in a half width.
        """
        m = curator.domain.n_columns + 1
        in_radii = curator.noise_sd(share=self.share, noise=self.noise)[0]
        return max(2.0**-16, m * m / in_radii * 2.0**-20)

    def _clustering(
        self, curator: Curator, centres: Array, means: Array, answer: NoisySums, n_iter: int
    ) -> Clustering:
        sd = centre_sd(means, answer.counts, answer.sum_sd, answer.count_sd)
        predicted = answer.sum_sd * len(centres) / self.fewest_rows
        return Clustering.from_sums(curator, centres, answer, n_iter, centre_sd=sd, predicted_sd=predicted)
