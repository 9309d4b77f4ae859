"""A look that adapts: boxes are halved where rows are, and the budget is decided path by path.

A row loses only what is spent on the boxes that it lies in. So a crowded box is divided for almost nothing,
wherever it is, and what is left on its path counts its cells finely; loose bounds cost a few cheap levels.
Then least squares make all counts agree. What is asked next depends on released counts alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Booleans, Integers
from shoal.algorithms.shared.clustering import RowCount
from shoal.algorithms.synopses.privtree import tree_axes
from shoal.postprocess.mixture import NoisyBoxes
from shoal.queries import Curator, Nodes, PartCounts

# "Rows x epsilon" below is a number of rows over the scale of their Laplace noise: 24 of them are known to
# 6 %. The constants were measured by benchmarks/flagship_dev.py on families with seeds of their own.
# A division is worth noise of a part's count of 1 / 17 of the box's rows (1 / 8 in more than three columns,
# if 16 parts could be divided again), and at least this much of its path.
_PROBE, _PROBE_MORE, _LEAST_PROBE_SHARE = 24.0, 12.0, 0.04
# It may cost the first part of what is left on the path where rows seem to lie evenly, and up to the second
# where the boxes beside it are empty, because then rows most likely crowd within it as well; also where more
# than this many groups' worth is at stake. Those have at least this part of the rows x epsilon of a division.
_LEAST_WORTH, _MOST_WORTH, _DEAR_STAKE, _LEAST_PROBE = 0.12, 0.35, 2.0, 5 / 12
# Levels of a division: 16 parts. In more than three columns it is 4, or parts of parts would be empty; but 16
# where a division is worth more than this share, because rows crowd in one part of 4 or nothing is known: a
# level costs the same whether it comes alone or with others. A box that may hide rows is counted anew in 4,
# for the last part of its path.
FEW_COLUMNS, _DEEPER, _DEEPER_MORE, _CROWDED, _VERIFY_DEEPER, _VERIFY = 3, 4, 2, 0.2, 2, 0.3
# A box surely holds rows above this many standard deviations.
_SURE = 3.0
# At stake is what rows x width^2 of a box are of a group's: above the first a box is divided (the second in
# more than three columns), above the third a box that may hide rows is counted anew.
_STAKE, _STAKE_MORE, _HIDDEN = 1 / 16, 1 / 64, 1 / 64
# Boxes of this part of the rows, the fullest first, say what a group has: the others may be noise.
_COVER = 0.8
# Rows x epsilon of a cell; the most cells for a group's rows, but as many as the next may always be (the one
# after it in more than three columns); levels of cells below a box.
GRAIN, _CELLS_PER_GROUP, _LEAST_CELLS, _LEAST_CELLS_MORE, _MOST_CELL_LEVELS = 2.5, 96.0, 64.0, 16.0, 13
# Passes over the rows; each divides at least one box, and paths end by themselves long before.
_MOST_PASSES = 64


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
    """

    boxes: NoisyBoxes
    levels: Integers
    total: float
    total_sd: float


@dataclass(frozen=True, eq=False)
class Look(Cells):
    """Released cells, fine where rows are, whose counts agree with those of all boxes around them.

    Parameters
    ----------
    boxes, levels, total, total_sd
        As of :class:`Cells`.
    record : TreeRecord
        All that was counted, to count again.
    """

    record: TreeRecord


def look(curator: Curator, rows: RowCount, n_clusters: int, share: Fraction) -> Look:
    """Divide where rows are, then count cells.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    rows : RowCount
        How many there are.
    n_clusters : int
        How many groups the cells should tell apart.
    share : Fraction
        Share of the budget.
    """
    record = TreeRecord(curator, rows, share)
    left = np.array([float(share) * (1 - 2**-30)])
    frontier = Frontier(
        starts=np.zeros(1, np.int64),
        levels=np.zeros(1, np.int64),
        rows=np.array([rows.estimate]),
        sd=np.array([rows.sd]),
        left=left,
        worth=np.full(1, _MOST_WORTH),  # nothing is known of where rows lie
        verified=np.zeros(1, bool),
        ids=np.zeros(1, np.int64),
    )
    for _ in range(_MOST_PASSES):
        deeper, costs, anew = _divisions(frontier, record, rows.estimate, n_clusters)
        now = deeper > 0
        if not now.any():
            break
        parts = _divide(curator, record, frontier.chosen(now), deeper[now], costs[now], anew[now])
        frontier = frontier.chosen(~now).joined(parts)
    order = np.argsort(frontier.starts)
    record.count_cells(curator, frontier.chosen(order), rows.estimate, n_clusters)
    return record.look()


def look_again(curator: Curator, seen: Look, share: Fraction) -> Look:
    """Count the same cells once more, and return what both looks say together."""
    seen.record.count_cells_again(curator, share)
    return seen.record.look()


