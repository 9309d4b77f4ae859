"""Zhang, Xiao, Xie 2016: PrivTree, a private tree of boxes that is fine where rows are many.

It is what KMeans starts from in more columns, released by itself. Proof: docs/proofs/tree.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms.synopses.boxes import BoxCounts, Lean, evenly
from shoal.domain import Domain
from shoal.queries import Curator, Tree
from shoal.queries.partitions.trees import MOST_LEVELS

# A tree's boxes and their counts share its budget 3 to 2.
_FOR_BOXES = Fraction(3, 5)
# Halvings of a column: cells are then two steps of the lattice wide.
_MOST_HALVINGS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeCounts(BoxCounts):
    """Released boxes of a tree, which fill the domain.

    Parameters
    ----------
    tree : Tree
        The boxes.
    weights, sd, domain, rows, rows_sd
        As of :class:`BoxCounts`.
    """

    tree: Tree

    @property
    def n_cells(self) -> int:
        """How many boxes there are."""
        return self.tree.n_cells

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        return self.tree.corners()

    def places(self) -> Array:
        """Return the middle of every box."""
        lower, upper = self._corners
        return np.asarray((lower + upper) / 2)

    def halves(self) -> Array:
        """Return half of the sides of every box."""
        lower, upper = self._corners
        return np.asarray((upper - lower) / 2)

    def shares(self, lower: Array, upper: Array, lean: Lean = evenly) -> Array:
        """Return which share of every box lies between two corners."""
        low, high = self._corners
        inside = (np.minimum(high, upper) - np.maximum(low, lower)) / (high - low)
        return np.asarray(lean(np.clip(inside, 0.0, 1.0)).prod(axis=1))

    def describe(self) -> str:
        """Say in a few words what is held."""
        return f"a tree of {self.n_held:,} boxes"

    def facts(self) -> dict[str, Any]:
        """Return what it is, for machines."""
        return {"kind": "tree"}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return counts, and the corners of their boxes in the table's own units."""
        lower, upper = map(self.domain.decode, self._corners)
        return {"lower": lower, "upper": upper, **super().arrays()}

    def warning(self) -> str | None:
        """Say what is wrong, from released values alone, or nothing."""
        if self.total_sd <= max(self.rows, 1.0) / 2:
            return None
        return (
            f"the noise of all boxes together is {self.total_sd:.3g} rows of about "
            f"{max(self.rows, 1.0):.3g}: raise epsilon"
        )


@dataclass(frozen=True)
class PrivTreeSynopsis:
    """A private tree, and noisy counts of its boxes."""

    def check(self, domain: Domain) -> None:
        """Refuse nothing: a tree can be grown in any number of columns."""

    def run(self, curator: Curator) -> TreeCounts:
        """Grow the tree, and count once."""
        return count_tree(curator, Fraction(1))


def count_tree(curator: Curator, share: Fraction) -> TreeCounts:
    """Grow a tree, and count the rows of its boxes anew.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    share : Fraction
        Share of the budget.
    """
    domain = curator.domain
    tree = curator.grow(tree_axes(domain.column_scale), share=share * _FOR_BOXES)
    answer = curator.histogram(tree, share=share * (1 - _FOR_BOXES))
    public = curator.n_rows
    return TreeCounts(
        tree=tree,
        weights=answer.counts,
        sd=answer.sd,
        domain=domain,
        # The boxes fill the domain: their counts say how many rows there are.
        rows=max(float(answer.counts.sum()), 1.0) if public is None else float(public),
        rows_sd=answer.sd * math.sqrt(tree.n_cells) if public is None else 0.0,
    )


def tree_axes(column_scale: Array) -> tuple[int, ...]:
    """Return the columns that levels halve: always the widest side, the first of equals.

    Examples
    --------
    >>> tree_axes(np.array([1.0, 1.0]))[:4], tree_axes(np.array([1.0, 4.0]))[:4]
    ((0, 1, 0, 1), (1, 1, 0, 1))
    """
    widths, left = column_scale.astype(np.float64).copy(), np.full(len(column_scale), _MOST_HALVINGS)
    axes: list[int] = []
    while len(axes) < MOST_LEVELS and left.any():
        axis = int(np.argmax(np.where(left > 0, widths, -1.0)))
        axes.append(axis)
        widths[axis] /= 2
        left[axis] -= 1
    return tuple(axes)
