"""Private bounds as a step of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from shoal._typing import Array
from shoal.accounting import Accountant, Approx, Pure
from shoal.algorithms.column_stats import ColumnBounds, Limits
from shoal.domain.domain import Neighbours
from shoal.estimators.steps import ColumnsOutMixin, PeopleOutMixin, PrivateStep


class PrivateBounds(PeopleOutMixin, ColumnsOutMixin, PrivateStep):
    """Estimate bounds privately, then clip and scale every column to [-1, 1].

    Use it before a private estimator with ``bounds=(-1, 1)``, on one shared budget.

    Parameters
    ----------
    epsilon : float
        Privacy loss allowed for the bounds.
    delta : float
        0 for pure differential privacy.
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
    bounds_ : tuple of two ndarrays
        Lower and upper bounds, released.
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
        delta: float = 0.0,
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
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows = max_rows
        self.budget = budget
        self.levels = levels
        self.max_weight = max_weight
        self.random_state = random_state

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
