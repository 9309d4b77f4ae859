"""A look that adapts: boxes are halved where rows are, and the budget is decided path by path.

A row loses only what is spent on the boxes that it lies in. So a crowded box is divided for almost nothing,
wherever it is, and what is left on its path counts its cells finely; loose bounds cost a few cheap levels.
Then least squares make all counts agree. What is asked next depends on released counts alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal._typing import Array, Booleans, Integers
from shoal.algorithms.kmeans.tree_record import FEW_COLUMNS, Frontier, Look, TreeRecord
from shoal.algorithms.shared.clustering import RowCount
from shoal.queries import Curator

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
_DEEPER, _DEEPER_MORE, _CROWDED, _VERIFY_DEEPER, _VERIFY = 4, 2, 0.2, 2, 0.3
# Of a small table 2 cells per column, and at least 16, are counted for the first part of the path, or at once
# for all of it with fewer rows x epsilon than the second; in up to 6 columns, that is 64.
_FIRST, _TINY = 0.25, 32.0
# A box surely holds rows above this many standard deviations.
_SURE = 3.0
# At stake is what rows x width^2 of a box are of a group's: above the first a box is divided (the second in
# more than three columns), above the third a box that may hide rows is counted anew.
_STAKE, _STAKE_MORE, _HIDDEN = 1 / 16, 1 / 64, 1 / 64
# Boxes of this part of the rows, the fullest first, say what a group has: the others may be noise.
_COVER = 0.8
# Rows whose standard deviation in a column is above this part of half of its width fill their bounds. What is
# left unspent there is a multiple of one over the second, which floats hold exactly.
_FILLED, _UNITS = 0.15, 2**20
# Passes over the rows; each divides at least one box, and paths end by themselves long before.
_MOST_PASSES = 64


def look(
    curator: Curator, rows: RowCount, n_clusters: int, share: Fraction, enough: Fraction | None = None
) -> Look:
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
    enough : Fraction, optional
        Share that is enough where rows fill their bounds: to find them in wide ones takes more.
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
    if record.small:
        first = min(max(record.n_columns, _DEEPER), record.depth)
        if record.told >= _TINY:
            part = record.noise.share(_FIRST * record.noise.rate(left))
            frontier = _divide(curator, record, frontier, np.array([first]), part, np.zeros(1, bool))
            first = 0
        # A small table is divided further only where groups must share a box.
        if record.told < _TINY or record.alike_parts(rows.estimate) >= n_clusters:
            record.count_cells(curator, frontier, np.full(len(frontier.levels), first))
            return replace(record.look(), coarse=True)
    for _ in range(_MOST_PASSES):
        deeper, costs, anew = _divisions(frontier, record, rows.estimate, n_clusters)
        now = deeper > 0
        if not now.any():
            break
        parts = _divide(curator, record, frontier.chosen(now), deeper[now], costs[now], anew[now])
        frontier = frontier.chosen(~now).joined(parts)
    leaves = frontier.chosen(np.argsort(frontier.starts))
    unspent = Fraction(0)
    if enough is not None and record.spread(_fullest(leaves, rows.estimate)) > _FILLED:
        # Every path keeps half of what is left on it.
        spare = min(float(share - enough), float(leaves.left.min()) / 2)
        unspent = Fraction(math.floor(spare * _UNITS), _UNITS)
    leaves = replace(leaves, left=leaves.left - float(unspent))
    record.count_cells(curator, leaves, record.cell_levels(leaves, rows.estimate, n_clusters))
    return replace(record.look(), unspent=unspent)


def look_again(curator: Curator, seen: Look, share: Fraction, n_rows: float, n_clusters: int) -> Look:
    """Count the cells once more, in parts where a group may be in one, and return what both looks say."""
    seen.record.count_cells_again(curator, share, n_rows, n_clusters)
    return seen.record.look()


def _divides_again(record: TreeRecord) -> bool:
    """Return whether 16 even parts of all rows could be divided again: if not, one is for its own sake."""
    return record.n_columns > FEW_COLUMNS and record.told >= _PROBE_MORE * 2**_DEEPER


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
    wanted = _PROBE_MORE if _divides_again(record) else _PROBE
    probe = np.maximum(wanted / np.maximum(frontier.rows, 1.0), _LEAST_PROBE_SHARE * rates)
    worth = np.where(at_stake > _DEAR_STAKE * group, _MOST_WORTH, frontier.worth)
    least = np.where(worth > _LEAST_WORTH, _LEAST_PROBE * wanted, wanted * (1 - 1e-9))
    probe = np.minimum(probe, worth * rates)
    divided = sure & (at_stake > (_STAKE if few else _STAKE_MORE) * group) & (frontier.rows * probe >= least)
    grain = 0.5 ** (2 * record.cell_levels(frontier, n_rows, n_clusters) / record.n_columns)
    hiding = ~sure & ~frontier.verified & (at_stake * grain > _HIDDEN * group)
    able = (frontier.left > 0) & (room > 0)
    spent = np.where(divided, probe, _VERIFY * rates)
    crowded = _divides_again(record) & (frontier.worth > _CROWDED)
    levels = np.where(few | crowded, _DEEPER, _DEEPER_MORE)
    deeper = np.where(divided, levels, np.where(hiding, _VERIFY_DEEPER, 0))
    deeper = np.where(able, np.minimum(deeper, room), 0)
    return deeper.astype(np.int64), noise.share(spent), ~divided


def _stake_of_a_group(frontier: Frontier, record: TreeRecord, n_rows: float, n_clusters: int) -> float:
    """Return what one of k alike groups has of rows x width^2: the variance of all that is believed."""
    fullest = _fullest(frontier, n_rows)
    total, variance = max(float(fullest.rows.sum()), 1.0), float(record.variances(fullest).sum())
    return total * variance / math.pow(n_clusters, 2 / record.n_columns)


def _fullest(frontier: Frontier, n_rows: float) -> Frontier:
    """Return the boxes without the rows of those that are not among the fullest: these may be noise."""
    rows = frontier.rows.copy()
    order = np.argsort(-rows, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    rows[order[before >= _COVER * n_rows]] = 0.0
    return replace(frontier, rows=rows)


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
