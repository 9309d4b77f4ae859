"""What all private k-means estimators share: checks, the gate, and the scikit-learn contract."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.accounting import Approx, Charge, Pure, budget_of
from shoal.algorithms import Algorithm, lookup, with_bounds
from shoal.domain import STEPS, Chunk, Domain, Unit
from shoal.errors import InvalidInput, MostlyNoise, WeakDelta
from shoal.estimators.labels import cells_of
from shoal.estimators.parameters import (
    CommonParameters,
    accountant_for,
    check_count,
    entropy_for,
    is_whole,
)
from shoal.mechanisms import public_seed
from shoal.queries import LiveCurator, Voronoi
from shoal.release import Certificate, Release
from shoal.sources import open_like, open_table

# Sums are kept in 64-bit integers with two bits to spare for noise.
_MOST_ROWS = 2**62 // STEPS


class PrivateKMeans(
    CommonParameters,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base class: everything but the algorithm and its parameters.

    A fitted model holds only what may be released: no rows, labels, inertia or exact counts. It can be
    pickled and published.
    """

    _registered: str

    on_charge: Callable[[Charge], None] | None = None
    """Told of every charge before the work it pays for; set it to show progress."""

    @abstractmethod
    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        """Check the algorithm's own parameters and return it."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Find the groups of a table, privately.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            Numbers, booleans and categories of declared levels; missing and infinite cells are allowed. A
            path names a file, a folder or a pattern, which is streamed.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,) or str, optional
            Weights of the rows, clipped to [0, `max_weight`], or the column that holds them.

        Returns
        -------
        self
            The fitted model.
        """
        # All that can be wrong is found here, before a row is read or anything is spent.
        budget = budget_of(self.epsilon, self.delta)
        algorithm = self._algorithm(budget)
        unit = self._unit()
        self._check_n_rows(budget, weighted=sample_weight is not None)
        entropy = entropy_for(self)
        accountant = accountant_for(self)
        threads = self._threads()
        max_weight = self._max_weight(sample_weight)
        table = open_table(X, levels=self.levels, unit=self.unit, weights=sample_weight)
        validate_data(self, table.blank(), skip_check_array=True)
        bounds = table.schema.bounds(self.bounds)
        domain = Domain(
            bounds, self.scaling, self.missing, unit, table.names, max_weight=max_weight, schema=table.schema
        )

        with accountant.reserve(budget, f"{type(self).__name__}.fit") as allowance:
            # Which rows of a person are kept is drawn anew for every fit.
            key = public_seed(entropy) if self.unit is not None else 0
            source = table.source(domain, key=key, threads=threads)
            curator = LiveCurator(
                source, domain, allowance, entropy, n_rows=self.n_rows, progress=self.on_charge
            )
            clustering = with_bounds(algorithm, bounds).run(curator)
        certificate = Certificate.issue(
            lookup(self._registered),
            curator.transcript,
            clustering.domain,
            algorithm=algorithm,
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
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            Rows of the same columns as in `fit`; columns of people and weights are passed over.

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
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            Rows of the same columns as in `fit`; columns of people and weights are passed over.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Euclidean distances after scaling to the bounds, or in own units with ``scaling="none"``.
        """
        return np.concatenate(list(self._distances(X)))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return minus the sum of squared distances of the caller's rows to their nearest centres.

        It is computed exactly from the rows passed in: not for release.
        """
        return -float(sum((part.min(axis=1) ** 2).sum() for part in self._distances(X)))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit, then label the caller's own rows; the model does not keep the labels."""
        return self.fit(X, y, sample_weight).predict(X)

    def _distances(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        # Apart from `transform`, whose output scikit-learn may wrap in a data frame.
        cells, domain = self._cells()
        weights = np.ones(domain.n_columns) if domain.metric is None else domain.metric
        for chunk in self._encoded(X, domain):
            square = sum(
                w * (values.astype(np.float64)[:, np.newaxis] - centres) ** 2
                for w, values, centres in zip(weights, chunk.columns, cells.centres.T, strict=True)
            )
            yield np.sqrt(square) * domain.length_unit

    def _cells(self) -> tuple[Voronoi, Domain]:
        check_is_fitted(self, "cluster_centers_")
        return cells_of(self.release_)

    def _encoded(self, X: Any, domain: Domain) -> Iterator[Chunk]:
        table = open_like(X, self.release_.domain.schema)
        validate_data(self, table.blank(), skip_check_array=True, reset=False)
        return table.encoded(domain)

    def _unit(self) -> Unit:
        max_rows = check_count(self.max_rows, "max_rows")
        if self.unit is None and max_rows > 1:
            raise InvalidInput(
                f"max_rows is {max_rows} but unit is not given: without a column that names the person, "
                "unit='...', a row is taken for a person, who has one"
            )
        if self.unit is not None and not isinstance(self.unit, str):
            raise InvalidInput(f"unit is {self.unit!r}; it must be the name of the column of people, or None")
        return Unit(self.neighbours, max_rows, self.unit)

    def _max_weight(self, sample_weight: Any) -> float | None:
        if sample_weight is not None and self.max_weight is None:
            raise InvalidInput(
                "sample_weight needs max_weight: noise is drawn for the largest weight a row may have, so it "
                "must be public, and not be read off the weights; larger ones are clipped to it"
            )
        return None if sample_weight is None else self.max_weight

    def _check_n_rows(self, budget: Pure | Approx, *, weighted: bool) -> None:
        if self.n_rows is None:
            return
        if self.unit is not None:
            raise InvalidInput(
                "n_rows cannot go with unit: how many rows are left once each person has at most max_rows "
                "depends on the data"
            )
        if weighted:
            raise InvalidInput(
                "n_rows cannot go with sample_weight: groups are measured by their total weight"
            )
        if not is_whole(self.n_rows) or self.n_rows < 0:
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
        if not is_whole(self.n_jobs) or self.n_jobs < 1:
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
