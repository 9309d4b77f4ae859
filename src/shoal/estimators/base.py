"""What all private k-means estimators share: what a fit leaves, and the scikit-learn contract."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from shoal.accounting import Approx, Pure
from shoal.algorithms import Algorithm, Clustering
from shoal.domain import Chunk, Domain
from shoal.errors import ExactScore, InvalidInput, MostlyNoise
from shoal.estimators.face import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    check_is_fitted,
    columns_seen,
)
from shoal.estimators.fitting import PrivateEstimator
from shoal.estimators.zoned import fit_zones
from shoal.queries import Transcript, Voronoi
from shoal.release import Release, ZonedRelease
from shoal.release.labels import cells_of
from shoal.sources import open_like

if TYPE_CHECKING:
    from shoal.estimators.explanation import Explanation

_said_exact = False


def say_exact_once() -> None:
    """Warn that a score is exact, once: an estimator cannot see that a search over parameters calls it."""
    global _said_exact
    if not _said_exact:
        _said_exact = True  # by hand, as scikit-learn's searches make Python forget what was warned of
        warnings.warn(
            "score is computed exactly from the rows, so choosing by it (GridSearchCV, cross_val_score) is "
            'covered by no certificate: choose with n_clusters="auto", on a released synopsis, or with '
            "PrivateSearchCV",
            ExactScore,
            stacklevel=3,
        )


class NotHeld:
    """A name that scikit-learn's users look for, and why it is not there: hasattr says no.

    Parameters
    ----------
    why : str
        What it would show, and what to use instead.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: object | None, owner: type) -> Any:
        if model is None:
            return self
        raise AttributeError(f"{owner.__name__} has no {self._name}: {self._why}")


class PrivateKMeans(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    PrivateEstimator,
):
    """Base class: everything but the algorithm and its parameters.

    A fitted model holds only what may be released: no rows, labels, inertia or exact counts. It can be
    pickled and published.
    """

    _LEAVES = """
        cluster_centers_ : ndarray of shape (n_clusters, n_columns)
            The centres, in the table's own units.
        cluster_sizes_ : ndarray of shape (n_clusters,)
            Noisy numbers of rows, none below 0.
        merged_into_ : ndarray of shape (n_clusters,)
            For each centre the first that it is one with; itself, where it is told from all others.
        release_ : Release
            What may be published: centres, sizes, errors, certificate and transcript; it saves and draws.
        certificate_ : Certificate
            What is guaranteed, to whom, and what was spent on what.
        n_iter_ : int
            Rounds over the rows.
        n_features_in_ : int
            Columns of the table.
        feature_names_in_ : ndarray of str
            Their names, where the table has some.
        """

    labels_ = NotHeld(
        "labels are exact facts about single rows, so a fitted model, which may be published, does not hold "
        "them; call predict(X) on your own rows"
    )
    inertia_ = NotHeld(
        "the exact cost is computed from all rows and is no noisy value, so a fitted model does not hold it; "
        "call score(X) for your own use, or release_.intervals for what noise does to the centres"
    )

    @property
    def n_clusters_(self) -> int:
        """How many groups there are, of all zones together: as asked for, or as chosen with "auto"."""
        return len(self.cluster_centers_)

    @abstractmethod
    def _algorithm(self, budget: Pure | Approx) -> Algorithm:
        """Check the algorithm's own parameters and return it."""

    def _keep(self, found: Clustering, transcript: Transcript) -> None:
        self.release_ = Release.of(found, self.certificate_, transcript)
        self.certificate_ = self.release_.certificate
        self.cluster_centers_ = self.release_.centres
        self.cluster_sizes_ = np.maximum(found.sizes, 0.0)
        self.merged_into_ = self.release_.merged_into
        self.n_iter_ = found.n_iter
        if found.curve is not None:
            self.cost_curve_ = found.curve
        elif hasattr(self, "cost_curve_"):  # of an earlier fit
            del self.cost_curve_
        if not found.predicted_sd <= 0.5:
            warnings.warn(
                f"the noise of a centre is predicted at {found.predicted_sd:.2g} half widths of the "
                "bounds, so the answer is mostly noise: raise epsilon, use fewer clusters or tighter bounds",
                MostlyNoise,
                stacklevel=3,
            )
        for doubt in self.release_.doubts:
            warnings.warn(doubt.text, doubt.category, stacklevel=3)

    def _fit_parts(self, X: Any, sample_weight: Any) -> Self:
        found = fit_zones(self, X, sample_weight)
        self.release_, self.certificate_ = found.release, found.release.certificate
        self.cluster_centers_ = found.release.centres
        self.cluster_sizes_ = np.maximum(found.release.sizes, 0.0)
        self.merged_into_ = found.release.merged_into
        self.n_iter_ = max(one.n_iter for one in found.clusterings)
        if hasattr(self, "cost_curve_"):  # of an earlier fit
            del self.cost_curve_
        noisy = [
            n
            for n, c in zip(found.release.zones.names, found.clusterings, strict=True)
            if not c.predicted_sd <= 0.5
        ]
        if noisy:
            warnings.warn(
                f"the answer is mostly noise in zone {', '.join(noisy)}: raise its epsilon, ask for fewer "
                "clusters there, or make it larger",
                MostlyNoise,
                stacklevel=4,
            )
        for doubt in self.release_.doubts:
            warnings.warn(doubt.text, doubt.category, stacklevel=4)
        return self

    def explain(self, rows: float, *, columns: Any = None, like: Any = None) -> Explanation:
        """Say what a fit would spend, and how accurate it should be, without touching any table.

        Parameters
        ----------
        rows : float
            A guess of the number of rows.
        columns : sequence of str or Schema, optional
            Names of the columns; those of `bounds`, or of the release that the table is like, if not given.
        like : Release, SynopsisRelease, EvenGroups or array, optional
            What the table is like, to tell how much more groups would cost than without privacy.
        """
        from shoal.estimators.explanation import explain

        if columns is None and isinstance(self.bounds, Mapping):
            columns = list(self.bounds)
        columns = getattr(like, "names", None) if columns is None else columns
        if columns is None:
            raise InvalidInput("columns is None; give their names, bounds by name, or like= a release")
        return explain(self, columns, rows, like=like)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centre of each row, of its own zone where there are some.

        The labels are for the data holder's own use.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns), path or FileTable
            Rows of the same columns as in `fit`; columns of people and weights are passed over.

        Returns
        -------
        ndarray of shape (n_rows,)
            Indices into `cluster_centers_`.
        """
        check_is_fitted(self, "cluster_centers_")
        if isinstance(self.release_, ZonedRelease):
            return np.asarray(self.release_.predict(X), dtype=np.int32)
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

        It is computed exactly from the rows passed in: not for release, and what is chosen by it is covered
        by no certificate.
        """
        say_exact_once()
        if isinstance(self.release_, ZonedRelease):  # to the nearest centre of its own zone
            near = np.take_along_axis(np.concatenate(list(self._distances(X))), self.predict(X)[:, None], 1)
            return -float((near**2).sum())
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
        columns_seen(self, table, first=False)
        return table.encoded(domain)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
