"""What a question is: it knows its law, its price, how it is computed and what an answer to it looks like.

The gate asks every question in the same way: check, law, pay, answer, record. So a new question is one file
in this folder and one verb on the curator; docs/how-to/add-a-question.md shows one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial as given
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from shoal._typing import Array, Integers, Metric
from shoal.accounting import Budget, Charge, round_down
from shoal.accounting.budget import Currency
from shoal.domain import STEPS, Chunk, Domain, Unit
from shoal.domain.groups import Groups
from shoal.errors import InvalidBudget
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import Noise, NoiseLaw, design
from shoal.queries.questions.answers import NoisyRatios
from shoal.queries.statistics.aggregates import RowChange, RowStat

T = TypeVar("T")
S = TypeVar("S")
J = TypeVar("J")
L = TypeVar("L")
N = TypeVar("N")
A = TypeVar("A")

Tally: TypeAlias = Mapping[Hashable, Any]
"""What the gate remembers of questions that are charged together; see :meth:`Question.charge`."""

WRITTEN_AS = "written as"
"""Metadata of a field: the name it has in files and hashes, which older releases were written with."""
SHARE = {WRITTEN_AS: "cost"}
"""Metadata of a question's share of the budget."""


@dataclass(frozen=True, eq=False)
class Terms:
    """What is public when a question is asked: the facts that a question's law and price depend on.

    Parameters
    ----------
    domain : Domain
        Columns, bounds, weights and the privacy unit.
    budget : Budget
        What shares are fractions of.
    holds : bool
        Whether rows are held at once.
    """

    domain: Domain
    budget: Budget
    holds: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.domain.n_columns

    @property
    def metric(self) -> Metric:
        """Weights of the squared distance."""
        return self.domain.metric

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects."""
        return self.domain.unit

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        return self.budget.currency

    @property
    def weight(self) -> float:
        """What a count of one stands for: the largest weight of a row."""
        return 1.0 if self.domain.max_weight is None else self.domain.max_weight

    def change(self, of: RowStat | None) -> RowChange:
        """Return the body of one row's change: of a statistic, or of a count."""
        # One row changes one count by one, or by its share of the largest weight.
        weighted = self.domain.max_weight is not None
        count = RowChange(width=STEPS if weighted else 1, n_values=0)
        return replace(count if of is None else of.change(self.n_columns), weighted=weighted)

    def amount(self, share: Fraction) -> Fraction:
        """Return a share of the budget as an amount of it."""
        if not isinstance(share, Fraction) or not 0 < share <= 1:
            raise InvalidBudget(f"a share of {share!r} is not a Fraction above 0 and at most 1 of the budget")
        return round_down(self.budget.amount * share)

    def noise(self, change: RowChange, share: Fraction, noise: Noise | None) -> NoiseLaw:
        """Return the noise that hides a change of one row for a share of the budget."""
        return design(change, self.amount(share), self.currency, self.unit, noise)


