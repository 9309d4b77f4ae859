"""A tree of boxes that is fine where rows are many."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np

from shoal._typing import Integers
from shoal.mechanisms import Entropy
from shoal.queries.laws.growth import GrowthLaw, design_growth
from shoal.queries.partitions.trees import Tree, check_axes, exact_tree_cells
from shoal.queries.questions.base import SHARE, Charged, Source, Terms

Boxes: TypeAlias = tuple[Integers, Integers]
"""Starts and levels of boxes."""

# A rehearsal makes up 2^10 boxes at most.
_MOST_REHEARSED_LEVELS = 10


@dataclass(frozen=True)
class Grow(Charged[GrowthLaw, Boxes, Tree]):
    """Ask for a tree of boxes that is fine where rows are many; `axes` are the columns its levels halve."""

    axes: tuple[int, ...]
    share: Fraction = field(metadata=SHARE)

    answers: ClassVar = Tree

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"tree: boxes halved up to {len(self.axes)} times"

    def law(self, terms: Terms) -> GrowthLaw:
        """Return how boxes are chosen to be halved."""
        check_axes(self.axes, terms.n_columns)
        width = terms.change(None).width
        return design_growth(width, terms.amount(self.share), terms.currency, terms.unit)

    def noisy(self, source: Source, law: GrowthLaw, terms: Terms, entropy: Entropy) -> Boxes:
        """Count and halve, level by level."""

        def exact(active: Integers, level: int, deeper: int) -> Integers:
            return source.reduce(partial(exact_tree_cells, self.axes, active, level, deeper), np.add)

        return law.grow(entropy, exact, len(self.axes))

    def rehearse(self, rows: float, law: GrowthLaw, terms: Terms) -> Boxes:
        """Halve even rows while a box's share of them is above the penalties."""
        n = len(self.axes)
        levels = next((t for t in range(n) if rows / 2**t <= (t + 1) * law.penalty), n)
        levels = min(levels, _MOST_REHEARSED_LEVELS)
        starts = np.arange(2**levels, dtype=np.int64) << (n - levels)
        return starts, np.full(len(starts), levels, dtype=np.int64)

    def answer(self, noisy: Boxes, law: GrowthLaw, terms: Terms) -> Tree:
        """Make them a partition."""
        return Tree(self.axes, terms.n_columns, *noisy)

    def fits(self, answer: Tree, law: GrowthLaw, terms: Terms) -> bool:
        """Check that it is a tree of these levels."""
        return answer.axes == self.axes and answer.n_columns == terms.n_columns
