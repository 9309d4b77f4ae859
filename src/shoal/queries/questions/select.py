"""Candidates of small loss: a few of all, or one in every cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal._typing import Integers
from shoal.domain import Chunk
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.laws.choices import ChoiceLaw, design_choice
from shoal.queries.losses.cluster_cost import Loss
from shoal.queries.losses.windows import HeldLoss
from shoal.queries.questions.answers import Chosen
from shoal.queries.questions.base import SHARE, Additive, Source, Terms, shaped


@dataclass(frozen=True, eq=False)
class Select(Additive[ChoiceLaw, Integers, Chosen]):
    """Ask for candidates of small loss: n different ones, each chosen with noise."""

    loss: Loss
    share: Fraction = field(metadata=SHARE)
    n: int

    answers: ClassVar = Chosen

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"best {self.n} by {self.loss.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse candidates of another table, and losses of held rows where none are held."""
        check_columns(self.loss.n_columns, terms)
        if isinstance(self.loss, HeldLoss) and not terms.holds:
            raise InvalidInput(f"{self.loss.describe()}: asked only of a curator that holds rows")

    def law(self, terms: Terms) -> ChoiceLaw:
        """Return how candidates are chosen."""
        if not 1 <= self.n <= self.loss.n_candidates:
            raise InvalidInput(f"{self.n} of {self.loss.n_candidates} candidates cannot be chosen")
        counted = self.loss.counted(terms.unit) if isinstance(self.loss, HeldLoss) else terms.unit
        return design_choice(self.n, terms.amount(self.share), terms.currency, counted)

    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Return the loss of every candidate, in one line."""
        return self.loss.exact_losses(chunk, terms.metric)[np.newaxis, :]

    def exact_lines(self, rows: Chunk, terms: Terms) -> Integers:
        """Return the losses. Those of held rows need not add up, and know how many a row stands for."""
        if isinstance(self.loss, HeldLoss):
            return self.exact(rows, terms)
        return super().exact_lines(rows, terms)

    def exact_of(self, source: Source, terms: Terms) -> Integers:
        """Return the losses of all rows; of held ones, from totals that add up."""
        if isinstance(self.loss, HeldLoss):
            return self.loss.losses_of(source.reduce(self.loss.exact_counts, np.add))[np.newaxis, :]
        return super().exact_of(source, terms)

    def draw(self, exact_totals: Integers, law: ChoiceLaw, entropy: Entropy) -> Integers:
        """Choose."""
        return law.draw(entropy, exact_totals[0])

    def rehearse(self, rows: float, law: ChoiceLaw, terms: Terms) -> Integers:
        """Choose the first."""
        return np.arange(law.n, dtype=np.int64)

    def answer(self, noisy: Integers, law: ChoiceLaw, terms: Terms) -> Chosen:
        """Tell which were chosen."""
        return Chosen(noisy)

    def fits(self, answer: Chosen, law: ChoiceLaw, terms: Terms) -> bool:
        """Check that they are different candidates."""
        inside = are_candidates(answer.indices, self.n, self.loss.n_candidates)
        return inside and len(np.unique(answer.indices)) == self.n

    def told_apart(self, before: Integers, after: Integers, law: ChoiceLaw, answer: Chosen) -> float:
        """Return what the choices lose, along those that were made."""
        return law.told_apart(before[0], after[0], answer.indices)


def check_columns(n_columns: int, terms: Terms) -> None:
    """Refuse candidates that are not of this table."""
    if n_columns != terms.n_columns:
        raise InvalidInput(f"candidates have {n_columns} columns; the table has {terms.n_columns}")


def are_candidates(indices: Integers, n: int, n_candidates: int) -> bool:
    """Say whether these are n indices of candidates."""
    return shaped(indices, n) and bool(((indices >= 0) & (indices < n_candidates)).all())
