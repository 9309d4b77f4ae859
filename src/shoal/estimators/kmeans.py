"""Ours as estimators: KMeans, which chooses by itself, and the pieces it is made of."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np

from shoal.accounting import Approx, Budget, Pure
from shoal.algorithms import Algorithm
from shoal.algorithms.kmeans.kmeans import CUT_COLUMNS
from shoal.algorithms.kmeans.kmeans import KMeans as KMeansAlgorithm
from shoal.algorithms.kmeans.tree import TreeKMeans as TreeAlgorithm
from shoal.algorithms.swap import SwapLloyd as SwapAlgorithm
from shoal.domain import Domain
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.face import check_is_fitted
from shoal.estimators.parameters import Common, check_choice, check_count


class KMeans(PrivateKMeans):
    """Differentially private k-means that chooses by itself: the one to start with.

    A noisy synopsis finds where rows are, and rounds with noise as narrow as the groups follow them. Which
    synopsis, and how many rounds, is decided by public facts and a paid-for number of rows; the certificate
    says what was chosen and why.

    Parameters
    ----------
    n_clusters : int or "auto"
        How many groups. Where noise cannot tell that many apart, several centres are the same, and
        `merged_into_` says which: for each row the first that it is one with. With "auto",
        the number that describes the released synopsis shortest, which costs nothing: up to 15 columns;
        `n_clusters_` then says which, and `cost_curve_` what every number costs.
    epsilon : float
        Privacy loss allowed; smaller is more private. No default: it is yours to decide.
    n_starts : int
        Starts of k-means on released values, which cost nothing.
    max_clusters : int
        The most groups that "auto" may find.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`. With delta above 0, up to 15 columns
        and no shared budget the noise of pure epsilon is smaller, so it is used, and the certificate says so.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import KMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = KMeans(n_clusters=2, epsilon=0.5, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(1)
    array([2., 8.])
    >>> print(model.certificate_.notes[0].split(":")[0])
    look
    >>> counted = KMeans(n_clusters="auto", epsilon=0.5, bounds=(0, 10)).fit(X)
    >>> counted.n_clusters_ in (2, 3)  # 3 about once in 400 fits
    True
    """

    _registered = "auto"

    def __init__(
        self,
        n_clusters: int | Literal["auto"],
        *,
        epsilon: float,
        n_starts: int = 20,
        max_clusters: int = 20,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.n_starts = n_starts
        self.max_clusters = max_clusters

    def plot_cost_curve(self, axes: Any = None) -> Any:
        """Draw what every number of groups costs, with the noise, and the one that was chosen.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to; a new picture if not given.

        Returns
        -------
        matplotlib Axes
            With the curve.
        """
        check_is_fitted(self, "cost_curve_", msg='there is no curve: fit %(name)s with n_clusters="auto"')
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(layout="constrained")[1]
        curve = self.cost_curve_
        axes.errorbar(np.arange(1, len(curve.cost) + 1), curve.cost, 2 * curve.sd, marker="o", capsize=3)
        axes.axvline(curve.chosen, linestyle=":", color="black", label=f"{curve.chosen} groups chosen")
        axes.set(xlabel="groups", ylabel="mean squared distance (scaled), ± 2 sd of the noise")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()
        return axes

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        k = self.n_clusters
        return KMeansAlgorithm(
            n_clusters="auto" if k == "auto" else check_count(k, "n_clusters"),
            n_starts=check_count(self.n_starts, "n_starts"),
            max_clusters=check_count(self.max_clusters, "max_clusters"),
            delta=float(budget.delta) if isinstance(budget, Approx) else 0.0,
        )

    def _final_budget(self, budget: Budget, domain: Domain) -> Budget:
        # Beside fits with delta a shared accountant counts all as rho, where a pure epsilon would be dear.
        if isinstance(budget, Approx) and self.budget is None and domain.n_columns <= CUT_COLUMNS:
            return Pure(budget.epsilon)
        return budget


class TreeKMeans(PrivateKMeans):
    """A private tree, more centres than groups, noise in the shape of a cluster, a merge.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    n_starts : int
        Starts of k-means on the tree's boxes.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import TreeKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 8)), rng.normal(8, 0.5, (5000, 8))])
    >>> model = TreeKMeans(n_clusters=2, epsilon=1.0, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(0)
    array([2., 8.])
    """

    _registered = "tree"

    def __init__(
        self, n_clusters: int, *, epsilon: float, n_starts: int = 20, **common: Unpack[Common]
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.n_starts = n_starts

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return TreeAlgorithm(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            n_starts=check_count(self.n_starts, "n_starts"),
        )


class SwapLloyd(PrivateKMeans):
    """Noisy Lloyd that also asks how far rows lie, and moves spare centres to where one covers two groups.

    Made for many columns and (epsilon, delta), from a tree of random cuts.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private.
    max_iter : int, optional
        Rounds; 6, or 8 when delta is above 0, if not given.
    start : {"lsh-tree", "packing"}
        Where centres start: from a tree of random cuts for a fifth of the budget, or from packed spheres.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import SwapLloyd
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 20)), rng.normal(8, 0.5, (5000, 20))])
    >>> model = SwapLloyd(n_clusters=2, epsilon=1.0, delta=1e-6, bounds=(0, 10)).fit(X)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(0)
    array([2., 8.])
    """

    _registered = "swap"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        max_iter: int | None = None,
        start: Literal["lsh-tree", "packing"] = "lsh-tree",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.max_iter = max_iter
        self.start = start

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:  # noqa: ARG002
        return SwapAlgorithm(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter=None if self.max_iter is None else check_count(self.max_iter, "max_iter"),
            start=check_choice(self.start, "start", ("lsh-tree", "packing")),
        )
