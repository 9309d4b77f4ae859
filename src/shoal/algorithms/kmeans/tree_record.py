"""What a look has counted: boxes one inside the other, and the cells at the end of every path.

Least squares make all counts agree. "Rows x epsilon" is a number of rows over the scale of their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Booleans, Integers
from shoal.algorithms.shared.clustering import RowCount
from shoal.algorithms.synopses.privtree import tree_axes
from shoal.postprocess.bells import Sums, bell_sums
from shoal.postprocess.mixture import NoisyBoxes
from shoal.queries import BEYOND, Curator, Nodes, PartCounts

# Up to this many columns boxes have parts of parts; in more, these would be empty.
FEW_COLUMNS = 3
# Rows x epsilon of a cell; the most cells for a group's rows, but as many as the next may always be (the one
# after it in more than three columns); levels of cells below a box.
GRAIN, _CELLS_PER_GROUP, _LEAST_CELLS, _LEAST_CELLS_MORE, _MOST_CELL_LEVELS = 2.5, 96.0, 64.0, 16.0, 13

# The tree reaches below the lower bounds by this many 64ths: bounds that are far too wide mostly have rows in
# their middle, where halves would meet at every level, and 2^d boxes hold what one could. 0 is then at
# 19 / 35 of every column, which is near no middle of any box that is much wider than the rows.
_BEYOND = 6
# A cell that is counted again is counted in parts where it has this part of an even group's rows.
_PARTED = 0.25
# A table is small with fewer rows x epsilon than the first, in no more columns than the second.
_SMALL, _SMALL_COLUMNS = 80.0, 6
# Rows that are in a box which shows none, in standard deviations of its noise: the mean of what is above
# nothing of a normal number. Many cells would hide a few rows from a sum over all of them.
_HIDDEN_ROWS = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Frontier:
    """Boxes that are not divided, and what is believed of them."""

    starts: Integers
    levels: Integers
    rows: Array
    sd: Array
    left: Array
    worth: Array
    verified: Booleans
    ids: Integers

    def chosen(self, which: Booleans | Integers) -> Frontier:
        """Return some of them."""
        return Frontier(*(values[which] for values in self.arrays))

    def joined(self, more: Frontier) -> Frontier:
        """Return them with others."""
        return Frontier(*(np.concatenate(both) for both in zip(self.arrays, more.arrays, strict=True)))

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All that is known of them, in the order of the fields."""
        return self.starts, self.levels, self.rows, self.sd, self.left, self.worth, self.verified, self.ids


@dataclass(frozen=True, eq=False)
class Cells:
    """Released cells that fill a space of few columns.

    Parameters
    ----------
    boxes : NoisyBoxes
        Cells in the units of distance: scaled columns times `column_scale`.
    levels : ndarray of int64
        How often each was halved: those of one level are alike.
    total, total_sd : float
        Rows of all, and the standard deviation of their noise.
    whole : NoisyBoxes, optional
        The same boxes as they were halved, where some end at the bounds: sums around boxes want these.
    """

    boxes: NoisyBoxes
    levels: Integers
    total: float
    total_sd: float
    whole: NoisyBoxes | None = None

    def sums(self, counts: Array, width: float, among: Booleans | None = None) -> Sums:
        """Sum counts of the boxes around every one of them: distances are whole eighths of sides."""
        whole = self.boxes if self.whole is None else self.whole
        return bell_sums(replace(whole, counts=counts), self.levels, width, among)


@dataclass(frozen=True, eq=False)
class Look(Cells):
    """Released cells, fine where rows are, whose counts agree with those of all boxes around them.

    Parameters
    ----------
    boxes, levels, total, total_sd, whole
        As of :class:`Cells`.
    record : TreeRecord
        All that was counted, to count again.
    coarse : bool
        Whether cells are few and wide, because the table is small: no group can be narrower than one.
    unspent : Fraction
        What was left of its share of the budget, because cells had enough.
    """

    record: TreeRecord = field(kw_only=True)
    coarse: bool = False
    unspent: Fraction = Fraction(0)


