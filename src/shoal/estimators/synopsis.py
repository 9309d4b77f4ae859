"""Synopses: count once, publish, and answer any number of questions for free."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Literal, Unpack

from shoal.accounting import Approx, Pure
from shoal.algorithms import SYNOPSES
from shoal.algorithms.grid import GridSketch, Resolution
from shoal.algorithms.grid import GridSynopsis as GridAlgorithm
from shoal.algorithms.synopses.boxes import BoxCounts
from shoal.algorithms.synopses.groups import GroupsOn, MakesSynopsis
from shoal.algorithms.synopses.masked_grid import MASK_THETA
from shoal.algorithms.synopses.masked_grid import MaskedGridSynopsis as MaskedAlgorithm
from shoal.algorithms.synopses.privtree import PrivTreeSynopsis as TreeAlgorithm
from shoal.errors import MostlyNoise
from shoal.estimators.fitting import PrivateEstimator
from shoal.estimators.parameters import Common, check_count
from shoal.queries import Transcript
from shoal.release.synopsis import SynopsisRelease


class PrivateSynopsis(PrivateEstimator):
    """Base class: everything but which boxes are counted.

    The fitted `release_` counts the rows of boxes, draws synthetic rows and finds any number of groups, as
    often as you like and at no further cost.
    """

    _registry = SYNOPSES

    def _keep(self, found: BoxCounts, transcript: Transcript) -> None:
        self.release_ = SynopsisRelease(found, self.certificate_, transcript)
        if said := found.warning():
            warnings.warn(said, MostlyNoise, stacklevel=3)

    @abstractmethod
    def _synopsis(self, n_clusters: int) -> MakesSynopsis:
        """Check the synopsis's own parameters and return what makes it."""

    def _algorithm(self, budget: Pure | Approx) -> MakesSynopsis:  # noqa: ARG002 - as of the others
        return self._synopsis(check_count(self.n_clusters, "n_clusters"))

    def _rehearsed(self, algorithm: MakesSynopsis) -> GroupsOn:
        return GroupsOn(check_count(self.n_clusters, "n_clusters"), algorithm)


class GridSynopsis(PrivateSynopsis):
    """Noisy counts of rows over a grid (UG and EUG of Su et al.), released as they are.

    The fitted `release_` counts the rows of boxes, draws synthetic rows and finds any number of groups, as
    often as you like and at no further cost. Grids of up to four million cells are kept whole; of larger
    ones only the cells with many rows, so that ten columns fit in memory.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed; smaller is more private.
    resolution : "theta", "k-aware" or int
        Cells per side: by the published rule ("theta"), by it but fine enough to tell `n_clusters` groups
        apart ("k-aware"), or given.
    theta : float
        The constant of the rule.
    n_clusters : int
        How many groups "k-aware" has in mind. About five times as many empty cells are kept with the large
        counts, where not all are.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Attributes
    ----------
    release_ : SynopsisRelease
        What may be published.
    certificate_ : Certificate
        What is guaranteed.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import GridSynopsis
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> release = GridSynopsis(epsilon=0.5, bounds=(0, 10)).fit(X).release_
    >>> np.sort(release.kmeans(2).centres[:, 0]).round(0)
    array([2., 8.])
    """

    _registered = "grid"

    def __init__(
        self,
        *,
        epsilon: float,
        resolution: Resolution = "theta",
        theta: float = 10.0,
        n_clusters: int = 8,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta

    def _synopsis(self, n_clusters: int) -> GridAlgorithm:
        return GridAlgorithm(n_clusters, GridSketch(self.resolution, self.theta))


class MaskedGridSynopsis(PrivateSynopsis):
    """Noisy counts over a finer grid, with the cells that stand out of the noise: what `KMeans` starts from.

    Groups and synthetic rows are made of the cells that stand out, so the noise of empty ones does not add
    up; counts of boxes use all. For up to about 6 columns. The fitted `release_` is asked as often as you
    like, at no further cost.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed; smaller is more private.
    resolution : "theta" or int
        Cells per side: by the rule of :class:`GridSynopsis`, up to 2^18 cells, or given.
    theta : float
        The constant of the rule; smaller is finer.
    n_clusters : int
        How many groups `shoal explain` has in mind.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Attributes
    ----------
    release_ : SynopsisRelease
        What may be published.
    certificate_ : Certificate
        What is guaranteed.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import MaskedGridSynopsis
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> release = MaskedGridSynopsis(epsilon=0.5, bounds=(0, 10)).fit(X).release_
    >>> np.sort(release.kmeans(2).centres[:, 0]).round(0)
    array([2., 8.])
    >>> estimate, error = release.count([0, 0], [5, 5])
    >>> abs(estimate - 5000) < 4 * error
    True
    """

    _registered = "masked-grid"

    def __init__(
        self,
        *,
        epsilon: float,
        resolution: int | Literal["theta"] = "theta",
        theta: float = MASK_THETA,
        n_clusters: int = 8,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.resolution = resolution
        self.theta = theta

    def _synopsis(self, n_clusters: int) -> MaskedAlgorithm:  # noqa: ARG002
        return MaskedAlgorithm(self.resolution, self.theta)


class PrivTreeSynopsis(PrivateSynopsis):
    """Noisy counts over a private tree of boxes (PrivTree), which is fine where rows are many.

    For tables whose rows fill little of their bounds, and for more columns than a grid can have. The fitted
    `release_` is asked as often as you like, at no further cost.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed; smaller is more private.
    n_clusters : int
        How many groups `shoal explain` has in mind.
    **common
        As in :class:`shoal.estimators.parameters.CommonParameters`.

    Attributes
    ----------
    release_ : SynopsisRelease
        What may be published.
    certificate_ : Certificate
        What is guaranteed.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import PrivTreeSynopsis
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 8)), rng.normal(8, 0.5, (5000, 8))])
    >>> release = PrivTreeSynopsis(epsilon=1.0, bounds=(0, 10)).fit(X).release_
    >>> np.sort(release.kmeans(2).centres.mean(axis=1)).round(0)
    array([2., 8.])
    """

    _registered = "tree"

    def __init__(self, *, epsilon: float, n_clusters: int = 8, **common: Unpack[Common]) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)

    def _synopsis(self, n_clusters: int) -> TreeAlgorithm:  # noqa: ARG002
        return TreeAlgorithm()
