"""Whom the guarantee protects: one row added or removed, one row replaced, or one person's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from shoal.errors import InvalidInput

Neighbours: TypeAlias = Literal["add-remove", "replace"]


@dataclass(frozen=True)
class Unit:
    """The privacy unit.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        Which two tables must look alike: one has a row more, or one row is another.
    max_rows : int
        The most rows one unit may have. Everything is charged for that many.
    column : str, optional
        The column that names the person; without it a unit is a row.

    Examples
    --------
    >>> Unit().rows_apart, Unit("replace").rows_apart, Unit("replace", max_rows=3).rows_apart
    (1, 2, 6)
    """

    neighbours: Neighbours = "add-remove"
    max_rows: int = 1
    column: str | None = None

    def __post_init__(self) -> None:
        if self.neighbours not in ("add-remove", "replace"):
            raise InvalidInput(f"neighbours is {self.neighbours!r}; it must be 'add-remove' or 'replace'")
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or self.max_rows < 1:
            raise InvalidInput(f"max_rows is {self.max_rows!r}; it must be a whole number of at least 1")

    @property
    def replace(self) -> bool:
        """Whether neighbours replace a row, which is a removal and an addition."""
        return self.neighbours == "replace"

    @property
    def rows_apart(self) -> int:
        """How many rows added or removed lie between neighbours; pure noise is drawn at epsilon over it."""
        return self.max_rows * (2 if self.replace else 1)

    def describe(self) -> str:
        """Say in words who is protected."""
        rows = "one row" if self.max_rows == 1 else f"at most {self.max_rows} rows"
        if self.column is not None:
            who = f"one person (column {self.column!r}) with {rows}"
        else:
            who = rows if self.max_rows == 1 else f"one unit of {rows}"
        return f"{who} replaced" if self.replace else f"{who} added or removed"
