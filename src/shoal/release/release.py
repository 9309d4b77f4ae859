"""A release: the groups in the table's own units, with their certificate."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, cast, overload

import numpy as np

from shoal._typing import Array, Integers
from shoal.algorithms import Clustering
from shoal.domain import Domain
from shoal.queries import Transcript
from shoal.release.certificate import NOISE_ALONE, Certificate, column_names
from shoal.release.files import from_files, to_files
from shoal.release.folder import write_folder
from shoal.release.formats import read_release
from shoal.release.intervals import Intervals, TotalIntervals, share_kept
from shoal.release.labels import label
from shoal.release.told import Told, told
from shoal.release.totals import total_intervals
from shoal.release.trust import Doubt, doubts, intervals_of


class ReleasedIntervals(Intervals):
    """The intervals of a release: as they are, those of the last answer's noise; called, total ones too.

    Whose they are is no field: a release is hashed and written field by field, and would never end.
    """

    @classmethod
    def of(cls, stated: Intervals, release: Release) -> ReleasedIntervals:
        """Return intervals that know whose they are."""
        found = cls(**{field.name: getattr(stated, field.name) for field in fields(Intervals)})
        object.__setattr__(found, "_release", release)
        return found

    @overload
    def __call__(self, *, total: Literal[True]) -> TotalIntervals: ...
    @overload
    def __call__(self, *, total: bool = False) -> Intervals: ...
    def __call__(self, *, total: bool = False) -> Intervals:
        """Return the intervals of the last answer's noise, or of all that noise does to a fit.

        Parameters
        ----------
        total : bool
            Whether those of another fit of the same table are wanted. They are computed from the transcript
            alone, in about the time of some fits, once.
        """
        owner: Release = self.__dict__["_release"]
        return owner._total if total else self


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
        95 % intervals from the same noise, for this grouping. ``intervals(total=True)`` are those of another
        fit of the same table, a :class:`TotalIntervals`: computed from the transcript, which costs nothing.
    merged_into : ndarray of int64, shape (n_clusters,)
        The row that each row is one with: itself, or the first of those that noise could not tell apart,
        which have the same centre. Their sizes add up.
    certificate : Certificate
        What is guaranteed.
    transcript : Transcript
        Every question and noisy answer.
    domain : Domain
        Column names, bounds, scaling, missing cells and unit that the centres belong to.
    totals : TotalIntervals, optional
        Total intervals, where they are to be saved too: see :meth:`with_totals`.

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
    intervals: ReleasedIntervals
    merged_into: Integers
    certificate: Certificate
    transcript: Transcript
    domain: Domain
    totals: TotalIntervals | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "intervals", ReleasedIntervals.of(self.intervals, self))

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
            intervals=cast("ReleasedIntervals", intervals_of(clustering, transcript)),
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
        errors = NOISE_ALONE if self.totals is None else f"{NOISE_ALONE}. {self.totals.describe()}"
        return replace(certificate, errors=errors, doubts=tuple(doubt.text for doubt in self.doubts))

    @cached_property
    def _total(self) -> TotalIntervals:
        return total_intervals(self) if self.totals is None else self.totals

    def with_totals(self) -> Release:
        """Return the release with total intervals beside those of the noise: saved, it has them in its files.

        `verify` computes them again.
        """
        found = replace(self, totals=self._total)
        return replace(found, certificate=found.stated_on(self.certificate))

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What the groups themselves give reason to doubt; the certificate says it too."""
        return doubts(self.centres, self.sizes, self.size_sd, self.merged_into, self.domain)

    @property
    def size_sds(self) -> Array:
        """The standard deviation of the noise of each size."""
        return np.full(len(self.sizes), self.size_sd)

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
            As for :func:`shoal.release.plotting.plot_groups`: `title`, `columns` to choose, and `total` to
            draw where other fits would put the centres.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs the extra `plot`.
        """
        from shoal.release.plotting import plot_groups

        return plot_groups(self, **how)

    def told(self, *, total: bool = False) -> Told:
        """Return the groups as a person reads them: rounded to their errors, times as dates.

        Parameters
        ----------
        total : bool
            Whether errors are total ones. Where these are known, a column says which groups are stable.
        """
        if not total or not self._total.known:
            return told(self.domain, self.centres, self.centre_sd, self.sizes, self.size_sd, self.merged_into)
        known = self._total
        header, lines = told(
            self.domain, self.centres, known.centre_sd, self.sizes, known.size_sd, self.merged_into
        )
        stable = [share_kept(share) for share in known.changed]
        return Told([*header, "stable"], [[*a, b] for a, b in zip(lines, stable, strict=True)])

    def _repr_html_(self) -> str:
        from shoal.release.html import release_html

        return release_html(self)

    def __repr__(self) -> str:
        k, budget = len(self.sizes), self.transcript.budget.describe()
        shown = ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")
        groups = f"{k} cluster" if k == 1 else f"{k} clusters"
        return f"<Release of {groups} over {shown}, {self.certificate.algorithm}, {budget}>"
