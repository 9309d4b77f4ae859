"""The curator that answers from rows: charged first, noisy always."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Self, TypeVar

from shoal.accounting import Allowance, Budget, Charge, NoGuarantee
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.gate.curator import Curator
from shoal.queries.gate.transcript import Entry, Transcript
from shoal.queries.laws.noise import check_budget
from shoal.queries.questions import AnyQuestion, Question, Step, Terms
from shoal.queries.questions.source import Source

L = TypeVar("L")
N = TypeVar("N")
A = TypeVar("A")


class AnsweringCurator(Curator):
    """Checks a question, charges for it, answers, and writes it all down; subclasses say from what."""

    def __init__(self, domain: Domain, budget: Budget, n_rows: int | None, entropy: str) -> None:
        super().__init__(domain, budget, n_rows)
        if not isinstance(budget, NoGuarantee):
            check_budget(budget.amount, budget.currency, domain.unit)
        self.transcript = Transcript(domain, budget, n_rows, entropy)

    @abstractmethod
    def _pay(self, charge: Charge) -> None:
        """Take the charge, or refuse it. Called before anything is computed."""

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
        if charge is not None:
            self._pay(charge)
        # From here on it counts as asked, even if the answer never comes.
        self._tally = question.tally(terms, self._tally)
        answer = question.answer(self._noisy(question, law, terms), law, terms)
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
            inner._source = question.follow(self._source, self.terms, self._entropy)
        return inner

    def _ask(self, question: Question[L, N, A]) -> A:
        self._allowance.check()  # what is free, too, is not for a forked copy
        return super()._ask(question)

    def _pay(self, charge: Charge) -> None:
        self._allowance.charge(charge)
        if self._progress is not None:
            self._progress(charge)
            self._allowance.check()  # who is told may fork: one charge is for one answer

    def _noisy(self, question: Question[L, N, A], law: L, terms: Terms) -> N:
        return question.noisy(self._source, law, terms, self._entropy)
