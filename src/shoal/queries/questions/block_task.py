"""What is done with each random block of rows: it is clustered on its own, within the gate.

A row is in one block, so one row changes one block's centres: arbitrarily, but within the clamp. The task is
fixed here; an algorithm never hands in code to run on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from shoal._typing import Array
from shoal.domain import STEPS
from shoal.mechanisms import Entropy, uniform_below
from shoal.postprocess.weighted_kmeans import lloyd, plus_plus

# Rounds of Lloyd in a block, after k-means++: blocks are small, and settle in fewer.
_ROUNDS = 30


class BlockTask(Protocol):
    """How many blocks, the public centres theirs are matched to, and the range they are clamped to."""

    @property
    def n_blocks(self) -> int:
        """How many blocks."""
        ...

    @property
    def reference(self) -> Array:
        """Public centres."""
        ...

    @property
    def half(self) -> Array:
        """Half the range of each column."""
        ...

    @property
    def middle(self) -> Array:
        """The middle of the range of each column."""
        ...


def exact_block_totals(
    task: BlockTask,
    columns: npt.NDArray[np.float32],
    weights: npt.NDArray[np.int32] | None,
    blocks: npt.NDArray[np.int64],
    seeds: npt.NDArray[np.uint64],
    column_scale: Array | None = None,
) -> npt.NDArray[np.int64]:
    """Return the sum over blocks of their clamped centres, in steps of the range.

    Parameters
    ----------
    task : BlockTask
        What was asked.
    columns : ndarray of shape (n_columns, n)
        All rows on the lattice.
    weights : ndarray of shape (n,), optional
        Their weights.
    blocks : ndarray of shape (n,)
        The block each row drew, on its own. Blocks by position would not do: without the first row all
        others would move up one place, and every block could change.
    seeds : ndarray of shape (n_blocks,)
        Where each block's search starts; a block's own, so that other blocks' rows never touch it.
    column_scale : ndarray of shape (n_columns,), optional
        What columns are multiplied by before distances are taken; public.
    """
    # Rows of a block in an order of their own, so that their order in the table does not matter.
    order = np.lexsort((*([] if weights is None else [weights]), *columns, blocks))
    full, sizes = np.unique(blocks, return_counts=True)
    by = np.ones(len(columns)) if column_scale is None else column_scale
    rows = columns[:, order].astype(np.float64) * by[:, np.newaxis]
    reference, back = task.reference * by, np.where(by > 0, by, 1.0)
    heavy = np.ones(len(order)) if weights is None else weights[order] / STEPS
    # There may be far more blocks than rows, where a noisy number of rows is large by chance.
    total = _steps(task, reference / back) * (task.n_blocks - len(full))
    start = 0
    for block, size in zip(full, sizes, strict=True):
        end = start + size
        part = np.ascontiguousarray(rows[:, start:end])
        found = _block_centres(part, heavy[start:end], reference, int(seeds[block]))
        total += _steps(task, found / back)
        start = end
    return total


def draw_blocks(
    entropy: Entropy, n_rows: int, n_blocks: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Draw a block for every row and a seed for every block, all independent."""
    return uniform_below(entropy, n_blocks, n_rows), entropy.words(n_blocks)


def _block_centres(rows: Array, weights: Array, reference: Array, seed: int) -> Array:
    k = len(reference)
    different = np.unique(rows[:, weights > 0], axis=1).T
    if len(different) < k:  # too few to make k groups: pad with public centres
        found = reference.copy()
        found[: len(different)] = different
    else:
        start = plus_plus(rows, weights, k, np.random.Generator(np.random.PCG64(seed)))
        found = lloyd(rows, weights, start, max_iter=_ROUNDS, least_mass=0.0).centres
    # Matched within the block to public centres; matching to another block's would let one row reorder all.
    gaps = ((reference[:, np.newaxis, :] - found[np.newaxis, :, :]) ** 2).sum(axis=2)
    matched: Array = found[linear_sum_assignment(gaps)[1]]
    return matched


def _steps(task: BlockTask, centres: Array) -> npt.NDArray[np.int64]:
    half = np.where(task.half > 0, task.half, 1.0)
    shares = np.clip((centres - task.middle) / half, -1.0, 1.0)
    return np.trunc(shares * STEPS).astype(np.int64)


def common_rows(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Return the rows that two tables share, as runs: where it starts in each, and how long it is.

    A row keeps its place among the others, also where several are equal. Matched by value alone, equal rows
    would change places, and a search in a block, which takes rows in their order, would go another way.

    Examples
    --------
    >>> common_rows([b"a", b"b", b"a"], [b"a", b"b", b"b", b"a"])
    [(0, 0, 2), (2, 3, 1)]
    """
    ahead = [*takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))]
    first = len(ahead)
    rest, other = before[first:], after[first:]
    behind = [*takewhile(lambda pair: pair[0] == pair[1], zip(rest[::-1], other[::-1], strict=False))]
    last = len(behind)
    # What is left is short where tables are neighbours, and this takes its square.
    middle = SequenceMatcher(
        None, rest[: len(rest) - last], other[: len(other) - last], autojunk=False
    ).get_matching_blocks()
    runs = [
        (0, 0, first),
        *((first + here, first + there, n) for here, there, n in middle),
        (len(before) - last, len(after) - last, last),
    ]
    return [run for run in runs if run[2]]
