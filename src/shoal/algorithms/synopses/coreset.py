"""Released weighted points, and what can be done with them for free: k-means, and the cost of any centres.

Points here are in the scaled units of the domain, [-1, 1]^d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array
from shoal.domain import Domain
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans
from shoal.postprocess.weighted_kmedians import weighted_kmedians


@dataclass(frozen=True, eq=False)
class Coreset:
    """Released points with positive weights, in the scaled units of the domain.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_columns)
        Points of [-1, 1]^d.
    weights : ndarray of shape (n_points,)
        How many rows each stands for; positive.
    domain : Domain
        What the points are scaled to.
    rows : float
        The public or noisy number of rows (their total weight where rows have weights).
    weight_sd : float
        Standard deviation of the noise in a weight.
    point_sd : float
        Predicted noise of a coordinate of a point, from public values.
    """

    points: Array
    weights: Array
    domain: Domain
    rows: float
    weight_sd: float
    point_sd: float

    def kmeans(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 30) -> WeightedClustering:
        """Find centres on the points, the best of many starts.

        Parameters
        ----------
        n_clusters : int
            How many centres; more than there are points is allowed.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts, judged on the coreset alone.
        """
        column_scale = self.domain.column_scale
        return weighted_kmeans(
            self.points, self.weights, n_clusters, rng, n_starts=n_starts, column_scale=column_scale
        )

    def kmedians(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 10) -> WeightedClustering:
        """Find centres of least distance, not squared, on the points; parameters as of :meth:`kmeans`."""
        column_scale = self.domain.column_scale
        return weighted_kmedians(
            self.points,
            self.weights,
            n_clusters,
            rng,
            n_starts=n_starts,
            n_swaps=n_starts,
            column_scale=column_scale,
        )

    def cost(self, centres: Array) -> float:
        """Return the weighted sum of squared distances to the nearest of some centres, in scaled units.

        Parameters
        ----------
        centres : ndarray of shape (n_clusters, n_columns)
            In scaled units; they may lie outside the bounds.
        """
        gaps = (self.points[:, np.newaxis, :] - centres[np.newaxis, :, :]) * self.domain.column_scale
        return float(self.weights @ (gaps**2).sum(axis=2).min(axis=1))