def _divisions(
    frontier: Frontier, record: TreeRecord, n_rows: float, n_clusters: int
) -> tuple[Integers, Array, Booleans]:
    """Return how many levels each box is divided by now, for which share, and if it is only counted anew."""
    noise, width2 = record.noise, record.width2[frontier.levels]
    group = _stake_of_a_group(frontier, record, n_rows, n_clusters)
    at_stake = np.maximum(frontier.rows + frontier.sd, 1.0) * width2
    sure = (frontier.rows > _SURE * frontier.sd) | (frontier.levels == 0)
    room = record.depth - frontier.levels
    rates = noise.rate(frontier.left)
    few = record.n_columns <= FEW_COLUMNS
    wanted = _PROBE_MORE if record.divides_again else _PROBE
    probe = np.maximum(wanted / np.maximum(frontier.rows, 1.0), _LEAST_PROBE_SHARE * rates)
    worth = np.where(at_stake > _DEAR_STAKE * group, _MOST_WORTH, frontier.worth)
    least = np.where(worth > _LEAST_WORTH, _LEAST_PROBE * wanted, wanted * (1 - 1e-9))
    probe = np.minimum(probe, worth * rates)
    divided = sure & (at_stake > (_STAKE if few else _STAKE_MORE) * group) & (frontier.rows * probe >= least)
    grain = 0.5 ** (2 * record.cell_levels(frontier, n_rows, n_clusters) / record.n_columns)
    hiding = ~sure & ~frontier.verified & (at_stake * grain > _HIDDEN * group)
    able = (frontier.left > 0) & (room > 0)
    spent = np.where(divided, probe, _VERIFY * rates)
    crowded = record.divides_again & (frontier.worth > _CROWDED)
    levels = np.where(few | crowded, _DEEPER, _DEEPER_MORE)
    deeper = np.where(divided, levels, np.where(hiding, _VERIFY_DEEPER, 0))
    deeper = np.where(able, np.minimum(deeper, room), 0)
    return deeper.astype(np.int64), noise.share(spent), ~divided


def _stake_of_a_group(frontier: Frontier, record: TreeRecord, n_rows: float, n_clusters: int) -> float:
    """Return what one of k alike groups has of rows x width^2: the variance of all that is believed."""
    believed = frontier.rows.copy()
    order = np.argsort(-believed, kind="stable")
    before = np.cumsum(believed[order]) - believed[order]
    believed[order[before >= _COVER * n_rows]] = 0.0
    middles = record.corners(frontier.starts, frontier.levels)[0] + record.widths[frontier.levels] / 2
    total = max(float(believed.sum()), 1.0)
    away = ((middles - (believed[:, np.newaxis] * middles).sum(axis=0) / total) ** 2).sum(axis=1)
    variance = float((believed * (away + record.width2[frontier.levels])).sum())
    return variance / math.pow(n_clusters, 2 / record.n_columns)


