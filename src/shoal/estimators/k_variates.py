"""k-variates++ as an estimator."""

from __future__ import annotations

import math
from typing import Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.grid import GridSketch, Resolution
from shoal.algorithms.k_variates import KVariates as KVariatesAlgorithm
from shoal.algorithms.published import PublishedSeeds
from shoal.errors import InvalidInput
from shoal.estimators.parameters import Common, check_count
from shoal.estimators.published import PublishedToo


class KVariates(PublishedToo):
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
    published : bool
        The published version instead, which is **not private**: there is no guarantee, and what it releases
        says so. It is there to compare with, and wants `bounds` and ``allow_unproven=True``.
    allow_unproven : bool
        That you know.
    sharpness : float, optional
        With `published`: how well a centre shows the row that it was drawn at; epsilon if not given. The
        paper computes it from the rows.
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
        published: bool = False,
        allow_unproven: bool = False,
        sharpness: float | None = None,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta
        self.refine = refine
        self.published = published
        self.allow_unproven = allow_unproven
        self.sharpness = sharpness

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return KVariatesAlgorithm(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            sketch=GridSketch(self.resolution, self.theta),
            refine=bool(self.refine),
        )

    def _as_published(self, epsilon: float) -> PublishedSeeds:
        sharpness = epsilon if self.sharpness is None else self.sharpness
        if not 0 < sharpness < math.inf:
            raise InvalidInput(f"sharpness is {self.sharpness!r}; it must be a number above 0, or None")
        return PublishedSeeds(check_count(self.n_clusters, "n_clusters"), float(sharpness))
