"""Private k-medians as an estimator."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.grid import GridSketch, Resolution
from shoal.algorithms.medians import Medians, Route
from shoal.estimators.base import PrivateKMeans, say_exact_once
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.queries import Noise


class KMedians(PrivateKMeans):
    """Private k-medians: centres of least total distance, not squared, so that far rows pull less.

    Standard errors of centres are not known (infinite): what noise does to a median depends on how dense rows
    are around it.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    route : {"gradient", "synopsis", "coreset", "swap", "projected"}
        "gradient": noisy descent, in which each row pulls with a strength of one, from a start on a grid or,
        in more than five columns, a coreset, paid with two fifths of the budget; "synopsis" and "coreset":
        the grid or the coreset alone, with the whole budget, then k-medians on it for free; "swap": a grid,
        then private swaps of centres (Balcan et al.), which want many rows times epsilon; "projected": such
        swaps in a few random columns and descent in all (Balcan et al., theorem 12), for many columns.
    max_iter : int
        Rounds of the descent.
    n_starts : int
        Starts of k-medians on the cells or points.
    resolution : int, "theta" or "k-aware"
        Cells per side of the grid, or the rule to find them by.
    theta : float
        Constant of the rule.
    noise : {"auto", NOISES}
        Law of the descent's noise; "auto" is "linf", and "gaussian" when delta is above 0.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import KMedians
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = KMedians(n_clusters=2, epsilon=1.0, bounds=(0, 10), random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_, axis=0).round(0)
    array([[2., 2.],
           [8., 8.]])
    """

    _registered = "medians"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        route: Route = "gradient",
        max_iter: int = 4,
        n_starts: int = 10,
        resolution: Resolution = "theta",
        theta: float = 10.0,
        noise: Literal["auto"] | Noise = "auto",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.route = route
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.resolution = resolution
        self.theta = theta
        self.noise = noise

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return minus the sum of distances of the caller's rows to their nearest centres, not squared.

        It is computed exactly from the rows passed in: not for release, and what is chosen by it is covered
        by no certificate.
        """
        say_exact_once()
        return -float(sum(part.min(axis=1).sum() for part in self._distances(X)))

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return Medians(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            route=check_choice(self.route, "route", ("gradient", "synopsis", "coreset", "swap", "projected")),
            max_iter=check_count(self.max_iter, "max_iter"),
            n_starts=check_count(self.n_starts, "n_starts"),
            sketch=GridSketch(self.resolution, self.theta),
            noise=check_noise(self.noise, budget),
        )