def _divide(
    curator: Curator,
    record: TreeRecord,
    nodes: Frontier,
    deeper: Integers,
    costs: Array,
    verified: Booleans,
) -> Frontier:
    """Count the parts of boxes; believe what agrees with the box, drawn towards even."""
    answer = record.ask(curator, nodes.starts, nodes.levels, deeper, costs)
    sizes = np.left_shift(np.int64(1), deeper)
    of = np.repeat(np.arange(len(sizes)), sizes)
    first = answer.offsets[:-1]
    variance = np.asarray(answer.sd) ** 2

    def total(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, first))

    missing = (nodes.rows - total(answer.counts)) * variance / (variance * sizes + nodes.sd**2)
    counts = answer.counts + missing[of]
    even = np.maximum(total(counts), 0.0) / sizes
    scatter = np.maximum(total((counts - even[of]) ** 2), 1e-9)
    # James and Stein: parts that differ by no more than their noise are taken to be even.
    trust = np.where(sizes > 4, np.maximum(0.0, 1 - (sizes - 3) * variance / scatter), 1.0)
    believed = np.maximum(even[of] + trust[of] * (counts - even[of]), 0.0)
    # How many parts, of 16, as full as each other would be as uneven as these.
    crowded = 16 / sizes * total(believed) ** 2 / np.maximum(total(believed**2), 1e-9)
    starts, levels = record.below(nodes.starts, nodes.levels, deeper)
    ids = record.add(answer.counts, variance[of], nodes.ids[of])
    return Frontier(
        starts=starts,
        levels=levels,
        rows=believed,
        sd=np.sqrt(variance)[of],
        left=(nodes.left - costs)[of],
        worth=np.clip(_LEAST_WORTH * 8 / np.maximum(crowded, 1.0), _LEAST_WORTH, _MOST_WORTH)[of],
        verified=np.repeat(verified, sizes),
        ids=ids,
    )


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
        # Whether 16 even parts of all rows could be divided again: if not, a division is for its own sake.
        told = rows.estimate * float(self.noise.rate(np.array(float(share))))
        self.divides_again = self.n_columns > FEW_COLUMNS and told >= _PROBE_MORE * 2**_DEEPER
        halved = np.zeros((self.depth + 1, self.n_columns))
        for level, axis in enumerate(self.axes):
            halved[level + 1] = halved[level]
            halved[level + 1, axis] += 1
        self.widths = 2.0 * scale * 0.5**halved
        self.width2 = (self.widths**2).sum(axis=1) / 12
        self._scale = scale
        variance = rows.sd**2 if rows.sd else 1e-6  # a public number is as good as exact
        self._counts, self._variances = [np.array([rows.estimate])], [np.array([variance])]
        self._parents, self._n = [np.zeros(1, np.int64)], 1
        self._public = rows.sd == 0.0
        self._leaves: Frontier | None = None
        self._deeper: Integers = np.zeros(0, np.int64)
        self._cells: Array = np.zeros(0)
        self._cell_variances: Array = np.zeros(0)

    def corners(self, starts: Integers, levels: Integers) -> tuple[Array, Array]:
        """Return the corners of boxes, in the units of distance."""
        lower = np.tile(-self._scale, (len(starts), 1)).astype(np.float64)
        for level, axis in enumerate(self.axes[: int(levels.max(initial=0))]):
            high = (levels > level) & ((starts >> (self.depth - 1 - level)) & 1 == 1)
            lower[high, axis] += self.widths[level + 1, axis]
        return lower, lower + self.widths[levels]

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
        # What noise may hide counts as rows, of a whole table that is too small to be counted too.
        rows = np.maximum(boxes.rows, boxes.sd)
        n_rows = max(n_rows, float(rows.max(initial=0.0)))
        fine = np.maximum(rows * self.noise.rate(boxes.left) / GRAIN, 1.0) ** (2 * d / (2 + d))
        least = _LEAST_CELLS if d <= FEW_COLUMNS else _LEAST_CELLS_MORE
        most = np.maximum(_CELLS_PER_GROUP * n_clusters * rows / n_rows, least)
        levels = np.rint(np.log2(np.minimum(fine, most))).astype(np.int64)
        return np.clip(levels, 0, np.minimum(_MOST_CELL_LEVELS, self.depth - boxes.levels))

    def ask(
        self, curator: Curator, starts: Integers, levels: Integers, deeper: Integers, costs: Array
    ) -> PartCounts:
        """Count the cells below boxes."""
        return curator.parts(self.axes, Nodes(starts, levels), deeper, shares=costs)

    def add(self, counts: Array, variances: Array, parents: Integers) -> Integers:
        """Write down the parts of boxes, and return their numbers."""
        ids = np.arange(self._n, self._n + len(counts))
        self._n += len(counts)
        self._counts.append(counts)
        self._variances.append(variances)
        self._parents.append(parents)
        return ids

    def count_cells(self, curator: Curator, leaves: Frontier, n_rows: float, n_clusters: int) -> None:
        """Spend what is left on every path on the cells of its last box."""
        self._leaves, self._deeper = leaves, self.cell_levels(leaves, n_rows, n_clusters)
        answer = self.ask(curator, leaves.starts, leaves.levels, self._deeper, leaves.left)
        self._cells = answer.counts
        self._cell_variances = np.repeat(np.asarray(answer.sd) ** 2, np.left_shift(1, self._deeper))

    def count_cells_again(self, curator: Curator, share: Fraction) -> None:
        """Count the same cells for one more share; both counts weigh by their noise."""
        assert self._leaves is not None
        leaves = self._leaves
        costs = np.full(len(leaves.starts), float(share) * (1 - 2**-30))
        answer = self.ask(curator, leaves.starts, leaves.levels, self._deeper, costs)
        variance = np.repeat(np.asarray(answer.sd) ** 2, np.left_shift(1, self._deeper))
        weight = self._cell_variances / (self._cell_variances + variance)
        self._cells = (1 - weight) * self._cells + weight * answer.counts
        self._cell_variances = self._cell_variances * variance / (self._cell_variances + variance)

    def look(self) -> Look:
        """Make all counts agree, and return the cells."""
        assert self._leaves is not None
        leaves = self._leaves
        of = np.repeat(leaves.ids, np.left_shift(1, self._deeper))
        counts, total, variance = least_squares(
            [*self._counts, self._cells],
            [*self._variances, self._cell_variances],
            [*self._parents, of],
        )
        starts, levels = self.below(leaves.starts, leaves.levels, self._deeper)
        lower, upper = self.corners(starts, levels)
        boxes = NoisyBoxes(lower, upper, counts, self._cell_variances)
        return Look(boxes, levels, total, 0.0 if self._public else math.sqrt(variance), self)


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
