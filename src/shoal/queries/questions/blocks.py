"""Sample and aggregate inside the gate: rows fall into blocks at random, each block is clustered on its own.

A row is in one block, so one row changes one block's centres: arbitrarily, but within the clamp. The task is
fixed here; an algorithm never hands in code to run on rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, uniform_below
from shoal.postprocess.weighted_kmeans import lloyd, plus_plus
from shoal.queries.laws.noise import Noise
from shoal.queries.statistics.aggregates import Change

Array = npt.NDArray[np.float64]
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class BlockMeans:
    """Ask for the mean over blocks of the centres that k-means finds in each.

    Parameters
    ----------
    n_blocks : int
        How many blocks; public, or from a noisy count.
    reference : ndarray of shape (n_clusters, n_columns)
        Public centres that each block's own are matched to, within the block; an empty block gives them.
    lower, upper : tuple of float
        Public range of each column that centres are clamped to.
    cost : Fraction
        Share of the budget.
    noise : {"linf", "laplace", "gaussian"}, optional
        Law of the noise.
    """

    n_blocks: int
    reference: Array
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    cost: Fraction
    noise: Noise | None

    def __post_init__(self) -> None:
        if self.n_blocks < 1:
            raise InvalidInput(f"{self.n_blocks} blocks: at least 1 is wanted")

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"mean of {len(self.reference)} centres over {self.n_blocks} random blocks of rows"

    def change(self) -> Change:
        """Return the body of one row's change: a block's centres may jump across the whole clamp."""
        return Change(width=2 * STEPS, n_values=self.reference.size, extras=())

    @property
    def half(self) -> Array:
        """Half the range of each column."""
        return np.asarray((np.asarray(self.upper) - np.asarray(self.lower)) / 2)

    @property
    def middle(self) -> Array:
        """The middle of the range of each column."""
        return np.asarray((np.asarray(self.upper) + np.asarray(self.lower)) / 2)


def exact_block_totals(
    question: BlockMeans,
    columns: npt.NDArray[np.float32],
    weights: npt.NDArray[np.int32] | None,
    blocks: npt.NDArray[np.int64],
    seeds: npt.NDArray[np.uint64],
    column_scale: Array | None = None,
) -> npt.NDArray[np.int64]:
    """Return the sum over blocks of their clamped centres, in steps of the range.

    Parameters
    ----------
    question : BlockMeans
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
    reference, back = question.reference * by, np.where(by > 0, by, 1.0)
    heavy = np.ones(len(order)) if weights is None else weights[order] / STEPS
    # There may be far more blocks than rows, where a noisy number of rows is large by chance.
    total = _steps(question, reference / back) * (question.n_blocks - len(full))
    start = 0
    for block, size in zip(full, sizes, strict=True):
        end = start + size
        part = np.ascontiguousarray(rows[:, start:end])
        found = _block_centres(part, heavy[start:end], reference, int(seeds[block]))
        total += _steps(question, found / back)
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


def _steps(question: BlockMeans, centres: Array) -> npt.NDArray[np.int64]:
    half = np.where(question.half > 0, question.half, 1.0)
    shares = np.clip((centres - question.middle) / half, -1.0, 1.0)
    return np.trunc(shares * STEPS).astype(np.int64)
