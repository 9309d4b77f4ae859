"""A curator that answers from a guess of the number of rows: what `explain` runs."""

from __future__ import annotations

from typing import Self, TypeVar

from shoal.accounting import Budget, Charge
from shoal.domain import Domain
from shoal.queries.gate.live import AnsweringCurator
from shoal.queries.questions import AnyQuestion, Question, Step, Terms

L = TypeVar("L")
N = TypeVar("N")
A = TypeVar("A")


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

    def _pay(self, charge: Charge) -> None:
        """Nothing is spent."""

    def _noisy(self, question: Question[L, N, A], law: L, terms: Terms) -> N:
        return question.rehearse(self._rows, law, terms)
