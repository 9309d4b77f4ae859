"""The curator: answers typed questions about rows, charged first and noisy always."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar, assert_never

import numpy as np

from shoal.accounting import Allowance, Budget, Charge, round_down
from shoal.domain import STEPS, Bounds, Chunk, Domain
from shoal.errors import InvalidBudget, InvalidInput
from shoal.mechanisms import Entropy, public_seed
from shoal.queries.aggregates import Change, Offset, RowStat, Value, WithCost, exact_count
from shoal.queries.answers import NoisyCounts, NoisySums
from shoal.queries.noise import Noise, NoiseLaw, design
from shoal.queries.partitions import Partition
from shoal.queries.questions import Histogram, PublicSeed, Question, Sums
from shoal.queries.transcript import Entry, Transcript

T = TypeVar("T")


class Source(Protocol):
    """All the gate asks of a place where rows live."""

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk of lattice rows and combine the results."""
        ...

    def within(self, domain: Domain) -> Source:
        """Return the same rows on the lattice of another domain."""
        ...


class Curator(ABC):
    """What an algorithm is given instead of rows.

    Parameters
    ----------
    domain : Domain
        Public facts about the table.
    budget : Budget
        The budget that costs are fractions of.
    n_rows : int, optional
        A public row count that the user vouches for.
    """

    def __init__(self, domain: Domain, budget: Budget, n_rows: int | None) -> None:
        self.domain = domain
        self.budget = budget
        self.n_rows = n_rows
        self._portion = Fraction(1)

    def within(self, bounds: Bounds, portion: Fraction) -> Self:
        """Return a curator of the same rows clipped to other public bounds, with a portion of the budget.

        Parameters
        ----------
        bounds : Bounds
            Public, or estimated from answers.
        portion : Fraction
            What costs of the new curator are fractions of, as a portion of this one's.
        """
        inner = self._rebound(replace(self.domain, bounds=bounds))
        inner._portion = self._portion * portion
        return inner

    def histogram(self, partition: Partition, *, cost: Fraction) -> NoisyCounts:
        """Count the rows of every cell.

        Parameters
        ----------
        partition : Partition
            Public cells; every row is in one.
        cost : Fraction
            Share of the budget.
        """
        answer: NoisyCounts = self._ask(Histogram(partition, self._portion * cost))
        return answer

    def sums(
        self, partition: Partition, *, of: RowStat | None = None, cost: Fraction, noise: Noise | None = None
    ) -> NoisySums:
        """Sum a row statistic, and count rows, in every cell.

        Parameters
        ----------
        partition : Partition
            Public cells; every row is in one.
        of : RowStat
            What is summed; the row itself if not given.
        cost : Fraction
            Share of the budget.
        noise : {"linf", "laplace", "split", "gaussian"}, optional
            The law of the noise; L-infinity for pure budgets and Gaussian for others if not given.
        """
        answer: NoisySums = self._ask(Sums(partition, of or Value(), self._portion * cost, noise))
        return answer

    def public_rng(self, label: str) -> np.random.Generator:
        """Return a generator for public randomness; its seed is in the transcript."""
        return np.random.Generator(np.random.PCG64(self._ask(PublicSeed(label))))

    def noise_sd(
        self, *, of: RowStat | None = None, cost: Fraction, noise: Noise | None = None
    ) -> tuple[float, float]:
        """Return the standard deviations of a sum and of a count that `sums` would give. Free and public."""
        stat = of or Value()
        change = self._change(stat)
        scale = self._law(change, self._portion * cost, noise).sd / change.width * self._weight
        return float(scale[0] * stat.unit), float(scale[self.domain.n_columns])

    def count_sd(self, *, cost: Fraction) -> float:
        """Return the standard deviation of a count that `histogram` would give. Free and public."""
        change = self._change(None)
        return float(self._law(change, self._portion * cost, None).sd[0] / change.width * self._weight)

    @property
    def _weight(self) -> float:
        return 1.0 if self.domain.max_weight is None else self.domain.max_weight

    def _change(self, of: RowStat | None) -> Change:
        # One row changes one count by one, or by its share of the largest weight.
        weighted = self.domain.max_weight is not None
        count = Change(width=STEPS if weighted else 1, n_values=0)
        return replace(count if of is None else of.change(self.domain.n_columns), weighted=weighted)

    def _law(self, change: Change, cost: Fraction, noise: Noise | None) -> NoiseLaw:
        if not isinstance(cost, Fraction) or not 0 < cost <= 1:
            raise InvalidBudget(f"a cost of {cost!r} is not a Fraction above 0 and at most 1 of the budget")
        share = round_down(self.budget.amount * cost)
        return design(change, share, self.budget.currency, self.domain.unit, noise)

    @abstractmethod
    def _rebound(self, domain: Domain) -> Self:
        """Return a curator of the same rows on another lattice."""

    @abstractmethod
    def _ask(self, question: Question) -> Any:
        """Answer a question: from rows, or from a transcript."""


