"""DPLloyd as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shoal.accounting import Accountant, Approx, Pure
from shoal.algorithms import Algorithm, Lloyd
from shoal.domain import BoundsLike
from shoal.domain.unit import Neighbours
from shoal.errors import InvalidBudget, InvalidInput
from shoal.estimators.base import PrivateKMeans, check_count
from shoal.queries import Noise


class DPLloyd(PrivateKMeans):
    """Differentially private Lloyd: noisy sums and counts around public centres, a few times.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private. No default: it is yours to decide.
    delta : float
        0 for pure differential privacy; above it, Gaussian noise is drawn.
    bounds : (lower, upper), mapping of column name to (lower, upper), or "latlon"
        Public bounds of the columns; rows are clipped to them. If not given, they are estimated privately
        with a tenth of the budget.
    neighbours : {"add-remove", "replace"}
        Whom the guarantee protects: one row added or removed, or one row replaced.
    unit : str, optional
        The column that names the person. It is not clustered, and the guarantee protects a person with all
        their rows. A row without a name is a person of its own.
    max_rows : int
        The most rows of a person that are kept; everything is charged for that many.
    n_rows : int, optional
        A *public* row count that you vouch for.
    budget : Accountant, optional
        Shared with other fits on the same table, whose losses add up.
    scaling : {"bounds", "none"}
        Measure distance after scaling each column to its bounds, or in the table's own units.
    missing : {"centre", "drop"}
        Where missing cells go: to the middle of their bounds, or away with their row.
    levels : mapping of column name to list of str or int, optional
        The public levels of category columns. Each becomes a column of 0 and 1, called ``column=level``;
        another cell is a missing one.
    max_weight : float, optional
        The public maximum of `sample_weight` in `fit`.
    max_iter : int or "auto"
        Rounds; "auto" chooses 2 to 7 from `n_rows`, or pays 2 % of the budget for a noisy count.
    noise : {"auto", "linf", "laplace", "split", "gaussian"}
        "auto" is "linf", and "gaussian" when delta is above 0. "laplace" is as published.
    spending : {"equal", "growing"}
        Whether later rounds get more of the budget.
    n_jobs : int, optional
        Threads; all cores if not given. The result does not depend on it.
    random_state : int, optional
        For tests and papers only: a seeded release is *not private*, and its certificate says so.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        Centres, in the table's own units; a category has a column for each level.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Noisy sizes of the groups around the last but one centres, not below 0.
    release_ : Release
        All that may be published.
    certificate_ : Certificate
        What is guaranteed and what was spent.
    n_iter_ : int
        Rounds, fixed from public values.
    n_features_in_ : int
        Number of clustered columns of the table as it is.
    feature_names_in_ : ndarray of str
        Their names, where the table has them.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import DPLloyd
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.5, (5000, 2)), rng.normal(8, 0.5, (5000, 2))])
    >>> model = DPLloyd(n_clusters=2, epsilon=1.0, bounds=(0, 10), random_state=0).fit(X)
    >>> model.cluster_centers_.round(0)
    array([[2., 2.],
           [8., 8.]])
    >>> print(model.certificate_.guarantee["any"])
    not private: no guarantee
    """

    _registered = "lloyd"

    def __init__(
        self,
        n_clusters: int,
        *,
        epsilon: float,
        delta: float = 0.0,
        bounds: BoundsLike | None = None,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        max_rows: int = 1,
        n_rows: int | None = None,
        budget: Accountant | None = None,
        scaling: Literal["bounds", "none"] = "bounds",
        missing: Literal["centre", "drop"] = "centre",
        levels: Mapping[str, Sequence[str | int]] | None = None,
        max_weight: float | None = None,
        max_iter: int | Literal["auto"] = 5,
        noise: Literal["auto"] | Noise = "auto",
        spending: Literal["equal", "growing"] = "equal",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows = max_rows
        self.n_rows = n_rows
        self.budget = budget
        self.scaling = scaling
        self.missing = missing
        self.levels = levels
        self.max_weight = max_weight
        self.max_iter = max_iter
        self.noise = noise
        self.spending = spending
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        if self.noise not in ("auto", "linf", "laplace", "split", "gaussian"):
            raise InvalidInput(
                f"noise is {self.noise!r}; it must be 'auto', 'linf', 'laplace', 'split' or 'gaussian'"
            )
        if self.noise == "gaussian" and isinstance(budget, Pure):
            raise InvalidBudget("noise='gaussian' needs delta above 0; use noise='linf' with delta=0")
        if self.spending not in ("equal", "growing"):
            raise InvalidInput(f"spending is {self.spending!r}; it must be 'equal' or 'growing'")
        return Lloyd(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter="auto" if self.max_iter == "auto" else check_count(self.max_iter, "max_iter"),
            noise=None if self.noise == "auto" else self.noise,
            spending=self.spending,
        )
