"""What was spent along every path of a tree: questions about disjoint parts cost what the dearest path does.

A row lies in one leaf, so of all that is asked about the nodes of a tree it loses only what was spent on the
nodes above its own leaf: the sum along its path. Nobody may know which paths have rows, so the largest sum
over all paths is charged, those of empty space too. Proof: docs/proofs/parts.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

# Losses are counted in whole steps of 2^-64, rounded up: sums are exact, and never less than was lost.
_STEP_BITS = 64


@dataclass(frozen=True, eq=False)
class PathSums:
    """The sum spent on every leaf of a tree, as ranges of leaves with the same sum.

    Parameters
    ----------
    starts : ndarray of int64
        The first leaf of each range, sorted; the first is 0.
    steps : ndarray of int, of any size
        What was spent on the leaves of each, in steps of 2^-64.

    Examples
    --------
    >>> half = PathSums.nothing().plus([0], [8], [Fraction(1, 2)])
    >>> left = half.plus([0], [4], [Fraction(1, 4)])
    >>> right = left.plus([4, 6], [6, 8], [Fraction(1, 4), Fraction(1, 8)])
    >>> [str(sums.largest) for sums in (half, left, right)]
    ['1/2', '3/4', '3/4']
    """

    starts: npt.NDArray[np.int64]
    steps: npt.NDArray[np.object_]

    @classmethod
    def nothing(cls) -> PathSums:
        """Return what is spent before anything is asked."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=object))

    def plus(
        self,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        amounts: Sequence[Fraction],
        which: npt.ArrayLike | None = None,
    ) -> PathSums:
        """Return the sums after more was spent on some disjoint ranges of leaves; all others keep theirs.

        Parameters
        ----------
        starts, ends : ndarrays of int64
            The first leaf of each range, and the first behind it.
        amounts : sequence of Fraction
            What is spent.
        which : ndarray of int, optional
            Which of the amounts is spent on each range; if not given there is one for each.
        """
        # Ends are borders too: the last one of all may be one behind the last leaf, where nothing is spent.
        first, behind = np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)
        order = np.argsort(first)
        first, behind = first[order], behind[order]
        steps = np.array([-(-amount * 2**_STEP_BITS // 1) for amount in amounts], dtype=object)
        spent = (steps if which is None else steps[np.asarray(which)])[order]
        borders = np.unique(np.concatenate([self.starts, first, behind]))
        sums = self.steps[np.searchsorted(self.starts, borders, side="right") - 1]
        at = np.searchsorted(first, borders, side="right") - 1
        inside = (at >= 0) & (borders < behind[at])
        sums[inside] += spent[at[inside]]
        changes = np.concatenate([[True], sums[1:] != sums[:-1]])
        return PathSums(borders[changes], sums[changes])

    @property
    def largest(self) -> Fraction:
        """What the dearest path has spent."""
        return Fraction(int(max(self.steps)), 2**_STEP_BITS)
