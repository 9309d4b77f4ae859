"""The curator that answers from rows: charged first, noisy always."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from functools import reduce as fold
from typing import Any, Self, assert_never

import numpy as np
import numpy.typing as npt

from shoal.accounting import Allowance, Budget, Charge, NoGuarantee
from shoal.domain import STEPS, Domain
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, public_seed
from shoal.queries.gate.curator import Curator
from shoal.queries.gate.transcript import Entry, Transcript
from shoal.queries.laws.choices import ChoiceLaw
from shoal.queries.laws.noise import NoiseLaw, check_budget
from shoal.queries.losses.coordinate_mass import Picked
from shoal.queries.losses.windows import HeldLoss
from shoal.queries.partitions.cells import Partition, check_dense
from shoal.queries.partitions.trees import GrowthLaw, Tree, exact_tree_cells
from shoal.queries.questions import (
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
from shoal.queries.questions.blocks import BlockMeans, draw_blocks, exact_block_totals
from shoal.queries.questions.materialised import HeldRows, exact_sum, exact_without_nearest, hold
from shoal.queries.questions.published import AsPublished
from shoal.queries.questions.source import Source
from shoal.queries.questions.sparse import check_sparse, draw, exact_cells, gather, merge, threshold_for
from shoal.queries.statistics.aggregates import Change, RowStat, exact_count

Steps = npt.NDArray[np.float64]
Kept = tuple[npt.NDArray[np.int64], npt.NDArray[np.generic]]


class AnsweringCurator(Curator):
    """Designs the noise, charges for it, answers, and writes it all down; subclasses say from what."""

    def __init__(self, domain: Domain, budget: Budget, n_rows: int | None, entropy: str) -> None:
        super().__init__(domain, budget, n_rows)
        if not isinstance(budget, NoGuarantee):
            check_budget(budget.amount, budget.currency, domain.unit)
        self.transcript = Transcript(domain, budget, n_rows, entropy)

    @abstractmethod
    def _pay(self, charge: Charge) -> None:
        """Take the charge, or refuse it. Called before anything is computed."""

    @abstractmethod
    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:
        """Return noisy totals in steps of the lattice, one row a cell, one column a coordinate."""

    @abstractmethod
    def _indices(self, question: Select | SelectEach, law: ChoiceLaw) -> npt.NDArray[np.int64]:
        """Return the chosen candidates: of all, or one of each cell."""

    @abstractmethod
    def _kept(self, question: SparseHistogram, law: NoiseLaw, threshold: int) -> Kept:
        """Return the keys of the kept cells, sorted, and their noisy counts."""

    @abstractmethod
    def _block_totals(self, question: BlockMeans, law: NoiseLaw) -> Steps:
        """Return the noisy sum of the blocks' centres, in steps of their range, coordinate by coordinate."""

    @abstractmethod
    def _boxes(self, question: Grow, law: GrowthLaw) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return starts and levels of a tree's boxes."""

    @abstractmethod
    def _published(self, question: AsPublished) -> NotPrivate:
        """Run an algorithm that has no guarantee."""

    @abstractmethod
    def _seed(self) -> int:
        """Return a seed for public randomness."""

    def _rebound(self, domain: Domain) -> Self:
        inner = copy(self)  # the same allowance, entropy and transcript
        inner.domain = domain
        return inner

    def _ask(self, question: Question) -> Any:
        if self._used_up:
            raise InvalidInput("rows were taken from this curator: ask the one that was returned")
        charge: Charge | None = None
        answer: Any
        match question:
            case Histogram() | Sums():
                answer, charge = self._answer(question)
            case Select() | SelectEach():
                answer, charge = self._choose(question)
            case SparseHistogram():
                answer, charge = self._filter(question)
            case BlockMeans():
                answer, charge = self._aggregate(question)
            case AsPublished():
                self.price(question)  # refuses where anything is promised
                answer = self._published(question)
            case Grow():
                answer, charge = self._grow(question)
            case PublicSeed():
                answer = self._seed()
            case Hold() | WithoutNearest() | Restore() | Note():
                answer = 0
            case _:
                assert_never(question)
        self.transcript.entries.append(Entry(question, answer, charge))
        return answer

    def _answer(self, question: Histogram | Sums) -> tuple[NoisyCounts | NoisySums, Charge]:
        of = question.of if isinstance(question, Sums) else None
        _check_anchors(question.partition, of, self.domain.n_columns)
        check_dense(question.partition)
        change = self._change(of)
        law = self.law(question)
        charge = law.charge(question.describe())
        self._pay(charge)
        scale = self._weight / change.width
        noisy, sd = self._totals(question, change, law) * scale, law.sd * scale
        if of is None:
            return NoisyCounts(noisy[:, 0], float(sd[0])), charge
        return _sums(noisy, sd, of, change), charge

    def _choose(self, question: Select | SelectEach) -> tuple[Chosen, Charge]:
        if question.loss.n_columns != self.domain.n_columns:
            raise InvalidInput(
                f"candidates have {question.loss.n_columns} columns; the table has {self.domain.n_columns}"
            )
        if isinstance(question.loss, HeldLoss) and not self._holds:
            raise InvalidInput(f"{question.loss.describe()}: asked only of a curator that holds rows")
        law = self.choice_law(question)
        charge = law.charge(question.describe())
        self._pay(charge)
        return Chosen(self._indices(question, law)), charge

    def _aggregate(self, question: BlockMeans) -> tuple[NoisyMeans, Charge]:
        self._check_loose(question)
        law = self.law(question)
        charge = law.charge(question.describe())
        self._pay(charge)
        scale = question.half / (STEPS * question.n_blocks)
        noisy = self._block_totals(question, law).reshape(question.reference.shape)
        means = np.clip(noisy * scale + question.middle, question.lower, question.upper)
        return NoisyMeans(means, float(law.sd[0]) * scale), charge

    def _check_loose(self, question: BlockMeans | SparseHistogram) -> None:
        if self._holds:
            raise InvalidInput(f"{question.describe()}: not asked of a curator that holds rows; ask before")

    def _filter(self, question: SparseHistogram) -> tuple[SparseCounts, Charge]:
        self._check_loose(question)
        check_sparse(question.partition, question.spurious, self.domain)
        law = self.law(question)
        rate = law.blocks[0].parameter
        threshold = threshold_for(question.partition.n_cells, rate, question.spurious)
        charge = law.charge(question.describe())
        self._pay(charge)
        cells, counts = self._kept(question, law, threshold)
        return SparseCounts(cells, counts.astype(np.float64), float(law.sd[0]), threshold), charge

    def _grow(self, question: Grow) -> tuple[Tree, Charge]:
        law = self.growth_law(question)
        charge = law.charge(question.describe())
        self._pay(charge)
        return Tree(question.axes, self.domain.n_columns, *self._boxes(question, law)), charge


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

    def after(self, question: Question) -> Self:
        """Return the curator that answers what follows, with the rows held or some taken away."""
        inner = super().after(question)
        match question:
            case Hold(grid):
                weighted = self.domain.max_weight is not None
                inner._source = hold(self._source, grid, self._entropy, weighted=weighted)
            case WithoutNearest(centre, n):
                assert isinstance(self._source, HeldRows)
                left = exact_without_nearest(self._source.chunk, centre, n, self.domain.metric)
                inner._source = HeldRows(left, self._source.whole)
            case Restore():
                assert isinstance(self._source, HeldRows)
                inner._source = HeldRows(self._source.whole, self._source.whole)
        return inner

    def _ask(self, question: Question) -> Any:
        self._allowance.check()  # what is free, too, is not for a forked copy
        return super()._ask(question)

    def _pay(self, charge: Charge) -> None:
        self._allowance.charge(charge)
        if self._progress is not None:
            self._progress(charge)
            self._allowance.check()  # who is told may fork: one charge is for one answer

    def _totals(self, question: Histogram | Sums, change: Change, law: NoiseLaw) -> Steps:  # noqa: ARG002
        partition, metric = question.partition, self.domain.metric
        if isinstance(question, Sums):
            of = question.of
            exact_totals = self._source.reduce(
                partial(exact_sum, lambda chunk: of.exact_totals(partition, chunk, metric)), np.add
            )
        else:
            exact_totals = self._source.reduce(
                partial(exact_sum, lambda chunk: exact_count(partition, chunk, metric)[:, np.newaxis]), np.add
            )
        noisy = exact_totals + law.draw(self._entropy, partition.n_cells)
        return np.asarray(noisy, dtype=np.float64)

    def _indices(self, question: Select | SelectEach, law: ChoiceLaw) -> npt.NDArray[np.int64]:
        metric = self.domain.metric
        if isinstance(question, SelectEach):
            each = question.loss
            exact_lines = self._source.reduce(
                partial(exact_sum, lambda chunk: each.exact_cell_losses(chunk, metric)), np.add
            )
            return np.array([law.draw(self._entropy, losses)[0] for losses in exact_lines], dtype=np.int64)
        loss = question.loss
        if isinstance(self._source, HeldRows) and isinstance(loss, HeldLoss):
            return law.draw(self._entropy, loss.exact_losses(self._source.chunk, metric))
        exact_losses = self._source.reduce(
            partial(exact_sum, lambda chunk: loss.exact_losses(chunk, metric)), np.add
        )
        return law.draw(self._entropy, exact_losses)

    def _kept(self, question: SparseHistogram, law: NoiseLaw, threshold: int) -> Kept:
        cells, rate = question.partition, law.blocks[0].parameter
        exact_parts = self._source.reduce(lambda chunk: [exact_cells(cells, chunk)], gather)
        return draw(fold(merge, exact_parts), cells.n_cells, rate, threshold, self._entropy)

    def _block_totals(self, question: BlockMeans, law: NoiseLaw) -> Steps:
        # All rows at once: blocks are random, so each holds rows from everywhere.
        chunks = self._source.reduce(lambda chunk: [chunk], lambda a, b: [*a, *b])
        columns = np.concatenate([chunk.columns for chunk in chunks], axis=1)
        weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
        exact_totals = exact_block_totals(
            question,
            columns,
            np.concatenate(weights) if weights else None,
            *draw_blocks(self._entropy, columns.shape[1], question.n_blocks),
            self.domain.column_scale,
        )
        return np.asarray(exact_totals.ravel() + law.draw(self._entropy, 1)[0], dtype=np.float64)

    def _boxes(self, question: Grow, law: GrowthLaw) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        axes = question.axes

        def exact(active: npt.NDArray[np.int64], level: int, deeper: int) -> npt.NDArray[np.int64]:
            return self._source.reduce(
                lambda chunk: exact_tree_cells(axes, active, level, deeper, chunk), np.add
            )

        return law.grow(self._entropy, exact, len(axes))

    def _published(self, question: AsPublished) -> NotPrivate:
        chunks = self._source.reduce(lambda chunk: [chunk.columns], lambda a, b: [*a, *b])
        exact_rows = np.concatenate(chunks, axis=1).T.astype(np.float64)
        return question.exact_run(
            exact_rows, np.random.Generator(np.random.PCG64(public_seed(self._entropy)))
        )

    def _seed(self) -> int:
        return public_seed(self._entropy)


