"""Which cells have many rows, and how many: of more cells than can be held."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from functools import reduce as fold
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal._typing import Integers
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.partitions.cells import Keyed
from shoal.queries.questions.answers import SparseCounts
from shoal.queries.questions.base import SHARE, Charged, Source, Terms, close, shaped
from shoal.queries.questions.blocks import check_loose
from shoal.queries.questions.occupied import draw, exact_cells, exact_part, gather, merge, threshold_for

Kept: TypeAlias = tuple[Integers, npt.NDArray[np.generic]]
"""Keys of the kept cells, sorted, and their noisy counts."""

# The binomial is drawn by counting up to it, and every spurious cell takes memory.
MOST_SPURIOUS = 1_000_000
# A rehearsal makes up this many cells at most.
_REHEARSED = 1000
# For the audit, keys are folded to this many: the few rows of a canary hardly ever meet.
_FOLDED = 2**20


@dataclass(frozen=True, eq=False)
class SparseHistogram(Charged[NoiseLaw, Kept, SparseCounts]):
    """Ask which cells have many rows, and how many; about `spurious` empty cells come along."""

    partition: Keyed
    share: Fraction = field(metadata=SHARE)
    spurious: float

    answers: ClassVar = SparseCounts

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"large counts: {self.partition.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse held rows, weights, and cells that have no keys."""
        check_loose(self.describe(), terms)
        if self.partition.n_columns != terms.n_columns:
            raise InvalidInput(
                f"cells have {self.partition.n_columns} columns; the table has {terms.n_columns}"
            )
        self.partition.keys(np.empty((terms.n_columns, 0), dtype=np.float32))  # or says why there are none
        if terms.domain.max_weight is not None:
            raise InvalidInput(
                "a sparse histogram counts rows, not weights: leave out sample_weight, or use a coarser grid"
            )
        if not 0 < self.spurious <= MOST_SPURIOUS:
            raise InvalidInput(
                f"spurious is {self.spurious!r}; it must be above 0 and at most {MOST_SPURIOUS}"
            )

    def law(self, terms: Terms) -> NoiseLaw:
        """Return the noise of every cell, occupied or not."""
        return terms.noise(terms.change(None), self.share, "laplace")

    def threshold(self, law: NoiseLaw) -> int:
        """Return the least noisy count that is kept."""
        return threshold_for(self.partition.n_cells, law.blocks[0].parameter, self.spurious)

    def noisy(self, source: Source, law: NoiseLaw, terms: Terms, entropy: Entropy) -> Kept:
        """Count the occupied cells, and draw which cells are kept."""
        cells, rate = self.partition, law.blocks[0].parameter
        exact_parts = source.reduce(partial(exact_part, cells), gather)
        return draw(fold(merge, exact_parts), cells.n_cells, rate, self.threshold(law), entropy)

    def rehearse(self, rows: float, law: NoiseLaw, terms: Terms) -> Kept:
        """Make up cells that lie evenly over the grid and share the rows."""
        n_cells = self.partition.n_cells
        n = min(n_cells, _REHEARSED)
        # Python's integers: a key times their number leaves 64 bits.
        cells = np.array([i * n_cells // n for i in range(n)], dtype=np.int64)
        return cells, np.full(n, rows / n)

    def answer(self, noisy: Kept, law: NoiseLaw, terms: Terms) -> SparseCounts:
        """Tell which cells were kept."""
        cells, counts = noisy
        return SparseCounts(cells, counts.astype(np.float64), float(law.sd[0]), self.threshold(law))

    def fits(self, answer: SparseCounts, law: NoiseLaw, terms: Terms) -> bool:
        """Check that cells are sorted, and their counts large."""
        cells, counts = answer.cells, answer.counts
        return (
            answer.threshold == self.threshold(law)
            and shaped(counts, len(cells))
            and bool((counts >= answer.threshold).all() and (np.diff(cells) > 0).all())
            and bool(((cells >= 0) & (cells < self.partition.n_cells)).all())
            and close(answer.sd, law.sd[0])
        )

    def exact_lines(self, rows: Chunk, terms: Terms) -> Integers:
        """Count the cells, folded to a number that can be held."""
        found = exact_cells(self.partition, rows)
        size = min(self.partition.n_cells, _FOLDED)
        counts = np.bincount(found.cells % size, weights=found.counts, minlength=size)
        return counts.astype(np.int64)[:, np.newaxis]

    def told_apart(
        self,
        before: Integers,
        after: Integers,
        law: NoiseLaw,
        answer: SparseCounts,
    ) -> float:
        """Return what noise on every cell loses by the shift; dropping the small ones loses nothing."""
        return law.shift_loss(after - before)