class Source(Protocol):
    """All the gate asks of a place where rows live."""

    def reduce(self, partial: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every chunk of lattice rows and combine the results."""
        ...

    def regrouped(
        self, split: Callable[[Chunk, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Deal every chunk out to some number of groups, and join what each was dealt."""
        ...

    def within(self, domain: Domain) -> Source:
        """Return the same rows on the lattice of another domain."""
        ...


class Law(Protocol):
    """What a law of noise or of choices tells the gate: what it costs."""

    def charge(self, question: str) -> Charge:
        """Return what is written down for an answer under this law."""
        ...


class Question(ABC, Generic[L, N, A]):
    """A frozen public value that an algorithm asks: with its law L, noisy steps N and answer A.

    Subclasses are frozen dataclasses that name the class of their answers; they can then be asked, recorded,
    replayed, rehearsed, written to files and read back, verified and audited.
    """

    answers: ClassVar[Any]
    """The class of an answer, as it is read back from a file."""
    kinds: ClassVar[dict[str, type[Question[Any, Any, Any]]]] = {}
    """All questions by name: what may stand for one in a file."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "answers" in vars(cls):
            Question.kinds[cls.__name__] = cls

    @abstractmethod
    def describe(self) -> str:
        """Say the question in a few words."""

    def check(self, terms: Terms) -> None:
        """Refuse what cannot be answered, from public values, before anything is charged."""

    @abstractmethod
    def law(self, terms: Terms) -> L:
        """Return how the answer is made noisy. Free and public."""

    @abstractmethod
    def charge(self, law: L, terms: Terms, tally: Tally) -> Charge | None:
        """Return what it costs, None for what is free. Free and public.

        Parameters
        ----------
        law : L
            As returned by :meth:`law`.
        terms : Terms
            What is public about the table and the budget.
        tally : Tally
            What earlier questions to the same curator left with :meth:`tally`. Questions about the same rows
            that one row cannot all be in may cost less together than apart; they keep their sum here. They
            name the view of the rows that they ask (`Curator.view`): cells of another one are other cells.
        """

    def tally(self, terms: Terms, tally: Tally) -> Tally:
        """Return what the gate is to remember for the charges of later questions; public."""
        return tally

    @abstractmethod
    def noisy(self, source: Source, law: L, terms: Terms, entropy: Entropy) -> N:
        """Compute from rows and add noise. Called after the charge was paid."""

    @abstractmethod
    def rehearse(self, rows: float, law: L, terms: Terms) -> N:
        """Make up, without noise, what `noisy` would give for this many rows that lie evenly."""

    @abstractmethod
    def answer(self, noisy: N, law: L, terms: Terms) -> A:
        """Turn noisy steps into what an algorithm is told."""

    @abstractmethod
    def fits(self, answer: A, law: L, terms: Terms) -> bool:
        """Say whether an answer has the shape and the spread that the question implies."""

    def means(self, answer: A) -> NoisyRatios | None:
        """Return the means of rows that an answer tells, as sums over counts; None if it tells none."""
        return None

    # What the audit asks. The rows are invented, so exact values may be looked at.

    def exact_lines(self, rows: Chunk, terms: Terms) -> Integers | None:
        """Return exact totals of rows, one line for each cell or choice; None if they do not add up."""
        return None

    def told_apart(self, before: Integers, after: Integers, law: L, answer: A) -> float:
        """Return the privacy loss between two tables with these exact lines."""
        raise NotImplementedError(f"{self.describe()}: its lines are not compared")

    def adds_up(self, rows: Chunk, terms: Terms) -> bool:
        """Say whether rows one by one give what they give together: what a row adds is its own affair."""
        whole = self.exact_lines(rows, terms)
        if whole is None:
            return True
        singly = sum(self.exact_lines(_one(rows, r), terms) for r in range(rows.n_rows))  # type: ignore[misc]
        return np.array_equal(singly, whole)

    def lost(self, one: Source, other: Source, law: L, answer: A, terms: Terms) -> float | None:
        """Return the exact privacy loss between two tables, or None where that is not computed."""
        before, after = (self.exact_of(source, terms) for source in (one, other))
        return None if before is None or after is None else self.told_apart(before, after, law, answer)

    def exact_of(self, source: Source, terms: Terms) -> Integers | None:
        """Return exact totals of all rows; None if they do not add up."""
        return source.reduce(given(self.exact_lines, terms=terms), _plus)

    def noise_in(self, answer: A, law: L, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return laws and their noise in an answer about no rows, in whole steps, one line per draw."""
        return []


AnyQuestion: TypeAlias = Question[Any, Any, Any]


class Charged(Question[L, N, A]):
    """A question that costs what its law says, however often it is asked."""

    def charge(self, law: L, terms: Terms, tally: Tally) -> Charge | None:
        """Return what the law costs."""
        charge: Charge = law.charge(self.describe())  # type: ignore[attr-defined]
        return charge


class Free(Question[None, int, int]):
    """What is written down without an answer: nothing is read of rows, nothing is charged."""

    def law(self, terms: Terms) -> None:
        """Nothing is drawn."""

    def charge(self, law: None, terms: Terms, tally: Tally) -> None:
        """Nothing is charged."""

    def noisy(self, source: Source, law: None, terms: Terms, entropy: Entropy) -> int:
        """Nothing is computed."""
        return 0

    def rehearse(self, rows: float, law: None, terms: Terms) -> int:
        """Nothing is computed."""
        return 0

    def answer(self, noisy: int, law: None, terms: Terms) -> int:
        """Hand it on."""
        return noisy

    def fits(self, answer: int, law: None, terms: Terms) -> bool:
        """Say whether it is nothing."""
        return answer == 0


class Additive(Charged[L, N, A]):
    """A question about exact totals that add up over rows: they are summed, then made noisy."""

    @abstractmethod
    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Return the exact totals of rows of which each stands for itself, one line per cell or choice."""

    @abstractmethod
    def draw(self, exact_totals: Integers, law: L, entropy: Entropy) -> N:
        """Make exact totals noisy."""

    def exact_lines(self, rows: Chunk, terms: Terms) -> Integers:
        """Return the exact totals of rows, each of which may stand for many."""
        return exact_sum(given(self.exact, terms=terms), rows)

    def noisy(self, source: Source, law: L, terms: Terms, entropy: Entropy) -> N:
        """Sum over all chunks, then draw."""
        return self.draw(self.exact_of(source, terms), law, entropy)

    def exact_of(self, source: Source, terms: Terms) -> Integers:
        """Return exact totals of all rows."""
        return source.reduce(given(self.exact_lines, terms=terms), np.add)


def exact_sum(total: Callable[[Chunk], Integers], chunk: Chunk) -> Integers:
    """Return a total that is additive over rows, for a chunk of which each row stands for many.

    The rows whose count has a bit are summed and shifted by it: so every statistic that can be summed can be
    summed with counts, and none has to know of them.

    Examples
    --------
    >>> rows = Chunk(np.array([[0.5, -1.0]], dtype=np.float32), counts=np.array([3, 5]))
    >>> exact_sum(lambda chunk: np.array([chunk.n_rows, round(chunk.columns.sum() * 2)]), rows)
    array([ 8, -7])
    """
    if chunk.counts is None or (chunk.counts == 1).all():
        return total(replace(chunk, counts=None))
    found = total(Chunk(chunk.columns[:, :0]))
    for bit in range(int(chunk.counts.max(initial=0)).bit_length()):
        has = (chunk.counts >> bit) & 1 == 1
        found = found + (total(Chunk(np.ascontiguousarray(chunk.columns[:, has]))) << bit)
    return found


def shaped(values: Any, *shape: int) -> bool:
    """Say whether an array has this shape and finite entries."""
    return values.shape == shape and bool(np.isfinite(values).all())


def close(a: Any, b: Any) -> bool:
    """Say whether numbers agree but for their last digits, in which machines may differ."""
    return np.shape(a) == np.shape(b) and bool(np.all(np.isclose(a, b, rtol=1e-6, atol=0.0)))


def whole(steps: Array) -> Array:
    """Undo the last bits that dividing by units leaves off; anything more is not integer noise."""
    near = np.rint(steps)
    return np.where(np.abs(steps - near) <= 1e-9 * (1 + np.abs(near)) + 1e-5, near, steps)


def _plus(one: Integers | None, other: Integers | None) -> Integers | None:
    return None if one is None or other is None else one + other


def _one(chunk: Chunk, row: int) -> Chunk:
    weights = None if chunk.weights is None else chunk.weights[row : row + 1]
    return Chunk(np.ascontiguousarray(chunk.columns[:, row : row + 1]), weights)
