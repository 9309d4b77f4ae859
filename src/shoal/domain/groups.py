"""Rows that were put together: on the workers of an engine, or in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from typing import Generic, TypeVar

I = TypeVar("I")  # noqa: E741 - an item of groups, and what becomes of one
J = TypeVar("J")
S = TypeVar("S")
T = TypeVar("T")


class Groups(ABC, Generic[I]):
    """Rows that were put together in some way, where they live: here, or on the workers of a cluster.

    What is handed to them may travel and may be done twice: functions of their arguments alone, that pickle.
    """

    @abstractmethod
    def reduce(self, partial: Callable[[I], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every group and combine the results, in any order."""

    @abstractmethod
    def mapped(self, function: Callable[[I], J]) -> Groups[J]:
        """Return what a function makes of every group, kept where it is made."""

    @abstractmethod
    def regrouped(
        self, split: Callable[[I, int], Sequence[S]], join: Callable[[Sequence[S]], J]
    ) -> Groups[J]:
        """Deal every group out to some number of new ones, and join what each was dealt."""


@dataclass(frozen=True, eq=False)
class Here(Groups[I]):
    """Groups in this process: one, or a few.

    Parameters
    ----------
    items : sequence
        The groups, at least one.

    Examples
    --------
    >>> here = Here([[1, 2], [3]]).regrouped(lambda items, n: [items], lambda parts: sum(parts, []))
    >>> here.items, here.mapped(len).reduce(abs, max)
    ([[1, 2, 3]], 3)
    """

    items: Sequence[I]

    def reduce(self, partial: Callable[[I], T], combine: Callable[[T, T], T]) -> T:
        """Apply `partial` to every group and combine the results."""
        return fold(combine, map(partial, self.items))

    def mapped(self, function: Callable[[I], J]) -> Here[J]:
        """Return what a function makes of every group."""
        return Here([function(item) for item in self.items])

    def regrouped(self, split: Callable[[I, int], Sequence[S]], join: Callable[[Sequence[S]], J]) -> Here[J]:
        """Join all in one."""
        return Here([join([split(item, 1)[0] for item in self.items])])
