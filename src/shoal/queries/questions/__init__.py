"""The questions an algorithm can ask, as frozen public values: what the transcript records and replays."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.queries.laws.noise import Noise
from shoal.queries.losses.cell_losses import CellLoss
from shoal.queries.losses.cluster_cost import Loss
from shoal.queries.partitions.cells import Grid, Keyed, Partition
from shoal.queries.questions.blocks import BlockMeans
from shoal.queries.questions.published import AsPublished
from shoal.queries.statistics.aggregates import RowStat


@dataclass(frozen=True, eq=False)
class Histogram:
    """Ask how many rows are in each cell."""

    partition: Partition
    cost: Fraction

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"histogram: {self.partition.describe()}"


@dataclass(frozen=True, eq=False)
class SparseHistogram:
    """Ask which cells have many rows, and how many; about `spurious` empty cells come along."""

    partition: Keyed
    cost: Fraction
    spurious: float

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"large counts: {self.partition.describe()}"


@dataclass(frozen=True, eq=False)
class Sums:
    """Ask for the sum of a row statistic, and the count, in each cell."""

    partition: Partition
    of: RowStat
    cost: Fraction
    noise: Noise | None

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"{self.of.describe()}: {self.partition.describe()}"


@dataclass(frozen=True, eq=False)
class Select:
    """Ask for candidates of small loss: n different ones, each chosen with noise."""

    loss: Loss
    cost: Fraction
    n: int

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"best {self.n} by {self.loss.describe()}"


@dataclass(frozen=True, eq=False)
class SelectEach:
    """Ask for one candidate of small loss in every cell, each chosen with noise."""

    loss: CellLoss
    cost: Fraction

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"best in each of {self.loss.n_cells} cells by {self.loss.describe()}"


@dataclass(frozen=True)
class Grow:
    """Ask for a tree of boxes that is fine where rows are many; `axes` are the columns its levels halve."""

    axes: tuple[int, ...]
    cost: Fraction

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"tree: boxes halved up to {len(self.axes)} times"


@dataclass(frozen=True)
class PublicSeed:
    """A seed for randomness that has nothing to do with rows."""

    label: str

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"public randomness: {self.label}"


@dataclass(frozen=True)
class Hold:
    """Not a question: from here on rows are held at once, in the middle of their box if a grid is given."""

    grid: Grid | None

    def describe(self) -> str:
        """Say it in a few words."""
        return "rows as they are" if self.grid is None else f"rows moved to a {self.grid.describe()}"


@dataclass(frozen=True, eq=False)
class WithoutNearest:
    """Not a question: from here on the n rows nearest to a public point are left out."""

    centre: npt.NDArray[np.int64]
    n: int

    def describe(self) -> str:
        """Say it in a few words."""
        return f"without the {self.n} rows nearest to a public point"


@dataclass(frozen=True)
class Restore:
    """Not a question: from here on all rows that were held are there again."""

    def describe(self) -> str:
        """Say it in a few words."""
        return "all rows that were held"


@dataclass(frozen=True)
class Note:
    """Not a question: what an algorithm chose from public values, and why."""

    text: str

    def describe(self) -> str:
        """Say it."""
        return self.text


Step: TypeAlias = Hold | WithoutNearest | Restore
Free: TypeAlias = PublicSeed | Step | Note
Question: TypeAlias = (
    Histogram | SparseHistogram | Sums | Select | SelectEach | BlockMeans | Grow | AsPublished | Free
)
