"""Released places with noisy weights: the one type that grids, trees, leaves and coresets make.

Whatever made it, k-means and the cost of any centres are asked of it in the same way, and for free; KMeans
starts from the same objects that are released by themselves. Points here are in the scaled units of the
domain, [-1, 1]^d.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from shoal._typing import Array
from shoal.domain import Domain
from shoal.postprocess import pack
from shoal.postprocess.lloyd_loops import nearest
from shoal.postprocess.shown import Shown
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans


class Search(TypedDict, total=False):
    """How k-means minds the noise of weights, and that places are a grid; see :func:`weighted_kmeans`."""

    least_mass: float
    weight_sd: float
    n_swaps: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Synopsis(ABC):
    """Released places that stand for the rows around them: everything that follows is free.

    Parameters
    ----------
    weights : ndarray of shape (n_held,)
        How many rows each place stands for, with noise; they may be negative.
    sd : float
        Standard deviation of a weight's noise.
    domain : Domain
        What the places are scaled to.
    rows, rows_sd : float
        The number of rows, public or noisy, and the standard deviation of its noise.
    """

    weights: Array
    sd: float
    domain: Domain
    rows: float
    rows_sd: float = 0.0

    @property
    def n_held(self) -> int:
        """How many places have a weight."""
        return len(self.weights)

    @abstractmethod
    def places(self) -> Array:
        """Return where they are: points of [-1, 1]^d, shape (n_held, n_columns)."""

    def variances(self) -> Array:
        """Return the variance of rows around their place per column, as far as it is known."""
        return np.zeros((self.n_held, self.domain.n_columns))

    def shown(self) -> Shown | None:
        """Return where rows are, noise taken off the weights; None where it is not known how far they lie."""
        return None

    @property
    def kept(self) -> float:
        """How many rows the places stand for."""
        return float(self.weights.sum())

    @property
    def is_whole(self) -> bool:
        """Whether every row is in a place that is held."""
        return True

    @property
    def lost(self) -> float:
        """How many rows are in places of which nothing is known."""
        return 0.0

    @property
    def total(self) -> float:
        """The noisy number of rows by all weights that were released, also where some are not held."""
        return self.kept

    @property
    def total_sd(self) -> float:
        """Standard deviation of the sum of all that the noise adds to the weights."""
        return self.sd * math.sqrt(self.n_held)

    def kmeans(
        self, n_clusters: int, rng: np.random.Generator, n_starts: int = 30, *, published: bool = False
    ) -> WeightedClustering:
        """Find centres on the places, the best of many starts; masses estimate the rows nearest to each.

        Parameters
        ----------
        n_clusters : int
            How many centres.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts, judged on the synopsis alone, and as many swaps of a centre after them.
        published : bool
            Search as Su et al. do; see :func:`weighted_kmeans`.
        """
        if not self.weights.sum() > 0:  # nothing stands out: as good as any
            centres = pack(n_clusters, self.domain.n_columns, rng)
            return WeightedClustering(centres, np.zeros(n_clusters), float("inf"))
        found = weighted_kmeans(
            self.places(),
            self.weights,
            n_clusters,
            rng,
            n_starts=n_starts,
            column_scale=self.domain.column_scale,
            published=published,
            **self.search(n_clusters, n_starts),
        )
        return replace(found, masses=self.sizes(found, rng))

    def search(self, n_clusters: int, n_starts: int) -> Search:  # noqa: ARG002
        """Return how k-means minds the noise of the weights: not, where they are positive by construction."""
        return {}

    def sizes(self, found: WeightedClustering, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Estimate the rows nearest to each centre."""
        return found.masses

    def cost(self, centres: Array) -> float:
        """Estimate the sum of squared distances of all rows to the nearest of some centres, in scaled units.

        Parameters
        ----------
        centres : ndarray of shape (n_clusters, n_columns)
            In scaled units; they may lie outside the bounds.
        """
        scale, lower = self.domain.column_scale, nearest()
        columns, squares = np.ascontiguousarray((self.places() * scale).T), np.full(self.n_held, np.inf)
        for centre in centres * scale:
            lower(columns, centre, squares)
        inside = (self.variances() * scale**2).sum(axis=1)
        return float((self.weights * (squares + inside)).sum())
