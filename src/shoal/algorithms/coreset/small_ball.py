"""Nissim, Stemmer, Vadhan 2016: SMALL-BALL, a small ball that holds many rows, found privately.

First how large it is, then where, then the mean of the rows inside. The published GoodCenter needs more rows
than there are; here it is a choice among public windows. Proof: docs/proofs/coreset.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from shoal._typing import Array
from shoal.queries import (
    Box,
    BoxCount,
    Curator,
    GoodRadius,
    Grid,
    Inside,
    Offset,
    Region,
    Windows,
    WindowSize,
)
from shoal.queries.losses.windows import MOST_WINDOWS

Search: TypeAlias = Literal["windows", "published"]

# How a round's budget is cut: the size of the window, which window, and the mean in it.
SHARE_FOR_SIZE, SHARE_FOR_PLACE, SHARE_FOR_MEAN = Fraction(3, 10), Fraction(4, 10), Fraction(3, 10)
# Sizes grow by this factor.
RATIO = 1.25
# Columns that are cut at a time: windows of more would be too many.
MOST_AXES = 8
# The published promise of GoodRadius is far above the target for real tables (docs/proofs/coreset.md); no
# more than this share of the target is of use.
SLACK = 0.5
# The finest grid that rows are moved to.
FINEST_CELLS = {1: 2**12, 2: 2**10}


@dataclass(frozen=True)
class SmallBall:
    """How to find a small ball.

    Parameters
    ----------
    search : {"windows", "published"}
        By the fullest window of each size, or by GoodRadius.
    n_columns : int
        The columns of the table.
    n_rows : float
        Public or noisy: the published grid has as many cells as there are rows.
    """

    search: Search
    n_columns: int
    n_rows: float

    @property
    def cells(self) -> int:
        """Cells a column that rows are moved to, a power of 2; 0 where they stay, in more than two columns.

        Feldman et al., section 5.2: the least power of 2 with cells^d > N; at least 256, which costs nothing,
        and no finer than anyone can see.
        """
        if self.n_columns > 2:
            return 0
        wanted = math.log2(max(self.n_rows, 1.0)) / self.n_columns
        return int(min(2 ** max(8, math.floor(wanted) + 1), FINEST_CELLS[self.n_columns]))

    @property
    def grid(self) -> Grid | None:
        """The grid of these cells."""
        return Grid((self.cells,) * self.n_columns) if self.cells else None

    def find(self, curator: Curator, rows: int, share: Fraction, rng: np.random.Generator) -> Array:
        """Return the centre of a small ball of about `rows` rows.

        Parameters
        ----------
        curator : Curator
            Holds the rows that are left.
        rows : int
            How many the ball should hold.
        share : Fraction
            Share of the budget.
        rng : numpy Generator
            Public randomness.
        """
        if self.search == "published":
            region = self._published(curator, rows, share)
            # Ours: the ball may reach over the window's edge, so the mean is of all around it.
            return self._mean(curator, region.widened(2 * region.half_width), rows, share)
        region, stages = Region.whole(self.n_columns), 1 if self.n_columns <= 2 else 2
        for _ in range(stages):
            axes = self._axes(rng)
            # Finest first, so that a rehearsal shows the whole plan.
            sizes = tuple(Windows(region, axes, parts, self.cells) for parts in self.parts(len(axes)))
            size = curator.select(WindowSize(sizes, rows), share=share * SHARE_FOR_SIZE / stages)[0]
            region = self._place(curator, sizes[size], share * SHARE_FOR_PLACE / stages)
        return self._mean(curator, region, rows, share)

    def parts(self, n_axes: int) -> tuple[int, ...]:
        """Return the parts a column is cut in, from many to one.

        Examples
        --------
        >>> SmallBall("windows", 4, 1e5).parts(4)
        (16, 12, 10, 8, 6, 5, 4, 3, 1)
        """
        # No more windows than rows, as the paper has no more cells: one of many is harder to choose.
        most = min(max(self.n_rows, 64.0), MOST_WINDOWS)
        finest = math.floor(math.pow(most, 1 / n_axes) + 1e-9)
        finest = min(finest, self.cells or finest)
        found, size = {1}, float(finest)
        while size >= 3:  # two parts are one window, as is one
            found.add(math.floor(size))
            size /= RATIO
        return tuple(sorted(found, reverse=True))

    def _axes(self, rng: np.random.Generator) -> tuple[int, ...]:
        if self.n_columns <= MOST_AXES:
            return tuple(range(self.n_columns))
        return tuple(sorted(map(int, rng.choice(self.n_columns, MOST_AXES, replace=False))))

    def _published(self, curator: Curator, rows: int, share: Fraction) -> Region:
        radii, size = [0], 1.0
        while size < self.cells:
            radii.append(math.floor(size))
            size *= RATIO
        radii = sorted(set(radii))
        for_size = share * SHARE_FOR_SIZE
        loss = GoodRadius(self.cells, tuple(radii), rows, max(1, math.floor(SLACK * rows)), self.n_columns)
        radius = radii[int(curator.select(loss, share=for_size)[0])]
        # Ours: windows of four radii, two apart, so that every ball lies in one as a whole.
        finest = self.parts(self.n_columns)[0]
        parts = min(max(1, self.cells // max(1, 2 * radius)), finest)
        windows = Windows(Region.whole(self.n_columns), tuple(range(self.n_columns)), parts, self.cells)
        return self._place(curator, windows, share * SHARE_FOR_PLACE)

    def _place(self, curator: Curator, windows: Windows, share: Fraction) -> Region:
        if windows.n == 1:
            return windows.at(0)
        return windows.at(int(curator.select(BoxCount(windows), share=share)[0]))

    def _mean(self, curator: Curator, region: Region, rows: int, share: Fraction) -> Array:
        middle = region.middle
        anchors, reach = np.stack([middle, middle]), float(region.half_width.max())
        answer = curator.sums(
            Inside(region), of=Offset(anchors, Box(min(reach, 2.0))), share=share * SHARE_FOR_MEAN
        )
        # Half of what was looked for: a noisy count near 0 would throw the centre anywhere.
        count = max(float(answer.counts[1]), rows / 2, 1.0)
        return region.clip(middle + answer.sums[1] / count)
