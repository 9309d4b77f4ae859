"""A grid synopsis: count once, publish, and answer any number of questions for free."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self, Unpack

from shoal.accounting import Approx, Pure, budget_of
from shoal.algorithms.grid import GridKMeans, GridSketch, Resolution
from shoal.algorithms.grid import GridSynopsis as SynopsisAlgorithm
from shoal.algorithms.synopsis import Synopsis
from shoal.errors import MostlyNoise
from shoal.estimators.fitting import PrivateEstimator
from shoal.estimators.parameters import Common, check_count
from shoal.release.synopsis import SynopsisRelease


class GridSynopsis(PrivateEstimator):
    """Noisy counts of rows over a grid (UG and EUG of Su et al.), released as they are.

    The fitted `release_` counts the rows of boxes, draws synthetic rows and finds any number of groups, as
    often as you like and at no further cost. Grids of up to four million cells are kept whole; of larger
    ones only the cells with many rows, so that ten columns fit in memory.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed; smaller is more private.
    resolution : "theta", "k-aware" or int
        Cells a side: by the published rule ("theta"), by it but fine enough to tell `n_clusters` groups apart
        ("k-aware"), or given.
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Count the rows of a table over a grid, privately.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            As in :meth:`shoal.GridKMeans.fit`.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Weights of the rows, clipped to [0, `max_weight`], or the column that holds them.

        Returns
        -------
        self
            The fitted model.
        """
        budget = budget_of(self.epsilon, self.delta)
        groups = self._algorithm(budget)
        algorithm = SynopsisAlgorithm(groups.n_clusters, groups.sketch)
        synopsis, answered = self._behind_gate(X, sample_weight, budget, algorithm.run)
        self.certificate_ = self._certificate(algorithm, synopsis.domain, answered)
        self.release_ = SynopsisRelease(synopsis, self.certificate_, answered.transcript)
        if said := _warning(synopsis):
            warnings.warn(said, MostlyNoise, stacklevel=2)
        return self

    def _algorithm(self, budget: Pure | Approx) -> GridKMeans:  # noqa: ARG002 - as of the other estimators
        """Check the parameters, and return what finds groups on such a grid: `explain` tells their errors."""
        sketch = GridSketch(self.resolution, self.theta)
        return GridKMeans(check_count(self.n_clusters, "n_clusters"), sketch)


def _warning(synopsis: Synopsis) -> str | None:
    """Say what is wrong with a synopsis, from released values alone."""
    noise, rows = synopsis.sd * math.sqrt(synopsis.n_held), max(synopsis.rows, 1.0)
    if synopsis.cells is None and noise > rows / 2:
        return (
            f"the noise of all cells together is {noise:.3g} rows of about {rows:.3g}: raise epsilon or "
            "use a coarser resolution"
        )
    kept, spread = synopsis.kept, synopsis.spurious(synopsis.grid.n_cells)[1]
    if synopsis.cells is not None and (kept < rows / 2 or spread > rows / 2):
        return (
            f"the cells of {synopsis.threshold} and more rows, which alone can be kept, hold {kept:.3g} rows "
            f"of about {rows:.3g}: raise epsilon or use a coarser resolution"
        )
    return None
