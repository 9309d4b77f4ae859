"""How many rows are in each cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal._typing import Array, Integers
from shoal.domain import Chunk
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.partitions.cells import Partition, check_dense
from shoal.queries.questions.answers import NoisyCounts
from shoal.queries.questions.base import SHARE, Additive, Terms, close, shaped, whole
from shoal.queries.statistics.aggregates import exact_count


@dataclass(frozen=True, eq=False)
class Histogram(Additive[NoiseLaw, Array, NoisyCounts]):
    """Ask how many rows are in each cell."""

    partition: Partition
    share: Fraction = field(metadata=SHARE)

    answers: ClassVar = NoisyCounts

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"histogram: {self.partition.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse more cells than can be held."""
        check_dense(self.partition)

    def law(self, terms: Terms) -> NoiseLaw:
        """Return the noise of a count."""
        return terms.noise(terms.change(None), self.share, None)

    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Count the rows of every cell."""
        return exact_count(self.partition, chunk, terms.metric)[:, np.newaxis]

    def draw(self, exact_totals: Integers, law: NoiseLaw, entropy: Entropy) -> Array:
        """Add noise to every count."""
        return law.added(exact_totals, entropy)

    def rehearse(self, rows: float, law: NoiseLaw, terms: Terms) -> Array:
        """Share the rows evenly."""
        cells = self.partition.n_cells
        return np.full((cells, 1), rows / cells * terms.change(None).width)

    def answer(self, noisy: Array, law: NoiseLaw, terms: Terms) -> NoisyCounts:
        """Count rows, or the largest weight."""
        scale = terms.weight / terms.change(None).width
        return NoisyCounts((noisy * scale)[:, 0], float((law.sd * scale)[0]))

    def fits(self, answer: NoisyCounts, law: NoiseLaw, terms: Terms) -> bool:
        """Check one count for each cell, and their spread."""
        return shaped(answer.counts, self.partition.n_cells) and close(answer.sd, self.sd(law, terms))

    def sd(self, law: NoiseLaw, terms: Terms) -> float:
        """Return the standard deviation of a count."""
        return float(law.sd[0] / terms.change(None).width * terms.weight)

    def told_apart(
        self,
        before: Integers,
        after: Integers,
        law: NoiseLaw,
        answer: NoisyCounts,
    ) -> float:
        """Return what noise of this law loses by the shift."""
        return law.shift_loss(after - before)

    def noise_in(self, answer: NoisyCounts, law: NoiseLaw, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return the counts in whole steps."""
        return [(law, whole(answer.counts[:, np.newaxis] * (terms.change(None).width / terms.weight)))]
