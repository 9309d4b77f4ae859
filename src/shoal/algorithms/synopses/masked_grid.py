"""Ours: a grid finer than Su et al.'s, of which the cells that stand out of the noise are kept.

It is what KMeans starts from in few columns, released by itself. Proof: docs/proofs/masked_grid.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.algorithms.grid import MOST_DENSE_CELLS, GridSketch
from shoal.algorithms.shared.clustering import count_rows
from shoal.algorithms.synopses.boxes import box_variance
from shoal.algorithms.synopses.grid_counts import GridCounts
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess.evidence import HALF_A_CELL, Noisy, combine, noise_floor, soft
from shoal.postprocess.nearest import nearest_centre
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.queries import Curator, Grid

# Four to eight times finer than Su et al.'s grid: cells that do not stand out are dropped, so noise does not
# add up over empty ones.
MASK_THETA = 1.2
# Where nothing stands out, the largest counts have to do.
_MOST_FALLBACK = 4096
# Cells are looked at alone and with their neighbours, at these standard deviations of a bell in cells.
_BELLS = (0.6, 1.2)
# By the rule; finer grids have to be asked for.
_MOST_CELLS = 2**18


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedCounts(GridCounts):
    """Released cells of a grid, of which those that stand out of the noise are held.

    Groups and synthetic rows are made of held cells alone, so that the noise of empty ones does not add up. A
    count of a box asks the others too.

    Parameters
    ----------
    grid, weights, sd, domain, rows, rows_sd, cells, threshold
        As of :class:`GridCounts`; the threshold is that of a cell by itself.
    everywhere : ndarray of shape (n_cells,)
        Noisy counts of all cells.
    """

    everywhere: Array

    @property
    def lost(self) -> float:
        """How many rows are in cells of which nothing is known: all have counts."""
        return 0.0

    @property
    def total(self) -> float:
        """The noisy number of rows by the counts of all cells."""
        return float(self.everywhere.sum())

    @property
    def total_sd(self) -> float:
        """Standard deviation of the sum of the noise of all cells, which sizes of groups are made of."""
        return self.sd * math.sqrt(self.n_cells)

    def sizes(self, found: WeightedClustering, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Estimate the rows nearest to each centre, by all cells."""
        column_scale = self.domain.column_scale
        labels = nearest_centre(self.grid.centres() * column_scale, found.centres * column_scale)
        return np.bincount(labels, self.everywhere, len(found.centres)).astype(np.float64)

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        if self.weights.max() < self.threshold or self.kept > 1.5 * self.rows:
            return (
                f"hardly a cell stands out of noise of ± {self.sd:.3g} rows: raise epsilon or use a coarser "
                "resolution"
            )
        return super().warning()

    def spurious(self, n_cells: float) -> tuple[float, float]:  # noqa: ARG002
        """Return nothing: about one empty cell of the whole grid is held."""
        return 0.0, 0.0

    def elsewhere(self, lower: Array, upper: Array, share: Array, estimate: float) -> tuple[float, float]:
        """Return what cells that do not stand out add to a count, and the variance of that.

        There are two ways to know: their noisy counts, and how many rows are left for all of them. Each
        counts by its precision, and what a standard deviation could be noise is left out.
        """
        every = GridCounts(
            grid=self.grid, weights=self.everywhere, sd=self.sd, domain=self.domain, rows=self.rows
        )
        others, leaning = every.shares(lower, upper), every.leaning(lower, upper)
        others[self.cells] = leaning[self.cells] = 0.0
        guess, unsure = self.guess(lower, upper, share, estimate)
        noisy = Noisy(
            float((others * every.weights).sum()), box_variance(others, leaning, every.weights, self.sd)
        )
        if not noisy.variance > 0:
            return noisy.value, 0.0
        both = combine(noisy, Noisy(guess, unsure))
        # Towards the guess by a standard deviation at most, which may be wrong by as much again.
        return guess + soft(both.value - guess, both.sd), 2 * both.variance

    def facts(self) -> dict[str, Any]:
        """Return what it is, for machines."""
        return {**super().facts(), "kind": "masked grid"}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return counts of all cells, with the flat places (first column slowest) of those that stand out."""
        return {**super().arrays(), "counts": self.everywhere}

    @property
    def _which(self) -> str:
        return "that stand out of the noise"


@dataclass(frozen=True)
class MaskedGridSynopsis:
    """One fine noisy grid, and which of its cells stand out.

    Parameters
    ----------
    resolution : "theta" or int
        Cells per side: by Su et al.'s rule, or given.
    theta : float
        The constant of the rule; their grid has 10.
    """

    resolution: int | Literal["theta"] = "theta"
    theta: float = MASK_THETA

    def __post_init__(self) -> None:
        if isinstance(self.resolution, str) and self.resolution != "theta":
            raise InvalidInput(f"resolution is {self.resolution!r}; it must be 'theta' or the cells per side")
        GridSketch(self.resolution, self.theta)

    def check(self, domain: Domain) -> None:
        """Refuse a grid of too many cells from public values, before anything is spent."""
        side = self.resolution if isinstance(self.resolution, int) else 2
        most = MOST_DENSE_CELLS if isinstance(self.resolution, int) else _MOST_CELLS
        if side > most ** (1 / domain.n_columns) + 1e-9:
            raise InvalidInput(
                f"{side} cells per side in {domain.n_columns} columns are more than {most} cells; use fewer "
                "per side or fewer columns, or PrivTreeSynopsis"
            )

    def run(self, curator: Curator) -> MaskedCounts:
        """Count once, and see what stands out."""
        self.check(curator.domain)
        rows, rest = count_rows(curator)
        d, epsilon = curator.domain.n_columns, curator.effective_epsilon(share=rest)
        side = GridSketch(self.resolution, self.theta).side(rows.estimate, epsilon, d, 1, _MOST_CELLS)
        grid = Grid((side,) * d)
        found = count_masked(curator, grid, rest, rows=rows.estimate)
        return replace(found, rows_sd=rows.sd)


def count_masked(curator: Curator, grid: Grid, share: Fraction, rows: float) -> MaskedCounts:
    """Count the rows of a grid's cells, and find those that stand out of the noise.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    grid : Grid
        The cells.
    share : Fraction
        Share of the budget.
    rows : float
        Public or noisy number of rows.
    """
    answer, epsilon = curator.histogram(grid, share=share), curator.effective_epsilon(share=share)
    cells = stand_out(answer.counts.reshape(grid.shape), answer.sd, epsilon)
    return MaskedCounts(
        grid=grid,
        weights=answer.counts[cells],
        sd=answer.sd,
        domain=curator.domain,
        rows=rows,
        cells=cells,
        threshold=math.ceil(threshold(grid.n_cells, answer.sd, epsilon)),
        everywhere=answer.counts,
    )


def threshold(n_cells: int, sd: float, epsilon: float) -> float:
    """Return the universal threshold: of any number of empty cells half a noisy count passes it."""
    return max(noise_floor(n_cells, math.sqrt(2) / epsilon, HALF_A_CELL), sd)


def stand_out(counts: Array, sd: float, epsilon: float) -> Integers:
    """Return the flat indices of the cells that stand out of the noise; of the largest if none does.

    A cell is kept if its noisy count, or a bell-shaped average around it, passes the universal threshold:
    over the whole grid about one empty cell does.

    Parameters
    ----------
    counts : ndarray
        Noisy counts of a grid.
    sd : float
        Standard deviation of their noise.
    epsilon : float
        The rate of Laplace noise that spreads alike.

    Examples
    --------
    >>> counts = np.zeros((9, 9))
    >>> counts[4, 4] = 9.0
    >>> stand_out(counts, 1.0, 1.4)
    array([31, 39, 40, 41, 49])
    """
    kept = counts > threshold(counts.size, sd, epsilon)
    for bell in _BELLS:
        smooth = _smoothed(counts, bell)
        averaged = sd * _bell_norm(bell) ** counts.ndim
        kept |= smooth > noise_floor(counts.size, averaged, HALF_A_CELL, "normal")
    found = np.flatnonzero(kept)
    if len(found):
        return found
    return np.sort(np.argsort(-counts.ravel(), kind="stable")[:_MOST_FALLBACK])


def _smoothed(counts: Array, bell: float) -> Array:
    from scipy.ndimage import gaussian_filter  # not at the top: every fit would load it

    smooth: Array = gaussian_filter(counts, bell, mode="constant")
    return smooth


def _bell_norm(bell: float) -> float:
    """Return what averaging along one column makes of the standard deviation of independent noise."""
    one = np.zeros(2 * math.ceil(4 * bell) + 3)
    one[len(one) // 2] = 1.0
    return float(np.linalg.norm(_smoothed(one, bell)))
