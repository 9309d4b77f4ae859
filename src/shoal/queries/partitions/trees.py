"""Trees of boxes: the domain halved again and again, where rows are many (Zhang, Xiao, Xie 2016, PrivTree).

Every level halves one column, the same for all boxes of the level. So a box is a range of keys: the key of a
row has one bit a level, and a tree is a cut of the keys into ranges. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers
from shoal.domain import STEPS, Chunk
from shoal.errors import InvalidInput
from shoal.queries.kernels.relative import tree_keys
from shoal.queries.partitions.cells import Columns, Labels, Metric

MOST_LEVELS = 62
"""Keys have 64 bits."""
_COLUMN_BITS = STEPS.bit_length()  # a column has 2^21 + 1 lattice values; the last one joins its neighbour
_ROWS = 2**14


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
