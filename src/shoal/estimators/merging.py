"""Cluster merging of Ni et al. as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack, get_args

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.merging import Merging, Variant
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.postprocess.merge import Merge
from shoal.queries import Noise


class MergingKMeans(PrivateKMeans):
    """Noisy Lloyd with three times as many centres, merged to k (DP-KCCM of Ni et al.).

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    variant : {"allocation_nk", "average_nk", "allocation_k", "average_k"}
        Whether later rounds get more budget ("allocation"), and whether there are more centres than k. The
        first is the published algorithm, the others its parts.
    factor : int
        How many times k centres there are in the variants with "nk".
    max_iter : int
        Rounds.
    merge : {"ward", "published", "kmeans"}
        Merge the pair that costs least, the closest pair, or by weighted k-means.
    noise : {"auto", NOISES}
        Law of the noise; "laplace" is as published.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import MergingKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (9000, 2)), rng.normal(8, 0.5, (9000, 2))])
    >>> model = MergingKMeans(n_clusters=2, epsilon=3.0, bounds=(0, 10)).fit(X)
    >>> model.cluster_centers_.shape
    (2, 2)
    """

    _registered = "merging"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        variant: Variant = "allocation_nk",
        factor: int = 3,
        max_iter: int = 12,
        merge: Merge = "ward",
        noise: Literal["auto"] | Noise = "auto",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.variant = variant
        self.factor = factor
        self.max_iter = max_iter
        self.merge = merge
        self.noise = noise

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return Merging(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            variant=check_choice(self.variant, "variant", get_args(Variant)),
            factor=check_count(self.factor, "factor"),
            max_iter=check_count(self.max_iter, "max_iter"),
            merge=check_choice(self.merge, "merge", get_args(Merge)),
            noise=check_noise(self.noise, budget),
        )
