"""Means, spreads and principal components of a table, for the first steps of a pipeline.

Noisy moments as in Dwork, Talwar, Thakurta, Zhang 2014 (Analyze Gauss), with exact integer statistics and a
pure form. Proof: docs/proofs/moments.md. Results are in the scaled units of the domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from shoal._typing import Array
from shoal.algorithms.shared.bounds import estimate_bounds
from shoal.algorithms.shared.clustering import rows_at_least
from shoal.algorithms.shared.prepare import FindsBounds
from shoal.domain import STEPS, Domain
from shoal.errors import InvalidInput
from shoal.postprocess import recentre
from shoal.postprocess.evidence import smallest_count
from shoal.queries import Ball, Curator, Grid, Noise, Offset, Outer, RowStat, Squares, WithCost
from shoal.queries.statistics.second_moments import symmetric

# Of what components cost: one look at mean and spread, the rest for products of columns.
FOR_MEAN = Fraction(1, 5)
# Rows further from the mean than this many times the root of the total variance are pulled in.
_RADIUS = 2.0
# Half widths: a thousandth, so that noise does not make a radius of nothing. Not tuned.
_LEAST_RADIUS = 2.0**-10
# Standard deviations of a component that are kept to each side of the mean.
_CLIP = 3.0


class Learnt(Protocol):
    """What a step learnt of a table."""

    @property
    def domain(self) -> Domain:
        """The table, with the bounds as they turned out."""
        ...

    @property
    def mean_sd(self) -> float | None:
        """Predicted noise of a mean in half widths of the bounds; None where no mean is learnt."""
        ...

    @property
    def values(self) -> dict[str, Array]:
        """All of it by name, in the table's own units; what has a value for each column comes first."""
        ...

    def describe(self) -> str:
        """Say in a few words what it is."""
        ...


@dataclass(frozen=True, eq=False)
class Limits:
    """Where the rows of every column lie.

    Parameters
    ----------
    domain : Domain
        Whose bounds are all known.
    """

    domain: Domain
    mean_sd: None = None

    @property
    def values(self) -> dict[str, Array]:
        """Both ends of every column."""
        return {"lower": np.array(self.domain.bounds.lower), "upper": np.array(self.domain.bounds.upper)}

    def describe(self) -> str:
        """Say what it is."""
        return f"bounds of {_columns(self.domain)}"


@dataclass(frozen=True, eq=False)
class Spreads:
    """Means and standard deviations of columns.

    Parameters
    ----------
    means, spreads : ndarray of shape (n_columns,)
        Points of [-1, 1], and standard deviations that are at least as large as their noise.
    mean_sd : float
        Predicted noise of a mean, by public and released values.
    domain : Domain
        What they are scaled to.
    """

    means: Array
    spreads: Array
    mean_sd: float
    domain: Domain

    @property
    def values(self) -> dict[str, Array]:
        """Means and scales; that of a constant column is 1."""
        half = self.domain.bounds.half_width
        return {
            "mean": self.domain.bounds.middle + self.means * half,
            "scale": np.where(half > 0, self.spreads * half, 1.0),
            "mean_noise_sd": self.mean_sd * half,
        }

    def describe(self) -> str:
        """Say what it is."""
        return f"means and spreads of {_columns(self.domain)}"


@dataclass(frozen=True, eq=False)
class Components:
    """Principal directions of the rows.

    Parameters
    ----------
    mean : ndarray of shape (n_columns,)
        Where they meet.
    directions : ndarray of shape (n_components, n_columns)
        Of length one and at right angles, in columns stretched as the domain measures distance.
    variances : ndarray of shape (n_components,)
        Along each, falling; at least as large as their noise.
    total : float
        Variance in all directions together.
    mean_sd : float
        Predicted noise of the mean, by public and released values.
    noisy : bool
        Whether the last of the variances does not stand out of the noise.
    domain : Domain
        What all are scaled to.
    """

    mean: Array
    directions: Array
    variances: Array
    total: float
    mean_sd: float
    noisy: bool
    domain: Domain

    @property
    def values(self) -> dict[str, Array]:
        """Mean and directions, then how wide rows lie along each direction."""
        unit, scale = self.domain.length_unit, self.domain.column_scale
        # No row of the box lies further than this along a direction.
        furthest = np.abs(self.directions) @ (scale * (1 + np.abs(self.mean)))
        return {
            "mean": self.domain.decode(self.mean),
            "mean_noise_sd": self.mean_sd * self.domain.bounds.half_width,
            "components": self.directions,
            "explained_variance": self.variances * unit**2,
            "explained_variance_ratio": self.variances / max(self.total, float(self.variances.sum())),
            "reach": np.minimum(_CLIP * np.sqrt(self.variances), furthest) * unit,
        }

    def describe(self) -> str:
        """Say what it is."""
        many = "" if len(self.variances) == 1 else "s"
        return f"{len(self.variances)} principal direction{many} of {_columns(self.domain)}"


