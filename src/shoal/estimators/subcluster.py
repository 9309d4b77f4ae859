"""K-means with sub-clusters as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.subcluster import Move, SubCluster
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.estimators.published import PublishedZones
from shoal.queries import Noise
from shoal.queries.questions.published import Zones


class SubClusterKMeans(PublishedZones):
    """K-means whose centres move by what sub-clusters of their cells hold (Joshi and Thakkar, repaired).

    In every round each cell is cut around a few public seeds, and sums and counts of the parts are asked for
    with noise; nearer anchors clip less than the centre alone would, and more parts have more noise.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    max_iter : int
        Rounds.
    internal_k : int
        Sub-clusters of a cell, besides the one around its centre and what lies further out.
    move : {"combined", "sampled", "largest"}
        To the mean of all sub-clusters; half way to one drawn by its noisy size, the paper's rule; or to the
        largest.
    noise : {"auto", NOISES}
        Law of the noise; "auto" is "linf", and "gaussian" when delta is above 0.
    published : bool
        The published version instead, which is **not private**: there is no guarantee, and what it releases
        says so. It is there to compare with, and wants `bounds` and ``allow_unproven=True``.
    allow_unproven : bool
        That you know.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import SubClusterKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = SubClusterKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 10), random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_, axis=0).round(0)
    array([[2., 2.],
           [8., 8.]])
    """

    _registered = "subcluster"
    _zones: Zones = "sub-clusters"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        max_iter: int = 5,
        internal_k: int = 3,
        move: Move = "combined",
        noise: Literal["auto"] | Noise = "auto",
        published: bool = False,
        allow_unproven: bool = False,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.max_iter = max_iter
        self.internal_k = internal_k
        self.move = move
        self.noise = noise
        self.published = published
        self.allow_unproven = allow_unproven

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return SubCluster(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter=check_count(self.max_iter, "max_iter"),
            internal_k=check_count(self.internal_k, "internal_k"),
            move=check_choice(self.move, "move", ("combined", "sampled", "largest")),
            noise=check_noise(self.noise, budget),
        )