def _sums(
    noisy: npt.NDArray[np.float64], sd: npt.NDArray[np.float64], of: RowStat, change: Change
) -> NoisySums:
    d = change.n_values
    answer = NoisySums(noisy[:, :d] * of.unit, noisy[:, d], float(sd[0] * of.unit), float(sd[d]))
    if "cost" not in change.extras:
        return answer
    # The statistic is 2 q - 1 with q the clipped squared distance over the squared radius.
    square = of.unit**2
    return replace(
        answer,
        costs=square * (noisy[:, d + 1] + noisy[:, d]) / 2,
        cost_sd=square * float(np.hypot(sd[d + 1], sd[d])) / 2,
    )


def _check_anchors(partition: Partition, of: RowStat | None, n_columns: int) -> None:
    """Refuse public points that do not fit the cells, whatever statistic holds them."""
    if isinstance(of, Picked) and len(of.columns) != partition.n_cells:
        raise InvalidInput(f"columns are picked for {len(of.columns)} cells; there are {partition.n_cells}")
    anchors = getattr(getattr(of, "of", of), "anchors", None)  # of the statistic, or of the one it wraps
    if anchors is not None and anchors.shape != (partition.n_cells, n_columns):
        raise InvalidInput(
            f"anchors have shape {anchors.shape}; one point of {n_columns} columns for each of "
            f"{partition.n_cells} cells is wanted"
        )
