"""Growing a tree of random cuts from noisy counts: which cells to cut, and where.

A level asks for one histogram: the slabs of every cell that is large enough, along the level's direction. It
costs what a count of the two halves would cost, and it shows where to cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal._typing import Array
from shoal.domain import STEPS
from shoal.postprocess.evidence import Noisy, combine, upper_bound
from shoal.queries import Curator, Hyperplanes
from shoal.queries.partitions.hyperplanes import NO_CUT

# Slabs of a cell: more tell better where to cut, and have more noise together.
_SLABS = 16
# They reach this many standard deviations of all rows to each side of the mean.
_REACH = 2.5
# While no spread is known, cuts are at 2, sqrt(2), 1, ... 2^-6 half widths to each side of the mean.
_RINGS = 2.0 ** (np.arange(-12, 3) / 2)
_ROUGH = np.concatenate([-_RINGS[::-1], [0.0], _RINGS])
# Whole coefficients of a direction of length one.
_UNIT = 2**14


class Direction(NamedTuple):
    """A direction to cut along: its index, its coefficients, and where the mean of all rows lies along it."""

    axis: int
    along: Array
    middle: float


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a tree, and what released counts say of each.

    Parameters
    ----------
    tree : Hyperplanes
        The tree as it is cut so far.
    low, high : ndarray of shape (n_cells, n_directions)
        Where each cell begins and ends along each direction; infinite where it was not cut.
    counts : ndarray of shape (n_cells,)
        Noisy numbers of rows.
    variances : ndarray of shape (n_cells,)
        Variance of their noise.
    """

    tree: Hyperplanes
    low: Array
    high: Array
    counts: Array
    variances: Array

    @classmethod
    def root(cls, n_columns: int, n_directions: int, n_rows: float) -> Cells:
        """Return all rows as one cell, whose number is known from elsewhere."""
        nowhere = np.full((1, n_directions), np.inf)
        tree = Hyperplanes(np.empty((0, n_columns), dtype=np.int64), ())
        return cls(tree, -nowhere, nowhere, np.array([n_rows]), np.array([np.inf]))

    def edges(self, direction: Direction, spread: float | None) -> Array:
        """Return the places where slabs meet along a direction, one line per cell.

        Parameters
        ----------
        direction : Direction
            Along which to cut.
        spread : float, optional
            Standard deviation of all rows along a direction, if it is known.
        """
        axis, _, middle = direction
        if spread is None:
            return np.repeat((middle + _ROUGH)[np.newaxis, :], len(self.counts), axis=0)
        low, high, reach = self.low[:, axis], self.high[:, axis], _REACH * spread
        first = np.where(np.isfinite(low), low, np.minimum(middle, high) - reach)
        last = np.where(np.isfinite(high), high, np.maximum(middle, low) + reach)
        steps = np.arange(1, _SLABS) / _SLABS
        return np.asarray(first[:, np.newaxis] + (last - first)[:, np.newaxis] * steps)

    def grow(
        self, curator: Curator, direction: Direction, edges: Array, least: float, share: Fraction
    ) -> tuple[Cells, float | None]:
        """Count the slabs of large cells, and cut those cells in two.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        direction : Direction
            Along which to cut.
        edges : ndarray of shape (n_cells, n_edges)
            Where slabs meet.
        least : float
            Rows that both parts of a cell must have, by their noisy counts.
        share : Fraction
            Share of the budget.

        Returns
        -------
        cells : Cells
            One level deeper.
        square : float or None
            Mean square distance of rows from the middle along the direction, rather too large than too small;
            None if no cell was large.
        """
        large = self.counts >= 2 * least
        places = np.rint(edges * (_UNIT * STEPS)).astype(np.int64)
        coefficients = np.rint(direction.along * _UNIT).astype(np.int64)
        asked = np.where(large[:, np.newaxis], places, NO_CUT)
        answer = curator.histogram(self.tree.below(coefficients, asked), share=share)
        slabs = np.where(large, edges.shape[1] + 1, 1)
        parts = np.split(answer.counts, np.cumsum(slabs)[:-1])
        noise = max(answer.sd, 1e-9) ** 2  # an absurd budget has no noise left
        cuts = np.full((len(large), 1), NO_CUT)
        grown: list[tuple[Array, Array, float, float]] = []
        for i, counts in enumerate(parts):
            at = best_cut(edges[i], counts, least) if large[i] else None
            if at is None:
                before = Noisy(float(self.counts[i]), float(self.variances[i]))
                both = combine(before, Noisy(float(counts.sum()), noise * len(counts)))
                grown.append((self.low[i], self.high[i], both.value, both.variance))
                continue
            cuts[i] = places[i, at]
            low, high = self.low[i].copy(), self.high[i].copy()
            low[direction.axis] = high[direction.axis] = edges[i, at]
            left, right = float(counts[: at + 1].sum()), float(counts[at + 1 :].sum())
            grown.append((self.low[i], high, left, noise * (at + 1)))
            grown.append((low, self.high[i], right, noise * (len(counts) - at - 1)))
        lows, highs, totals, variances = (np.array(values) for values in zip(*grown, strict=True))
        cells = Cells(self.tree.below(coefficients, cuts), lows, highs, totals, variances)
        if not large.any():
            return cells, None
        counted = np.concatenate([parts[i] for i in np.flatnonzero(large)])
        away = np.concatenate([middles(line) for line in edges[large]]) - direction.middle
        # The most that it could be: noise must not make rows look close together.
        seen = Noisy.of(float((counted * away**2).sum()), answer.sd * math.sqrt(float((away**4).sum())))
        most = upper_bound(seen)
        return cells, float(most / max(counted.sum(), 1.0))


def best_cut(edges: Array, counts: Array, least: float) -> int | None:
    """Return the edge that splits a cell's rows into the two tightest parts, None if one would be too small.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,)
        Where slabs meet.
    counts : ndarray of shape (n_edges + 1,)
        Noisy counts of the slabs.
    least : float
        Rows that both parts must have.

    Examples
    --------
    >>> best_cut(np.array([-0.5, 0.0, 0.5]), np.array([20.0, -1.0, 8.0, 9.0]), 5.0)
    0
    """
    at = middles(edges)
    left, moment = np.cumsum(counts)[:-1], np.cumsum(counts * at)
    right = counts.sum() - left
    fits = (left >= least) & (right >= least)
    if not fits.any():
        return None
    # Noise may push a mean out of its part, where it cannot be.
    low = np.clip(moment[:-1] / np.maximum(left, 1.0), at[0], edges)
    high = np.clip((moment[-1] - moment[:-1]) / np.maximum(right, 1.0), edges, at[-1])
    gain = left * right / np.maximum(left + right, 1.0) * (high - low) ** 2
    return int(np.argmax(np.where(fits, gain, -np.inf)))


def middles(edges: Array) -> Array:
    """Return the middle of every slab; those at the ends are taken to be as wide as their neighbours."""
    widths = np.diff(edges)
    return np.concatenate([[edges[0] - widths[0] / 2], edges[:-1] + widths / 2, [edges[-1] + widths[-1] / 2]])