@dataclass(frozen=True)
class CountNoise:
    """How noisy a count is for a share of the budget: as Laplace noise of some rate would be."""

    whole: float
    power: float

    @classmethod
    def of(cls, curator: Curator) -> CountNoise:
        """Read it off a share that all budgets can draw."""
        sd = curator.count_sd(share=Fraction(1, 64))
        power = 1.0 if curator.budget.currency == "epsilon" else 0.5
        return cls(math.sqrt(2) / max(sd, 1e-9) * 64**power, power)

    def rate(self, share: Array) -> Array:
        """Return the rate that a share buys."""
        return np.asarray(self.whole * np.maximum(share, 0.0) ** self.power)

    def share(self, rate: Array) -> Array:
        """Return the share that a rate costs."""
        return np.asarray((rate / self.whole) ** (1 / self.power))


class TreeRecord:
    """All boxes that were counted, each after the one around it, and how their counts are made to agree."""

    def __init__(self, curator: Curator, rows: RowCount, share: Fraction) -> None:
        scale = curator.domain.column_scale
        self.axes = tree_axes(scale)
        self.depth, self.n_columns = len(self.axes), len(scale)
        self.noise = CountNoise.of(curator)
        # Rows x epsilon of the whole table.
        self.told = rows.estimate * float(self.noise.rate(np.array(float(share))))
        # Of a small table each column is halved once, and rows around the middle fill all halves alike.
        self.small = self.told < _SMALL and self.n_columns <= _SMALL_COLUMNS
        self._beyond = 0 if self.small else _BEYOND
        halved = np.zeros((self.depth + 1, self.n_columns))
        for level, axis in enumerate(self.axes):
            halved[level + 1] = halved[level]
            halved[level + 1, axis] += 1
        reach = 2.0 * self._beyond / BEYOND
        self.widths = (2.0 + reach) * scale * 0.5**halved
        self.width2 = (self.widths**2).sum(axis=1) / 12
        self._scale, self._origin = scale, -(1.0 + reach) * scale
        variance = rows.sd**2 if rows.sd else 1e-6  # a public number is as good as exact
        self._counts, self._variances = [np.array([rows.estimate])], [np.array([variance])]
        self._parents, self._n = [np.zeros(1, np.int64)], 1
        self._public = rows.sd == 0.0
        self._leaves: Frontier | None = None
        self._deeper: Integers = np.zeros(0, np.int64)
        self._cells: Array = np.zeros(0)
        self._cell_variances: Array = np.zeros(0)
        self._noise: Array = np.zeros(0)  # that is left in counts of cells

    def corners(self, starts: Integers, levels: Integers) -> tuple[Array, Array]:
        """Return the corners of boxes, in the units of distance."""
        lower = np.tile(self._origin, (len(starts), 1)).astype(np.float64)
        for level, axis in enumerate(self.axes[: int(levels.max(initial=0))]):
            high = (levels > level) & ((starts >> (self.depth - 1 - level)) & 1 == 1)
            lower[high, axis] += self.widths[level + 1, axis]
        return lower, lower + self.widths[levels]

    def variances(self, boxes: Frontier) -> Array:
        """Return the variance of all rows of boxes, by column, in the units of distance."""
        middles = self.corners(boxes.starts, boxes.levels)[0] + self.widths[boxes.levels] / 2
        rows, total = boxes.rows[:, np.newaxis], max(float(boxes.rows.sum()), 1.0)
        away = (middles - (rows * middles).sum(axis=0) / total) ** 2
        return np.asarray((rows * (away + self.widths[boxes.levels] ** 2 / 12)).sum(axis=0) / total)

    def spread(self, boxes: Frontier) -> float:
        """Return the standard deviation of all rows of boxes in a column, in half widths of the domain."""
        return math.sqrt(float(self.variances(boxes).sum() / max(float((self._scale**2).sum()), 1e-300)))

    def below(self, starts: Integers, levels: Integers, deeper: Integers) -> tuple[Integers, Integers]:
        """Return the cells below boxes."""
        sizes = np.left_shift(np.int64(1), deeper)
        of = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        under = (levels + deeper)[of]
        return starts[of] + np.left_shift(place, self.depth - under), under

    def cell_levels(self, boxes: Frontier, n_rows: float, n_clusters: int) -> Integers:
        """Return how many levels below a box its cells lie, if all that is left is spent on them."""
        d = self.n_columns
        # What noise may hide counts as rows: as much as there is when it hides any, on average.
        rows = np.maximum(boxes.rows, _HIDDEN_ROWS * boxes.sd)
        # Also of a whole table that is too small to be counted.
        n_rows = max(n_rows, float(np.maximum(boxes.rows, boxes.sd).max(initial=0.0)))
        fine = np.maximum(rows * self.noise.rate(boxes.left) / GRAIN, 1.0) ** (2 * d / (2 + d))
        least = _LEAST_CELLS if d <= FEW_COLUMNS else _LEAST_CELLS_MORE
        most = np.maximum(_CELLS_PER_GROUP * n_clusters * rows / n_rows, least)
        levels = np.rint(np.log2(np.minimum(fine, most))).astype(np.int64)
        return np.clip(levels, 0, np.minimum(_MOST_CELL_LEVELS, self.depth - boxes.levels))

    def ask(
        self, curator: Curator, starts: Integers, levels: Integers, deeper: Integers, costs: Array
    ) -> PartCounts:
        """Count the cells below boxes."""
        return curator.parts(self.axes, Nodes(starts, levels), deeper, shares=costs, beyond=self._beyond)

    def add(self, counts: Array, variances: Array, parents: Integers) -> Integers:
        """Write down the parts of boxes, and return their numbers."""
        ids = np.arange(self._n, self._n + len(counts))
        self._n += len(counts)
        self._counts.append(counts)
        self._variances.append(variances)
        self._parents.append(parents)
        return ids

    def alike_parts(self, n_rows: float) -> float:
        """Return how many parts, as full as each other, would be as uneven as those counted last."""
        counts, variances = self._counts[-1], self._variances[-1]
        # Squares of noise add up, and would make rows of one part look like rows of many, or of none.
        squares = float((counts**2 - variances).sum())
        return n_rows**2 / squares if squares > 0 else math.inf

    def count_cells(self, curator: Curator, leaves: Frontier, deeper: Integers) -> None:
        """Spend what is left on every path on the cells of its last box, some levels below it."""
        self._leaves, self._deeper = leaves, deeper
        answer = self.ask(curator, leaves.starts, leaves.levels, self._deeper, leaves.left)
        self._cells = answer.counts
        self._cell_variances = np.repeat(np.asarray(answer.sd) ** 2, np.left_shift(1, self._deeper))
        self._noise = self._cell_variances

    def count_cells_again(self, curator: Curator, share: Fraction, n_rows: float, n_clusters: int) -> None:
        """Count the cells once more, in parts where a group may be in one.

        Cells are as fine as rows that lie evenly in the box above could tell; where they do not, one may hold
        all of a group. A cell of fewer rows is counted whole: its parts could not be told from noise.

        Parameters
        ----------
        curator : Curator
            Answers with noise.
        share : Fraction
            Share of the budget, on every path.
        n_rows : float
            All rows.
        n_clusters : int
            How many groups cells should tell apart.
        """
        assert self._leaves is not None
        leaves, (counts, *_) = self._leaves, self.agreeing()
        starts, levels = self.below(leaves.starts, leaves.levels, self._deeper)
        cells = Frontier(
            starts=starts,
            levels=levels,
            rows=np.maximum(counts, 0.0),
            sd=np.sqrt(self._cell_variances),
            left=np.full(len(starts), float(share) * (1 - 2**-30)),
            worth=np.zeros(len(starts)),
            verified=np.zeros(len(starts), bool),
            ids=self.add(self._cells, self._cell_variances, self._parents_of_cells),
        )
        full = cells.rows > _PARTED * n_rows / n_clusters
        before = self._cell_variances
        self.count_cells(curator, cells, np.where(full, self.cell_levels(cells, n_rows, n_clusters), 0))
        parts = np.left_shift(1, self._deeper)
        # What the cell was counted before takes off the noise of a part.
        noise, before, parts = self._cell_variances, np.repeat(before, parts), np.repeat(parts, parts)
        self._noise = noise - noise**2 / (parts * noise + before)

    def agreeing(self) -> tuple[Array, float, float]:
        """Make all counts agree: return those of the cells, the total, and its variance."""
        assert self._leaves is not None
        return least_squares(
            [*self._counts, self._cells],
            [*self._variances, self._cell_variances],
            [*self._parents, self._parents_of_cells],
        )

    @property
    def _parents_of_cells(self) -> Integers:
        assert self._leaves is not None
        return np.repeat(self._leaves.ids, np.left_shift(1, self._deeper))

    def look(self) -> Look:
        """Return the cells, with counts that agree."""
        assert self._leaves is not None
        leaves = self._leaves
        counts, total, variance = self.agreeing()
        starts, levels = self.below(leaves.starts, leaves.levels, self._deeper)
        lower, upper = self.corners(starts, levels)
        within = ((upper > -self._scale) | (self._scale == 0)).all(axis=1)  # beyond the bounds no rows are
        whole = NoisyBoxes(lower[within], upper[within], counts[within], self._noise[within])
        boxes = replace(whole, lower=np.maximum(whole.lower, -self._scale))
        total_sd = 0.0 if self._public else math.sqrt(variance)
        return Look(boxes, levels[within], total, total_sd, whole, record=self)


