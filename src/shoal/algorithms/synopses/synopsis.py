"""Released counts over boxes, whatever they are, and what can be done with them for free.

A grid, a grid of which the cells that stand out are kept, and a tree are synopses: k-means, counts of boxes
and synthetic rows are asked of all in the same way. Points here are in the scaled units of the domain,
[-1, 1]^d.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms.shared.clustering import Clustering
from shoal.algorithms.shared.row_count import rows_at_least
from shoal.domain import Domain
from shoal.postprocess import pack
from shoal.postprocess.recentre import smallest_count
from shoal.postprocess.weighted_kmeans import WeightedClustering, weighted_kmeans
from shoal.queries import Curator

Lean: TypeAlias = Callable[[Array], Array]


def evenly(share: Array) -> Array:
    """Leave the share of a side as it is."""
    return share


@dataclass(frozen=True, eq=False, kw_only=True)
class Synopsis(ABC):
    """Noisy counts of rows in disjoint boxes: everything that follows is free.

    Parameters
    ----------
    counts : ndarray of shape (n_held,)
        Noisy counts of the boxes that are held; they may be negative.
    sd : float
        Standard deviation of a count's noise.
    domain : Domain
        What the boxes are scaled to.
    rows, rows_sd : float
        The number of rows, public or noisy, and the standard deviation of its noise.
    """

    counts: Array
    sd: float
    domain: Domain
    rows: float
    rows_sd: float = 0.0

    @property
    def n_held(self) -> int:
        """How many boxes have a count."""
        return len(self.counts)

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """How many boxes there are, with those that are not held."""

    @abstractmethod
    def centres(self) -> Array:
        """Return the middle of every box that is held."""

    @abstractmethod
    def halves(self) -> Array:
        """Return half of the sides of every box that is held, or of all where they are the same."""

    @abstractmethod
    def shares(self, lower: Array, upper: Array, lean: Lean = evenly) -> Array:
        """Return which share of every box that is held lies between two corners.

        Parameters
        ----------
        lower, upper : ndarray of shape (d,)
            The corners; infinite ones are no limit.
        lean : callable
            What becomes of the share of a side.
        """

    def leaning(self, lower: Array, upper: Array) -> Array:
        """Return how far apart the shares of boxes are if their rows lean inwards, and outwards.

        A share s of a side then has 1 - (1 - s)^p of the rows, or s^p. Boxes of more columns are wider beside
        a group, so its rows lean more: p is 2 in two columns, and doubles with each.
        """
        power = 2.0 ** min(self.domain.n_columns - 1, 60)
        inwards = self.shares(lower, upper, lambda share: 1 - (1 - share) ** power)
        return inwards - self.shares(lower, upper, lambda share: share**power)

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words what is held."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what it is, for machines."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is held, for other programs."""
        return {"counts": self.counts}

    @property
    def kept(self) -> float:
        """How many rows the held boxes have."""
        return float(self.counts.sum())

    @property
    def lost(self) -> float:
        """How many rows are in boxes of which nothing is known."""
        return 0.0

    @property
    def noise(self) -> float:
        """Standard deviation of the sum of all that the noise adds to the held boxes."""
        return self.sd * math.sqrt(self.n_held)

    def kmeans(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 30) -> WeightedClustering:
        """Find centres on the boxes, the best of many starts; masses estimate the rows nearest to each.

        Parameters
        ----------
        n_clusters : int
            How many centres.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts, judged on the synopsis alone, and as many swaps of a centre after them.
        """
        if not self.counts.sum() > 0:  # nothing stands out: as good as any
            centres = pack(n_clusters, self.domain.n_columns, rng)
            return WeightedClustering(centres, np.zeros(n_clusters), float("inf"))
        found = weighted_kmeans(
            self.centres(),
            self.counts,
            n_clusters,
            rng,
            n_starts=n_starts,
            least_mass=self.least_mass(n_clusters),
            weight_sd=self.sd,
            n_swaps=n_starts,
            column_scale=self.domain.column_scale,
        )
        return replace(found, masses=self.sizes(found, rng))

    def least_mass(self, n_clusters: int) -> float:
        """Return the weight below which a centre's boxes are noise, as many as each centre has on average."""
        return smallest_count(self.sd * math.sqrt(self.n_held / n_clusters))

    def sizes(self, found: WeightedClustering, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Estimate the rows nearest to each centre."""
        return found.masses

    def count(self, lower: Array, upper: Array) -> tuple[float, float]:
        """Estimate the rows of a box, and the standard error of the estimate.

        A held box that is partly inside counts with its share of volume. Its rows may lie anywhere in it, and
        that adds to the error: too much, rather than too little.

        Parameters
        ----------
        lower, upper : ndarray of shape (d,)
            Corners; infinite ones are no limit.
        """
        share = self.shares(lower, upper)
        estimate = float((share * self.counts).sum())
        variance = box_variance(share, self.leaning(lower, upper), self.counts, self.sd)
        more, unsure = self.elsewhere(lower, upper, share, estimate)
        return estimate + more, math.sqrt(variance + unsure)

    def elsewhere(self, lower: Array, upper: Array, share: Array, estimate: float) -> tuple[float, float]:  # noqa: ARG002
        """Return what boxes that are not held add to a count, and the variance of that."""
        return 0.0, 0.0

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw points that lie as the released counts do: a box by its count, a place in it at random.

        Parameters
        ----------
        n : int
            How many points.
        rng : numpy Generator
            Public randomness.
        """
        if not self.n_held:  # anywhere
            return np.asarray(rng.uniform(-1.0, 1.0, (n, self.domain.n_columns)))
        weights = np.cumsum(self.masses())
        picks = np.searchsorted(weights, rng.uniform(0, weights[-1], n), side="right")
        held = np.minimum(picks, len(weights) - 1)
        centres, halves = self.centres(), np.broadcast_to(self.halves(), (self.n_held, self.domain.n_columns))
        return np.asarray(centres[held] + rng.uniform(-halves[held], halves[held]))

    def masses(self) -> Array:
        """Return weights that are not negative: the nearest ones to the counts that add up to the rows."""
        # Dropping the negative counts alone would leave the positive noise of all empty boxes.
        total = self.rows if self.n_held == self.n_cells else float(self.counts.sum())
        falling = np.sort(self.counts)[::-1]
        level = (np.cumsum(falling) - max(total, 1.0)) / np.arange(1, self.n_held + 1)
        last = int(np.flatnonzero(falling > level)[-1])
        return np.asarray(np.maximum(self.counts - level[last], 0.0))

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        noise, rows = self.noise, max(self.rows, 1.0)
        if noise <= rows / 2:
            return None
        return (
            f"the noise of all cells together is {noise:.3g} rows of about {rows:.3g}: raise epsilon or use "
            "a coarser resolution"
        )


def box_variance(share: Array, leaning: Array, counts: Array, sd: float) -> float:
    """Return the variance of a count of shares of boxes: of their noise, and of where rows lie in them.

    Rows of a box that is cut may all lie in one place, drawn at random for each box. Or they lean to one side
    in all boxes alike, as around a group. The larger of the two counts.

    Parameters
    ----------
    share : ndarray of shape (n,)
        Of every box, were rows even in it.
    leaning : ndarray of shape (n,)
        How far apart their shares are if rows lean inwards and outwards: four standard deviations.
    counts, sd : ndarray of shape (n,), float
        Noisy counts, and their noise.
    """
    apart = float((share * (1 - share) * (counts**2 - sd**2)).sum())
    alike = float((leaning * counts).sum()) / 4
    return sd**2 * float((share**2).sum()) + max(apart, alike**2)


class MakesSynopsis(Protocol):
    """An algorithm whose result is a synopsis."""

    def check(self, domain: Domain) -> None:
        """Refuse what cannot work, from public values, before anything is spent."""
        ...

    def run(self, curator: Curator) -> Synopsis:
        """Ask the curator."""
        ...


@dataclass(frozen=True)
class GroupsOn:
    """Groups found on a synopsis: their errors say what it is worth, before it is paid for.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    sketch : MakesSynopsis
        What makes the synopsis.
    n_starts : int
        Starts of k-means on it.
    """

    n_clusters: int
    sketch: MakesSynopsis
    n_starts: int = 30

    def run(self, curator: Curator) -> Clustering:
        """Ask once, then search for free."""
        synopsis = self.sketch.run(curator)
        found = synopsis.kmeans(self.n_clusters, curator.public_rng("starts on the synopsis"), self.n_starts)
        return clustering_on(curator, synopsis, found)


def clustering_on(curator: Curator, synopsis: Synopsis, found: WeightedClustering) -> Clustering:
    """Turn centres found on a synopsis into a clustering, with the errors that its noise gives them."""
    k, d = found.centres.shape
    # Noise of the sum over a cluster's cells of count * (cell - centre): Su et al. (9) has the same
    # second moment of a cube of volume 2^d / k.
    reach = math.sqrt((2 / k ** (1 / d)) ** 2 / 12)
    noise = synopsis.noise / math.sqrt(k)
    spread = noise * reach / np.maximum(found.masses, 1.0)
    # Rows that were lost are in no centre, so they do not help against the noise.
    known = synopsis.n_held == synopsis.n_cells and curator.n_rows is not None
    rows = synopsis.rows if known else rows_at_least(synopsis.kept, synopsis.noise)
    return Clustering(
        centres=found.centres,
        sizes=found.masses,
        centre_sd=np.repeat(spread[:, np.newaxis], d, axis=1),
        # Lost rows may belong to any group: nothing from 0 to x has a deviation above x / 2.
        size_sd=math.hypot(noise, synopsis.lost / 2),
        n_iter=1,
        predicted_sd=noise * reach * k / max(rows, 1.0),
        domain=synopsis.domain,
    )
