"""Fits of made-up tables: of rows that were drawn from what was released, with public noise.

All of it is post-processing. A made-up table takes released places and a public seed, and nothing else: rows
of a real one have no way in.
"""

from __future__ import annotations

from copy import copy
from typing import Self, TypeVar

import numpy as np

from shoal._typing import Array
from shoal.accounting import Budget
from shoal.domain import STEPS, Chunk, Domain, to_steps
from shoal.domain.groups import Here
from shoal.errors import InvalidInput
from shoal.mechanisms import SeededEntropy
from shoal.postprocess.shown import Shown
from shoal.queries.gate.curator import Curator
from shoal.queries.questions import AnyQuestion, Question, Step
from shoal.queries.questions.base import Source

L = TypeVar("L")
N = TypeVar("N")
A = TypeVar("A")
T = TypeVar("T")

# Different rows of a table, at most: enough for the shape of groups, few enough to be counted in a blink.
MOST_ROWS = 2**15


class MadeUpTable:
    """Rows drawn once from what a look shows, as many as there are; each of a large table stands for many.

    Parameters
    ----------
    shown : Shown
        Where rows are.
    domain : Domain
        What its places are scaled to.
    seed : int
        Public.
    rows : float, optional
        How many; as many as are shown, if not given.
    """

    def __init__(self, shown: Shown, domain: Domain, seed: int, rows: float | None = None) -> None:
        self.domain = domain
        n = round((shown.rows if rows is None else rows) / (domain.max_weight or 1.0))
        # A power of two, so that to sum the rows once is to sum all that they stand for.
        many = max(0, (max(n, 1) - 1).bit_length() - MOST_ROWS.bit_length() + 1)
        points = shown.draw(max(1, n >> many), np.random.default_rng(seed))
        self._steps = to_steps(points)
        self._many = many

    @property
    def points(self) -> Array:
        """The different rows, in the scaled units of the domain."""
        return np.asarray(self._steps / STEPS)

    def chunk(self) -> Chunk:
        """Return the rows on the lattice."""
        columns = np.ascontiguousarray((self._steps.T / STEPS).astype(np.float32))
        counts = None if not self._many else np.full(len(self._steps), 1 << self._many, dtype=np.int64)
        return Chunk(columns, counts=counts)


class _Rows(Here[Chunk]):
    """A table as the gate asks for it."""

    def within(self, domain: Domain) -> Source:  # noqa: ARG002 - it was made up within these bounds
        return self


class MadeUpCurator(Curator):
    """Answers about made-up rows, with noise of the laws that the budget asks for. Nothing is spent.

    Parameters
    ----------
    table : MadeUpTable
        The rows.
    budget : Budget
        What shares are fractions of.
    seed : int
        Public; of the noise.
    n_rows : int, optional
        The public row count, if there is one.
    """

    def __init__(self, table: MadeUpTable, budget: Budget, seed: int, n_rows: int | None = None) -> None:
        super().__init__(table.domain, budget, n_rows)
        self._source: Source = _Rows([table.chunk()])
        self._entropy = SeededEntropy(seed)

    def _rebound(self, domain: Domain) -> Self:
        if domain.bounds != self.domain.bounds:
            raise InvalidInput("made-up rows lie within the bounds that they were made up in")
        return copy(self)

    def after(self, question: AnyQuestion) -> Self:
        """Return the curator that answers what follows, with the rows held or some taken away."""
        inner = super().after(question)
        if isinstance(question, Step):
            inner._source = question.follow(self._source, self.terms, self._entropy)
        return inner

    def _ask(self, question: Question[L, N, A]) -> A:
        terms = self.terms
        question.check(terms)
        law = question.law(terms)
        return question.answer(question.noisy(self._source, law, terms, self._entropy), law, terms)
