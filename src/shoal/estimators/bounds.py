"""Private bounds as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.accounting import Approx, Pure
from shoal.algorithms.column_stats import ColumnBounds, Limits
from shoal.estimators.face import check_is_fitted
from shoal.estimators.steps import ColumnsOutMixin, PeopleOutMixin, PrivateStep, StepCommon


class PrivateBounds(PeopleOutMixin, ColumnsOutMixin, PrivateStep):
    """Estimate bounds privately, then clip and scale every column to [-1, 1].

    Use it before a private estimator with ``bounds=(-1, 1)``, on one shared budget.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed for the bounds.
    **common
        As in :class:`shoal.estimators.steps.StepParameters`.

    Attributes
    ----------
    bounds_ : tuple of two ndarrays
        Lower and upper bounds, released.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from shoal import Accountant, DPLloyd, PrivateBounds
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-74, 0.1, (10_000, 1)), rng.normal(41, 0.1, (10_000, 1))], axis=1)
    >>> budget = Accountant(epsilon=2.0)
    >>> steps = make_pipeline(
    ...     PrivateBounds(epsilon=1.0, budget=budget),
    ...     DPLloyd(2, epsilon=1.0, bounds=(-1, 1), budget=budget),
    ... ).fit(X)
    >>> lower, upper = steps[0].bounds_
    >>> bool(lower[0] < -74 < upper[0])
    True
    """

    _registered = "bounds"

    def __init__(
        self,
        *,
        epsilon: float,
        **common: Unpack[StepCommon],
    ) -> None:
        super().__init__(epsilon=epsilon, **common)

    def _algorithm(self, budget: Pure | Approx) -> ColumnBounds:  # noqa: ARG002 - as of the others
        return ColumnBounds()

    def _take(self, found: Limits) -> None:
        self.bounds_ = found.values["lower"], found.values["upper"]

    def _map(self, rows: Array) -> Array:
        # Missing cells stay missing.
        return self._clipped(rows, *self.bounds_)

    def inverse_transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Map scaled points, such as centres, back to the table's own units.

        Parameters
        ----------
        X : array-like of shape (n, n_columns)
            Points of [-1, 1]^d.
        """
        check_is_fitted(self, "bounds_")
        lower, upper = self.bounds_
        return np.asarray((lower + upper) / 2 + np.asarray(X) * (upper - lower) / 2)