@dataclass(frozen=True)
class ColumnBounds(FindsBounds):
    """Bounds of the columns that have none, with the whole budget. Proof: docs/proofs/bounds.md."""

    def run(self, curator: Curator) -> Limits:
        """Estimate what is unknown; where nothing is (truth values have bounds), nothing is asked."""
        if not curator.domain.bounds.unknown:
            return Limits(curator.domain)
        return Limits(replace(curator.domain, bounds=estimate_bounds(curator, Fraction(1))))


@dataclass(frozen=True)
class ColumnSpreads:
    """Noisy sums and sums of squares, once."""

    def run(self, curator: Curator) -> Spreads:
        """Ask once, and divide."""
        d = curator.domain.n_columns
        answer = curator.sums(Grid.whole(d), of=Squares(), share=Fraction(1))
        rows = rows_at_least(float(answer.counts[0]), answer.count_sd)
        # Too few rows to tell: as wide as the bounds.
        unknown = np.repeat([[0.0, 1.0]], d, axis=1)
        both = recentre(answer.sums, answer.counts, answer.count_sd, fallback=unknown)[0]
        means, squares = both[:d], (both[d:] + 1) / 2
        # A spread below that of the noise is not known to be so small.
        variances = np.maximum(squares - means**2, answer.sum_sd / rows)
        return Spreads(means, np.sqrt(np.minimum(variances, 1.0)), answer.sum_sd / rows, curator.domain)


@dataclass(frozen=True)
class PrincipalComponents:
    """Eigenvectors of a noisy second-moment matrix.

    Parameters
    ----------
    n_components : int
        How many directions; at most as many as columns.
    """

    n_components: int

    def check(self, domain: Domain) -> None:
        """Refuse more directions than columns, before anything is spent."""
        if self.n_components > domain.n_columns:
            raise InvalidInput(
                f"n_components is {self.n_components}; the table has only {domain.n_columns} columns"
            )

    def run(self, curator: Curator) -> Components:
        """Ask for mean and spread, then for products of columns."""
        d, column_scale = curator.domain.n_columns, curator.domain.column_scale
        mean, mean_sd, radius = _middle(curator, FOR_MEAN)
        of = Outer(Offset(mean[np.newaxis, :], Ball(radius)))
        rest = 1 - FOR_MEAN
        answer = curator.sums(Grid.whole(d), of=of, share=rest, noise=_quietest(curator, of, rest))
        rows = rows_at_least(float(answer.counts[0]), answer.count_sd)
        moments = symmetric(answer.sums[0], d) / max(float(answer.counts[0]), smallest_count(answer.count_sd))
        variances, vectors = np.linalg.eigh(moments * np.multiply.outer(column_scale, column_scale))
        largest = np.argsort(-variances, kind="stable")[: self.n_components]
        directions = vectors[:, largest].T
        # An eigenvector has no sign of its own: let its largest entry be positive.
        signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
        # A symmetric matrix of noise has eigenvalues of up to about two roots of its size times the noise.
        noise = 2 * math.sqrt(d) * answer.sum_sd / rows
        return Components(
            mean,
            directions * signs[:, np.newaxis],
            np.maximum(variances[largest], answer.sum_sd / rows),
            max(float(variances.sum()), 0.0),
            mean_sd,
            not noise <= variances[largest[-1]],
            curator.domain,
        )


def _columns(domain: Domain) -> str:
    return "1 column" if domain.n_columns == 1 else f"{domain.n_columns} columns"


def _middle(curator: Curator, share: Fraction) -> tuple[Array, float, float]:
    """Return a noisy mean with its noise, and a radius around it that few rows are beyond."""
    d = curator.domain.n_columns
    whole = math.sqrt(d)
    of = WithCost(Offset(np.zeros((1, d)), Ball(min(whole, 1023.0))))
    answer = curator.sums(Grid.whole(d), of=of, share=share, noise=_quietest(curator, of, share))
    mean = recentre(answer.sums, answer.counts, answer.count_sd, fallback=np.zeros((1, d)))[0]
    assert answer.costs is not None
    square = float(answer.costs[0]) / max(float(answer.counts[0]), smallest_count(answer.count_sd))
    variance = square - float((mean**2).sum())
    radius = _RADIUS * math.sqrt(max(variance, 0.0))
    mean_sd = answer.sum_sd / rows_at_least(float(answer.counts[0]), answer.count_sd)
    return mean, mean_sd, min(max(radius, _LEAST_RADIUS, 1 / STEPS), 2 * whole, 1023.0)


def _quietest(curator: Curator, of: RowStat, share: Fraction) -> Noise | None:
    """Return the law that moves a sum least, from public values."""
    if curator.budget.currency == "rho":
        return None
    laws: tuple[Noise | None, ...] = (None, "laplace")
    return min(laws, key=lambda law: curator.noise_sd(of=of, share=share, noise=law)[0])
