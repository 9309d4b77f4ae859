"""Sample and aggregate inside the gate: rows fall into random blocks, each is clustered on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Integers
from shoal.domain import STEPS, Chunk
from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy
from shoal.queries.laws.noise import Noise, NoiseLaw
from shoal.queries.questions.answers import NoisyMeans
from shoal.queries.questions.base import SHARE, Charged, Source, Terms, close, shaped, whole
from shoal.queries.questions.block_task import common_rows, draw_blocks, exact_block_totals
from shoal.queries.statistics.aggregates import RowChange

# For the audit: how often rows draw their blocks, and how many blocks are asked one by one.
_DRAWN = 8
_ALONE = 30
# Noise never reaches this many standard deviations.
_FAR = 30


@dataclass(frozen=True, eq=False)
class BlockMeans(Charged[NoiseLaw, Array, NoisyMeans]):
    """Ask for the mean over blocks of the centres that k-means finds in each.

    Parameters
    ----------
    n_blocks : int
        How many blocks; public, or from a noisy count.
    reference : ndarray of shape (n_clusters, n_columns)
        Public centres that each block's own are matched to, within the block; an empty block gives them.
    lower, upper : tuple of float
        Public range of each column that centres are clamped to.
    share : Fraction
        Share of the budget.
    noise : Noise, optional
        Law of the noise.
    """

    n_blocks: int
    reference: Array
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    share: Fraction = field(metadata=SHARE)
    noise: Noise | None

    answers: ClassVar = NoisyMeans

    def __post_init__(self) -> None:
        if self.n_blocks < 1:
            raise InvalidInput(f"{self.n_blocks} blocks: at least 1 is wanted")

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"mean of {len(self.reference)} centres over {self.n_blocks} random blocks of rows"

    def change(self) -> RowChange:
        """Return the body of one row's change: a block's centres may jump across the whole clamp."""
        return RowChange(width=2 * STEPS, n_values=self.reference.size, extras=())

    @property
    def half(self) -> Array:
        """Half the range of each column."""
        return np.asarray((np.asarray(self.upper) - np.asarray(self.lower)) / 2)

    @property
    def middle(self) -> Array:
        """The middle of the range of each column."""
        return np.asarray((np.asarray(self.upper) + np.asarray(self.lower)) / 2)

    @property
    def scale(self) -> Array:
        """The size of a step of a mean, in each column."""
        return np.asarray(self.half / (STEPS * self.n_blocks))

    def check(self, terms: Terms) -> None:
        """Refuse where rows are held: blocks are drawn for loose rows."""
        check_loose(self.describe(), terms)

    def law(self, terms: Terms) -> NoiseLaw:
        """Return the noise of all blocks' centres together."""
        return terms.noise(self.change(), self.share, self.noise)

    def noisy(self, source: Source, law: NoiseLaw, terms: Terms, entropy: Entropy) -> Array:
        """Draw blocks, cluster each, sum their centres, and add noise."""
        rows = all_rows(source)
        drawn = draw_blocks(entropy, rows.n_rows, self.n_blocks)
        exact_totals = exact_block_totals(self, rows.columns, rows.weights, *drawn, terms.domain.column_scale)
        return np.asarray(exact_totals.ravel() + law.draw(entropy, 1)[0], dtype=np.float64)

    def rehearse(self, rows: float, law: NoiseLaw, terms: Terms) -> Array:
        """Put all centres in the middle."""
        return np.zeros(self.reference.size)

    def answer(self, noisy: Array, law: NoiseLaw, terms: Terms) -> NoisyMeans:
        """Scale, and clamp to the range."""
        means = noisy.reshape(self.reference.shape) * self.scale + self.middle
        return NoisyMeans(np.clip(means, self.lower, self.upper), float(law.sd[0]) * self.scale)

    def fits(self, answer: NoisyMeans, law: NoiseLaw, terms: Terms) -> bool:
        """Check that means lie in the range, and their spread."""
        inside = (answer.means >= self.lower).all() and (answer.means <= self.upper).all()
        announced = close(answer.sd, law.sd[0] * self.scale)
        return shaped(answer.means, *self.reference.shape) and bool(inside) and announced

    def adds_up(self, rows: Chunk, terms: Terms) -> bool:
        """Ask for the centres of every block alone: they must be what they were among the others."""
        rng = np.random.default_rng(rows.n_rows)
        few = replace(self, n_blocks=min(self.n_blocks, _ALONE))
        drawn = rng.integers(few.n_blocks, size=rows.n_rows)
        seeds = rng.integers(2**63, size=few.n_blocks).astype(np.uint64)

        def centres(inside: npt.NDArray[np.bool_]) -> Integers:
            weights = None if rows.weights is None else rows.weights[inside]
            columns = rows.columns[:, inside]
            return exact_block_totals(few, columns, weights, drawn[inside], seeds, terms.domain.column_scale)

        nobody = centres(drawn < 0)
        singly = nobody + sum(centres(drawn == block) - nobody for block in range(few.n_blocks))
        return np.array_equal(singly, centres(drawn >= 0))

    def lost(
        self,
        one: Source,
        other: Source,
        law: NoiseLaw,
        answer: NoisyMeans,
        terms: Terms,
    ) -> float:
        """Return the most that is lost over a few ways to draw blocks."""
        shifts = self._shifts(all_rows(one), all_rows(other), terms)
        return max(law.shift_loss(shift) for shift in shifts)

    def _shifts(self, before: Chunk, after: Chunk, terms: Terms) -> Iterator[Integers]:
        """Give what the totals change by, for blocks drawn so that common rows drew the same ones."""
        rng, common = np.random.default_rng(_DRAWN), common_rows(_keys(before), _keys(after))
        for _ in range(_DRAWN):
            seeds = rng.integers(2**63, size=self.n_blocks).astype(np.uint64)
            drawn, same = (rng.integers(self.n_blocks, size=chunk.n_rows) for chunk in (after, before))
            for here, there, n in common:
                same[here : here + n] = drawn[there : there + n]
            scale = terms.domain.column_scale
            sums = [
                exact_block_totals(self, chunk.columns, chunk.weights, blocks, seeds, scale)
                for chunk, blocks in ((before, same), (after, drawn))
            ]
            yield (sums[1] - sums[0]).reshape(1, -1)

    def noise_in(self, answer: NoisyMeans, law: NoiseLaw, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return the noise in a mean over empty blocks; none where the clamp would cut it off."""
        room = np.minimum(self.reference - self.lower, self.upper - self.reference)
        if not (_FAR * law.sd[0] * self.scale < room).all():
            return []
        nobody = np.empty((len(self.lower), 0), dtype=np.float32)
        none, seeds = np.empty(0, dtype=np.int64), np.zeros(self.n_blocks, dtype=np.uint64)
        empty = exact_block_totals(self, nobody, None, none, seeds)
        return [(law, whole((answer.means - self.middle) / self.scale - empty).reshape(1, -1))]


def all_rows(source: Source) -> Chunk:
    """Return all rows at once: blocks are random, so each holds rows from everywhere."""
    chunks = source.reduce(lambda chunk: [chunk], lambda a, b: [*a, *b])
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    columns = np.concatenate([chunk.columns for chunk in chunks], axis=1)
    return Chunk(columns, np.concatenate(weights) if weights else None)


def check_loose(question: str, terms: Terms) -> None:
    """Refuse a question that cannot be asked of held rows."""
    if terms.holds:
        raise InvalidInput(f"{question}: not asked of a curator that holds rows; ask before")


def _keys(chunk: Chunk) -> list[bytes]:
    weights = np.zeros(chunk.n_rows, np.int32) if chunk.weights is None else chunk.weights
    return [row.tobytes() + weight.tobytes() for row, weight in zip(chunk.columns.T, weights, strict=True)]
