"""The sum of a row statistic, and the count, in each cell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal._typing import Array, Integers
from shoal.domain import Chunk
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import Noise, NoiseLaw
from shoal.queries.partitions.cells import Partition, check_dense
from shoal.queries.questions.answers import NoisyRatios, NoisySums
from shoal.queries.questions.base import SHARE, Additive, Terms, close, shaped, whole
from shoal.queries.statistics.aggregates import RowStat


@dataclass(frozen=True, eq=False)
class Sums(Additive[NoiseLaw, Array, NoisySums]):
    """Ask for the sum of a row statistic, and the count, in each cell."""

    partition: Partition
    of: RowStat
    share: Fraction = field(metadata=SHARE)
    noise: Noise | None

    answers: ClassVar = NoisySums

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"{self.of.describe()}: {self.partition.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse public points that do not fit the cells, and more cells than can be held."""
        self.of.check(self.partition.n_cells, terms.n_columns)
        check_dense(self.partition)

    def law(self, terms: Terms) -> NoiseLaw:
        """Return the noise of the statistic's body."""
        return terms.noise(terms.change(self.of), self.share, self.noise)

    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Sum the statistic over the rows of every cell."""
        return self.of.exact_totals(self.partition, chunk, terms.metric)

    def draw(self, exact_totals: Integers, law: NoiseLaw, entropy: Entropy) -> Array:
        """Add noise to every total."""
        return law.added(exact_totals, entropy)

    def rehearse(self, rows: float, law: NoiseLaw, terms: Terms) -> Array:
        """Share the rows evenly; what they sum to is zero."""
        change, cells = terms.change(self.of), self.partition.n_cells
        totals = np.zeros((cells, change.dimension))
        totals[:, change.n_values] = rows / cells * change.width
        return totals

    def answer(self, noisy: Array, law: NoiseLaw, terms: Terms) -> NoisySums:
        """Scale to the units of the domain."""
        change, unit = terms.change(self.of), self.of.unit
        scale, d = terms.weight / change.width, change.n_values
        steps, sd = noisy * scale, law.sd * scale
        answer = NoisySums(steps[:, :d] * unit, steps[:, d], float(sd[0] * unit), float(sd[d]))
        if "cost" not in change.extras:
            return answer
        # The statistic is 2 q - 1 with q the clipped squared distance over the squared radius.
        square = unit**2
        return replace(
            answer,
            costs=square * (steps[:, d + 1] + steps[:, d]) / 2,
            cost_sd=square * float(np.hypot(sd[d + 1], sd[d])) / 2,
        )

    def fits(self, answer: NoisySums, law: NoiseLaw, terms: Terms) -> bool:
        """Check one line for each cell, and the spreads."""
        change, cells = terms.change(self.of), self.partition.n_cells
        with_cost = "cost" in change.extras
        return (
            shaped(answer.sums, cells, change.n_values)
            and shaped(answer.counts, cells)
            and close((answer.sum_sd, answer.count_sd), self.sd(law, terms))
            and (answer.costs is not None) == (answer.cost_sd is not None) == with_cost
            and (answer.costs is None or shaped(answer.costs, cells))
        )

    def means(self, answer: NoisySums) -> NoisyRatios | None:
        """Return sums over counts, where the statistic is the row itself or its way from a point."""
        origin = self.of.origin
        return None if origin is None else NoisyRatios(answer, origin, self.of.unit)

    def sd(self, law: NoiseLaw, terms: Terms) -> tuple[float, float]:
        """Return the standard deviations of a sum and of a count."""
        change = terms.change(self.of)
        scale = law.sd / change.width * terms.weight
        return float(scale[0] * self.of.unit), float(scale[change.n_values])

    def told_apart(
        self,
        before: Integers,
        after: Integers,
        law: NoiseLaw,
        answer: NoisySums,
    ) -> float:
        """Return what noise of this law loses by the shift."""
        return law.shift_loss(after - before)

    def noise_in(self, answer: NoisySums, law: NoiseLaw, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return sums, counts and costs in whole steps."""
        unit = self.of.unit
        columns = [answer.sums / unit, answer.counts[:, np.newaxis]]
        if answer.costs is not None:
            columns.append((2 * answer.costs / unit**2 - answer.counts)[:, np.newaxis])
        steps = np.concatenate(columns, axis=1) * (terms.change(self.of).width / terms.weight)
        return [(law, whole(steps))]
