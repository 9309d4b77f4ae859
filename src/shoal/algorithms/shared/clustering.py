"""What every algorithm takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shoal._typing import Array, Integers
from shoal.domain import Domain
from shoal.postprocess.choose_k import CostCurve
from shoal.queries import Curator


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
