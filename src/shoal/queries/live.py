"""The curators that answer: from rows with noise, or in rehearsal from a guess of their number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, Self, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from shoal.accounting import Allowance, Budget, Charge
from shoal.domain import Chunk, Domain
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, public_seed
from shoal.queries.aggregates import Change, Offset, RowStat, WithCost, exact_count
from shoal.queries.answers import NoisyCounts, NoisySums
from shoal.queries.curator import Curator
from shoal.queries.noise import NoiseLaw
from shoal.queries.partitions import Partition
from shoal.queries.questions import Histogram, PublicSeed, Question, Sums
from shoal.queries.transcript import Entry, Transcript

T = TypeVar("T")
Steps = npt.NDArray[np.float64]


class Source(Protocol):
    """All the gate asks of a place where rows live."""

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk of lattice rows and combine the results."""
        ...

    def within(self, domain: Domain) -> Source:
        """Return the same rows on the lattice of another domain."""
        ...


class AnsweringCurator(Curator):
    """Designs the noise, charges for it, answers, and writes it all down; subclasses say from what."""

    def __init__(self, domain: Domain, budget: Budget, n_rows: int | None, entropy: str) -> None:
        super().__init__(domain, budget, n_rows)
        self.transcript = Transcript(domain, budget, n_rows, entropy)

    @abstractmethod
    def _pay(self, charge: Charge) -> None:
        """Take the charge, or refuse it. Called before anything is computed."""

    @abstractmethod
    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:
        """Return noisy totals in steps of the lattice, one row a cell, one column a coordinate."""

    @abstractmethod
    def _seed(self) -> int:
        """Return a seed for public randomness."""

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same allowance, entropy and transcript
        inner.domain = domain
        return inner

    def _ask(self, question: Question) -> Any:
        charge: Charge | None = None
        answer: Any
        match question:
            case Histogram() | Sums():
                answer, charge = self._answer(question)
            case PublicSeed():
                answer = self._seed()
            case _:
                assert_never(question)
        self.transcript.entries.append(Entry(question, answer, charge))
        return answer

    def _answer(self, question: Histogram | Sums) -> tuple[NoisyCounts | NoisySums, Charge]:
        of = question.of if isinstance(question, Sums) else None
        _check_anchors(question.partition, of, self.domain.n_columns)
        change = self._change(of)
        law = self.law(question)
        charge = law.charge(question.describe())
        self._pay(charge)
        scale = self._weight / change.width
        noisy, sd = self._totals(question, change, law) * scale, law.sd * scale
        if of is None:
            return NoisyCounts(noisy[:, 0], float(sd[0])), charge
        return _sums(noisy, sd, of, change), charge


class LiveCurator(AnsweringCurator):
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
        super().__init__(domain, allowance.budget, n_rows, entropy.describe())
        self._source = source
        self._allowance = allowance
        self._entropy = entropy
        self._progress = progress

    def _rebound(self, domain: Domain) -> Self:
        inner = super()._rebound(domain)
        inner._source = self._source.within(domain)
        return inner

    def _pay(self, charge: Charge) -> None:
        self._allowance.charge(charge)
        if self._progress is not None:
            self._progress(charge)

    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:  # noqa: ARG002
        partition, metric = question.partition, self.domain.metric
        if isinstance(question, Sums):
            of = question.of
            exact_totals = self._source.reduce(
                lambda chunk: of.exact_totals(partition, chunk, metric), np.add
            )
        else:
            exact_totals = self._source.reduce(
                lambda chunk: exact_count(partition, chunk, metric)[:, np.newaxis], np.add
            )
        noisy = exact_totals + law.draw(self._entropy, partition.n_cells)
        return noisy.astype(np.float64)

    def _seed(self) -> int:
        return public_seed(self._entropy)


class RehearsalCurator(AnsweringCurator):
    """Answers as if rows lay evenly over the cells, without noise: touches no data and spends nothing.

    It shows what an algorithm would ask and pay, and how large the noise would be.

    Parameters
    ----------
    domain : Domain
        Public facts about the table.
    budget : Budget
        What would be spent.
    rows : float
        A guess of the number of rows.
    n_rows : int, optional
        The public row count, if there is one.
    """

    def __init__(self, domain: Domain, budget: Budget, rows: float, *, n_rows: int | None = None) -> None:
        super().__init__(domain, budget, n_rows, "rehearsal: nothing drawn")
        self._rows = rows

    def _pay(self, charge: Charge) -> None:
        """Nothing is spent."""

    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:  # noqa: ARG002
        cells = question.partition.n_cells
        totals = np.zeros((cells, change.dimension))
        totals[:, change.n_values] = self._rows / cells * change.width
        return totals

    def _seed(self) -> int:
        return 0


def _sums(
    noisy: npt.NDArray[np.float64], sd: npt.NDArray[np.float64], of: RowStat, change: Change
) -> NoisySums:
    d = change.n_values
    answer = NoisySums(noisy[:, :d] * of.unit, noisy[:, d], float(sd[0] * of.unit), float(sd[d]))
    if "cost" not in change.extras:
        return answer
    # The statistic is 2 q - 1 with q the clipped squared distance over the squared radius.
    square = of.unit**2
    return replace(
        answer,
        costs=square * (noisy[:, d + 1] + noisy[:, d]) / 2,
        cost_sd=square * float(np.hypot(sd[d + 1], sd[d])) / 2,
    )


def _check_anchors(partition: Partition, of: RowStat | None, n_columns: int) -> None:
    offset = of.of if isinstance(of, WithCost) else of
    if isinstance(offset, Offset) and offset.anchors.shape != (partition.n_cells, n_columns):
        raise InvalidInput(
            f"anchors have shape {offset.anchors.shape}; one point of {n_columns} columns for each of "
            f"{partition.n_cells} cells is wanted"
        )
