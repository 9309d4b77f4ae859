"""Trees of boxes: the domain halved again and again, where rows are many (Zhang, Xiao, Xie 2016, PrivTree).

Every level halves one column, the same for all boxes of the level. So a box is a range of keys: the key of a
row has one bit a level, and a tree is a cut of the keys into ranges. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.accounting.budget import Currency, round_down
from shoal.accounting.events import Charge
from shoal.domain import STEPS, Chunk, Unit
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import Entropy, check_laplace, discrete_laplace
from shoal.queries.kernels.relative import tree_keys
from shoal.queries.laws.noise import sqrt_down
from shoal.queries.partitions.cells import Columns, Labels, Metric

Integers = npt.NDArray[np.int64]
# The exact counts below boxes (their least keys, their level, how far below): one line a box.
CellCounter: TypeAlias = Callable[[Integers, int, int], Integers]

MOST_LEVELS = 62
"""Keys have 64 bits."""
_COLUMN_BITS = STEPS.bit_length()  # a column has 2^21 + 1 lattice values; the last one joins its neighbour
# One row passes on at most three times the loss of one noisy count: docs/proofs/tree.md.
_PATH = 3
# Cells that are counted in one pass: few beside the rows of a table that is worth a tree.
_MOST_COUNTED = 2**15
_ROWS = 2**14
# ln 2, rounded up: a penalty of at least ln 2 / rate halves what each ancestor adds to the loss.
_LN_2 = Fraction(693147180559945310, 10**18)


@dataclass(frozen=True, eq=False)
class Tree:
    """Boxes of different sizes, made by halving.

    Parameters
    ----------
    axes : tuple of int
        The column that each level halves; no column more than 20 times.
    n_columns : int
        Columns of the table.
    starts : ndarray of int64
        The least key of every box, sorted.
    levels : ndarray of int64
        How often each box was halved.

    Examples
    --------
    >>> tree = Tree((0, 0), 1, np.array([0, 2, 3]), np.array([1, 2, 2]))
    >>> tree.assign(np.array([[-1.0, -0.1, 0.2, 0.9]], dtype=np.float32), None)
    array([0, 0, 1, 2], dtype=int32)
    >>> tree.centres().ravel()
    array([-0.5 ,  0.25,  0.75])
    """

    axes: tuple[int, ...]
    n_columns: int
    starts: Integers
    levels: Integers

    def __post_init__(self) -> None:
        check_axes(self.axes, self.n_columns)
        starts, levels = np.asarray(self.starts), np.asarray(self.levels)
        fits = starts.shape == levels.shape and starts.ndim == 1 and len(starts) > 0
        if not fits or levels.min() < 0 or levels.max() > len(self.axes):
            raise InvalidInput(f"a tree of {len(self.axes)} levels needs a start and a level for each box")
        sizes = np.left_shift(np.int64(1), len(self.axes) - levels)
        if starts[0] != 0 or not np.array_equal(np.cumsum(sizes), [*starts[1:], 2 ** len(self.axes)]):
            raise InvalidInput("the boxes of a tree must follow each other and fill the domain")

    @property
    def n_cells(self) -> int:
        """The number of boxes."""
        return len(self.starts)

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002 - same for all partitions
        """Return the box of each row."""
        labels = np.empty(columns.shape[1], dtype=np.int32)
        for start in range(0, len(labels), _ROWS):  # what is made on the way stays small
            block = slice(start, start + _ROWS)
            keys = tree_keys(columns[:, block], self.axes, _COLUMN_BITS)
            labels[block] = np.searchsorted(self.starts, keys, side="right") - 1
        return labels

    def corners(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the least and the largest coordinates of every box."""
        lower = np.full((self.n_cells, self.n_columns), -1.0)
        width = np.full((self.n_cells, self.n_columns), 2.0)
        for level, axis in enumerate(self.axes):
            halved = self.levels > level
            width[halved, axis] /= 2
            upper_half = halved & ((self.starts >> (len(self.axes) - 1 - level)) & 1 == 1)
            lower[upper_half, axis] += width[upper_half, axis]
        return lower, lower + width

    def centres(self) -> npt.NDArray[np.float64]:
        """Return the middle of every box."""
        lower, upper = self.corners()
        return np.asarray((lower + upper) / 2)

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"tree of {self.n_cells} boxes"


def check_axes(axes: tuple[int, ...], n_columns: int) -> None:
    """Refuse levels that cannot be."""
    if not 1 <= len(axes) <= MOST_LEVELS or not all(0 <= axis < n_columns for axis in axes):
        raise InvalidInput(f"levels must be 1 to {MOST_LEVELS} columns of {n_columns}; got {axes}")
    most = max(axes.count(axis) for axis in set(axes))
    if most >= _COLUMN_BITS:
        raise InvalidInput(f"a column is halved {most} times; the lattice allows {_COLUMN_BITS - 1}")


