"""Released boxes with noisy weights, and what can be read off them for free: centres, and how far rows reach.

Boxes come from a tree that is fine where rows are many (Zhang, Xiao, Xie 2016, PrivTree), from a look, or
from a grid along a few directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from shoal._typing import Array
from shoal.algorithms.kmeans.tree_record import Look
from shoal.algorithms.synopses.privtree import count_tree
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.postprocess import pack
from shoal.postprocess.choose_k import CostCurve, cost_curve
from shoal.postprocess.evidence import smallest_count
from shoal.postprocess.nearest import group_sums, nearest_centre
from shoal.postprocess.shown import Shown, without_noise
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans
from shoal.queries import Curator

# A cluster's own spread counts as much as the common one when it has this many rows.
_PRIOR_ROWS = 20.0
# How often boxes that may be noise are left out before centres are taken as they are.
_TRIES = 3
# Of all rows, the part that such boxes may have.
_FEW_ROWS = 0.05
# Boxes of a centre that a round did not confirm are believed if they have this many times the least rows.
_HEAVY = 2.0
# Of a bell's rows, the least in a box, a column, that say where in it they are.
_LEAST_OF_BELL = 1e-6


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes with noisy weights, in the scaled units of the domain.

    Parameters
    ----------
    places : ndarray of shape (n, d)
        Middles of the boxes.
    variances : ndarray of shape (n, d)
        Of a row that lies anywhere in its box.
    weights : ndarray of shape (n,)
        Noisy counts; they may be negative.
    sd : float
        Standard deviation of their noise.
    column_scale : ndarray of shape (d,)
        What columns are multiplied by before distances are taken.
    total, total_sd : float
        Noisy number of rows in all boxes, dropped ones as well, and the standard deviation of its noise.
    """

    places: Array
    variances: Array
    weights: Array
    sd: float
    column_scale: Array
    total: float
    total_sd: float

    @classmethod
    def of(cls, synopsis: Synopsis) -> Boxes:
        """Return the boxes of a synopsis, as it would be released."""
        return cls(
            synopsis.places(),
            synopsis.variances(),
            synopsis.weights,
            synopsis.sd,
            synopsis.domain.column_scale,
            synopsis.total,
            synopsis.total_sd,
        )

    @classmethod
    def seen(cls, look: Look, column_scale: Array) -> Boxes:
        """Return the cells of a look; their noise is that of a typical one."""
        scale = np.where(column_scale > 0, column_scale, 1.0)
        cells, sd = look.boxes, math.sqrt(float(np.median(look.boxes.variances)))
        return cls(
            cells.middles / scale,
            (cells.widths / scale) ** 2 / 12,
            cells.counts,
            sd,
            column_scale,
            look.total,
            look.total_sd,
        )

    def shown(self, rows: float) -> Shown | None:
        """Return where rows are, noise taken off the weights; `rows` is how many there are in all."""
        if not len(self.weights):
            return None
        return Shown(self.places, without_noise(self.weights, rows), self.variances, rows)

    def centres(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 20) -> Array:
        """Find centres of the weighted boxes: always as many as are asked for.

        Parameters
        ----------
        n_clusters : int
            How many.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts of k-means.
        """
        return self._cluster(self.weights, n_clusters, rng, n_starts).centres

    def centres_without_noise(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 20) -> Array:
        """Find centres of groups: a far box that may be noise is left out, and takes the place of none.

        Parameters are those of :meth:`centres`.
        """
        weights = self.weights
        for _ in range(_TRIES):
            found = self._cluster(weights, n_clusters, rng, n_starts)
            light = found.masses < self.noise_floor
            # Where groups are as small as that, they are not told from noise by their weight.
            if not 0 < np.maximum(found.masses[light], 0.0).sum() < _FEW_ROWS * weights.sum():
                break
            labels = nearest_centre(self.places * self.column_scale, found.centres * self.column_scale)
            weights = np.where(light[labels], 0.0, weights)
        return found.centres

    @property
    def noise_floor(self) -> float:
        """Rows that noise would hardly give any of n boxes: (ln n + 3) / epsilon."""
        return self.sd / math.sqrt(2) * (math.log(max(self.n_boxes, 2.0)) + 3)

    @property
    def n_boxes(self) -> float:
        """How many boxes there were, dropped ones as well."""
        return (self.total_sd / self.sd) ** 2

    def _cluster(
        self, weights: Array, n_clusters: int, rng: np.random.Generator, n_starts: int
    ) -> WeightedClustering:
        if not weights.sum() > 0:  # nothing stands out: as good as any
            return WeightedClustering(pack(n_clusters, self.places.shape[1], rng), np.zeros(n_clusters), 0.0)
        return weighted_kmeans(
            self.places,
            weights,
            n_clusters,
            rng,
            n_starts=n_starts,
            least_mass=1.0,
            n_swaps=30 if n_starts > 1 else 0,
            column_scale=self.column_scale,
        )

    def choose_k(self, most: int, rng: np.random.Generator, n_starts: int = 20) -> CostCurve:
        """Find what 1, 2, ... groups cost, and how many there seem to be: for free.

        Parameters
        ----------
        most : int
            The largest number.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Most starts of k-means for each number.
        """
        given = self.places, self.variances, self.weights, self.sd
        return cost_curve(*given, self.n_boxes, most, rng, n_starts=n_starts, column_scale=self.column_scale)

    def spreads(self, centres: Array) -> Array:
        """Return the standard deviation of rows around each centre, a column: shape (k, d).

        Where a centre has few rows, it is drawn towards the common one.
        """
        k, d = centres.shape
        labels = nearest_centre(self.places * self.column_scale, centres * self.column_scale)
        weights = np.maximum(self.weights, 0.0)
        mass = np.bincount(labels, weights, k)
        squares = np.empty((k, d))
        for column in range(d):
            away = (self.places[:, column] - centres[labels, column]) ** 2 + self.variances[:, column]
            squares[:, column] = np.bincount(labels, weights * away, k)
        common = squares.sum(axis=0) / max(float(mass.sum()), 1.0)
        return np.asarray(np.sqrt((squares + _PRIOR_ROWS * common) / (mass[:, np.newaxis] + _PRIOR_ROWS)))

    def around(self, mean: Array, sd: Array) -> Boxes:
        """Return the boxes with their rows where a bell around the mean of all has them.

        A box that was halved in few columns tells nothing of the others: there its rows lie at the mean.

        Parameters
        ----------
        mean, sd : ndarray of shape (d,)
            Of all rows, by column.
        """
        half = np.sqrt(3 * self.variances)
        lower, upper = (self.places - half - mean) / sd, (self.places + half - mean) / sd
        rows = ndtr(upper) - ndtr(lower)
        edges = np.exp(-(lower**2) / 2), np.exp(-(upper**2) / 2)
        # Where a bell has hardly any rows it says nothing of where in the box they are.
        told = rows > _LEAST_OF_BELL
        some = np.where(told, rows, 1.0) * math.sqrt(2 * math.pi)
        shift = (edges[0] - edges[1]) / some
        spread = 1 + (lower * edges[0] - upper * edges[1]) / some - shift**2
        return replace(
            self,
            places=np.where(told, mean + sd * shift, self.places),
            variances=np.where(told, sd**2 * np.maximum(spread, 1e-6), self.variances),
        )

    def moved_to(self, centres: Array, means: Array, sizes: Array, size_sd: float) -> Boxes:
        """Return the boxes, moved and weighted so that they agree with what a round found.

        Parameters
        ----------
        centres : ndarray of shape (k, d)
            Public centres; a box belongs to the nearest.
        means : ndarray of shape (k, d)
            Of the rows of each centre, with noise.
        sizes : ndarray of shape (k,)
            Their numbers, with noise; boxes know them as well, and each is trusted by its noise.
        size_sd : float
            Standard deviation of that noise.
        """
        k = len(centres)
        labels = nearest_centre(self.places * self.column_scale, centres * self.column_scale)
        weights = np.maximum(self.weights, 0.0)
        mass = np.bincount(labels, weights, k)
        sums = group_sums(labels, weights[:, np.newaxis] * self.places, k)
        known = sizes >= smallest_count(size_sd)
        some = np.where(mass > 0, mass, 1.0)
        shifts = np.where((known & (mass > 0))[:, np.newaxis], means - sums / some[:, np.newaxis], 0.0)
        noise = np.bincount(labels, minlength=k) * self.sd**2
        both = (mass * size_sd**2 + sizes * noise) / (size_sd**2 + noise)
        # Boxes were kept for their weight, so noise alone may have made them: the round did not look for any.
        both = np.where(known | (mass > _HEAVY * self.noise_floor), both, 0.0)
        alone = known & (mass <= 0)
        return replace(
            self,
            places=np.vstack([np.clip(self.places + shifts[labels], -1.0, 1.0), means[alone]]),
            variances=np.vstack([self.variances, np.zeros((int(alone.sum()), centres.shape[1]))]),
            weights=np.append(weights * (np.maximum(both, 0.0) / some)[labels], sizes[alone]),
        )


def tree_points(curator: Curator, share: Fraction) -> Boxes:
    """Grow a tree and count the rows of its boxes.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    share : Fraction
        Share of the budget.
    """
    return Boxes.of(count_tree(curator, share))
