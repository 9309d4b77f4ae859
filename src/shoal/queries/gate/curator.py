"""The curator: what algorithms are given instead of rows. `answering.py` says from what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.accounting import Budget, Charge
from shoal.domain import Bounds, Domain, to_steps
from shoal.domain.side import Sided
from shoal.errors import InvalidInput
from shoal.postprocess.evidence import laplace_rate
from shoal.queries.laws.noise import Noise
from shoal.queries.losses.cell_losses import CellLoss
from shoal.queries.losses.cluster_cost import Loss
from shoal.queries.partitions.cells import Grid, Keyed, Partition
from shoal.queries.partitions.trees import Nodes, Tree
from shoal.queries.questions import (
    AnyQuestion,
    AsPublished,
    BlockMeans,
    Grow,
    Histogram,
    Hold,
    Note,
    Parts,
    PublicSeed,
    Question,
    Restore,
    SeedsAsPublished,
    Select,
    SelectEach,
    SparseHistogram,
    Step,
    Sums,
    Terms,
    WithoutNearest,
)
from shoal.queries.questions.answers import (
    NoisyCounts,
    NoisyMeans,
    NoisySums,
    NotPrivate,
    PartCounts,
    SparseCounts,
)
from shoal.queries.questions.base import Tally
from shoal.queries.questions.block_task import Align
from shoal.queries.questions.parts import Share, share_steps
from shoal.queries.statistics.aggregates import RowStat, Value

L = TypeVar("L")
A = TypeVar("A")


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
        self._tally: Tally = {}
        self._views = count(1)  # one for all curators of a run, which a replay counts alike
        self._view = 0

    @property
    def terms(self) -> Terms:
        """What is public here: what the law and the price of a question depend on."""
        return Terms(self.domain, self.budget, self._holds)

    @property
    def view(self) -> int:
        """Which view of the rows this is: `within`, `sides`, `hold` and the like each make a new one."""
        return self._view

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
        return self._viewed_otherwise(inner)

    def sides(self) -> Self:
        """Return a curator of the same rows that say only where cells lie against the bounds. Free.

        :class:`Sides` counts them.
        """
        if self._holds:
            raise InvalidInput("rows that are held do not tell where their cells lay; ask that first")
        return self._viewed_otherwise(self._rebound(Sided.of(self.domain)))

    def hold(self, grid: Grid | None = None) -> Self:
        """Return a curator that holds all rows at once, so that some can be taken away. Free.

        Its rows have no weights: each was kept with the probability of its share of the largest. This curator
        is used up by it.

        Parameters
        ----------
        grid : Grid, optional
            Move each row to the middle of its box, and keep only counts; powers of 2 per side.
        """
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
        return self._turn(WithoutNearest(to_steps(np.asarray(centre, dtype=np.float64)), n))

    def restored(self) -> Self:
        """Return a curator of all rows that were held, none taken away. Free, and uses this one up."""
        return self._turn(Restore())

    def _turn(self, step: Step) -> Self:
        self._ask(step)
        inner = self.after(step)
        # A transcript is one line of questions: nobody can tell later whom an old curator was asked.
        self._used_up = True
        return self._viewed_otherwise(inner)

    def _viewed_otherwise(self, inner: Self) -> Self:
        """Give it a number of its own: cells of another lattice, or of other rows, are charged apart."""
        inner._view, inner._tally = next(self._views), {}
        return inner

    def after(self, question: AnyQuestion) -> Self:
        """Return the curator that answers what follows a question in a transcript. Free and public."""
        inner = copy(self)
        inner._tally = question.tally(self.terms, self._tally)
        if isinstance(question, Step):
            inner._holds = True
            inner.domain = replace(self.domain, max_weight=None)
        return inner

    def histogram(self, partition: Partition, *, share: Fraction) -> NoisyCounts:
        """Count the rows of every cell.

        Parameters
        ----------
        partition : Partition
            Public cells; every row is in one.
        share : Fraction
            Share of the budget.
        """
        return self._ask(Histogram(partition, self._portion * share))

    def sparse_histogram(self, partition: Keyed, *, share: Fraction, spurious: float) -> SparseCounts:
        """Count the rows of every cell, and keep the cells whose noisy count is large.

        The answer has exactly the law of noise on every cell, so cells may be far more than memory holds. It
        is discrete Laplace noise under any budget.

        Parameters
        ----------
        partition : Keyed
            Public cells, at most 2**62.
        share : Fraction
            Share of the budget.
        spurious : float
            About how many empty cells may be kept: the more, the lower is the threshold.
        """
        return self._ask(SparseHistogram(partition, self._portion * share, spurious))

    def sums(
        self, partition: Partition, *, of: RowStat | None = None, share: Fraction, noise: Noise | None = None
    ) -> NoisySums:
        """Sum a row statistic, and count rows, in every cell.

        Parameters
        ----------
        partition : Partition
            Public cells; every row is in one.
        of : RowStat
            What is summed; the row itself if not given.
        share : Fraction
            Share of the budget.
        noise : Noise, optional
            The law of the noise. If not given it is Gaussian for budgets with delta; for pure ones it is a
            cylinder where values lie in a ball, and else L-infinity.
        """
        return self._ask(Sums(partition, of or Value(), self._portion * share, noise))

    def select(self, loss: Loss, *, share: Fraction, n: int = 1) -> npt.NDArray[np.int64]:
        """Choose candidates of small loss, and return their indices in the order they were chosen.

        Parameters
        ----------
        loss : Loss
            Public candidates, and what a row has against each.
        share : Fraction
            Share of the budget, of all choices together.
        n : int
            How many different ones; each is chosen from those that are left.
        """
        return self._ask(Select(loss, self._portion * share, n)).indices

    def select_each(self, loss: CellLoss, *, share: Fraction) -> npt.NDArray[np.int64]:
        """Choose one candidate of small loss in every cell, and return their indices.

        A row has a say in its own cell only, so all cells together cost what one does.

        Parameters
        ----------
        loss : CellLoss
            Public cells with public candidates, and what a row has against each of its own cell's.
        share : Fraction
            Share of the budget, of all cells together.
        """
        return self._ask(SelectEach(loss, self._portion * share)).indices

    def blocks(
        self,
        n_blocks: int,
        reference: npt.NDArray[np.float64],
        within: tuple[tuple[float, ...], tuple[float, ...]],
        *,
        share: Fraction,
        noise: Noise | None = None,
        align: Align = "matched",
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
        share : Fraction
            Share of the budget.
        noise : Noise, optional
            The law of the noise.
        align : {"matched", "sorted"}
            Which of a block's centres is the first: matched to the public ones, or sorted by their columns.
        """
        lower, upper = within
        return self._ask(BlockMeans(n_blocks, reference, lower, upper, self._portion * share, noise, align))

    def grow(self, axes: tuple[int, ...], *, share: Fraction) -> Tree:
        """Halve the domain again and again where rows are many, and return the boxes.

        The noise does not depend on how deep the tree may grow. Only the boxes are released: counting their
        rows is another question.

        Parameters
        ----------
        axes : tuple of int
            The column that each level halves: at most 62 levels, no column more than 20 times.
        share : Fraction
            Share of the budget.
        """
        return self._ask(Grow(axes, self._portion * share))

    def parts(
        self,
        axes: tuple[int, ...],
        nodes: Nodes,
        deeper: npt.ArrayLike,
        *,
        shares: Sequence[Share] | npt.NDArray[np.float64],
        beyond: int = 0,
    ) -> PartCounts:
        """Count the rows in cells below disjoint nodes of a tree, each node with a share of its own.

        A row loses what is spent along its own path. All questions about one tree are charged together: each
        by how much the dearest path has grown, through empty space too. So nodes that nobody asked about yet
        may cost nothing.

        Parameters
        ----------
        axes : tuple of int
            The column that each level of the tree halves: at most 62 levels, no column more than 20 times.
        nodes : Nodes
            Disjoint boxes of the tree, in any order.
        deeper : array of int
            How many levels below its node the cells of each lie: node i has 2**deeper[i] cells.
        shares : sequence of Fraction or float
            Share of the budget for each node; rounded down to eight significant bits.
        beyond : int
            By how many 64ths of every column's width the tree reaches below the lower bounds, where no rows
            are: so its halves do not meet in the middle of the domain.
        """
        given = (np.asarray(values) for values in (nodes.starts, nodes.levels, deeper))
        starts, levels, more = (v.astype(np.int64) if v.dtype.kind in "iu" else v for v in given)
        steps = share_steps(shares, self._portion)
        return self._ask(Parts(tuple(axes), Nodes(starts, levels), more, steps, self._view, beyond))

    def as_published(self, task: AsPublished | SeedsAsPublished) -> NotPrivate:
        """Run an algorithm as it was published, without privacy. Refused wherever a guarantee is asked for.

        Parameters
        ----------
        task : AsPublished or SeedsAsPublished
            One that the gate knows: code to run on rows is never handed in.
        """
        return self._ask(task)

    def note(self, text: str) -> None:
        """Write down what was chosen from public and released values, and why: the certificate shows it."""
        self._ask(Note(text))

    def public_rng(self, label: str) -> np.random.Generator:
        """Return a generator for public randomness; its seed is in the transcript."""
        return np.random.Generator(np.random.PCG64(self._ask(PublicSeed(label))))

    def noise_sd(
        self, *, of: RowStat | None = None, share: Fraction, noise: Noise | None = None
    ) -> tuple[float, float]:
        """Return the standard deviations of a sum and of a count that `sums` would give. Free and public."""
        question = Sums(Grid.whole(self.domain.n_columns), of or Value(), self._portion * share, noise)
        return question.sd(self.law(question), self.terms)

    def count_sd(self, *, share: Fraction) -> float:
        """Return the standard deviation of a count that `histogram` would give. Free and public."""
        question = Histogram(Grid.whole(self.domain.n_columns), self._portion * share)
        return question.sd(self.law(question), self.terms)

    def effective_epsilon(self, *, share: Fraction) -> float:
        """Return the epsilon whose Laplace noise spreads like that of a count. Free and public.

        Under a pure budget it is the share of epsilon itself; formulas in epsilon serve other budgets by it.
        """
        return laplace_rate(max(self.count_sd(share=share), 1e-9))  # an absurd budget has no noise left

    def law(self, question: Question[L, Any, Any]) -> L:
        """Return how a question is answered: its noise, or how candidates are chosen. Free and public."""
        return question.law(self.terms)

    def price(self, question: AnyQuestion) -> Charge | None:
        """Return what a question is charged, None for what is free. Free and public."""
        terms = self.terms
        question.check(terms)
        return question.charge(question.law(terms), terms, self._tally)

    @abstractmethod
    def _rebound(self, domain: Domain) -> Self:
        """Return a curator of the same rows on another lattice."""

    @abstractmethod
    def _ask(self, question: Question[Any, Any, A]) -> A:
        """Answer a question: from rows, or from a transcript."""
