"""A private scaler as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.accounting import Approx, Pure
from shoal.algorithms.column_stats import ColumnSpreads, Spreads
from shoal.domain import BoundsLike
from shoal.errors import InvalidInput
from shoal.estimators.face import check_is_fitted
from shoal.estimators.steps import ColumnsOutMixin, PeopleOutMixin, PrivateStep, StepCommon


class PrivateScaler(PeopleOutMixin, ColumnsOutMixin, PrivateStep):
    """Centre every column on its noisy mean and divide it by its noisy spread.

    What comes out is clipped to `clip` standard deviations and divided by them, so it lies in [-1, 1]: use it
    before a private estimator with ``bounds=(-1, 1)``, on one shared budget.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed for means and spreads.
    bounds : (lower, upper), mapping of column name to (lower, upper), or "latlon"
        Public bounds of the columns. If not given, they are estimated with a tenth of the
        budget, or up to three tenths where noise hides their magnitude.
    clip : float
        Standard deviations that are kept to each side of the mean.
    **common
        As in :class:`shoal.estimators.steps.StepParameters`.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_columns,)
        Noisy means and standard deviations in the table's own units, released. The scale of a column whose
        spread does not stand out of the noise is that of the noise; of a constant one, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from shoal import Accountant, DPLloyd, PrivateScaler
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(50, 2, 10_000), rng.normal(0, 0.1, 10_000)])
    >>> budget = Accountant(epsilon=2.0)
    >>> steps = make_pipeline(
    ...     PrivateScaler(epsilon=1.0, bounds=([40, -1], [60, 1]), budget=budget),
    ...     DPLloyd(2, epsilon=1.0, bounds=(-1, 1), budget=budget),
    ... ).fit(X)
    >>> np.allclose(steps[0].scale_, [2, 0.1], rtol=0.2)
    True
    >>> steps[0].inverse_transform(steps[1].cluster_centers_).shape
    (2, 2)
    """

    _registered = "scaler"

    def __init__(
        self,
        *,
        epsilon: float,
        bounds: BoundsLike | None = None,
        clip: float = 3.0,
        **common: Unpack[StepCommon],
    ) -> None:
        super().__init__(epsilon=epsilon, **common)
        self.bounds = bounds
        self.clip = clip

    def _algorithm(self, budget: Pure | Approx) -> ColumnSpreads:  # noqa: ARG002 - as of the others
        if not 0 < self.clip < float("inf"):
            raise InvalidInput(f"clip is {self.clip!r}; it must be a number above 0")
        return ColumnSpreads()

    def _warning(self, found: Spreads) -> str | None:
        said = (
            "the noise of the means is as wide as the bounds, so the scaling is mostly noise: raise "
            "epsilon or give tighter bounds"
        )
        return None if found.mean_sd <= 0.5 else said

    def _take(self, found: Spreads) -> None:
        self.mean_, self.scale_ = found.values["mean"], found.values["scale"]

    def _map(self, rows: Array) -> Array:
        # Missing cells stay missing.
        reach = self.clip * self.scale_
        return self._clipped(rows, self.mean_ - reach, self.mean_ + reach)

    def inverse_transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Map scaled points, such as centres, back to the table's own units.

        Parameters
        ----------
        X : array-like of shape (n, n_columns)
            Points of [-1, 1]^d.
        """
        check_is_fitted(self, "mean_")
        return np.asarray(self.mean_ + np.asarray(X) * (self.clip * self.scale_))
