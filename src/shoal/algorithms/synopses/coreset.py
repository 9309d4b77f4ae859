"""Released weighted points: a coreset, in the scaled units of the domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.postprocess.weighted_kmedians import weighted_kmedians


@dataclass(frozen=True, eq=False, kw_only=True)
class Coreset(Synopsis):
    """Released points with positive weights.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_columns)
        Points of [-1, 1]^d.
    weights, sd, domain, rows, rows_sd
        As of a :class:`Synopsis`; weights are positive.
    point_sd : float
        Predicted noise of a coordinate of a point, from public values.
    """

    points: Array
    point_sd: float

    def places(self) -> Array:
        """Return the points."""
        return self.points

    def kmedians(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 10) -> WeightedClustering:
        """Find centres of least distance, not squared, on the points; parameters as of :meth:`kmeans`."""
        return weighted_kmedians(
            self.points,
            self.weights,
            n_clusters,
            rng,
            n_starts=n_starts,
            n_swaps=n_starts,
            column_scale=self.domain.column_scale,
        )
