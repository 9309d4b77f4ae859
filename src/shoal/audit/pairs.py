"""What the questions of a run lose between two tables, computed and not estimated.

Questions are public values, and the laws of noise and of choices are known. So for a pair of tables the exact
totals, by the gate's own code, say how much an answer can tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import partial
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.audit.choices import choice_loss
from shoal.audit.exact import ExactLoss, most_lost
from shoal.domain import Chunk, Domain
from shoal.mechanisms import SystemEntropy
from shoal.queries import HeldLoss, ReplayCurator, Source, Transcript
from shoal.queries.gate.transcript import Entry
from shoal.queries.laws.noise import NoiseLaw
from shoal.queries.questions import (
    Histogram,
    Hold,
    Question,
    Restore,
    Select,
    SelectEach,
    SparseHistogram,
    Sums,
    WithoutNearest,
    sparse,
)
from shoal.queries.questions import materialised as held
from shoal.queries.questions.answers import Chosen
from shoal.queries.questions.blocks import BlockMeans, exact_block_totals
from shoal.queries.statistics import aggregates
from shoal.sources import open_table

Steps: TypeAlias = npt.NDArray[np.int64]
Additive: TypeAlias = Histogram | SparseHistogram | Sums | Select | SelectEach

# Keys of a sparse grid are folded to this many: the few rows of a canary hardly ever meet.
_FOLDED = 2**20
# How often rows draw their blocks.
_DRAWN = 8


def totals(question: Additive, chunk: Chunk, domain: Domain) -> Steps:
    """Return the exact totals of a chunk: one line a cell or candidate; of loose rows they add up."""
    metric = domain.metric
    match question:
        case Sums(partition, of):
            return held.exact_sum(lambda rows: of.exact_totals(partition, rows, metric), chunk)
        case Histogram(partition):
            return held.exact_sum(
                lambda rows: aggregates.exact_count(partition, rows, metric)[:, np.newaxis], chunk
            )
        case Select(loss) if isinstance(loss, HeldLoss):
            return loss.exact_losses(chunk, metric)[:, np.newaxis]
        case Select(loss):
            return held.exact_sum(lambda rows: loss.exact_losses(rows, metric)[:, np.newaxis], chunk)
        case SelectEach(each):
            return held.exact_sum(lambda rows: each.exact_cell_losses(rows, metric), chunk)
        case SparseHistogram(grid):
            found = sparse.exact_cells(grid, chunk)
            size = min(grid.n_cells, _FOLDED)
            counts = np.bincount(found.cells % size, weights=found.counts, minlength=size)
            return counts.astype(np.int64)[:, np.newaxis]


def held_after(question: Question, source: Source, domain: Domain) -> Source:
    """Return the rows that later questions are asked of, as the gate holds them."""
    match question:
        case Hold(grid):
            return held.hold(source, grid, SystemEntropy(), weighted=False)
        case WithoutNearest(centre, n):
            assert isinstance(source, held.HeldRows)
            left = held.exact_without_nearest(source.chunk, centre, n, domain.metric)
            return held.HeldRows(left, source.whole)
        case Restore():
            assert isinstance(source, held.HeldRows)
            return held.HeldRows(source.whole, source.whole)
    return source


def pair_loss(transcript: Transcript, D: Any, D_prime: Any, domain: Domain | None = None) -> ExactLoss:
    """Return what all questions of a run lose between two tables.

    Parameters
    ----------
    transcript : Transcript
        Of a run on either table.
    D, D_prime : table
        Neighbours. They are invented for the audit, so nobody's rows are looked at.
    domain : Domain, optional
        In which the questions were asked, if it is not the one that the run began with.

    Examples
    --------
    >>> from shoal import DPLloyd
    >>> D, D_prime = np.full((5, 1), 0.9), np.full((6, 1), 0.9)
    >>> model = DPLloyd(1, epsilon=9.0, bounds=(-1, 1), max_iter=1, random_state=0).fit(D)
    >>> print(pair_loss(model.release_.transcript, D, D_prime))
    holds: 1 of 1 questions loses 9 epsilon, charged 9
    """
    public, curator = domain or transcript.domain, ReplayCurator(transcript)
    sources = [open_table(table, unit=public.unit.column).source(public, threads=1) for table in (D, D_prime)]
    true, charged, known = 0.0, Fraction(0), 0
    rows: list[Source] = list(sources)
    for entry in transcript:
        question = entry.question
        curator, rows = curator.after(question), [held_after(question, at, public) for at in rows]
        if entry.charge is None:
            continue
        if isinstance(question, BlockMeans):
            one, other = map(_all_rows, sources)
            shifts = block_shifts(question, one, other, public)
            true += max(shift_loss(curator.law(question), shift) for shift in shifts)
        elif isinstance(question, Additive):
            of_chunk = partial(totals, question, domain=public)
            before, after = (at.reduce(of_chunk, np.add) for at in rows)
            true += _loss(curator, entry, np.asarray(before), np.asarray(after))
        else:
            continue
        known += 1
        charged += entry.charge.amount
    what = f"{known} of {len(transcript.charges)} questions"
    return ExactLoss(what, true, float(charged), transcript.budget.currency)


def _loss(curator: ReplayCurator, entry: Entry, before: Steps, after: Steps) -> float:
    if isinstance(entry.question, Select):
        assert isinstance(entry.answer, Chosen)
        law = curator.choice_law(entry.question)
        return choice_loss(law, before[:, 0], after[:, 0], entry.answer.indices)
    if isinstance(entry.question, SelectEach):
        assert isinstance(entry.answer, Chosen)
        law, chosen = curator.choice_law(entry.question), entry.answer.indices
        # Cells choose on their own, so their losses add up; a row is in one.
        cells = zip(before, after, chosen, strict=True)
        return sum(choice_loss(law, a, b, np.array([pick])) for a, b, pick in cells)
    assert isinstance(entry.question, Histogram | SparseHistogram | Sums)
    return shift_loss(curator.law(entry.question), after - before)


def block_shifts(question: BlockMeans, before: Chunk, after: Chunk, domain: Domain) -> Iterator[Steps]:
    """Give what the totals of blocks change by, for blocks drawn so that common rows drew the same ones."""
    rng, common = np.random.default_rng(_DRAWN), common_rows(_keys(before), _keys(after))
    for _ in range(_DRAWN):
        seeds = rng.integers(2**63, size=question.n_blocks).astype(np.uint64)
        drawn, same = (rng.integers(question.n_blocks, size=chunk.n_rows) for chunk in (after, before))
        for here, there, n in common:
            same[here : here + n] = drawn[there : there + n]
        sums = [
            exact_block_totals(question, chunk.columns, chunk.weights, blocks, seeds, domain.column_scale)
            for chunk, blocks in ((before, same), (after, drawn))
        ]
        yield (sums[1] - sums[0]).reshape(1, -1)


def common_rows(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Return the rows that two tables share, as runs: where it starts in each, and how long it is.

    A row keeps its place among the others, also where several are equal. Matched by value alone, equal rows
    would change places, and a search in a block, which takes rows in their order, would go another way.

    Examples
    --------
    >>> common_rows([b"a", b"b", b"a"], [b"a", b"b", b"b", b"a"])
    [(0, 0, 2), (2, 3, 1)]
    """
    ahead = [*takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))]
    first = len(ahead)
    rest, other = before[first:], after[first:]
    behind = [*takewhile(lambda pair: pair[0] == pair[1], zip(rest[::-1], other[::-1], strict=False))]
    last = len(behind)
    # What is left is short where tables are neighbours, and this takes its square.
    middle = SequenceMatcher(
        None, rest[: len(rest) - last], other[: len(other) - last], autojunk=False
    ).get_matching_blocks()
    runs = [
        (0, 0, first),
        *((first + here, first + there, n) for here, there, n in middle),
        (len(before) - last, len(after) - last, last),
    ]
    return [run for run in runs if run[2]]


def _keys(chunk: Chunk) -> list[bytes]:
    weights = np.zeros(chunk.n_rows, np.int32) if chunk.weights is None else chunk.weights
    return [row.tobytes() + weight.tobytes() for row, weight in zip(chunk.columns.T, weights, strict=True)]


def _all_rows(source: Any) -> Chunk:
    chunks = source.reduce(lambda chunk: [chunk], lambda a, b: [*a, *b])
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return Chunk(
        np.concatenate([chunk.columns for chunk in chunks], axis=1),
        np.concatenate(weights) if weights else None,
    )


def shift_loss(law: NoiseLaw, shift: Steps) -> float:
    """Return the loss of noise whose totals are shifted by this much, one line a cell.

    Cells have independent noise.
    """
    if law.blocks[0].law == "gaussian":
        sigmas = np.repeat([float(b.parameter) for b in law.blocks], [b.n for b in law.blocks])
        return float(((shift / sigmas) ** 2).sum() / 2)
    changed = shift[(shift != 0).any(axis=1)]
    if not len(changed):
        return 0.0
    pure = float(most_lost(law.blocks, changed).sum())
    return pure if law.currency == "epsilon" else pure**2 / 2