@dataclass(frozen=True)
class GrowthLaw:
    """How boxes are chosen to be halved, and exactly what that costs.

    A box at level t with count c is halved if max(c - t penalty, -penalty) plus discrete Laplace noise is
    above zero. Without the lower limit the loss would grow with the number of levels.

    Parameters
    ----------
    rate : Fraction
        Of the noise.
    penalty : int
        What a count loses a level; at least ln 2 / rate.
    amount : Fraction
        The privacy loss of the whole tree, however deep.
    currency : {"epsilon", "rho"}
        What the amount is counted in.
    """

    rate: Fraction
    penalty: int
    amount: Fraction
    currency: Currency

    def grow(self, entropy: Entropy, exact: CellCounter, n_levels: int) -> tuple[Integers, Integers]:
        """Return starts and levels of the boxes, in the order of their keys.

        Parameters
        ----------
        entropy : Entropy
            Where noise comes from.
        exact : callable
            Counts the rows of cells so many levels below boxes; asked as often as the tree is deep, which
            the tree itself tells.
        n_levels : int
            The most levels.
        """
        active = np.zeros(1, dtype=np.int64)
        exact_below: Integers | None = None
        starts, levels = [], []
        for level in range(n_levels):
            if not len(active):
                break
            if exact_below is None:
                deeper = max(1, (_MOST_COUNTED // len(active)).bit_length() - 1)
                exact_below = exact(active, level, min(deeper, n_levels - level))
            biased = np.maximum(exact_below.sum(axis=1) - level * self.penalty, -self.penalty)
            halved = biased + discrete_laplace(entropy, self.rate, len(active)) > 0
            starts.append(active[~halved])
            levels.append(np.full(len(starts[-1]), level))
            lower = active[halved]
            active = np.concatenate([lower, lower + (np.int64(1) << (n_levels - level - 1))])
            half = exact_below.shape[1] // 2
            inner = exact_below[halved]
            exact_below = np.concatenate([inner[:, :half], inner[:, half:]]) if half else None
        starts.append(active)
        levels.append(np.full(len(active), n_levels))
        all_starts = np.concatenate(starts)
        order = np.argsort(all_starts)
        return all_starts[order], np.concatenate(levels).astype(np.int64)[order]

    def describe(self) -> str:
        """Name the law with its parameters."""
        return f"PrivTree(rate={self.rate}, penalty={self.penalty})"

    def charge(self, question: str) -> Charge:
        """Return what is written down for a tree."""
        return Charge(question, self.describe(), self.amount, self.currency)


def design_growth(width: int, share: Fraction, currency: Currency, unit: Unit) -> GrowthLaw:
    """Choose the noise for a tree that costs at most `share`.

    Parameters
    ----------
    width : int
        What one row changes a count by: 1, or the steps of the largest weight.
    share : Fraction
        Share of the budget.
    currency : {"epsilon", "rho"}
        What the share is counted in.
    unit : Unit
        Who neighbours are.

    Examples
    --------
    >>> law = design_growth(1, Fraction(3, 8), "epsilon", Unit())
    >>> law.rate, law.penalty, law.amount
    (Fraction(1, 8), 6, Fraction(3, 8))
    """
    pure = share if currency == "epsilon" else sqrt_down(2 * share)
    rate = round_down(pure / unit.rows_apart / _PATH) / width
    if rate <= 0:
        raise InvalidBudget(
            f"a share of {float(share):.3g} {currency} is too small to grow a tree: raise epsilon"
        )
    check_laplace(rate)  # before anything is charged for it
    penalty = -(-_LN_2 // rate)
    loss = rate * width * _PATH * unit.rows_apart
    return GrowthLaw(rate, int(penalty), loss if currency == "epsilon" else loss**2 / 2, currency)


def exact_tree_cells(
    axes: tuple[int, ...], active: Integers, level: int, deeper: int, chunk: Chunk
) -> Integers:
    """Count the rows of a chunk, or sum their weights, in the cells so many levels below boxes of a level.

    Parameters
    ----------
    axes : tuple of int
        The column that each level halves.
    active : ndarray of int64
        The least keys of the boxes, in any order.
    level, deeper : int
        Of the boxes; and how far below it the cells are.
    chunk : Chunk
        Rows.

    Returns
    -------
    ndarray of int64, shape (len(active), 2**deeper)
        One line for each box.
    """
    boxes, order = active >> (len(axes) - level), np.argsort(active)
    exact = np.zeros(len(active) << deeper, dtype=np.int64)
    for start in range(0, chunk.n_rows, _ROWS):  # what is made on the way stays small
        block = slice(start, start + _ROWS)
        keys = tree_keys(chunk.columns[:, block], axes[: level + deeper], _COLUMN_BITS)
        place = np.searchsorted(boxes, keys >> deeper, sorter=order)
        found = order[np.minimum(place, len(active) - 1)]
        inside = boxes[found] == keys >> deeper
        cells = (found[inside] << deeper) | (keys[inside] & ((1 << deeper) - 1))
        # Whole weights of a block add up to less than 2^53.
        weights = None if chunk.weights is None else chunk.weights[block][inside]
        exact += np.bincount(cells, weights, len(exact)).astype(np.int64, copy=False)
    return exact.reshape(len(active), 1 << deeper)
