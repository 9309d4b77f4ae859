"""DPLloyd as an estimator."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm, Lloyd
from shoal.algorithms.lloyd import Division, Init
from shoal.errors import InvalidInput
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.parameters import Common, check_choice, check_count, check_noise
from shoal.queries import Noise


class DPLloyd(PrivateKMeans):
    """Differentially private Lloyd: noisy sums and counts around public centres, a few times.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    epsilon : float
        Privacy loss allowed; smaller is more private. No default: it is yours to decide.
    max_iter : int or "auto"
        Rounds; "auto" chooses 2 to 7 from `n_rows`, or pays 2 % of the budget for a noisy count.
    noise : {"auto", NOISES}
        "auto" is "linf", and "gaussian" when delta is above 0. "laplace" is as published.
    spending : {"equal", "growing"}
        Whether later rounds get more of the budget.
    init : {"packing", "uniform"} or array of shape (n_clusters, n_columns)
        Where centres start: spread over the domain by sphere packing, drawn evenly from it, or at public
        points in the table's own units. Points that were found on the rows void the guarantee.
    division : {"guarded", "plain"}
        "plain" divides noisy sums by noisy counts, as published; "guarded" keeps a centre whose count may be
        noise alone.
    **common
        `delta`, `bounds`, `neighbours`, `unit`, `max_rows`, `n_rows`, `budget`, `scaling`, `missing`,
        `levels`, `max_weight`, `n_jobs`, `random_state`: as in
        :class:`shoal.estimators.parameters.CommonParameters`.

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
        max_iter: int | Literal["auto"] = 5,
        noise: Literal["auto"] | Noise = "auto",
        spending: Literal["equal", "growing"] = "equal",
        init: Init | Any = "packing",
        division: Division = "guarded",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(n_clusters, epsilon=epsilon, **common)
        self.max_iter = max_iter
        self.noise = noise
        self.spending = spending
        self.init = init
        self.division = division

    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        return Lloyd(
            n_clusters=check_count(self.n_clusters, "n_clusters"),
            max_iter="auto" if self.max_iter == "auto" else check_count(self.max_iter, "max_iter"),
            noise=check_noise(self.noise, budget),
            spending=check_choice(self.spending, "spending", ("equal", "growing")),
            init=self._init(),
            division=check_choice(self.division, "division", ("guarded", "plain")),
        )

    def _init(self) -> Init | tuple[tuple[float, ...], ...]:
        if isinstance(self.init, str):
            chosen: Init = check_choice(self.init, "init", ("packing", "uniform"))
            return chosen
        try:
            points = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            points = np.empty(0)
        if points.ndim != 2 or not points.size or not np.isfinite(points).all():
            raise InvalidInput(
                f"init is {self.init!r}; wanted is 'packing', 'uniform' or a line of numbers per centre"
            )
        return tuple(tuple(map(float, point)) for point in points)
