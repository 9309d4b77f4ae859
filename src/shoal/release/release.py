"""A release: the groups in the table's own units, with their certificate."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal._typing import Array, Integers
from shoal.algorithms import Clustering
from shoal.domain import Domain
from shoal.queries import Transcript
from shoal.release.certificate import NOISE_ALONE, Certificate, column_names
from shoal.release.files import from_files, to_files
from shoal.release.folder import write_folder
from shoal.release.formats import read_release
from shoal.release.labels import label
from shoal.release.told import Told, told
from shoal.release.trust import Doubt, Intervals, doubts, intervals_of


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What may be published.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        In the table's own units.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes; they may be negative.
    centre_sd : ndarray of shape (n_clusters, n_columns)
        Noise of the last answer, for this grouping: standard deviations of the centres, infinite where one
        rests on no rows. Another fit may group rows otherwise, and differ by much more.
    size_sd : float
        Noise of the last answer, for this grouping: the standard deviation of a size.
    intervals : Intervals
        95 % intervals from the same noise, for this grouping.
    merged_into : ndarray of int64, shape (n_clusters,)
        The row that each row is one with: itself, or the first of those that noise could not tell apart,
        which have the same centre. Their sizes add up.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    domain : Domain
        Column names, bounds, scaling, missing cells and unit that the centres belong to.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal import DPLloyd
    >>> X = np.random.default_rng(0).normal(5, 0.5, (10_000, 1))
    >>> release = DPLloyd(1, epsilon=1.0, bounds=(0, 10)).fit(X).release_
    >>> release
    <Release of 1 cluster over x0, lloyd, epsilon = 1>
    >>> bool(release.intervals.centre_low[0, 0] < release.centres[0, 0] < release.intervals.centre_high[0, 0])
    True
    """

    centres: Array
    sizes: Array
    centre_sd: Array
    size_sd: float
    intervals: Intervals
    merged_into: Integers
    certificate: Certificate
    transcript: Transcript
    domain: Domain

    @classmethod
    def of(cls, clustering: Clustering, certificate: Certificate, transcript: Transcript) -> Release:
        """Put a clustering into the table's own units.

        Parameters
        ----------
        clustering : Clustering
            What an algorithm found, scaled to its domain.
        certificate : Certificate
            What is guaranteed.
        transcript : Transcript
            What the algorithm asked and was told.
        """
        domain = clustering.domain  # as the bounds turned out, where they were estimated
        half = domain.bounds.half_width
        known, merged = np.isfinite(clustering.centre_sd), clustering.merged_into
        # A constant column has no error even where a centre rests on no rows.
        centre_sd = np.where(known, clustering.centre_sd, 0.0) * half
        found = cls(
            centres=domain.decode(clustering.centres),
            sizes=clustering.sizes,
            centre_sd=np.where(known | (half == 0), centre_sd, np.inf),
            size_sd=clustering.size_sd,
            intervals=intervals_of(clustering, transcript),
            merged_into=np.arange(len(clustering.sizes)) if merged is None else merged,
            certificate=certificate,
            transcript=transcript,
            domain=domain,
        )
        return replace(found, certificate=found.stated_on(certificate))

    def stated_on(self, certificate: Certificate) -> Certificate:
        """Return the certificate with what is to be said of groups: what their errors are, and doubts.

        Parameters
        ----------
        certificate : Certificate
            As it was issued from the transcript.
        """
        return replace(certificate, errors=NOISE_ALONE, doubts=tuple(doubt.text for doubt in self.doubts))

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What the groups themselves give reason to doubt; the certificate says it too."""
        return doubts(self.centres, self.sizes, self.size_sd, self.merged_into, self.domain)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names; x0, x1, ... where the table has none."""
        return column_names(self.domain)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the release into a new folder, whole or not at all.

        It holds `release.json` (for people), `release.npz` (the arrays), `centres.csv`, `centres.geojson`
        where the columns are longitude and latitude, `transcript.json`, `certificate.json`,
        `certificate.txt`, and `manifest.json` with the hash of each. Nothing in it came from rows without
        noise.

        Parameters
        ----------
        folder : path
            It must not exist yet.
        """
        write_folder(folder, to_files(self))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Release:
        """Read a release that was saved, or raise `InvalidRelease` where a file is missing or changed.

        Only hashes are checked; :func:`shoal.verify` recomputes all that can be.

        Parameters
        ----------
        folder : path
            Where it was saved.
        """
        return cls(**from_files(read_release(folder)))

    def predict(self, X: Any) -> Integers:
        """Return the nearest centre of each row. The labels are for the data holder's own use.

        Parameters
        ----------
        X : array-like, data frame, path or FileTable
            Rows with the columns that were clustered; others are passed over.
        """
        return np.concatenate(list(label(self, X)))

    def plot(self, **how: Any) -> Any:
        """Draw the groups: on a map where two columns are longitude and latitude, else column by column.

        Parameters
        ----------
        **how
            As for :func:`shoal.release.plotting.plot_groups`: `title`, and `columns` to choose.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs the extra `plot`.
        """
        from shoal.release.plotting import plot_groups

        return plot_groups(self, **how)

    def told(self) -> Told:
        """Return the groups as a person reads them: rounded to their errors, times as dates."""
        errors = self.centre_sd, self.sizes, self.size_sd, self.merged_into
        return told(self.domain, self.centres, *errors)

    def _repr_html_(self) -> str:
        from shoal.release.html import release_html

        return release_html(self)

    def __repr__(self) -> str:
        k, budget = len(self.sizes), self.transcript.budget.describe()
        shown = ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")
        groups = f"{k} cluster" if k == 1 else f"{k} clusters"
        return f"<Release of {groups} over {shown}, {self.certificate.algorithm}, {budget}>"
