"""Trees of boxes: the domain halved again and again, where rows are many (Zhang, Xiao, Xie 2016, PrivTree).

Every level halves one column, the same for all boxes of the level. So a box is a range of keys: the key of a
row has one bit a level, and a tree is a cut of the keys into ranges. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels, Metric
from shoal.domain import STEPS, Chunk
from shoal.errors import InvalidInput
from shoal.queries.kernels.relative import node_cells, tree_keys

MOST_LEVELS = 62
"""Keys have 64 bits."""
_COLUMN_BITS = STEPS.bit_length()  # a column has 2^21 + 1 lattice values; the last one joins its neighbour
# Rows at a time, so that what is made on the way stays small.
_ROWS = 2**14
MOST_CELLS = 2**24
"""Cells below nodes in one question: 128 MB per thread."""
BEYOND = 64
"""A tree may reach below the lower bounds by so many of these parts of every column's width."""


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


@dataclass(frozen=True, eq=False)
class Nodes:
    """Disjoint boxes of a tree, in any order; they need not fill the domain.

    Parameters
    ----------
    starts : ndarray of int64
        The least key of every box, at the depth of the whole tree.
    levels : ndarray of int64
        How often each box was halved.

    Examples
    --------
    >>> Nodes.whole().children((0, 0, 0), np.array([2])).starts
    array([0, 2, 4, 6])
    """

    starts: Integers
    levels: Integers

    @classmethod
    def whole(cls) -> Nodes:
        """Return the whole domain."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    def ends(self, n_levels: int) -> Integers:
        """Return the first key behind every box, in a tree of `n_levels` levels."""
        return self.starts + np.left_shift(np.int64(1), n_levels - self.levels)

    def children(self, axes: tuple[int, ...], deeper: Integers) -> Nodes:
        """Return the boxes that each is divided into by `deeper` levels more, box by box."""
        levels = np.repeat(self.levels + deeper, np.left_shift(1, deeper))
        place = np.concatenate([np.arange(1 << int(t), dtype=np.int64) for t in deeper])
        starts = np.repeat(self.starts, np.left_shift(1, deeper))
        return Nodes(starts + (place << (len(axes) - levels)), levels)

    def check(self, axes: tuple[int, ...], deeper: Integers) -> None:
        """Refuse boxes that are not in the tree, that meet, or whose cells are too fine or too many."""
        shapes = {np.shape(self.starts), np.shape(self.levels), np.shape(deeper)}
        dtypes = {np.asarray(values).dtype for values in (self.starts, self.levels, deeper)}
        if len(shapes) > 1 or len(min(shapes)) != 1 or not len(self) or dtypes != {np.dtype(np.int64)}:
            raise InvalidInput(
                f"nodes need a start, a level and a number of levels more each, as int64; got shapes {shapes}"
            )
        n_levels = len(axes)
        least, most = min(self.levels.min(), deeper.min()), max(self.levels.max(), deeper.max())
        if least < 0 or most > n_levels or (self.levels + deeper).max() > n_levels:
            raise InvalidInput(f"cells lie 0 to {n_levels} levels down; these do not")
        if sum(1 << int(more) for more in deeper) > MOST_CELLS:
            raise InvalidInput(f"more than {MOST_CELLS} cells are asked for: divide nodes less, or ask twice")
        if self.starts.min() < 0 or self.starts.max() >= 1 << n_levels:
            raise InvalidInput(f"the least key of a node is from 0 to 2^{n_levels} - 1, in the domain")
        order = np.argsort(self.starts)
        starts, ends = self.starts[order], self.ends(n_levels)[order]
        if (starts[1:] < ends[:-1]).any():
            raise InvalidInput("nodes must not meet: none may be within another")
        if (starts & (ends - starts - 1)).any():
            raise InvalidInput("the least key of a node must be a multiple of its number of keys")


@dataclass(frozen=True, eq=False)
class NodeCells:
    """Cells some levels below nodes, as the counting loop wants them: of keys no longer than needed."""

    axes: tuple[int, ...]
    starts: Integers
    ends: Integers
    shifts: Integers
    offsets: Integers
    n_cells: int
    beyond: int = 0

    @classmethod
    def of(cls, axes: tuple[int, ...], nodes: Nodes, deeper: Integers, beyond: int = 0) -> NodeCells:
        """Sort the nodes, and cut off the levels that no cell needs."""
        depth = int((nodes.levels + deeper).max())
        sizes = np.left_shift(np.int64(1), deeper)
        offsets = np.cumsum(sizes) - sizes
        order = np.argsort(nodes.starts)
        starts = nodes.starts[order] >> (len(axes) - depth)
        ends = starts + np.left_shift(np.int64(1), depth - nodes.levels[order])
        shifts = depth - nodes.levels[order] - deeper[order]
        return cls(axes[:depth], starts, ends, shifts, offsets[order], int(sizes.sum()), beyond)

    def exact(self, chunk: Chunk) -> Integers:
        """Count the rows of a chunk, or sum their weights, in every cell: node by node, in their order."""
        exact = np.zeros(self.n_cells, dtype=np.int64)
        for start in range(0, chunk.n_rows, _ROWS):  # what is made on the way stays small
            block = slice(start, start + _ROWS)
            columns = chunk.columns[:, block]
            if self.beyond:  # each row by itself alone; where exactly it is rounded to does not matter
                kept = np.float32(BEYOND / (BEYOND + self.beyond))
                columns = columns * kept + (np.float32(1) - kept)
            keys = tree_keys(columns, self.axes, _COLUMN_BITS)
            weights = None if chunk.weights is None else chunk.weights[block]
            node_cells(keys, self.starts, self.ends, self.shifts, self.offsets, weights, exact)
        return exact


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
    """Count the rows of a chunk, or sum their weights, in the cells `deeper` levels below boxes of a level.

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
    nodes = Nodes(active, np.full(len(active), level, dtype=np.int64))
    return NodeCells.of(axes, nodes, np.full(len(active), deeper)).exact(chunk).reshape(-1, 1 << deeper)
