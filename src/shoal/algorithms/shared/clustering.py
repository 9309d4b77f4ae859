"""What every algorithm takes and gives, and how many rows there are: public, or paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, runtime_checkable

from shoal._typing import Array, Integers
from shoal.domain import Domain
from shoal.postprocess.choose_k import CostCurve
from shoal.postprocess.evidence import Noisy, combine, lower_bound
from shoal.postprocess.evidence import centre_sd as sd_of_ratio
from shoal.postprocess.shown import Shown
from shoal.queries import Curator, Grid, NoisySums, Voronoi

SHARE_FOR_ROWS = Fraction(1, 50)
# A count that all else hangs on has the first share. A table of fewer rows than this many standard deviations
# of their noise is counted again, for the share beside it: known to 5 % is enough where a fiftieth of the
# budget buys that, to a fifth where it takes a tenth.
_FIRST = Fraction(1, 200)
_AGAIN = ((20.0, SHARE_FOR_ROWS), (5.0, Fraction(1, 10)))


@dataclass(frozen=True, eq=False)
class Clustering:
    """Released groups, in the scaled units of the domain.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Points of [-1, 1]^d.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes; they may be negative.
    centre_sd : ndarray of shape (n_clusters, n_columns)
        Standard error that the noise gives each coordinate, given the assignment; infinite where a centre
        rests on no rows.
    size_sd : float
        Standard deviation of the noise of a size.
    n_iter : int
        Rounds of questions, fixed from public values.
    predicted_sd : float
        Predicted noise of a centre's coordinate, from public and released values. Above 1/2 the noise
        is as wide as the domain.
    domain : Domain
        What the centres are scaled to.
    curve : CostCurve, optional
        What every number of groups costs, where the number was chosen from released values.
    merged_into : ndarray of int64, shape (n_clusters,), optional
        The row that each row is one with, where noise could not tell some apart: the first of them.
    shown : Shown, optional
        Where rows are, as far as the answers tell, for algorithms that look: rows like these can be made up.
    uneven : Shown, optional
        The same where it is as uneven as the rows are, noise and all: a fit of it wavers as one of the rows
        does. Not given where `shown` serves for that too.
    """

    centres: Array
    sizes: Array
    centre_sd: Array
    size_sd: float
    n_iter: int
    predicted_sd: float
    domain: Domain
    curve: CostCurve | None = None
    merged_into: Integers | None = None
    shown: Shown | None = None
    uneven: Shown | None = None

    @classmethod
    def from_sums(
        cls,
        curator: Curator,
        centres: Array,
        answer: NoisySums,
        n_iter: int,
        *,
        centre_sd: Array | None = None,
        predicted_sd: float | None = None,
    ) -> Clustering:
        """Return the groups of which one answer tells sizes and noise.

        Parameters
        ----------
        curator : Curator
            Who gave it.
        centres : ndarray of shape (n_clusters, n_columns)
            Where the answer moved them; they are rounded to the lattice.
        answer : NoisySums
            Sums and counts of the groups' rows.
        n_iter : int
            Rounds of questions until then.
        centre_sd : ndarray of shape (n_clusters, n_columns), optional
            If not given, that of sums over counts.
        predicted_sd : float, optional
            If not given, the noise of a sum over an average group's rows.
        """
        k = len(centres)
        if centre_sd is None:
            centre_sd = sd_of_ratio(centres, answer.counts, answer.sum_sd, answer.count_sd)
        if predicted_sd is None:
            rows = RowCount.of(curator, answer.counts.sum(), answer.count_sd * math.sqrt(k))
            predicted_sd = answer.sum_sd * k / rows.at_least
        return cls(
            centres=Voronoi(centres).centres,
            sizes=answer.counts,
            centre_sd=centre_sd,
            size_sd=answer.count_sd,
            n_iter=n_iter,
            predicted_sd=predicted_sd,
            domain=curator.domain,
        )


@runtime_checkable
class Checks(Protocol):
    """What can refuse a domain: an algorithm, or how something is made that centres are found on."""

    def check(self, domain: Domain) -> None:
        """Refuse what cannot work, from public values, before anything is spent."""
        ...


@runtime_checkable
class HasSketch(Protocol):
    """What sketches the rows first, and works on that."""

    sketch: object


class Algorithm(Protocol):
    """A published algorithm with its public parameters."""

    def run(self, curator: Curator) -> Clustering:
        """Ask the curator, and turn its answers into centres."""
        ...


def check(algorithm: object, domain: Domain) -> None:
    """Let an algorithm, or what it sketches the rows with, refuse a domain before anything is spent.

    Parameters
    ----------
    algorithm : object
        What is to be run.
    domain : Domain
        The public facts of the table; bounds may be unknown.
    """
    sketch = algorithm.sketch if isinstance(algorithm, HasSketch) else None
    for part in (algorithm, sketch):
        if isinstance(part, Checks):
            part.check(domain)


@dataclass(frozen=True)
class RowCount:
    """A number of rows, public or noisy.

    Parameters
    ----------
    estimate : float
        The number; a noisy one is at least 1.
    at_least : float
        How many there are at least, noise aside, and never below 1: for predicted errors.
    sd : float
        Standard deviation of the noise; none of a public number.
    """

    estimate: float
    at_least: float
    sd: float = 0.0

    @classmethod
    def of(cls, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the public number, or a noisy one with the standard deviation of its noise."""
        if curator.n_rows is not None:
            return cls(max(float(curator.n_rows), 1.0), max(float(curator.n_rows), 1.0))
        return cls(max(float(noisy), 1.0), rows_at_least(float(noisy), sd), sd)

    def capped_by(self, curator: Curator, noisy: float, sd: float) -> RowCount:
        """Return the same, sure of no more than another noisy number says: two are seldom large by chance."""
        other = RowCount.of(curator, noisy, sd)
        return replace(self, at_least=min(self.at_least, other.at_least))


def rows_at_least(noisy: float, sd: float) -> float:
    """Return how many rows there surely are: predicted errors must not take noise for rows.

    Examples
    --------
    >>> rows_at_least(1000.0, 70.0), rows_at_least(90_000.0, 70_000.0)
    (860.0, 1.0)
    """
    return max(lower_bound(Noisy.of(noisy, sd)), 1.0)


def count_rows(curator: Curator, *, adaptive: bool = False) -> tuple[RowCount, Fraction]:
    """Return the public number of rows, or a noisy one, and the share of the budget that is left.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    adaptive : bool
        Whether a small table is counted again: what is done with it hangs on how small it is, and what tells
        that of a large one would be wasted there.
    """
    if curator.n_rows is not None:
        rows = RowCount.of(curator, curator.n_rows, 0.0)
        return rows if adaptive else replace(rows, estimate=float(curator.n_rows)), Fraction(1)
    spent = _FIRST if adaptive else SHARE_FOR_ROWS
    known = _counted(curator, spent)
    for enough, share in _AGAIN if adaptive else ():
        if known.value >= enough * known.sd:
            break
        known, spent = combine(_counted(curator, share), known), spent + share
    return RowCount.of(curator, known.value, known.sd), 1 - spent


def _counted(curator: Curator, share: Fraction) -> Noisy[float]:
    """Return a noisy number of rows; there is at least one."""
    counts = curator.histogram(Grid.whole(curator.domain.n_columns), share=share).counts
    return Noisy.of(max(float(counts[0]), 1.0), curator.count_sd(share=share))
