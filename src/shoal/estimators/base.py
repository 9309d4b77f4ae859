"""What all private k-means estimators share: checks, the gate, and the scikit-learn contract."""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.accounting import Accountant, Approx, Pure, budget_of
from shoal.algorithms import Algorithm, lookup, with_bounds
from shoal.domain import STEPS, Bounds, Chunk, Domain, Unit
from shoal.errors import InvalidInput, MostlyNoise, WeakDelta
from shoal.mechanisms import Entropy, SeededEntropy, SystemEntropy
from shoal.queries import LiveCurator, Voronoi
from shoal.release import Certificate, Release
from shoal.sources import MemorySource, Table
from shoal.sources.memory import CHUNK_ROWS

# Sums are kept in 64-bit integers with two bits to spare for noise.
_MOST_ROWS = 2**62 // STEPS


class PrivateKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base class: everything but the algorithm and its parameters.

    A fitted model holds only what may be released: no rows, labels, inertia or exact counts. It can be
    pickled and published.
    """

    # Set by the subclasses' __init__, which scikit-learn reads parameter names from.
    n_clusters: int
    epsilon: float
    delta: float
    bounds: Any
    neighbours: Any
    n_rows: int | None
    budget: Accountant | None
    scaling: Any
    missing: Any
    n_jobs: int | None
    random_state: Any

    _registered: str

    @abstractmethod
    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        """Check the algorithm's own parameters and return it."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Find the groups of a table, privately.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Numbers; missing and infinite cells are allowed.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The fitted model.
        """
        # All that can be wrong is found here, before a row is read or anything is spent.
        budget = budget_of(self.epsilon, self.delta)
        algorithm = self._algorithm(budget)
        unit = Unit(self.neighbours)
        self._check_n_rows(budget)
        entropy = entropy_for(self)
        accountant = accountant_for(self)
        table = Table(X)
        validate_data(self, X, skip_check_array=True)
        bounds = Bounds.parse(self.bounds, table.n_columns, table.names)
        domain = Domain(bounds, self.scaling, self.missing, unit, table.names)

        with accountant.reserve(budget, f"{type(self).__name__}.fit") as allowance:
            source = MemorySource(table, domain, threads=self._threads())
            curator = LiveCurator(source, domain, allowance, entropy, n_rows=self.n_rows)
            clustering = with_bounds(algorithm, bounds).run(curator)
        certificate = Certificate.issue(
            lookup(self._registered),
            curator.transcript,
            clustering.domain,
            private_entropy=entropy.private,
            shared=self.budget is not None,
        )
        self.release_ = Release.of(clustering, certificate, curator.transcript)
        self.certificate_ = certificate
        self.cluster_centers_ = self.release_.centres
        self.cluster_sizes_ = np.maximum(clustering.sizes, 0.0)
        self.n_iter_ = clustering.n_iter
        if not clustering.predicted_sd <= 0.5:
            warnings.warn(
                f"the noise of a centre is predicted at {clustering.predicted_sd:.2g} half widths of the "
                "bounds, so the answer is mostly noise: raise epsilon, use fewer clusters or tighter bounds",
                MostlyNoise,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centre of each row. The labels are for the data holder's own use.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Rows of the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices into `cluster_centers_`.
        """
        cells, domain = self._cells()
        labels = [cells.assign(chunk.columns, domain.metric) for chunk in self._encoded(X, domain)]
        return np.concatenate(labels)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the distance of each row to each centre, in the scaling the model measures in.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Rows of the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Euclidean distances after scaling to the bounds, or in own units with ``scaling="none"``.
        """
        return self._distances(X)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return minus the sum of squared distances of the caller's rows to their nearest centres.

        It is computed exactly from the rows passed in: not for release.
        """
        return -float((self._distances(X).min(axis=1, initial=np.inf) ** 2).sum())

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.int32]:  # noqa: ARG002
        """Fit, then label the caller's own rows; the model does not keep the labels."""
        return self.fit(X).predict(X)

    def _distances(self, X: Any) -> npt.NDArray[np.float64]:
        # Apart from `transform`, whose output scikit-learn may wrap in a data frame.
        cells, domain = self._cells()
        weights = np.ones(domain.n_columns) if domain.metric is None else domain.metric
        distances = [
            np.sqrt(
                sum(
                    w * (values.astype(np.float64)[:, np.newaxis] - centres) ** 2
                    for w, values, centres in zip(weights, chunk.columns, cells.centres.T, strict=True)
                )
            )
            for chunk in self._encoded(X, domain)
        ]
        return np.concatenate(distances) * domain.length_unit

    def _cells(self) -> tuple[Voronoi, Domain]:
        check_is_fitted(self, "cluster_centers_")
        fitted = self.release_.domain
        # A row to be labelled is never dropped.
        domain = Domain(fitted.bounds, fitted.scaling, "centre", fitted.unit, fitted.names)
        return Voronoi(domain.encode(list(self.cluster_centers_.T)).columns.T.astype(np.float64)), domain

    def _encoded(self, X: Any, domain: Domain) -> list[Chunk]:
        table = Table(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return [domain.encode(table.columns(*span)) for span in table.chunks(CHUNK_ROWS)]

    def _check_n_rows(self, budget: Pure | Approx) -> None:
        if self.n_rows is None:
            return
        if not _is_whole(self.n_rows) or self.n_rows < 0:
            raise InvalidInput(
                f"n_rows is {self.n_rows!r}; it must be a public whole number of rows, or None"
            )
        if self.n_rows > _MOST_ROWS:
            raise InvalidInput(
                f"n_rows is {self.n_rows}; sums of more than {_MOST_ROWS} rows do not fit in 64-bit integers"
            )
        if self.missing == "drop":
            raise InvalidInput(
                "missing='drop' makes the number of rows depend on the data, so it cannot go with n_rows"
            )
        if isinstance(budget, Approx) and self.n_rows and budget.delta * self.n_rows >= 1:
            warnings.warn(
                f"delta = {float(budget.delta):g} is not below 1/n_rows = {1 / self.n_rows:.2g}: it would "
                "allow publishing somebody's row outright; use a much smaller one",
                WeakDelta,
                stacklevel=3,
            )

    def _threads(self) -> int | None:
        if self.n_jobs is None or self.n_jobs == -1:
            return None
        if not _is_whole(self.n_jobs) or self.n_jobs < 1:
            raise InvalidInput(
                f"n_jobs is {self.n_jobs!r}; it must be a number of threads, or None for all cores"
            )
        return int(self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def accountant_for(estimator: Any) -> Accountant:
    """Return the accountant a fit draws on: the shared one, or one of its own."""
    if estimator.budget is None:
        return Accountant(epsilon=estimator.epsilon, delta=estimator.delta)
    if not isinstance(estimator.budget, Accountant):
        raise InvalidInput(f"budget is {estimator.budget!r}; pass a shoal.Accountant to share between fits")
    return estimator.budget


def entropy_for(estimator: Any) -> Entropy:
    """Return the operating system's randomness, or a seeded one that taints the release."""
    if estimator.random_state is None:
        return SystemEntropy()
    return SeededEntropy(int(check_random_state(estimator.random_state).randint(2**31 - 1)))


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least`, or say what is wrong with it."""
    if not _is_whole(value) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
