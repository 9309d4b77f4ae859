"""A part of a table: the rows that have one level of a public column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Part:
    """One of the disjoint parts that a public column with public levels cuts a table into.

    Parameters
    ----------
    column : str
        The column; it is not clustered.
    levels : tuple of str
        Its declared levels.
    level : str or None
        The level of the rows that are read; None for those that have none of the declared ones.
    per_person : int, optional
        The most parts of a person that are read, where a person is protected: which, is decided by their own
        rows and a key.

    Examples
    --------
    >>> Part("region", ("north", "south"), "south").numbers(["south", "west", "north"]).tolist()
    [1, 2, 0, 2]
    """

    column: str
    levels: tuple[str, ...]
    level: str | None
    per_person: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that says in which part a row is."""
        return (self.column,)

    @property
    def number(self) -> int:
        """The place of the level; rows of none have the last."""
        return len(self.levels) if self.level is None else self.levels.index(self.level)

    def numbers(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the part that each word stands for, and behind them that of a missing cell."""
        known = {level: i for i, level in enumerate(self.levels)}
        rest = len(self.levels)
        return np.array([*(known.get(word, rest) for word in words), rest], dtype=np.int64)
