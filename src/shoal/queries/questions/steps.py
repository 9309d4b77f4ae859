"""Not questions but steps: which rows are asked about from here on, what was noted, public randomness."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidInput
from shoal.mechanisms import Entropy, public_seed
from shoal.queries.partitions.cells import Grid
from shoal.queries.questions.base import Free, Source, Terms
from shoal.queries.questions.materialised import HeldRows, check_grid, hold
from shoal.queries.questions.nearest import Nearest


class Step(Free):
    """From here on other rows are asked about. Free."""

    @abstractmethod
    def follow(self, source: Source, terms: Terms, entropy: Entropy) -> Source:
        """Return the rows that later questions are asked of."""

    @abstractmethod
    def follow_number(self, rows: float, whole: float) -> tuple[float, float]:
        """Return how many rows are left, and how many were held, where both are made up."""


@dataclass(frozen=True)
class Hold(Step):
    """From here on rows are held at once, in the middle of their box if a grid is given."""

    grid: Grid | None

    answers: ClassVar = int

    def describe(self) -> str:
        """Say it in a few words."""
        return "rows as they are" if self.grid is None else f"rows moved to a {self.grid.describe()}"

    def check(self, terms: Terms) -> None:
        """Refuse a grid that rows cannot be moved to."""
        check_grid(self.grid, terms.n_columns)

    def follow(self, source: Source, terms: Terms, entropy: Entropy) -> Source:
        """Gather all rows."""
        return hold(source, self.grid, entropy, weighted=terms.domain.max_weight is not None)

    def follow_number(self, rows: float, whole: float) -> tuple[float, float]:
        """Hold as many as there are."""
        return rows, rows


@dataclass(frozen=True, eq=False)
class WithoutNearest(Step):
    """From here on the n rows nearest to a public point are left out."""

    centre: npt.NDArray[np.int64]
    n: int

    answers: ClassVar = int

    def describe(self) -> str:
        """Say it in a few words."""
        return f"without the {self.n} rows nearest to a public point"

    def check(self, terms: Terms) -> None:
        """Refuse where no rows are held, and points of another table."""
        if not terms.holds:
            raise InvalidInput("rows can be taken only from a curator that holds them: call hold() first")
        if self.centre.shape != (terms.n_columns,) or self.n < 0:
            raise InvalidInput(
                f"{self.n} rows nearest to a point of shape {self.centre.shape} cannot be taken away"
            )

    def follow(self, source: Source, terms: Terms, entropy: Entropy) -> Source:
        """Leave them out."""
        assert isinstance(source, HeldRows)
        return source.without(Nearest(self.centre, terms.metric), self.n)

    def follow_number(self, rows: float, whole: float) -> tuple[float, float]:
        """Leave out n, or all."""
        return max(rows - self.n, 0.0), whole


@dataclass(frozen=True)
class Restore(Step):
    """From here on all rows that were held are there again."""

    answers: ClassVar = int

    def describe(self) -> str:
        """Say it in a few words."""
        return "all rows that were held"

    def check(self, terms: Terms) -> None:
        """Refuse where no rows are held."""
        if not terms.holds:
            raise InvalidInput("there is nothing to restore: this curator holds no rows")

    def follow(self, source: Source, terms: Terms, entropy: Entropy) -> Source:
        """Take back what was taken away."""
        assert isinstance(source, HeldRows)
        return HeldRows.of(source.whole)

    def follow_number(self, rows: float, whole: float) -> tuple[float, float]:
        """Take all back."""
        return whole, whole


@dataclass(frozen=True)
class Note(Free):
    """What an algorithm chose from public values, and why."""

    text: str

    answers: ClassVar = int

    def describe(self) -> str:
        """Say it."""
        return self.text


@dataclass(frozen=True)
class PublicSeed(Free):
    """A seed for randomness that has nothing to do with rows."""

    label: str

    answers: ClassVar = int

    def describe(self) -> str:
        """Say the question in a few words."""
        return f"public randomness: {self.label}"

    def noisy(self, source: Source, law: None, terms: Terms, entropy: Entropy) -> int:
        """Draw a seed."""
        return public_seed(entropy)

    def fits(self, answer: int, law: None, terms: Terms) -> bool:
        """Check that it has 128 bits."""
        return 0 <= answer < 2**128
