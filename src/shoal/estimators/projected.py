"""Clustering by random projection, of Balcan et al., as an estimator."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.projected.projected import ProjectedClustering, Route
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.queries import Noise


class ProjectedKMeans(PrivateKMeans):
    """Clustering in many columns by way of a few random ones (Balcan et al.).

    Rows are projected to a few random directions. A tree of cubes with noisy counts shows where they crowd;
    centres are placed there for free, and recovered in all columns by noisy sums.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    route : {"practical", "published"}
        Place centres by k-means on the tree's noisy counts, or by private local swaps as in the paper, which
        needs many rows for every cluster.
    n_directions : int or "auto"
        Projected columns; floor(ln(n) / 2), from 2 to 8, if "auto".
    n_levels : int or "auto"
        Levels of the tree.
    n_shifts : int
        Randomly shifted trees that share the budget of one; a single tree is not shifted.
    n_swaps : int or "auto"
        Private swaps of the published route; k, at most 20, if "auto".
    n_repeats : int
        Repetitions with other projections, of which one is chosen privately.
    n_starts : int
        Starts of k-means on the tree's counts.
    sparsity : int, optional
        How many columns of a row are not zero, about, in a table where most cells are zero: centres then have
        twice as many columns that are not, chosen privately for each group.
    noise : {"auto", NOISES}
        Law of the noise of the sums.
    gamma : float, optional
        Noisy rows, times the epsilon of a level, from which a cube is split; ours if not given. The theorem's
        20 ln(n / delta) splits nothing on tables of usual size.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import ProjectedKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 40)), rng.normal(8, 0.5, (5000, 40))])
    >>> model = ProjectedKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(0)
    array([2., 8.])
    """

    _registered = "projected"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        route: Route = "practical",
        n_directions: int | Literal["auto"] = "auto",
        n_levels: int | Literal["auto"] = "auto",
        n_shifts: int = 1,
        n_swaps: int | Literal["auto"] = "auto",
        n_repeats: int = 1,
        n_starts: int = 10,
        sparsity: int | None = None,
        noise: Literal["auto"] | Noise = "auto",
        gamma: float | None = None,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.route = route
        self.n_directions = n_directions
        self.n_levels = n_levels
        self.n_shifts = n_shifts
        self.n_swaps = n_swaps
        self.n_repeats = n_repeats
        self.n_starts = n_starts
        self.sparsity = sparsity
        self.noise = noise
        self.gamma = gamma

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return ProjectedClustering(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            route=check_choice(self.route, "route", ("practical", "published")),
            n_directions=_auto_or_count(self.n_directions, "n_directions"),
            n_levels=_auto_or_count(self.n_levels, "n_levels"),
            n_shifts=check_count(self.n_shifts, "n_shifts"),
            n_swaps=_auto_or_count(self.n_swaps, "n_swaps"),
            n_repeats=check_count(self.n_repeats, "n_repeats"),
            n_starts=check_count(self.n_starts, "n_starts"),
            sparsity=None if self.sparsity is None else check_count(self.sparsity, "sparsity"),
            noise=check_noise(self.noise, budget),
            gamma=self.gamma,
        )


def _auto_or_count(value: int | Literal["auto"], name: str) -> int | Literal["auto"]:
    return "auto" if value == "auto" else check_count(value, name)
