"""A private search over parameters, judged by paid, noisy costs on rows that were not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from shoal._typing import Array
from shoal.accounting import Accountant, Approx, Pure, budget_of, epsilon_of
from shoal.algorithms.fold_costs import FOLD_COSTS, Costs, FoldCosts
from shoal.errors import InvalidInput, ShoalWarning
from shoal.estimators.base import PrivateKMeans
from shoal.estimators.face import BaseEstimator, check_is_fitted, clone
from shoal.estimators.fitting import PrivateFit
from shoal.estimators.parameters import check_count, entropy_for
from shoal.mechanisms import public_seed
from shoal.queries import Transcript
from shoal.sources.folds import Fold

# Of what the search costs, the part for judging; fits have the rest.
_FOR_SCORES = Fraction(1, 4)
# Standard deviations of their difference by which two scores are told apart: 2, as in `postprocess.evidence`.
_TOLD_APART = 2.0
# Rounding of conversions is kept on the safe side.
_SAFELY = 1 - 1e-6


class PrivateSearchCV(BaseEstimator):  # type: ignore[misc]
    """Search parameters of a private estimator, with everything added up: in place of ``GridSearchCV``.

    Every candidate is fitted to all folds but one and judged by its noisy cost on that fold; the best is
    fitted to all rows. Every fit and every score is paid for out of one budget, and has a certificate. Of
    candidates that noise cannot tell from the best one, the first is taken: put the simplest first.

    Parameters
    ----------
    estimator : private k-means estimator
        With bounds. Its own `epsilon`, `delta` and `budget` are not used.
    param_grid : mapping of str to list, or a list of these
        Candidates, as for ``GridSearchCV``: public, so not chosen by looking at the rows.
    epsilon : float
        Privacy loss of search and final fit together.
    delta : float
        0 for pure differential privacy.
    cv : int
        Folds: each row is in one, decided by a keyed hash of the person, or of the row where there is none.
    search_share : float
        The part of the budget for the search; the final fit has the rest.
    budget : Accountant, optional
        Shared with other fits on the same table.
    random_state : int, optional
        For tests and papers only: seeded noise is not private.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted to all rows.
    best_params_, best_score_, best_index_
        The candidate, its noisy score (minus the mean cost of a row, in scaled units) and its place.
    cv_results_ : dict
        For each candidate `params`, `mean_test_score` and `noise_sd`, the standard deviation of its noise.
    certificates_ : tuple of Certificate
        Of every fit and score, the final fit's last: their losses add up to no more than the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import DPLloyd, PrivateSearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(2, 0.1, (20_000, 2)), rng.normal(8, 0.1, (20_000, 2))])
    >>> model = DPLloyd(1, epsilon=1.0, bounds=(0, 10))
    >>> search = PrivateSearchCV(model, {"n_clusters": [1, 2]}, epsilon=8.0).fit(X)
    >>> search.best_params_, len(search.certificates_)
    ({'n_clusters': 2}, 10)
    """

    def __init__(
        self,
        estimator: PrivateKMeans,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float,
        delta: float = 0.0,
        cv: int = 3,
        search_share: float = 0.5,
        budget: Accountant | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.cv = cv
        self.search_share = search_share
        self.budget = budget
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Search, then fit the best candidate to all rows.

        Parameters
        ----------
        X : array-like, data frame, path or FileTable
            The table, as for the estimator.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,) or str, optional
            As for the estimator.

        Returns
        -------
        self
            The fitted search.
        """
        total = budget_of(self.epsilon, self.delta)
        from sklearn.model_selection import ParameterGrid  # it loads much of scikit-learn

        n_folds, candidates = check_count(self.cv, "cv", 2), list(ParameterGrid(self.param_grid))
        share = Fraction(str(self.search_share))
        if not 0 < share < 1:
            raise InvalidInput(f"search_share is {self.search_share!r}; it must be above 0 and below 1")
        accountant = self.budget
        if accountant is None:
            accountant = Accountant(epsilon=self.epsilon, delta=self.delta)
        # The sum of all is the whole: candidates x folds, a score for each fold, and the final fit.
        each_fit = (1 - _FOR_SCORES) * share / (len(candidates) * n_folds)
        each_score = _FOR_SCORES * share / n_folds
        models = [self._candidate(params, total, each_fit, accountant) for params in candidates]
        final = [self._candidate(params, total, 1 - share, accountant) for params in candidates]
        for model in (*models, *final):  # all that can be wrong is found before anything is spent
            table = model._open(X, sample_weight)
            model._plan(table.schema, model._unit(), weighted=sample_weight is not None)
        # Refused now, if it is too much; each fit is reserved when its turn comes.
        accountant.reserve(total, f"{type(self).__name__}.fit", models[0]._unit()).close()
        key, certificates, scores = public_seed(entropy_for(self)), [], []
        for number in range(n_folds):
            others, own = (Fold(X, key, n_folds, number, inside=inside) for inside in (False, True))
            with warnings.catch_warnings():  # of fits that are not kept; their certificates say it
                warnings.simplefilter("ignore", ShoalWarning)
                fitted = [clone(model).fit(others, sample_weight=sample_weight) for model in models]
            judge = _Judge(fitted, self._cut(total, each_score), accountant)
            judge.fit(own, sample_weight=sample_weight)
            certificates += [*(model.certificate_ for model in fitted), judge.certificate_]
            scores.append(judge.costs_)
        self._choose(candidates, scores)
        self.best_estimator_ = final[self.best_index_].fit(X, sample_weight=sample_weight)
        self.certificates_ = (*certificates, self.best_estimator_.certificate_)
        return self

    def predict(self, X: Any) -> Any:
        """Return the nearest centre of each row, by the best estimator. For the data holder's own use.

        Parameters
        ----------
        X : array-like, data frame, path or FileTable
            Rows of the same columns as in `fit`.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def _candidate(
        self, params: Mapping[str, Any], total: Pure | Approx, share: Fraction, accountant: Accountant
    ) -> PrivateKMeans:
        model = clone(self.estimator).set_params(**params)
        if not isinstance(model, PrivateKMeans):
            raise InvalidInput(f"estimator is {type(model).__name__}; a private k-means estimator is wanted")
        for name in ("epsilon", "delta", "budget", "random_state"):
            if name in params:
                raise InvalidInput(f"{name} is among the candidates; it is the search's own parameter")
        if model.n_rows is not None:
            raise InvalidInput("n_rows cannot go with a search: how many rows are in a fold depends on them")
        if model.bounds is None:
            raise InvalidInput(
                "a search needs bounds: every fit would estimate its own, and costs could not be compared; "
                "give them, or estimate them once with PrivateBounds"
            )
        epsilon, delta = self._cut(total, share)
        model.set_params(epsilon=epsilon, delta=delta, budget=accountant, random_state=self.random_state)
        return model

    def _cut(self, total: Pure | Approx, share: Fraction) -> tuple[Any, Any]:
        """Return the epsilon and delta of a share of the budget, so that all shares add up to it."""
        if isinstance(total, Pure):
            return total.epsilon * share, 0.0
        # Shares of rho, each at the delta of all: rho adds up, and is converted once.
        return epsilon_of(float(total.amount * share), float(total.delta)) * _SAFELY, total.delta

    def _choose(self, candidates: list[dict[str, Any]], scores: list[Costs]) -> None:
        totals, rows = (
            np.sum([getattr(cost, name) for cost in scores], axis=0) for name in ("totals", "rows")
        )
        noise = np.sqrt(np.sum([cost.sd**2 for cost in scores], axis=0))
        # One number of rows for all: their own noise must not tell candidates apart.
        n = max(float(np.mean(rows)), 1.0)
        mean = -totals / n
        best, apart = int(np.argmax(mean)), _TOLD_APART * np.sqrt(noise**2 + noise[np.argmax(mean)] ** 2) / n
        self.best_index_ = int(np.argmax(mean >= mean[best] - apart))
        self.best_params_, self.best_score_ = candidates[self.best_index_], float(mean[self.best_index_])
        self.cv_results_ = {"params": candidates, "mean_test_score": mean, "noise_sd": noise / n}


class _Judge(PrivateFit):
    """Asks what the centres of fitted models cost on a fold, on their table's terms."""

    def __init__(
        self, fitted: list[PrivateKMeans], budget_share: tuple[Any, Any], budget: Accountant
    ) -> None:
        self.fitted = fitted
        self.budget_share = budget_share
        self.budget = budget
        first = fitted[0]
        self.epsilon, self.delta = budget_share
        for name in _TERMS:
            setattr(self, name, getattr(first, name))

    def _info(self) -> Any:
        return FOLD_COSTS

    def _algorithm(self, budget: Pure | Approx) -> FoldCosts:  # noqa: ARG002
        return FoldCosts(tuple(_scaled(model) for model in self.fitted))

    def _keep(self, found: Costs, transcript: Transcript) -> None:
        self.costs_ = found
        self.transcript_ = transcript


# What the rows are and whom a fit protects: the same for candidates and for what judges them.
_TERMS = (
    *("bounds", "neighbours", "unit", "max_rows", "scaling", "missing", "levels", "cyclic"),
    *("column_weights", "max_weight", "n_jobs", "random_state"),
)


def _scaled(model: PrivateKMeans) -> Array:
    bounds = model.release_.domain.bounds
    middle = (np.array(bounds.lower) + np.array(bounds.upper)) / 2
    half = np.where(bounds.half_width > 0, bounds.half_width, 1.0)
    return np.asarray((model.cluster_centers_ - middle) / half, dtype=np.float64)
