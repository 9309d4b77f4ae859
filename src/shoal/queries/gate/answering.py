"""Who answers: from rows, charged first and noisy always; from the record of a run; from a guess of the rows.

The record, a transcript, holds every question with its charge and its noisy answer: enough to run it again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, TypeVar

from shoal.accounting import Allowance, Budget, Charge, NoGuarantee
from shoal.domain import Domain
from shoal.errors import InvalidInput, ReplayMismatch
from shoal.mechanisms import Entropy, SeededEntropy
from shoal.queries.gate.codec import Follows, digest
from shoal.queries.gate.curator import Curator
from shoal.queries.gate.stored import pack, unpack
from shoal.queries.laws.noise import check_budget
from shoal.queries.questions import AnyQuestion, Note, Question, Step, Terms
from shoal.queries.questions.base import Source

L = TypeVar("L")
N = TypeVar("N")
A = TypeVar("A")


@dataclass(frozen=True, eq=False)
class Entry:
    """One question and what came back.

    Parameters
    ----------
    question : Question
        What was asked.
    answer : object
        The noisy answer, of the class that the question names; or the seed of public randomness.
    charge : Charge, optional
        What it cost; None for public randomness.
    """

    question: AnyQuestion
    answer: Annotated[Any, Follows("question", "answers")]
    charge: Charge | None


@dataclass(eq=False)
class Transcript:
    """All entries of one run, with the public facts it started from."""

    domain: Domain
    budget: Budget
    n_rows: int | None
    entropy: str
    entries: list[Entry] = field(default_factory=list)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge, in order."""
        return tuple(entry.charge for entry in self.entries if entry.charge is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the algorithm said it chose, in order."""
        return tuple(entry.question.text for entry in self.entries if isinstance(entry.question, Note))

    def digest(self) -> str:
        """Return a hash over the public facts, questions, answers and charges."""
        return digest(self)


class AnsweringCurator(Curator):
    """Checks a question, charges for it, answers, and writes it all down; subclasses say from what."""

    def __init__(self, domain: Domain, budget: Budget, n_rows: int | None, entropy: str) -> None:
        super().__init__(domain, budget, n_rows)
        if not isinstance(budget, NoGuarantee):
            check_budget(budget.amount, budget.currency, domain.unit)
        self.transcript = Transcript(domain, budget, n_rows, entropy)

    @abstractmethod
    def _pay(self, charge: Charge, question: AnyQuestion) -> None:
        """Take the charge, or refuse it. Called before anything is computed."""

    def _stored(self, question: Question[Any, Any, A]) -> A | None:  # noqa: ARG002 - for those that resume
        """Return the answer that was given before the fit was interrupted; None if there is none."""
        return None

    def _store(self, question: AnyQuestion, answer: Any) -> None:
        """Make an answer durable, before anybody sees it."""

    @abstractmethod
    def _noisy(self, question: Question[L, N, A], law: L, terms: Terms) -> N:
        """Return the noisy steps that the answer is made of."""

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same allowance, entropy and transcript
        inner.domain = domain
        return inner

    def _ask(self, question: Question[L, N, A]) -> A:
        if self._used_up:
            raise InvalidInput("rows were taken from this curator: ask the one that was returned")
        terms = self.terms
        question.check(terms)
        law = question.law(terms)
        charge = question.charge(law, terms, self._tally)
        answer = self._stored(question)
        if answer is None and charge is not None:
            self._pay(charge, question)
        # From here on it counts as asked, even if the answer never comes.
        self._tally = question.tally(terms, self._tally)
        if answer is None:
            answer = question.answer(self._noisy(question, law, terms), law, terms)
            self._store(question, answer)
        self.transcript.entries.append(Entry(question, answer, charge))
        return answer


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

    def after(self, question: AnyQuestion) -> Self:
        """Return the curator that answers what follows, with the rows held or some taken away."""
        inner = super().after(question)
        if isinstance(question, Step):
            inner._source = question.follow(self._source, self.terms, self._stream())
        return inner

    def _ask(self, question: Question[L, N, A]) -> A:
        self._allowance.check()  # what is free, too, is not for a forked copy
        return super()._ask(question)

    def _pay(self, charge: Charge, question: AnyQuestion) -> None:
        self._allowance.charge(charge, self._number, self._digest(question))
        if self._progress is not None:
            self._progress(charge)
            self._allowance.check()  # who is told may fork: one charge is for one answer

    def _noisy(self, question: Question[L, N, A], law: L, terms: Terms) -> N:
        return question.noisy(self._source, law, terms, self._stream())

    @property
    def _number(self) -> int:
        """Which question of the fit this is."""
        return len(self.transcript.entries)

    def _stream(self) -> Entropy:
        # A seeded fit that may be resumed has words of its own for every question: those that were answered
        # before are not drawn again, and how many there were must not be stored, as it tells of the noise.
        entropy = self._entropy
        if self._allowance.durable and isinstance(entropy, SeededEntropy):
            return entropy.apart(self._number)
        return entropy

    def _digest(self, question: AnyQuestion) -> str:
        return digest(question) if self._allowance.durable else ""

    def _stored(self, question: Question[Any, Any, A]) -> A | None:
        found = self._allowance.answered(self._number, self._digest(question))
        return None if found is None else unpack(question, found)

    def _store(self, question: AnyQuestion, answer: Any) -> None:
        # Steps and notes have nothing to tell, and are done again.
        if self._allowance.durable and not isinstance(question, Step | Note):
            self._allowance.keep(self._number, digest(question), pack(answer))


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
        self._rows = self._whole = rows

    def after(self, question: AnyQuestion) -> Self:
        """Return the curator that answers what follows, with some of its rows taken away."""
        inner = super().after(question)
        if isinstance(question, Step):
            inner._rows, inner._whole = question.follow_number(self._rows, self._whole)
        return inner

    def _pay(self, charge: Charge, question: AnyQuestion) -> None:
        """Nothing is spent."""

    def _noisy(self, question: Question[L, N, A], law: L, terms: Terms) -> N:
        return question.rehearse(self._rows, law, terms)


class ReplayCurator(Curator):
    """Answers from a transcript. It has no rows, no noise and no budget to spend.

    An algorithm that gives another result here than in the recorded run has looked at something that
    the curator did not tell it.

    Parameters
    ----------
    transcript : Transcript
        The record of a run.
    """

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.domain, transcript.budget, transcript.n_rows)
        self._entries = iter(transcript.entries)

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same entries, read on
        inner.domain = domain
        return inner

    def _ask(self, question: Question[Any, Any, A]) -> A:
        entry = next(self._entries, None)
        if entry is None:
            raise ReplayMismatch(f"the replay asks for {question.describe()} where the transcript has ended")
        if digest(entry.question) != digest(question):
            raise ReplayMismatch(
                f"the replay asks for {question.describe()}, the transcript has {entry.question.describe()} "
                "or the same with other arguments: the algorithm depends on more than its answers"
            )
        answer: A = entry.answer
        return answer

    def finish(self) -> None:
        """Check that every recorded question was asked again."""
        if next(self._entries, None) is not None:
            raise ReplayMismatch("the replay asked fewer questions than were recorded")
