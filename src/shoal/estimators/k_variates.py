"""k-variates++ as an estimator."""

from __future__ import annotations

from typing import Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.grid import GridSketch, Resolution
from shoal.algorithms.k_variates import KVariates as KVariatesAlgorithm
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_count


class KVariates(PrivateKMeans):
    """k-variates++ on a noisy grid (Nock et al., repaired): seeds alone, or as starts of k-means.

    A baseline: seeds are further off than the centres that k-means makes of them, with ``refine=True``.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    resolution : "k-aware", "theta" or int
        Cells per side of the grid; see :class:`GridKMeans`.
    theta : float
        The constant of the rule.
    refine : bool
        Whether to go on with k-means on the cells.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import KVariates
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.1, (5000, 2)), rng.normal(8, 0.1, (5000, 2))])
    >>> model = KVariates(n_clusters=2, epsilon=2.0, bounds=(0, 10), refine=True).fit(X)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    _registered = "k-variates"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        resolution: Resolution = "k-aware",
        theta: float = 10.0,
        refine: bool = False,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta
        self.refine = refine

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return KVariatesAlgorithm(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            sketch=GridSketch(self.resolution, self.theta),
            refine=bool(self.refine),
        )
