"""K-means with zones of convergence as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.convergent import Convergent
from shoal.estimators.parameters import Common, check_count, check_noise
from shoal.estimators.published import PublishedZones
from shoal.queries import Noise
from shoal.queries.questions.published import EmptyZone, Zones


class ConvergentKMeans(PublishedZones):
    """K-means whose centres move into zones around noisy means (Lu and Shen, repaired).

    In every round the rows of a cell give their noisy mean, as an offset from the centre clipped ever more
    narrowly, and then choose privately among points of a zone around it. The offsets are what makes it good;
    the choice is the paper's, and has not paid for itself on any table tried: ``n_candidates=1`` leaves it
    out.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    max_iter : int
        Rounds.
    n_candidates : int
        Points that each cell's rows choose among, the noisy mean included.
    noise : {"auto", NOISES}
        Law of the means' noise; "auto" is "linf", and "gaussian" when delta is above 0.
    published : bool
        The published version instead, which is **not private**: there is no guarantee, and what it releases
        says so. It is there to compare with, and wants `bounds` and ``allow_unproven=True``.
    allow_unproven : bool
        That you know.
    empty_zone : {"whole zone", "stay"}
        With `published`: what a centre does whose sampling zone has no rows. No paper says.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import ConvergentKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = ConvergentKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 10), random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_, axis=0).round(0)
    array([[2., 2.],
           [8., 8.]])
    """

    _registered = "convergent"
    _zones: Zones = "orientation"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        max_iter: int = 5,
        n_candidates: int = 8,
        noise: Literal["auto"] | Noise = "auto",
        published: bool = False,
        allow_unproven: bool = False,
        empty_zone: EmptyZone = "whole zone",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.max_iter = max_iter
        self.n_candidates = n_candidates
        self.noise = noise
        self.published = published
        self.allow_unproven = allow_unproven
        self.empty_zone = empty_zone

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return Convergent(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter=check_count(self.max_iter, "max_iter"),
            n_candidates=check_count(self.n_candidates, "n_candidates"),
            noise=check_noise(self.noise, budget),
        )
