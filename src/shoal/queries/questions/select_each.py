"""One candidate of small loss in every cell, for the price of one choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal._typing import Integers
from shoal.domain import Chunk
from shoal.mechanisms import Entropy
from shoal.queries.laws.choices import ChoiceLaw, design_choice
from shoal.queries.losses.cell_losses import CellLoss
from shoal.queries.questions.answers import Chosen
from shoal.queries.questions.base import SHARE, Additive, Terms
from shoal.queries.questions.select import are_candidates, check_columns


@dataclass(frozen=True, eq=False)
class SelectEach(Additive[ChoiceLaw, Integers, Chosen]):
    """Ask for one candidate of small loss in every cell, each chosen with noise."""

    loss: CellLoss
    share: Fraction = field(metadata=SHARE)

    answers: ClassVar = Chosen

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"best in each of {self.loss.n_cells} cells by {self.loss.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse candidates of another table."""
        check_columns(self.loss.n_columns, terms)

    def law(self, terms: Terms) -> ChoiceLaw:
        """Return how candidates are chosen in every cell; a row has a say in one."""
        return design_choice(1, terms.amount(self.share), terms.currency, terms.unit)

    def exact(self, chunk: Chunk, terms: Terms) -> Integers:
        """Return the losses, one line per cell."""
        return self.loss.exact_cell_losses(chunk, terms.metric)

    def draw(self, exact_totals: Integers, law: ChoiceLaw, entropy: Entropy) -> Integers:
        """Choose in every cell."""
        return np.array([law.draw(entropy, losses)[0] for losses in exact_totals], dtype=np.int64)

    def rehearse(self, rows: float, law: ChoiceLaw, terms: Terms) -> Integers:
        """Choose the first."""
        return np.zeros(self.loss.n_cells, dtype=np.int64)

    def answer(self, noisy: Integers, law: ChoiceLaw, terms: Terms) -> Chosen:
        """Tell which were chosen."""
        return Chosen(noisy)

    def fits(self, answer: Chosen, law: ChoiceLaw, terms: Terms) -> bool:
        """Check that there is a candidate for each cell."""
        return are_candidates(answer.indices, self.loss.n_cells, self.loss.n_candidates)

    def told_apart(self, before: Integers, after: Integers, law: ChoiceLaw, answer: Chosen) -> float:
        """Return what the choices lose. Cells choose on their own, so that their losses add up."""
        cells = zip(before, after, answer.indices, strict=True)
        return sum(law.told_apart(a, b, np.array([pick])) for a, b, pick in cells)
