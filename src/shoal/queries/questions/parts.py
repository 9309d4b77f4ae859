"""How many rows are in cells of a tree: of disjoint nodes, each divided and paid for as it is worth.

A row loses only what was spent along its own path. The gate keeps what was spent on every leaf of the tree,
and charges by how much the dearest path has grown, whether or not rows are there: docs/proofs/parts.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from shoal._typing import Array, Integers
from shoal.accounting import Charge, PathSums
from shoal.domain import Chunk
from shoal.domain.schema import ADDED
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.laws.parts import PartsLaw
from shoal.queries.partitions.trees import BEYOND, NodeCells, Nodes, check_axes
from shoal.queries.questions.answers import PartCounts
from shoal.queries.questions.base import Additive, Tally, Terms, close, shaped, whole

Share: TypeAlias = Fraction | float

# Shares are whole steps of 2^-40 of the budget.
_WHOLE = 2**40
# Significant bits: at most 128 different laws an octave, and less than 1/128 of a share is left unspent.
_BITS = 8


@dataclass(frozen=True, eq=False)
class Parts(Additive[PartsLaw, Array, PartCounts]):
    """Ask how many rows are in the cells below disjoint nodes of a tree, each node with a share of its own.

    Parameters
    ----------
    axes : tuple of int
        The column that each level of the tree halves.
    nodes : Nodes
        Disjoint boxes of the tree.
    deeper : ndarray of int64
        How many levels below its node the cells of each lie.
    shares : ndarray of int64
        Of the budget, in steps of 2^-40; see :func:`share_steps`.
    view : int
        Which view of the rows is asked: questions of one view and one tree are charged together.
    beyond : int
        By how many 64ths of every column's width the tree reaches below the lower bounds: another tree.
    """

    axes: tuple[int, ...]
    nodes: Nodes
    deeper: Integers
    shares: Integers
    view: int
    beyond: int = field(default=0, metadata=ADDED)

    answers: ClassVar = PartCounts

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"parts: {self.sizes.sum()} cells of {len(self.nodes)} nodes"

    @property
    def sizes(self) -> Integers:
        """How many cells each node has."""
        return np.left_shift(np.int64(1), self.deeper)

    @cached_property
    def _cells(self) -> NodeCells:
        return NodeCells.of(self.axes, self.nodes, self.deeper, self.beyond)

    def check(self, terms: Terms) -> None:
        """Refuse nodes that meet or are in no such tree, and shares that are none."""
        check_axes(self.axes, terms.n_columns)
        self.nodes.check(self.axes, self.deeper)
        if not 0 <= self.beyond <= BEYOND:
            raise InvalidInput(f"a tree reaches below the bounds by 0 to {BEYOND} parts; got {self.beyond}")
        if self.shares.shape != self.deeper.shape or self.shares.dtype != np.int64:
            raise InvalidInput(f"{len(self.nodes)} nodes need a share each; got {self.shares.shape}")
        if not 0 < self.shares.min() <= self.shares.max() <= _WHOLE:
            raise InvalidBudget("every node needs a share above 0, at most 1, and not too small to be kept")

    def law(self, terms: Terms) -> PartsLaw:
        """Return the noise of every node."""
        shares, which = np.unique(self.shares, return_inverse=True)
        change = terms.change(None)
        laws = [terms.noise(change, Fraction(int(share), _WHOLE), None) for share in shares]
        return PartsLaw(tuple(laws), which.reshape(-1))

    def charge(self, law: PartsLaw, terms: Terms, tally: Tally) -> Charge:
        """Return by how much the dearest path grows: it may be nothing, but it is written down."""
        grown = self._with_this(law, tally).largest - self._before(tally).largest
        return Charge(self.describe(), law.describe(), grown, law.currency)

    def tally(self, terms: Terms, tally: Tally) -> Tally:
        """Keep what was spent on every path of this tree, in this view of the rows."""
        return {**tally, self._key: self._with_this(self.law(terms), tally)}

    @property
    def _key(self) -> tuple[str, tuple[int, ...], int, int]:
        return ("parts", self.axes, self.view, self.beyond)

    def _before(self, tally: Tally) -> PathSums:
        sums: PathSums = tally.get(self._key) or PathSums.nothing()
        return sums

    def _with_this(self, law: PartsLaw, tally: Tally) -> PathSums:
        # What a law costs is for all rows of a unit, and for both paths where rows are replaced.
        amounts = [one.amount for one in law.laws]
        ends = self.nodes.ends(len(self.axes))
        return self._before(tally).plus(self.nodes.starts, ends, amounts, law.which)

    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Count the rows of every cell."""
        return self._cells.exact(chunk)[:, np.newaxis]

    def draw(self, exact_totals: Integers, law: PartsLaw, entropy: Entropy) -> Array:
        """Add noise to every count."""
        return law.added(exact_totals, self.sizes, entropy)

    def rehearse(self, rows: float, law: PartsLaw, terms: Terms) -> Array:
        """Share the rows evenly over the domain."""
        even = rows * 0.5 ** (self.nodes.levels + self.deeper) * terms.change(None).width
        return np.repeat(even, self.sizes)[:, np.newaxis]

    def answer(self, noisy: Array, law: PartsLaw, terms: Terms) -> PartCounts:
        """Count rows, or the largest weight."""
        scale = terms.weight / terms.change(None).width
        return PartCounts((noisy * scale)[:, 0], law.sd * scale, self._offsets)

    @property
    def _offsets(self) -> Integers:
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.sizes)])

    def fits(self, answer: PartCounts, law: PartsLaw, terms: Terms) -> bool:
        """Check one count for each cell, and the spread of each node's."""
        return (
            shaped(answer.counts, int(self.sizes.sum()))
            and close(answer.sd, law.sd * (terms.weight / terms.change(None).width))
            and np.array_equal(answer.offsets, self._offsets)
        )

    def told_apart(self, before: Integers, after: Integers, law: PartsLaw, answer: PartCounts) -> float:
        """Return what the noise of all nodes loses by the shift."""
        return sum((one.shift_loss(shift) for one, shift in law.split(after - before, self.sizes)), 0.0)

    def noise_in(self, answer: PartCounts, law: PartsLaw, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return the counts in whole steps, law by law."""
        steps = whole(answer.counts[:, np.newaxis] * (terms.change(None).width / terms.weight))
        return law.split(steps, self.sizes)


def share_steps(shares: Iterable[Share], portion: Fraction) -> Integers:
    """Return shares of a portion of the budget as the gate keeps them, rounded down.

    Examples
    --------
    >>> share_steps([Fraction(1, 4), 0.1], Fraction(1)) / 2**40
    array([0.25      , 0.09960938])
    """
    return np.array([_rounded(share, portion) for share in shares], dtype=np.int64)


def _rounded(share: Share, portion: Fraction) -> int:
    try:
        steps = int(Fraction(share) * portion * _WHOLE // 1)
    except (TypeError, ValueError, OverflowError):
        steps = 0
    if not 0 < steps <= _WHOLE:
        raise InvalidBudget(f"a share of {share!r} is not above 0 and at most 1 of the budget") from None
    dropped = max(steps.bit_length() - _BITS, 0)
    return steps >> dropped << dropped
