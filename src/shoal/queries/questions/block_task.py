"""What is done with each random block of rows: it is clustered on its own, within the gate.

A row is in one block, so one row changes one block's centres: arbitrarily, but within the clamp. The task is
fixed here; an algorithm never hands in code to run on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.domain import STEPS, Chunk
from shoal.domain.hashing import mix
from shoal.postprocess.pairing import paired
from shoal.postprocess.weighted_kmeans import lloyd, plus_plus
from shoal.queries.questions.coins import coins, dealt, part

Align: TypeAlias = Literal["matched", "sorted"]

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
    def align(self) -> Align:
        """Which of a block's centres is the first."""
        ...

    @property
    def half(self) -> Array:
        """Half the range of each column."""
        ...

    @property
    def middle(self) -> Array:
        """The middle of the range of each column."""
        ...


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows with the block that each drew.

    Parameters
    ----------
    rows : Chunk
        Each stands for itself.
    blocks : ndarray of int64
        Their blocks.
    """

    rows: Chunk
    blocks: Integers


@dataclass(frozen=True)
class ByBlock:
    """Lets rows draw their blocks and deals them out, so that the rows of a block come together.

    A row's block is a coin of its own. Blocks by position would not do: without the first row all others
    would move up one place, and every block could change.

    Parameters
    ----------
    key : int
        Of 64 bits, drawn once a question.
    n_blocks : int
        How many blocks.
    """

    key: int
    n_blocks: int

    def __call__(self, rows: Chunk, n: int) -> list[Drawn]:
        """Return n parts of different rows with their counts."""
        which, tossed = coins(rows, self.key)
        drawn = Drawn(
            part(Chunk(rows.columns, rows.weights), which),
            (tossed % np.uint64(self.n_blocks)).astype(np.int64),
        )
        if n == 1:
            return [drawn]
        hands = dealt(drawn.blocks.astype(np.uint64), n)
        return [Drawn(part(drawn.rows, hand), drawn.blocks[hand]) for hand in hands]


def together(parts: Sequence[Drawn]) -> Drawn:
    """Put parts together."""
    weights = [found.rows.weights for found in parts if found.rows.weights is not None]
    rows = Chunk(
        np.concatenate([found.rows.columns for found in parts], axis=1),
        np.concatenate(weights) if weights else None,
    )
    return Drawn(rows, np.concatenate([found.blocks for found in parts]))


def exact_block_totals(
    drawn: Drawn, task: BlockTask, seed: int, column_scale: Array | None = None
) -> npt.NDArray[np.int64]:
    """Return the sum over blocks with rows of their clamped centres, less the public ones of empty blocks.

    Parameters
    ----------
    drawn : Drawn
        All rows of some blocks.
    task : BlockTask
        What was asked.
    seed : int
        Where searches start, each block from a hash of it: other blocks' rows never touch a block's search.
    column_scale : ndarray of shape (n_columns,), optional
        What columns are multiplied by before distances are taken; public.

    Returns
    -------
    ndarray of int64
        In steps of the range.
    """
    columns, weights, blocks = drawn.rows.columns, drawn.rows.weights, drawn.blocks
    # Rows of a block in an order of their own, so that their order in the table does not matter.
    order = np.lexsort((*([] if weights is None else [weights]), *columns, blocks))
    full, sizes = np.unique(blocks, return_counts=True)
    seeds = mix(full.astype(np.uint64) ^ np.uint64(seed))
    by = np.ones(len(columns)) if column_scale is None else column_scale
    rows = columns[:, order].astype(np.float64) * by[:, np.newaxis]
    reference, back = task.reference * by, np.where(by > 0, by, 1.0)
    heavy = np.ones(len(order)) if weights is None else weights[order] / STEPS
    total = np.zeros(reference.shape, dtype=np.int64)
    empty = _steps(task, reference / back)
    start = 0
    for own, size in zip(seeds, sizes, strict=True):
        end = start + size
        block = np.ascontiguousarray(rows[:, start:end])
        found = _block_centres(block, heavy[start:end], reference, int(own), task.align)
        total += _steps(task, found / back) - empty
        start = end
    return total


def exact_empty_totals(task: BlockTask, column_scale: Array | None = None) -> npt.NDArray[np.int64]:
    """Return the sum over blocks without any rows. There may be far more blocks than rows."""
    by = np.ones(task.reference.shape[1]) if column_scale is None else column_scale
    return _steps(task, task.reference * by / np.where(by > 0, by, 1.0)) * task.n_blocks


def _block_centres(rows: Array, weights: Array, reference: Array, seed: int, align: Align) -> Array:
    k = len(reference)
    different = np.unique(rows[:, weights > 0], axis=1).T
    if len(different) < k:  # too few to make k groups: pad with public centres
        found = reference.copy()
        found[: len(different)] = different
    else:
        start = plus_plus(rows, weights, k, np.random.Generator(np.random.PCG64(seed)))
        found = lloyd(rows, weights, start, max_iter=_ROUNDS, least_mass=0.0).centres
    if align == "sorted":  # of equal first columns the next one decides
        return np.asarray(found[np.lexsort(found.T[::-1])])
    # Matched within the block to public centres; matching to another block's would let one row reorder all.
    gaps = ((reference[:, np.newaxis, :] - found[np.newaxis, :, :]) ** 2).sum(axis=2)
    matched: Array = found[paired(gaps)[1]]
    return matched


def _steps(task: BlockTask, centres: Array) -> npt.NDArray[np.int64]:
    half = np.where(task.half > 0, task.half, 1.0)
    shares = np.clip((centres - task.middle) / half, -1.0, 1.0)
    return np.trunc(shares * STEPS).astype(np.int64)
