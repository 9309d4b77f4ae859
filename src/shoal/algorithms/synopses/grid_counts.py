"""Released counts over a grid, and what can be done with them for free: groups, box counts, synthetic rows.

Points here are in the scaled units of the domain, [-1, 1]^d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.algorithms.synopses.boxes import BoxCounts, Lean, evenly
from shoal.algorithms.synopses.synopsis import Search
from shoal.postprocess import pack
from shoal.postprocess.evidence import Noisy, laplace_rate, upper_bound
from shoal.postprocess.k_variates import k_variates
from shoal.postprocess.nearest import nearest_centre
from shoal.postprocess.weighted_kmeans import WeightedClustering, lloyd
from shoal.postprocess.weighted_kmedians import nearest_centres, spread, weighted_kmedians
from shoal.queries import Grid

# Random places by which the volume nearest to each centre is measured.
_PLACES = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class GridCounts(BoxCounts):
    """Released cells of a grid.

    Where small counts were dropped, the public mean of what empty cells add is taken off by volume, and
    dropped rows are taken to lie as the kept ones.

    Parameters
    ----------
    grid : Grid
        All cells.
    weights, sd, domain, rows, rows_sd
        As of :class:`BoxCounts`.
    cells : ndarray of int64, optional
        Keys of the cells that are held, where they are not all: only large counts were kept.
    threshold : float
        The least count that was kept, where they are not all.
    """

    grid: Grid
    cells: Integers | None = None
    threshold: float = 0

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return self.grid.n_cells

    @property
    def n_rows(self) -> float:
        """The noisy number of rows: of all cells, or as it was asked for where small ones are dropped."""
        return float(self.weights.sum()) if self.cells is None else self.rows

    def places(self) -> Array:
        """Return the middle of every cell that is held."""
        return self.grid.centres() if self.cells is None else self.grid.centres_of(self.cells)

    def halves(self) -> Array:
        """Return half of the sides of a cell."""
        return np.asarray(1 / np.array(self.grid.shape))

    def shares(self, lower: Array, upper: Array, lean: Lean = evenly) -> Array:
        """Return which share of every cell that is held lies between two corners."""
        inside = [lean(_inside(*ends)) for ends in zip(self.grid.shape, lower, upper, strict=True)]
        share = np.ones(1 if self.cells is None else self.n_held)
        if self.cells is None:
            for part in inside:
                share = np.multiply.outer(share, part).ravel()
            return share
        for part, places in zip(inside, self.grid.places(self.cells), strict=True):
            share *= part[places]
        return share

    def describe(self) -> str:
        """Say in a few words what is held."""
        cells = f"a grid of {' x '.join(map(str, self.grid.shape))} cells"
        return cells if self.cells is None else f"{cells}; {self.n_held:,} {self._which} are kept"

    def facts(self) -> dict[str, Any]:
        """Return what it is, for machines."""
        threshold = None if self.cells is None else self.threshold
        return {"kind": "grid", "shape": list(self.grid.shape), "threshold": threshold}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return counts, and the flat places of their cells (first column slowest) where not all are held."""
        return super().arrays() if self.cells is None else {"cells": self.cells, **super().arrays()}

    @property
    def _which(self) -> str:
        return f"with {self.threshold} rows or more"

    def k_variates(
        self, n_clusters: int, rng: np.random.Generator, *, refine: bool = False
    ) -> WeightedClustering:
        """Draw centres by k-variates++: far cells first, a place in each at random.

        Parameters
        ----------
        n_clusters : int
            How many centres.
        rng : numpy Generator
            Public randomness.
        refine : bool
            Whether to go on with k-means from there.
        """
        half, column_scale = self.halves(), self.domain.column_scale
        points, counts = self.places(), self.weights
        if not self.n_held:  # nothing was kept: anywhere in the domain
            points, counts, half = np.zeros((1, len(half))), np.ones(1), np.ones(len(half))
        centres = k_variates(points, counts, n_clusters, rng, half=half, column_scale=column_scale)
        columns = np.ascontiguousarray((points * column_scale).T)
        rounds, least = 50 if refine else 0, self.least_mass(n_clusters)
        found = lloyd(
            columns, counts, centres * column_scale, max_iter=rounds, least_mass=least, reach=column_scale
        )
        found = replace(found, centres=found.centres / np.where(column_scale > 0, column_scale, 1.0))
        return replace(found, masses=self.sizes(found, rng))

    def kmedians(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 10) -> WeightedClustering:
        """Find centres of least distance, not squared, on the cells; masses as of :meth:`kmeans`.

        Parameters
        ----------
        n_clusters : int
            How many centres.
        rng : numpy Generator
            Public randomness.
        n_starts : int
            Starts, judged on the synopsis alone, and as many swaps of a centre after them.
        """
        points = self.places()
        if not len(points):  # all cells were dropped
            return WeightedClustering(pack(n_clusters, len(self.grid.shape), rng), np.zeros(n_clusters), 0.0)
        found = weighted_kmedians(
            points,
            self.masses(),
            n_clusters,
            rng,
            n_starts=n_starts,
            n_swaps=n_starts,
            # Rows lie evenly in a cell, for all that is known: a half side over root 3 in each column.
            grain=float(np.linalg.norm(self.domain.column_scale / np.array(self.grid.shape))) / math.sqrt(3),
            start=self.kmeans(n_clusters, rng, n_starts).centres,
            column_scale=self.domain.column_scale,
        )
        if self.cells is not None:
            return replace(found, masses=self.sizes(found, rng))
        # Where a centre has little, the noise of its cells is as often below as above: keep both.
        column_scale = self.domain.column_scale
        nearest = nearest_centres(points * column_scale, found.centres * column_scale)
        return replace(found, masses=np.bincount(nearest, self.weights, n_clusters).astype(np.float64))

    def spread(self, n: int, rng: np.random.Generator) -> Array:
        """Return middles of cells, far from each other and heavy, drawn by D-sampling."""
        points, masses = self.places(), self.masses()
        if not len(points) or not masses.any():
            return pack(n, len(self.grid.shape), rng)
        column_scale = self.domain.column_scale
        found = spread(points * column_scale, masses, n, rng)
        return np.asarray(found / np.where(column_scale > 0, column_scale, 1.0))

    def search(self, n_clusters: int, n_starts: int) -> Search:
        """Return how k-means minds the noise of the weights, and the shape of the grid if it is whole."""
        found = super().search(n_clusters, n_starts)
        return found if self.cells is not None else {**found, "shape": self.grid.shape}

    def sizes(self, found: WeightedClustering, rng: np.random.Generator) -> Array:
        """Estimate the rows nearest to each centre."""
        if self.cells is None:
            return found.masses
        places = rng.uniform(-1.0, 1.0, (_PLACES, len(self.grid.shape))) * self.domain.column_scale
        centres = found.centres * self.domain.column_scale
        # The nearest centre: |x - c|^2 without |x|^2, which is the same for all.
        nearest = nearest_centre(places, centres)
        volume = np.bincount(nearest, minlength=len(centres)) / _PLACES
        spurious, _ = self.spurious(self.grid.n_cells)
        kept = np.maximum(found.masses - spurious * volume, 0.0)
        share = kept / kept.sum() if kept.sum() > 0 else volume
        return np.asarray(kept + self.dropped * share)

    @property
    def kept(self) -> float:
        """How many rows the held cells have, without the mean of what the noise of empty ones adds."""
        return max(0.0, float(self.weights.sum()) - self.spurious(self.grid.n_cells)[0])

    @property
    def dropped(self) -> float:
        """How many rows are in cells that are not held."""
        return 0.0 if self.cells is None else max(0.0, self.rows - self.kept)

    @property
    def lost(self) -> float:
        """How many rows are in cells of which nothing is known."""
        return self.dropped

    @property
    def total_sd(self) -> float:
        """Standard deviation of the sum of all that the noise adds to the held cells."""
        return math.hypot(self.sd * math.sqrt(self.n_held), self.spurious(self.grid.n_cells)[1])

    def elsewhere(self, lower: Array, upper: Array, share: Array, estimate: float) -> tuple[float, float]:
        """Return what cells that are not held add to a count, less what the noise of empty ones did."""
        if self.cells is None:
            return 0.0, 0.0
        # Empty cells among the kept ones: how much they weigh on average is public.
        spurious, spread = self.spurious(self.n_cells * volume(lower, upper))
        guess, unsure = self.guess(lower, upper, share, estimate - spurious)
        return guess - spurious, unsure + spread**2

    def guess(self, lower: Array, upper: Array, share: Array, estimate: float) -> tuple[float, float]:
        """Guess the dropped rows of a box, as the kept ones lie and as far as the threshold lets them.

        Parameters
        ----------
        lower, upper : ndarray of shape (d,)
            Corners of the box.
        share : ndarray of shape (n_held,)
            Which share of every held cell is inside.
        estimate : float
            Rows of held cells inside.
        """
        kept, dropped, cells = self.kept, self.dropped, self.n_cells * volume(lower, upper)
        # A dropped cell has hardly more rows than this.
        most = upper_bound(Noisy.of(self.threshold, self.sd))
        cells_in = max(0.0, cells - float(share.sum()))
        cells_out = max(0.0, self.n_cells - cells - (self.n_held - float(share.sum())))
        low, high = max(0.0, dropped - most * cells_out), min(dropped, most * cells_in)
        guess = min(max(dropped * (estimate / kept if kept > 0 else cells / self.n_cells), low), high)
        # Nothing between two values has a standard deviation above half their difference.
        return guess, ((high - low) / 2) ** 2 + self.rows_sd**2

    def spurious(self, n_cells: float) -> tuple[float, float]:
        """Return mean and standard deviation of the noise that lifts empty cells over the threshold.

        Parameters
        ----------
        n_cells : float
            How many of the cells, nearly all of them empty.
        """
        if self.cells is None:
            return 0.0, 0.0
        q = math.exp(-laplace_rate(self.sd))
        number = n_cells * q**self.threshold / (1 + q)
        each, variance = self.threshold + q / (1 - q), q / (1 - q) ** 2
        return number * each, math.sqrt(number * (variance + each**2))

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        if self.cells is None:
            return super().warning()
        kept, spread, rows = self.kept, self.spurious(self.n_cells)[1], max(self.rows, 1.0)
        if kept >= rows / 2 and spread <= rows / 2:
            return None
        return (
            f"the cells {self._which}, which alone are kept, hold {kept:.3g} rows of about {rows:.3g}: raise "
            "epsilon or use a coarser resolution"
        )


def volume(lower: Array, upper: Array) -> float:
    """Return the share of the domain between two corners.

    Examples
    --------
    >>> volume(np.array([-np.inf, 0.0]), np.array([0.0, 0.5]))
    0.125
    """
    sides = np.minimum(upper, 1.0) - np.maximum(lower, -1.0)
    return float(np.prod(np.clip(sides / 2, 0.0, 1.0)))


def _inside(m: int, low: float, high: float) -> Array:
    """Return which share of each of m equal intervals of [-1, 1] lies in [low, high]."""
    ends = np.linspace(-1.0, 1.0, m + 1)
    shares = (np.minimum(ends[1:], high) - np.maximum(ends[:-1], low)) / (ends[1:] - ends[:-1])
    return np.asarray(np.clip(shares, 0.0, 1.0))