def least_squares(
    counts: list[Array], variances: list[Array], parents: list[Integers]
) -> tuple[Array, float, float]:
    """Return counts of the last boxes that agree with all others, the total, and its variance.

    Upwards a box's own count and the sum of its parts are weighed by their noise; downwards what is still
    missing is shared among the parts by theirs (Hay, Rastogi, Miklau, Suciu 2010, for any tree and noise).

    Parameters
    ----------
    counts, variances, parents : list of ndarray
        Of boxes in the order in which they were counted; the first is the whole, the last have no parts.

    Examples
    --------
    >>> counts, variances = [np.array([10.0]), np.array([4.0, 4.0])], [np.ones(1), np.ones(2)]
    >>> best, total, variance = least_squares(counts, variances, [np.zeros(1, int), np.zeros(2, int)])
    >>> best.round(3), round(total, 3), round(variance, 3)
    (array([4.667, 4.667]), 9.333, 0.667)
    """
    first = np.cumsum([0, *map(len, counts)])
    sums, spread = np.zeros(first[-1]), np.zeros(first[-1])
    best, noise = np.concatenate(counts), np.concatenate(variances)
    for g in range(len(counts) - 1, -1, -1):
        here = slice(first[g], first[g + 1])
        if g < len(counts) - 1:
            divided = spread[here] > 0
            weight = np.where(divided, spread[here] / (spread[here] + noise[here]), 1.0)
            best[here] = weight * best[here] + (1 - weight) * sums[here]
            noise[here] = np.where(divided, (1 - weight) * spread[here], noise[here])
        if g:
            np.add.at(sums, parents[g], best[here])
            np.add.at(spread, parents[g], noise[here])
    total, variance = float(best[0]), float(noise[0])
    for g in range(1, len(counts)):
        here = slice(first[g], first[g + 1])
        above = parents[g]
        best[here] += (best[above] - sums[above]) * noise[here] / spread[above]
    return best[first[-2] :], total, variance
