"""The LSH tree as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.lsh_tree.lsh_tree import LSHTree
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_count, check_noise
from shoal.queries import Noise


class LSHTreeKMeans(PrivateKMeans):
    """A tree of random cuts finds centres in many columns; a round of noisy Lloyd refines them.

    The noise of its counts does not depend on the number of columns, so it finds a good start where a grid is
    out of reach: 100 columns and 64 groups are no trouble.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    max_iter : int
        Rounds of noisy Lloyd after the tree; they have half of the budget. 0 leaves all to the tree.
    n_starts : int
        Starts of k-means on the leaves, judged on released values alone.
    noise : {"auto", NOISES}
        Law of the noise of sums; "auto" is "linf", and "gaussian" when delta is above 0.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import LSHTreeKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 20)), rng.normal(8, 0.5, (5000, 20))])
    >>> model = LSHTreeKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(0)
    array([2., 8.])
    """

    _registered = "lsh-tree"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        max_iter: int = 1,
        n_starts: int = 10,
        noise: Literal["auto"] | Noise = "auto",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.noise = noise

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return LSHTree(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter=check_count(self.max_iter, "max_iter", least=0),
            n_starts=check_count(self.n_starts, "n_starts"),
            noise=check_noise(self.noise, budget),
        )
