"""A private scaler as a step of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from shoal._typing import Array
from shoal.accounting import Accountant, Approx, Pure
from shoal.algorithms.column_stats import ColumnSpreads, Spreads
from shoal.domain import BoundsLike
from shoal.domain.domain import Neighbours
from shoal.errors import InvalidInput
from shoal.estimators.steps import ColumnsOutMixin, PeopleOutMixin, PrivateStep


class PrivateScaler(PeopleOutMixin, ColumnsOutMixin, PrivateStep):
    """Centre every column on its noisy mean and divide it by its noisy spread.

    What comes out is clipped to `clip` standard deviations and divided by them, so it lies in [-1, 1]: use it
    before a private estimator with ``bounds=(-1, 1)``, on one shared budget.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed for means and spreads.
    delta : float
        0 for pure differential privacy.
    bounds : (lower, upper), mapping of column name to (lower, upper), or "latlon"
        Public bounds of the columns. If not given, they are estimated with a tenth of the budget.
    clip : float
        Standard deviations that are kept to each side of the mean.
    neighbours : {"add-remove", "replace"}
        Whom the guarantee protects.
    unit : str, optional
        The column that names the person. Nothing is learnt from it, the guarantee protects a person with all
        their rows, and `transform` returns a data frame that still has it, for the next step.
    max_rows : int
        The most rows of a person that are looked at; everything is charged for that many.
    budget : Accountant, optional
        Shared with the other steps.
    levels : mapping of column name to list of str or int, optional
        The public levels of category columns. Each becomes a column of 0 and 1, called ``column=level``;
        another cell is a missing one.
    max_weight : float, optional
        The public maximum of `sample_weight` in `fit`.
    random_state : int, optional
        For tests only: seeded noise is not private.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_columns,)
        Noisy means and standard deviations in the table's own units, released. The scale of a column whose
        spread does not stand out of the noise is that of the noise; of a constant one, 1.
    release_ : StepRelease
        What may be published: what was learnt, with certificate and transcript; it saves.
    certificate_ : Certificate
        What is guaranteed, to whom, and what was spent on what.
    transcript_ : Transcript
        Every question and noisy answer; what was learnt follows from it.

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
        delta: float = 0.0,
        bounds: BoundsLike | None = None,
        clip: float = 3.0,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        max_rows: int = 1,
        budget: Accountant | None = None,
        levels: Mapping[str, Sequence[str | int]] | None = None,
        max_weight: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.clip = clip
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows = max_rows
        self.budget = budget
        self.levels = levels
        self.max_weight = max_weight
        self.random_state = random_state

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
