"""Rows held at once, many equal ones as one, so that those nearest to a public point can be taken away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers, Metric
from shoal.domain import STEPS, Chunk, Domain
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, uniform_below
from shoal.queries.partitions.cells import Grid
from shoal.queries.questions.base import Source
from shoal.queries.statistics.aggregates import exact_count

T = TypeVar("T")

MOST_BOXES = 2**24
"""More boxes than this are not counted one by one."""
# Distances are sorted into this many buckets first, so that few have to be put in order.
_BUCKETS = 4096


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A source that holds rows as one chunk, and all those that it began with."""

    chunk: Chunk
    whole: Chunk

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to the one chunk."""
        return partial(self.chunk)

    def within(self, domain: Domain) -> HeldRows:
        """Refuse: what lies on one lattice cannot be put on another."""
        raise InvalidInput("rows that are held cannot be put within other bounds; do that first")


def check_grid(grid: Grid | None, n_columns: int) -> None:
    """Refuse a grid whose middles are not on the lattice, or whose boxes cannot all be counted."""
    if grid is None:
        return
    if len(grid.shape) != n_columns:
        raise InvalidInput(f"a grid of {len(grid.shape)} columns; the table has {n_columns}")
    if any(m & (m - 1) or m > STEPS for m in grid.shape) or grid.n_cells > MOST_BOXES:
        raise InvalidInput(
            f"rows cannot be moved to a grid of shape {grid.shape}: powers of 2 are wanted, and at most "
            f"{MOST_BOXES} boxes in all"
        )


def hold(source: Source, grid: Grid | None, entropy: Entropy, *, weighted: bool) -> HeldRows:
    """Gather all rows, moved to the middle of their box where a grid is given.

    A row of weight w counts as a whole row with probability w / max_weight, by a coin of its own: so it is a
    row or none, and neighbours stay neighbours.

    Parameters
    ----------
    source : Source
        Where the rows live.
    grid : Grid, optional
        Equal boxes; only their counts are kept, so that a large table need not fit in memory.
    entropy : Entropy
        For the coins.
    weighted : bool
        Whether rows have weights.
    """
    if grid is not None and not weighted:
        boxes = _of_boxes(grid, source.reduce(lambda chunk: exact_count(grid, chunk, None), np.add))
        return HeldRows(boxes, boxes)
    chunks = source.reduce(lambda chunk: [chunk], lambda a, b: [*a, *b])
    kept = [chunk.columns if chunk.weights is None else _thinned(chunk, entropy) for chunk in chunks]
    whole = Chunk(np.concatenate(kept, axis=1))
    whole = whole if grid is None else _of_boxes(grid, exact_count(grid, whole, None))
    return HeldRows(whole, whole)


def _thinned(chunk: Chunk, entropy: Entropy) -> npt.NDArray[np.float32]:
    assert chunk.weights is not None
    kept = uniform_below(entropy, STEPS, chunk.n_rows) < chunk.weights
    return np.ascontiguousarray(chunk.columns[:, kept])


def _of_boxes(grid: Grid, counts: Integers) -> Chunk:
    full = np.flatnonzero(counts)
    return Chunk(np.ascontiguousarray(grid.centres_of(full).T, dtype=np.float32), counts=counts[full])


def exact_without_nearest(chunk: Chunk, centre: Integers, n: int, metric: Metric) -> Chunk:
    """Return the rows without the n nearest to a point, or without all if they are fewer.

    Rows are ordered by distance, then by their coordinates: an order on all possible rows, whatever the table
    is. So two tables of which one has a row more still differ by one row (docs/proofs/coreset.md).

    Parameters
    ----------
    chunk : Chunk
        All rows.
    centre : ndarray of int64, shape (n_columns,)
        A public point, in lattice steps.
    n : int
        How many rows to take away.
    metric : ndarray of shape (n_columns,), optional
        Weights of the squared distance.

    Examples
    --------
    >>> rows = Chunk(np.array([[0.5, -0.5, 1.0]], dtype=np.float32), counts=np.array([2, 2, 2]))
    >>> left = exact_without_nearest(rows, np.array([0]), 3, None)
    >>> left.columns, left.counts
    (array([[0.5, 1. ]], dtype=float32), array([1, 2]))
    """
    counts = np.ones(chunk.n_rows, dtype=np.int64) if chunk.counts is None else chunk.counts
    if n <= 0 or not len(counts):
        return chunk
    distance = _distances(chunk, centre, metric)
    # Never falls as the distance grows, so the order of buckets is that of distances.
    bucket = (distance * ((_BUCKETS - 1) / max(float(distance.max()), 1e-300))).astype(np.int64)
    reach = np.cumsum(np.bincount(bucket, counts, _BUCKETS)).astype(np.int64)
    last = int(np.searchsorted(reach, n))
    if last == _BUCKETS:
        return Chunk(chunk.columns[:, :0], counts=None if chunk.counts is None else counts[:0])
    rest = n - (int(reach[last - 1]) if last else 0)
    edge = np.flatnonzero(bucket == last)
    edge = edge[np.lexsort((*chunk.columns[::-1, edge], distance[edge]))]
    before = np.cumsum(counts[edge]) - counts[edge]
    left = np.where(bucket < last, 0, counts)
    left[edge] -= np.clip(rest - before, 0, counts[edge])
    kept = left > 0
    return Chunk(
        np.ascontiguousarray(chunk.columns[:, kept]), counts=None if chunk.counts is None else left[kept]
    )


def _distances(chunk: Chunk, centre: Integers, metric: Metric) -> Integers | npt.NDArray[np.float64]:
    """Return squared distances: exact integers, or rounded by the same operations for every row."""
    if metric is None:
        exact = np.zeros(chunk.n_rows, dtype=np.int64)
        for values, at in zip(chunk.columns, centre, strict=True):
            exact += ((values * np.float32(STEPS)).astype(np.int64) - at) ** 2
        return exact
    rounded = np.zeros(chunk.n_rows)
    for values, at, weight in zip(chunk.columns, centre, metric, strict=True):
        rounded += (values.astype(np.float64) - at / STEPS) ** 2 * weight
    return rounded
