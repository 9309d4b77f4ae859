"""Released counts of rows in boxes, whatever they are, and what can be done with them for free.

A grid, a grid of which the cells that stand out are kept, and a tree are such: besides what any synopsis
answers, they count the rows of other boxes and draw synthetic rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms.synopses.synopsis import Search, Synopsis
from shoal.postprocess.evidence import smallest_count
from shoal.postprocess.shown import Shown, without_noise

Lean: TypeAlias = Callable[[Array], Array]


def evenly(share: Array) -> Array:
    """Leave the share of a side as it is."""
    return share


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxCounts(Synopsis):
    """Noisy counts of rows in disjoint boxes.

    Parameters
    ----------
    weights, sd, domain, rows, rows_sd
        As of a :class:`Synopsis`; weights are counts.
    """

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """How many boxes there are, with those that are not held."""

    @property
    def is_whole(self) -> bool:
        """Whether no box was dropped."""
        return self.n_held == self.n_cells

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
        return {"counts": self.weights}

    def variances(self) -> Array:
        """Return the variance of a row that lies anywhere in its box."""
        return np.asarray(np.broadcast_to(self.halves() ** 2 / 3, (self.n_held, self.domain.n_columns)))

    def search(self, n_clusters: int, n_starts: int) -> Search:
        """Return how k-means minds the noise of the weights."""
        return {"least_mass": self.least_mass(n_clusters), "weight_sd": self.sd, "n_swaps": n_starts}

    def least_mass(self, n_clusters: int) -> float:
        """Return the weight below which a centre's boxes are noise, as many as each centre has on average."""
        return smallest_count(self.sd * math.sqrt(self.n_held / n_clusters))

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
        estimate = float((share * self.weights).sum())
        variance = box_variance(share, self.leaning(lower, upper), self.weights, self.sd)
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
        centres, halves = self.places(), np.broadcast_to(self.halves(), (self.n_held, self.domain.n_columns))
        return np.asarray(centres[held] + rng.uniform(-halves[held], halves[held]))

    def masses(self) -> Array:
        """Return weights that are not negative: the nearest ones to the counts that add up to the rows."""
        return without_noise(self.weights, self.rows if self.is_whole else float(self.weights.sum()))

    def shown(self) -> Shown | None:
        """Return where rows are, noise taken off the counts; None where no box is held."""
        if not self.n_held:
            return None
        return Shown(self.places(), self.masses(), self.variances(), max(self.rows, 1.0))

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        noise, rows = self.total_sd, max(self.rows, 1.0)
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
