"""Sample and aggregate inside the gate: rows fall into random blocks, each is clustered on its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
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
from shoal.queries.questions.block_task import (
    Align,
    ByBlock,
    Drawn,
    exact_block_totals,
    exact_empty_totals,
    together,
)
from shoal.queries.questions.coins import ByCells, joined, part
from shoal.queries.statistics.aggregates import RowChange

# For the audit: how many keys rows draw their blocks by, and how many blocks are asked one by one.
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
    align : {"matched", "sorted"}
        Which of a block's centres is the first: matched to the public ones, or sorted by their first column.
    """

    n_blocks: int
    reference: Array
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    share: Fraction = field(metadata=SHARE)
    noise: Noise | None
    align: Align = "matched"

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
        key, seed = (int(word) for word in entropy.words(2))
        exact_totals = self.exact_block_sums(source, terms, key, seed)
        return np.asarray(exact_totals.ravel() + law.draw(entropy, 1)[0], dtype=np.float64)

    def exact_block_sums(self, source: Source, terms: Terms, key: int, seed: int) -> Integers:
        """Return the sum over blocks of their centres, for one key of coins and one seed of searches."""
        scale = terms.domain.column_scale
        blocks = source.regrouped(ByCells(key), joined).regrouped(ByBlock(key, self.n_blocks), together)
        found = blocks.reduce(partial(exact_block_totals, task=self, seed=seed, column_scale=scale), np.add)
        return np.asarray(found + exact_empty_totals(self, scale))

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
        few = replace(self, n_blocks=min(self.n_blocks, _ALONE))
        (drawn,) = ByBlock(rows.n_rows, few.n_blocks)(joined([rows]), 1)

        def centres(inside: npt.NDArray[np.bool_]) -> Integers:
            some = Drawn(part(drawn.rows, inside), drawn.blocks[inside])
            return exact_block_totals(some, few, rows.n_rows, terms.domain.column_scale)

        singly = sum(centres(drawn.blocks == block) for block in range(few.n_blocks))
        return np.array_equal(singly, centres(drawn.blocks >= 0))

    def lost(
        self,
        one: Source,
        other: Source,
        law: NoiseLaw,
        answer: NoisyMeans,
        terms: Terms,
    ) -> float:
        """Return the most that is lost over a few keys, each of which gives common rows the same blocks."""
        totals = (
            [self.exact_block_sums(source, terms, key, key) for source in (one, other)]
            for key in range(_DRAWN)
        )
        return max(law.shift_loss((after - before).reshape(1, -1)) for before, after in totals)

    def noise_in(self, answer: NoisyMeans, law: NoiseLaw, terms: Terms) -> list[tuple[NoiseLaw, Array]]:
        """Return the noise in a mean over empty blocks; none where the clamp would cut it off."""
        room = np.minimum(self.reference - self.lower, self.upper - self.reference)
        if not (_FAR * law.sd[0] * self.scale < room).all():
            return []
        empty = exact_empty_totals(self)
        return [(law, whole((answer.means - self.middle) / self.scale - empty).reshape(1, -1))]


def check_loose(question: str, terms: Terms) -> None:
    """Refuse a question that cannot be asked of held rows."""
    if terms.holds:
        raise InvalidInput(f"{question}: not asked of a curator that holds rows; ask before")
