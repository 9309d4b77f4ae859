"""The curator: what algorithms are given instead of rows. `live.py` answers; `replay.py` repeats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shoal.accounting import Budget, Charge, NoGuarantee, round_down
from shoal.domain import STEPS, Bounds, Domain, to_steps
from shoal.errors import InvalidBudget, InvalidInput
from shoal.queries.laws.choices import ChoiceLaw, design_choice
from shoal.queries.laws.noise import Noise, NoiseLaw, design
from shoal.queries.losses.cell_losses import CellLoss
from shoal.queries.losses.cluster_cost import Loss
from shoal.queries.losses.windows import HeldLoss
from shoal.queries.partitions.cells import Grid, Keyed, Partition
from shoal.queries.partitions.trees import GrowthLaw, Tree, check_axes, design_growth
from shoal.queries.questions import (
    Free,
    Grow,
    Histogram,
    Hold,
    Note,
    PublicSeed,
    Question,
    Restore,
    Select,
    SelectEach,
    SparseHistogram,
    Step,
    Sums,
    WithoutNearest,
)
from shoal.queries.questions.answers import (
    Chosen,
    NoisyCounts,
    NoisyMeans,
    NoisySums,
    NotPrivate,
    SparseCounts,
)
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.questions.materialised import check_grid
from shoal.queries.questions.published import AsPublished
from shoal.queries.statistics.aggregates import Change, RowStat, Value


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
        self._holds = False
        self._used_up = False

    def within(self, bounds: Bounds, portion: Fraction) -> Self:
        """Return a curator of the same rows clipped to other public bounds, with a portion of the budget.

        Parameters
        ----------
        bounds : Bounds
            Public, or estimated from answers.
        portion : Fraction
            What costs of the new curator are fractions of, as a portion of this one's.
        """
        if self._holds:
            raise InvalidInput("rows that are held cannot be put within other bounds; do that first")
        inner = self._rebound(replace(self.domain, bounds=bounds))
        inner._portion = self._portion * portion
        return inner

    def hold(self, grid: Grid | None = None) -> Self:
        """Return a curator that holds all rows at once, so that some can be taken away. Free.

        Its rows have no weights: each was kept with the probability of its share of the largest. This curator
        is used up by it.

        Parameters
        ----------
        grid : Grid, optional
            Move each row to the middle of its box, and keep only counts; powers of 2 a side.
        """
        check_grid(grid, self.domain.n_columns)
        return self._turn(Hold(grid))

    def without_nearest(self, centre: npt.NDArray[np.float64], n: int) -> Self:
        """Return a curator without the n rows nearest to a public point. Free, and uses this one up.

        Ties are settled by the rows' coordinates, so that tables one row apart stay one row apart.

        Parameters
        ----------
        centre : ndarray of shape (n_columns,)
            A point of [-1, 1]^d.
        n : int
            How many; all, if there are fewer.
        """
        if not self._holds:
            raise InvalidInput("rows can be taken only from a curator that holds them: call hold() first")
        if np.shape(centre) != (self.domain.n_columns,) or n < 0:
            raise InvalidInput(
                f"{n} rows nearest to a point of shape {np.shape(centre)} cannot be taken away"
            )
        return self._turn(WithoutNearest(to_steps(np.asarray(centre, dtype=np.float64)), n))

    def restored(self) -> Self:
        """Return a curator of all rows that were held, none taken away. Free, and uses this one up."""
        if not self._holds:
            raise InvalidInput("there is nothing to restore: this curator holds no rows")
        return self._turn(Restore())

    def _turn(self, step: Step) -> Self:
        self._ask(step)
        inner = self.after(step)
        # A transcript is one line of questions: nobody can tell later whom an old curator was asked.
        self._used_up = True
        return inner

    def after(self, question: Question) -> Self:
        """Return the curator that answers what follows a question in a transcript. Free and public."""
        if not isinstance(question, Step):
            return self
        inner = copy(self)
        inner._holds = True
        inner.domain = replace(self.domain, max_weight=None)
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

    def sparse_histogram(self, partition: Keyed, *, cost: Fraction, spurious: float) -> SparseCounts:
        """Count the rows of every cell, and keep the cells whose noisy count is large.

        The answer has exactly the law of noise on every cell, so cells may be far more than memory holds. It
        is discrete Laplace noise under any budget.

        Parameters
        ----------
        partition : Keyed
            Public cells, at most 2**62.
        cost : Fraction
            Share of the budget.
        spurious : float
            About how many empty cells may be kept: the more, the lower is the threshold.
        """
        answer: SparseCounts = self._ask(SparseHistogram(partition, self._portion * cost, spurious))
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
        noise : {"linf", "laplace", "split", "gaussian", "cylinder"}, optional
            The law of the noise. If not given it is Gaussian for budgets with delta; for pure ones it is a
            cylinder where values lie in a ball, and else L-infinity.
        """
        answer: NoisySums = self._ask(Sums(partition, of or Value(), self._portion * cost, noise))
        return answer

    def select(self, loss: Loss, *, cost: Fraction, n: int = 1) -> npt.NDArray[np.int64]:
        """Choose candidates of small loss, and return their indices in the order they were chosen.

        Parameters
        ----------
        loss : Loss
            Public candidates, and what a row has against each.
        cost : Fraction
            Share of the budget, of all choices together.
        n : int
            How many different ones; each is chosen from those that are left.
        """
        answer: Chosen = self._ask(Select(loss, self._portion * cost, n))
        return answer.indices

    def select_each(self, loss: CellLoss, *, cost: Fraction) -> npt.NDArray[np.int64]:
        """Choose one candidate of small loss in every cell, and return their indices.

        A row has a say in its own cell only, so all cells together cost what one does.

        Parameters
        ----------
        loss : CellLoss
            Public cells with public candidates, and what a row has against each of its own cell's.
        cost : Fraction
            Share of the budget, of all cells together.
        """
        answer: Chosen = self._ask(SelectEach(loss, self._portion * cost))
        return answer.indices

    def blocks(
        self,
        n_blocks: int,
        reference: npt.NDArray[np.float64],
        within: tuple[tuple[float, ...], tuple[float, ...]],
        *,
        cost: Fraction,
        noise: Noise | None = None,
    ) -> NoisyMeans:
        """Cluster random blocks of rows, each on its own, and return the noisy mean of their centres.

        Parameters
        ----------
        n_blocks : int
            How many blocks.
        reference : ndarray of shape (n_clusters, n_columns)
            Public centres that a block's own are matched to.
        within : (lower, upper)
            Public range of each column that centres are clamped to.
        cost : Fraction
            Share of the budget.
        noise : {"linf", "laplace", "gaussian"}, optional
            The law of the noise.
        """
        lower, upper = within
        answer: NoisyMeans = self._ask(
            BlockMeans(n_blocks, reference, lower, upper, self._portion * cost, noise)
        )
        return answer

    def grow(self, axes: tuple[int, ...], *, cost: Fraction) -> Tree:
        """Halve the domain again and again where rows are many, and return the boxes.

        The noise does not depend on how deep the tree may grow. Only the boxes are released: counting their
        rows is another question.

        Parameters
        ----------
        axes : tuple of int
            The column that each level halves: at most 62 levels, no column more than 20 times.
        cost : Fraction
            Share of the budget.
        """
        answer: Tree = self._ask(Grow(axes, self._portion * cost))
        return answer

    def as_published(self, task: AsPublished) -> NotPrivate:
        """Run an algorithm as it was published, without privacy. Refused wherever a guarantee is asked for.

        Parameters
        ----------
        task : AsPublished
            One that the gate knows: code to run on rows is never handed in.
        """
        answer: NotPrivate = self._ask(task)
        return answer

    def note(self, text: str) -> None:
        """Write down what was chosen from public and released values, and why: the certificate shows it."""
        self._ask(Note(text))

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
        return float(scale[0] * stat.unit), float(scale[change.n_values])

    def count_sd(self, *, cost: Fraction) -> float:
        """Return the standard deviation of a count that `histogram` would give. Free and public."""
        change = self._change(None)
        return float(self._law(change, self._portion * cost, None).sd[0] / change.width * self._weight)

    def law(self, question: Histogram | SparseHistogram | Sums | BlockMeans) -> NoiseLaw:
        """Return the noise that a question is answered with. Free and public."""
        if isinstance(question, BlockMeans):
            return self._law(question.change(), question.cost, question.noise)
        if isinstance(question, SparseHistogram):
            return self._law(self._change(None), question.cost, "laplace")
        of, noise = (question.of, question.noise) if isinstance(question, Sums) else (None, None)
        return self._law(self._change(of), question.cost, noise)

    def choice_law(self, question: Select | SelectEach) -> ChoiceLaw:
        """Return how a question's candidates are chosen, in every cell if it has cells. Free and public."""
        share = self._share(question.cost)
        if isinstance(question, SelectEach):
            return design_choice(1, share, self.budget.currency, self.domain.unit)
        if not 1 <= question.n <= question.loss.n_candidates:
            raise InvalidInput(f"{question.n} of {question.loss.n_candidates} candidates cannot be chosen")
        unit = self.domain.unit
        counted = question.loss.counted(unit) if isinstance(question.loss, HeldLoss) else unit
        return design_choice(question.n, share, self.budget.currency, counted)

    def growth_law(self, question: Grow) -> GrowthLaw:
        """Return how a tree's boxes are chosen to be halved. Free and public."""
        check_axes(question.axes, self.domain.n_columns)
        width = self._change(None).width
        return design_growth(width, self._share(question.cost), self.budget.currency, self.domain.unit)

    def price(self, question: Question) -> Charge | None:
        """Return what a question is charged, None for what is free. Free and public."""
        if isinstance(question, Free):
            return None
        if isinstance(question, AsPublished):
            if not isinstance(self.budget, NoGuarantee):
                raise InvalidBudget(
                    f"{question.describe()}; it cannot be had where {self.budget.describe()} is promised"
                )
            return None
        return self._law_of(question).charge(question.describe())

    def _law_of(
        self, question: Histogram | SparseHistogram | Sums | BlockMeans | Select | SelectEach | Grow
    ) -> NoiseLaw | ChoiceLaw | GrowthLaw:
        match question:
            case Select() | SelectEach():
                return self.choice_law(question)
            case Grow():
                return self.growth_law(question)
            case _:
                return self.law(question)

    @property
    def _weight(self) -> float:
        return 1.0 if self.domain.max_weight is None else self.domain.max_weight

    def _change(self, of: RowStat | None) -> Change:
        # One row changes one count by one, or by its share of the largest weight.
        weighted = self.domain.max_weight is not None
        count = Change(width=STEPS if weighted else 1, n_values=0)
        return replace(count if of is None else of.change(self.domain.n_columns), weighted=weighted)

    def _law(self, change: Change, cost: Fraction, noise: Noise | None) -> NoiseLaw:
        return design(change, self._share(cost), self.budget.currency, self.domain.unit, noise)

    def _share(self, cost: Fraction) -> Fraction:
        if not isinstance(cost, Fraction) or not 0 < cost <= 1:
            raise InvalidBudget(f"a cost of {cost!r} is not a Fraction above 0 and at most 1 of the budget")
        return round_down(self.budget.amount * cost)

    @abstractmethod
    def _rebound(self, domain: Domain) -> Self:
        """Return a curator of the same rows on another lattice."""

    @abstractmethod
    def _ask(self, question: Question) -> Any:
        """Answer a question: from rows, or from a transcript."""
