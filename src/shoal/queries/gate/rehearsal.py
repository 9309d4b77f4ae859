"""A curator that answers from a guess of the number of rows: what `explain` runs."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from shoal.accounting import Budget, Charge
from shoal.domain import Domain
from shoal.queries.gate.live import AnsweringCurator, Kept, Steps
from shoal.queries.laws.choices import ChoiceLaw
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.partitions.trees import GrowthLaw
from shoal.queries.questions import (
    Grow,
    Histogram,
    Hold,
    Question,
    Restore,
    Select,
    SelectEach,
    SparseHistogram,
    Sums,
    WithoutNearest,
)
from shoal.queries.questions.answers import NotPrivate
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.questions.published import AsPublished
from shoal.queries.questions.sparse import rehearsed
from shoal.queries.statistics.aggregates import Change

# A rehearsal makes up 2^10 boxes at most.
_MOST_REHEARSED_LEVELS = 10


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
        self._rows = self._held = rows

    def after(self, question: Question) -> Self:
        """Return the curator that answers what follows, with some of its rows taken away."""
        inner = super().after(question)
        match question:
            case Hold():
                inner._held = self._rows
            case WithoutNearest(_, n):
                inner._rows = max(self._rows - n, 0.0)
            case Restore():
                inner._rows = self._held
        return inner

    def _pay(self, charge: Charge) -> None:
        """Nothing is spent."""

    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:  # noqa: ARG002
        cells = question.partition.n_cells
        totals = np.zeros((cells, change.dimension))
        totals[:, change.n_values] = self._rows / cells * change.width
        return totals

    def _indices(self, question: Select | SelectEach, law: ChoiceLaw) -> npt.NDArray[np.int64]:
        if isinstance(question, SelectEach):
            return np.zeros(question.loss.n_cells, dtype=np.int64)
        return np.arange(law.n, dtype=np.int64)

    def _kept(self, question: SparseHistogram, law: NoiseLaw, threshold: int) -> Kept:  # noqa: ARG002
        return rehearsed(question.partition.n_cells, self._rows)

    def _block_totals(self, question: BlockMeans, law: NoiseLaw) -> Steps:  # noqa: ARG002
        return np.zeros(question.reference.size)

    def _boxes(self, question: Grow, law: GrowthLaw) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        # Even rows: a box is halved while its share of them is above the penalties.
        levels = next(
            (t for t in range(len(question.axes)) if self._rows / 2**t <= (t + 1) * law.penalty),
            len(question.axes),
        )
        levels = min(levels, _MOST_REHEARSED_LEVELS)
        starts = np.arange(2**levels, dtype=np.int64) << (len(question.axes) - levels)
        return starts, np.full(len(starts), levels, dtype=np.int64)

    def _published(self, question: AsPublished) -> NotPrivate:
        shape = question.n_clusters, self.domain.n_columns
        return NotPrivate(np.zeros(shape), np.zeros((question.rounds, *shape)))

    def _seed(self) -> int:
        return 0
