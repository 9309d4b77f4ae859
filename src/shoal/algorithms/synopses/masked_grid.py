"""Ours: a grid finer than Su et al.'s, of which the cells that stand out of the noise are kept.

It is what KMeans starts from in few columns, released by itself. Proof: docs/proofs/masked_grid.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms.grid import MOST_DENSE_CELLS, GridSketch, effective_epsilon
from shoal.algorithms.kmeans.boxes import MASK_THETA, masked, threshold
from shoal.algorithms.shared.bounds import bounded
from shoal.algorithms.shared.row_count import count_rows
from shoal.algorithms.synopses.grid_counts import GridCounts
from shoal.algorithms.synopses.synopsis import box_variance
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.postprocess.evidence import Noisy, combine, soft
from shoal.postprocess.nearest import nearest_centre
from shoal.postprocess.weighted_kmeans import WeightedClustering
from shoal.queries import Curator, Grid

# By the rule; finer grids have to be asked for.
_MOST_CELLS = 2**18


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedCounts(GridCounts):
    """Released cells of a grid, of which those that stand out of the noise are held.

    Groups and synthetic rows are made of held cells alone, so that the noise of empty ones does not add up. A
    count of a box asks the others too.

    Parameters
    ----------
    grid, counts, sd, domain, rows, rows_sd, cells, threshold
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
    def noise(self) -> float:
        """Standard deviation of the sum of the noise of all cells, which sizes of groups are made of."""
        return self.sd * math.sqrt(self.n_cells)

    def sizes(self, found: WeightedClustering, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Estimate the rows nearest to each centre, by all cells."""
        column_scale = self.domain.column_scale
        labels = nearest_centre(self.grid.centres() * column_scale, found.centres * column_scale)
        return np.bincount(labels, self.everywhere, len(found.centres)).astype(np.float64)

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        if self.counts.max() < self.threshold or self.kept > 1.5 * self.rows:
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
            grid=self.grid, counts=self.everywhere, sd=self.sd, domain=self.domain, rows=self.rows
        )
        others, leaning = every.shares(lower, upper), every.leaning(lower, upper)
        others[self.cells] = leaning[self.cells] = 0.0
        guess, unsure = self.guess(lower, upper, share, estimate)
        noisy = Noisy(
            float((others * every.counts).sum()), box_variance(others, leaning, every.counts, self.sd)
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
        Cells a side: by Su et al.'s rule, or given.
    theta : float
        The constant of the rule; their grid has 10.
    """

    resolution: int | Literal["theta"] = "theta"
    theta: float = MASK_THETA

    def __post_init__(self) -> None:
        if isinstance(self.resolution, str) and self.resolution != "theta":
            raise InvalidInput(f"resolution is {self.resolution!r}; it must be 'theta' or the cells a side")
        GridSketch(self.resolution, self.theta)

    def check(self, domain: Domain) -> None:
        """Refuse a grid of too many cells from public values, before anything is spent."""
        side = self.resolution if isinstance(self.resolution, int) else 2
        most = MOST_DENSE_CELLS if isinstance(self.resolution, int) else _MOST_CELLS
        if side > most ** (1 / domain.n_columns) + 1e-9:
            raise InvalidInput(
                f"{side} cells a side in {domain.n_columns} columns are more than {most} cells; use fewer a "
                "side or fewer columns, or PrivTreeSynopsis"
            )

    def run(self, curator: Curator) -> MaskedCounts:
        """Estimate bounds where some are unknown, count once, and see what stands out."""
        self.check(curator.domain)
        curator = bounded(curator)
        rows, rest = count_rows(curator)
        d, epsilon = curator.domain.n_columns, effective_epsilon(curator, rest)
        side = GridSketch(self.resolution, self.theta).side(rows.estimate, epsilon, d, 1, _MOST_CELLS)
        grid = Grid((side,) * d)
        answer, cells = masked(curator, grid, rest)
        return MaskedCounts(
            grid=grid,
            counts=answer.counts[cells],
            sd=answer.sd,
            domain=curator.domain,
            rows=rows.estimate,
            rows_sd=rows.sd,
            cells=cells,
            threshold=math.ceil(threshold(grid.n_cells, answer.sd, epsilon)),
            everywhere=answer.counts,
        )