class LiveCurator(Curator):
    """The curator that holds the rows.

    Parameters
    ----------
    source : Source
        Where rows live.
    domain : Domain
        Public facts about them.
    allowance : Allowance
        What may be spent.
    entropy : Entropy
        Where noise comes from.
    n_rows : int, optional
        A public row count.
    progress : callable, optional
        Called with every charge, before the work.
    """

    def __init__(
        self,
        source: Source,
        domain: Domain,
        allowance: Allowance,
        entropy: Entropy,
        *,
        n_rows: int | None = None,
        progress: Callable[[Charge], None] | None = None,
    ) -> None:
        super().__init__(domain, allowance.budget, n_rows)
        self._source = source
        self._allowance = allowance
        self._entropy = entropy
        self._progress = progress
        self.transcript: Transcript = Transcript(domain, allowance.budget, n_rows, entropy.describe())

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same allowance, entropy and transcript
        inner.domain = domain
        inner._source = self._source.within(domain)
        return inner

    def _ask(self, question: Question) -> Any:
        charge: Charge | None = None
        answer: Any
        match question:
            case Histogram():
                answer, charge = self._histogram(question)
            case Sums():
                answer, charge = self._sums(question)
            case PublicSeed():
                answer = public_seed(self._entropy)
            case _:
                assert_never(question)
        self.transcript.entries.append(Entry(question, answer, charge))
        return answer

    def _histogram(self, question: Histogram) -> tuple[NoisyCounts, Charge]:
        partition, metric = question.partition, self.domain.metric
        change = self._change(None)
        law = self._law(change, question.cost, None)
        charge = self._pay(question, law)
        exact_counts = self._source.reduce(lambda chunk: exact_count(partition, chunk, metric), np.add)
        noisy = (exact_counts + law.draw(self._entropy, partition.n_cells)[:, 0]) / change.width
        return NoisyCounts(noisy * self._weight, float(law.sd[0] / change.width * self._weight)), charge

    def _sums(self, question: Sums) -> tuple[NoisySums, Charge]:
        partition, of, d = question.partition, question.of, self.domain.n_columns
        _check_anchors(partition, of, d)
        change, metric = self._change(of), self.domain.metric
        law = self._law(change, question.cost, question.noise)
        charge = self._pay(question, law)
        exact_totals = self._source.reduce(lambda chunk: of.exact_totals(partition, chunk, metric), np.add)
        scale = self._weight / change.width
        noisy = (exact_totals + law.draw(self._entropy, partition.n_cells)) * scale
        sd = law.sd * scale
        answer = NoisySums(noisy[:, :d] * of.unit, noisy[:, d], float(sd[0] * of.unit), float(sd[d]))
        if "cost" in change.extras:
            # The statistic is 2 q - 1 with q the clipped squared distance over the squared radius.
            square = of.unit**2
            answer = replace(
                answer,
                costs=square * (noisy[:, d + 1] + noisy[:, d]) / 2,
                cost_sd=square * float(np.hypot(sd[d + 1], sd[d])) / 2,
            )
        return answer, charge

    def _pay(self, question: Question, law: NoiseLaw) -> Charge:
        charge = Charge(question.describe(), law.describe(), law.amount, law.currency)
        self._allowance.charge(charge)
        if self._progress is not None:
            self._progress(charge)
        return charge


def _check_anchors(partition: Partition, of: RowStat, n_columns: int) -> None:
    offset = of.of if isinstance(of, WithCost) else of
    if isinstance(offset, Offset) and offset.anchors.shape != (partition.n_cells, n_columns):
        raise InvalidInput(
            f"anchors have shape {offset.anchors.shape}; one point of {n_columns} columns for each of "
            f"{partition.n_cells} cells is wanted"
        )
