"""Private principal components as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.accounting import Approx, Pure
from shoal.algorithms.column_stats import Components, PrincipalComponents
from shoal.domain import BoundsLike
from shoal.domain.lattice import decode
from shoal.estimators.face import ClassNamePrefixFeaturesOutMixin, check_is_fitted
from shoal.estimators.parameters import check_count
from shoal.estimators.steps import PeopleOutMixin, PrivateStep, StepCommon


class PrivatePCA(PeopleOutMixin, ClassNamePrefixFeaturesOutMixin, PrivateStep):  # type: ignore[misc]
    """Project rows to the principal directions of a noisy second-moment matrix.

    What comes out is clipped and scaled to [-1, 1], all components alike, so that distances keep their
    proportions: use it before a private estimator with ``bounds=(-1, 1)``, on one shared budget.

    Parameters
    ----------
    n_components : int
        How many directions; at most as many as columns.
    epsilon : float
        Privacy loss allowed for the directions.
    delta : float
        0 for pure differential privacy. Above it noise is much smaller, as it does not grow with the number
        of pairs of columns.
    bounds : (lower, upper), mapping of column name to (lower, upper), or "latlon"
        Public bounds of the columns. If not given, they are estimated with a tenth of the
        budget, or up to three tenths where noise hides their magnitude.
    whiten : bool
        Scale every component by itself, so that all are equally wide.
    scaling : {"bounds", "none"}
        Find directions after scaling each column to its bounds, or in the table's own units.
    **common
        As in :class:`shoal.estimators.steps.StepParameters`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_columns)
        Directions, released: of length one and at right angles in the units that `scaling` says.
    mean_ : ndarray of shape (n_columns,)
        Noisy mean in the table's own units.
    explained_variance_ : ndarray of shape (n_components,)
        Noisy variances along the directions, in the units that `scaling` says: half widths of the bounds, or
        the table's own.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        As shares of the noisy variance of all columns.
    reach_ : ndarray of shape (n_components,)
        What is scaled to 1: how far rows are kept along each direction.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from shoal import Accountant, DPLloyd, PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> plane = rng.choice([-3.0, 3.0], (10_000, 1)) * np.ones(20) + rng.normal(0, 0.3, (10_000, 20))
    >>> budget = Accountant(epsilon=2.0, delta=1e-6)
    >>> steps = make_pipeline(
    ...     PrivatePCA(1, epsilon=1.0, delta=5e-7, bounds=(-5, 5), budget=budget),
    ...     DPLloyd(2, epsilon=1.0, delta=5e-7, bounds=(-1, 1), budget=budget),
    ... ).fit(plane)
    >>> centres = steps[0].inverse_transform(steps[1].cluster_centers_)
    >>> np.sort(centres.mean(axis=1)).round(0)
    array([-3.,  3.])
    """

    _registered = "pca"

    def __init__(
        self,
        n_components: int,
        *,
        epsilon: float,
        bounds: BoundsLike | None = None,
        whiten: bool = False,
        scaling: Literal["bounds", "none"] = "bounds",
        **common: Unpack[StepCommon],
    ) -> None:
        super().__init__(epsilon=epsilon, **common)
        self.n_components = n_components
        self.bounds = bounds
        self.whiten = whiten
        self.scaling = scaling

    def _algorithm(self, budget: Pure | Approx) -> PrincipalComponents:  # noqa: ARG002 - as of the others
        return PrincipalComponents(check_count(self.n_components, "n_components"))

    def _warning(self, found: Components) -> str | None:
        said = (
            f"the last of {len(found.variances)} components does not stand out of the noise: raise "
            "epsilon, give delta or tighter bounds, or ask for fewer components"
        )
        return said if found.noisy else None

    def _take(self, found: Components) -> None:
        self._domain, self._mean, learnt = found.domain, found.mean, found.values
        self.components_ = learnt["components"]
        self.mean_ = learnt["mean"]
        self.explained_variance_ = learnt["explained_variance"]
        self.explained_variance_ratio_ = learnt["explained_variance_ratio"]
        self.reach_ = learnt["reach"]

    def _map(self, rows: Array) -> Array:
        # Missing cells are taken to lie in the middle of the bounds.
        steps = self._domain.encode(list(rows.T)).columns.T.astype(np.float64)
        away = (steps - self._mean) * self._domain.column_scale
        # Column by column: the last bit of a matrix product depends on the other rows, and then rows that are
        # neighbours here would not be so in the next step.
        along = np.zeros((len(rows), len(self.components_)))
        for values, weights in zip(away.T, self.components_.T, strict=True):
            along += values[:, np.newaxis] * weights
        along *= self._domain.length_unit
        return np.asarray(np.clip(along, -self.reach_, self.reach_) / self._one)

    def inverse_transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Map points such as centres back to the table's own units, within its bounds.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Points of [-1, 1]^m.
        """
        check_is_fitted(self, "components_")
        column_scale = self._domain.column_scale * self._domain.length_unit
        away = np.asarray(X) * self._one @ self.components_
        points = self._mean + away / np.where(column_scale > 0, column_scale, 1.0)
        return decode(points, self._domain.bounds.lower, self._domain.bounds.upper)

    @property
    def _one(self) -> npt.NDArray[np.float64]:
        return self.reach_ if self.whiten else np.full_like(self.reach_, self.reach_.max())

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
