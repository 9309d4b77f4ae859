"""Released counts over a grid, and what can be done with them for free: k-means, box counts, synthetic rows.

Points here are in the scaled units of the domain, [-1, 1]^d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.domain import Domain
from shoal.postprocess import pack
from shoal.postprocess.k_variates import k_variates
from shoal.postprocess.nearest import nearest_centre
from shoal.postprocess.weighted_kmeans import WeightedClustering, lloyd, weighted_kmeans
from shoal.postprocess.weighted_kmedians import nearest_centres, spread, weighted_kmedians
from shoal.queries import Grid

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

# Random places by which the volume nearest to each centre is measured.
_PLACES = 4096


@dataclass(frozen=True, eq=False)
class Synopsis:
    """Released cells of a grid: everything that follows is free.

    Parameters
    ----------
    grid : Grid
        All cells.
    counts : ndarray of shape (n_held,)
        Noisy counts of the cells that are held; those of a dense synopsis may be negative.
    sd : float
        Standard deviation of a count's noise.
    domain : Domain
        What the grid is scaled to.
    rows, rows_sd : float
        The number of rows, public or noisy, and the standard deviation of its noise.
    cells : ndarray of int64, optional
        Keys of the cells that are held, where they are not all: only large counts were kept.
    threshold : int
        The least count that was kept, where they are not all.
    """

    grid: Grid
    counts: Array
    sd: float
    domain: Domain
    rows: float
    rows_sd: float = 0.0
    cells: Integers | None = None
    threshold: int = 0

    @property
    def n_held(self) -> int:
        """How many cells have a count."""
        return len(self.counts)

    @property
    def n_rows(self) -> float:
        """The noisy number of rows: of all cells, or as it was asked for where small ones are dropped."""
        return float(self.counts.sum()) if self.cells is None else self.rows

    def centres(self) -> Array:
        """Return the middle of every cell that is held."""
        return self.grid.centres() if self.cells is None else self.grid.centres_of(self.cells)

    def kmeans(self, n_clusters: int, rng: np.random.Generator, n_starts: int = 30) -> WeightedClustering:
        """Find centres on the cells, the best of many starts.

        Masses estimate the rows nearest to each centre. Where small counts were dropped, the public mean
        of what empty cells add is taken off by volume, and dropped rows are taken to lie as the kept ones.

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
            return WeightedClustering(
                pack(n_clusters, len(self.grid.shape), rng), np.zeros(n_clusters), float("inf")
            )
        found = weighted_kmeans(
            self.centres(),
            self.counts,
            n_clusters,
            rng,
            n_starts=n_starts,
            least_mass=self._least_mass(n_clusters),
            noise=self.sd,
            n_swaps=n_starts,
            stretch=self.domain.stretch,
        )
        return found if self.cells is None else replace(found, masses=self._unbiased(found, rng))

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
        half, stretch = 1 / np.array(self.grid.shape), self.domain.stretch
        points, counts = self.centres(), self.counts
        if not self.n_held:  # nothing was kept: anywhere in the domain
            points, counts, half = np.zeros((1, len(half))), np.ones(1), np.ones(len(half))
        centres = k_variates(points, counts, n_clusters, rng, half=half, stretch=stretch)
        columns = np.ascontiguousarray((points * stretch).T)
        rounds, least = 50 if refine else 0, self._least_mass(n_clusters)
        found = lloyd(columns, counts, centres * stretch, max_iter=rounds, least_mass=least, reach=stretch)
        found = replace(found, centres=found.centres / np.where(stretch > 0, stretch, 1.0))
        return found if self.cells is None else replace(found, masses=self._unbiased(found, rng))

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
        points = self.centres()
        if not len(points):  # all cells were dropped
            return WeightedClustering(pack(n_clusters, len(self.grid.shape), rng), np.zeros(n_clusters), 0.0)
        found = weighted_kmedians(
            points,
            self._masses(),
            n_clusters,
            rng,
            n_starts=n_starts,
            n_swaps=n_starts,
            # Rows lie evenly in a cell, for all that is known: a half side over root 3 in each column.
            grain=float(np.linalg.norm(self.domain.stretch / np.array(self.grid.shape))) / math.sqrt(3),
            start=self.kmeans(n_clusters, rng, n_starts).centres,
            stretch=self.domain.stretch,
        )
        if self.cells is not None:
            return replace(found, masses=self._unbiased(found, rng))
        # Where a centre has little, the noise of its cells is as often below as above: keep both.
        stretch = self.domain.stretch
        nearest = nearest_centres(points * stretch, found.centres * stretch)
        return replace(found, masses=np.bincount(nearest, self.counts, n_clusters).astype(np.float64))

    def spread(self, n: int, rng: np.random.Generator) -> Array:
        """Return middles of cells, far from each other and heavy, drawn by D-sampling."""
        points, masses = self.centres(), self._masses()
        if not len(points) or not masses.any():
            return pack(n, len(self.grid.shape), rng)
        stretch = self.domain.stretch
        found = spread(points * stretch, masses, n, rng)
        return np.asarray(found / np.where(stretch > 0, stretch, 1.0))

    def _least_mass(self, n_clusters: int) -> float:
        # Below this weight a centre's cells are noise: two standard deviations of their sum.
        return max(1.0, 2 * self.sd * math.sqrt(self.n_held / n_clusters))

    def _unbiased(self, found: WeightedClustering, rng: np.random.Generator) -> Array:
        places = rng.uniform(-1.0, 1.0, (_PLACES, len(self.grid.shape))) * self.domain.stretch
        centres = found.centres * self.domain.stretch
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
        return max(0.0, float(self.counts.sum()) - self.spurious(self.grid.n_cells)[0])

    @property
    def dropped(self) -> float:
        """How many rows are in cells that are not held."""
        return 0.0 if self.cells is None else max(0.0, self.rows - self.kept)

    @property
    def noise(self) -> float:
        """Standard deviation of the sum of all that the noise adds to the held cells."""
        return math.hypot(self.sd * math.sqrt(self.n_held), self.spurious(self.grid.n_cells)[1])

    def count(self, inside: list[Array]) -> tuple[float, float]:
        """Estimate the rows of a box, and the standard error of the estimate.

        A cell that is partly inside counts with its share of volume. Its rows may lie anywhere in it, so they
        add to the error as if they all lay in one place drawn at random: too much, rather than too little.
        Rows of dropped cells are taken to lie as the kept ones do, as far as the threshold lets them.

        Parameters
        ----------
        inside : list of ndarray
            For every column, which share of each interval of the grid is inside.
        """
        share = self._shares(inside)
        estimate = float(share @ self.counts)
        noise = self.sd**2 * float(share @ share)
        partly = share * (1 - share)
        edges = max(0.0, float(partly @ (self.counts**2 - self.sd**2)))
        if self.cells is None:
            return estimate, math.sqrt(noise + edges)
        volume = float(np.prod([part.sum() for part in inside]))
        # Empty cells among the kept ones: how much they weigh on average is public.
        spurious, spread = self.spurious(volume)
        estimate -= spurious
        kept, dropped = self.kept, self.dropped
        # A dropped cell has hardly more rows than this.
        most = self.threshold + 2 * self.sd
        cells_in = max(0.0, volume - float(share.sum()))
        cells_out = max(0.0, self.grid.n_cells - volume - (self.n_held - float(share.sum())))
        low, high = max(0.0, dropped - most * cells_out), min(dropped, most * cells_in)
        guess = min(max(dropped * (estimate / kept if kept > 0 else volume / self.grid.n_cells), low), high)
        # Nothing between two values has a standard deviation above half their difference.
        unknown = ((high - low) / 2) ** 2
        return estimate + guess, math.sqrt(noise + edges + unknown + spread**2 + self.rows_sd**2)

    def spurious(self, n_cells: float) -> tuple[float, float]:
        """Return mean and standard deviation of the noise that lifts empty cells over the threshold.

        Parameters
        ----------
        n_cells : float
            How many of the cells, nearly all of them empty.
        """
        if self.cells is None:
            return 0.0, 0.0
        # Discrete Laplace noise of rate e has variance 1 / (2 sinh(e/2)^2).
        q = math.exp(-2 * math.asinh(1 / (math.sqrt(2) * self.sd)))
        number = n_cells * q**self.threshold / (1 + q)
        each, variance = self.threshold + q / (1 - q), q / (1 - q) ** 2
        return number * each, math.sqrt(number * (variance + each**2))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw points that lie as the released counts do: a cell by its count, a place in it at random.

        Parameters
        ----------
        n : int
            How many points.
        rng : numpy Generator
            Public randomness.
        """
        weights = np.cumsum(self._masses())
        picks = np.searchsorted(weights, rng.uniform(0, weights[-1], n), side="right")
        held = np.minimum(picks, len(weights) - 1).astype(np.int64)
        keys = held if self.cells is None or not self.n_held else self.cells[held]
        half = 1 / np.array(self.grid.shape)
        return np.asarray(self.grid.centres_of(keys) + rng.uniform(-half, half, (n, len(half))))

    def _shares(self, inside: list[Array]) -> Array:
        if self.cells is not None:
            share = np.ones(self.n_held)
            for part, places in zip(inside, self.grid.places(self.cells), strict=True):
                share *= part[places]
            return share
        share = np.ones(1)
        for part in inside:
            share = np.multiply.outer(share, part).ravel()
        return share

    def _masses(self) -> Array:
        """Return weights that are not negative: the nearest ones to the counts that add up to the rows."""
        if self.cells is not None:
            return self.counts if self.n_held else np.ones(1)
        # Dropping the negative counts alone would leave the positive noise of all empty cells.
        falling = np.sort(self.counts)[::-1]
        level = (np.cumsum(falling) - max(self.rows, 1.0)) / np.arange(1, self.n_held + 1)
        last = int(np.flatnonzero(falling > level)[-1])
        return np.asarray(np.maximum(self.counts - level[last], 0.0))
