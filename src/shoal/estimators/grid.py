"""The grid family of Su et al. as estimators."""

from __future__ import annotations

from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.grid import GridKMeans as GridAlgorithm
from shoal.algorithms.grid import GridSketch, Resolution, Starts
from shoal.algorithms.hybrid import Hybrid
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.queries import Noise


class GridKMeans(PrivateKMeans):
    """One noisy grid of counts, then k-means on its cells for free (EUGkM of Su et al.).

    The best of the published algorithms in up to about five columns.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    resolution : "k-aware", "theta" or int
        Cells per side: by the published rule ("theta"), by it but fine enough to tell k groups apart
        ("k-aware"), or given.
    theta : float
        The constant of the rule.
    n_starts : int
        Starts of k-means on the cells, judged on the released counts alone.
    starts : {"mixed", "published"}
        "mixed" is ours: packed starts, heavy cells and swaps. "published" is EUGkM: packed starts alone.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import GridKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = GridKMeans(n_clusters=2, epsilon=0.5, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(0)
    array([2., 8.])
    """

    _registered = "grid"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        resolution: Resolution = "k-aware",
        theta: float = 10.0,
        n_starts: int = 30,
        starts: Starts = "mixed",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta
        self.n_starts = n_starts
        self.starts = starts

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return GridAlgorithm(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            sketch=GridSketch(
                self.resolution, self.theta, check_choice(self.starts, "starts", ("mixed", "published"))
            ),
            n_starts=check_count(self.n_starts, "n_starts"),
        )


class HybridKMeans(PrivateKMeans):
    """A noisy grid, then one round of noisy Lloyd where that is predicted to pay (Su et al.).

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
    n_starts : int
        Starts of k-means on the cells.
    starts : {"mixed", "published"}
        How cells are searched; see :class:`GridKMeans`.
    noise : {"auto", NOISES}
        Law of the noise of the round of Lloyd.
    gate : {"improved", "published", "always"}
        When to refine: by the noise that is really drawn, by the published threshold, or always.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import HybridKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = HybridKMeans(n_clusters=2, epsilon=0.5, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(0)
    array([2., 8.])
    """

    _registered = "hybrid"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        resolution: Resolution = "k-aware",
        theta: float = 10.0,
        n_starts: int = 30,
        starts: Starts = "mixed",
        noise: Literal["auto"] | Noise = "auto",
        gate: Literal["improved", "published", "always"] = "improved",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta
        self.n_starts = n_starts
        self.starts = starts
        self.noise = noise
        self.gate = gate

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return Hybrid(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            sketch=GridSketch(
                self.resolution, self.theta, check_choice(self.starts, "starts", ("mixed", "published"))
            ),
            n_starts=check_count(self.n_starts, "n_starts"),
            noise=check_noise(self.noise, budget),
            gate=check_choice(self.gate, "gate", ("improved", "published", "always")),
        )
