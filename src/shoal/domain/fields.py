"""One column of a table as it is: what it holds, and which columns it becomes."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from shoal.domain.times import Cycle
from shoal.errors import InvalidTable

Level: TypeAlias = str | int
Kind: TypeAlias = Literal["number", "boolean", "category", "time", "cycle"]

ADDED = {"added": True}
"""Marks a field that came later: at its default it is left out of files and hashes, as it was before."""

NUMBER, BOOLEAN, TIME, TEXT, UNTYPED = "number", "boolean", "time", "text", "untyped"
"""What a column may hold. An untyped one (CSV, objects of pandas) is what it is declared to be; any other
type goes by its own name."""

_TEXT = (
    "Shoal clusters numbers: declare its levels, as in levels={{{name!r}: [...]}}, leave the column out, or "
    "turn it into numbers by a rule that does not look at rows"
)
_NO_TYPE = (
    "Say what it holds: numbers, with bounds={{{name!r}: (low, high), ...}} or .astype(float), or "
    "categories, with levels={{{name!r}: [...]}}; or leave it out"
)


@dataclass(frozen=True)
class Field:
    """One column of the table as it is.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "boolean", "category", "time", "cycle"}
        A boolean is 0 or 1; a category becomes one column of 0 and 1 for each level; a time is a number of
        seconds; what goes round becomes a cosine and a sine.
    levels : tuple of str or int
        The declared levels of a category.
    cycles : tuple of float or str
        The rounds of a column that goes round: their length, or words for times.
    indicator : bool
        Whether a column of 0 and 1 says which cells are missing.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[Level, ...] = ()
    cycles: tuple[Cycle, ...] = field(default=(), metadata=ADDED)
    indicator: bool = field(default=False, metadata=ADDED)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns it becomes."""
        found: tuple[str, ...] = (self.name,)
        if self.levels:
            found = tuple(f"{self.name}={level}" for level in self.levels)
        elif self.cycles:
            rounds = [one if isinstance(one, str) else f"{one:g}" for one in self.cycles]
            found = tuple(f"{self.name} {one} {part}" for one in rounds for part in ("cos", "sin"))
        return (*found, f"{self.name}=missing") if self.indicator else found

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each of these columns is: its kind, or "indicator"."""
        n = len(self.names) - self.indicator
        return (self.kind,) * n + ("indicator",) * self.indicator

    @property
    def cells(self) -> str:
        """What the cells of the table hold: "number", "boolean", "time" or, with levels, "text"."""
        if self.kind == "cycle":
            return TIME if isinstance(self.cycles[0], str) else NUMBER
        return TEXT if self.kind == "category" else self.kind


def field_of(
    name: str, kind: str, levels: tuple[Level, ...] | None, cycles: tuple[Cycle, ...] | None, missing: bool
) -> Field:
    """Return what a column of a type is, as it was declared, or say why it cannot be."""
    if cycles is not None:
        if kind != cells_of(cycles):
            other = "'day', 'week' or 'year' are for times, lengths for numbers"
            raise InvalidTable(f"column {name!r} holds {kind}, and cyclic says {list(cycles)}: {other}")
        return Field(name, "cycle", cycles=cycles, indicator=missing)
    if levels is None:
        if kind == BOOLEAN:
            return Field(name, "boolean", indicator=missing)
        if kind == NUMBER:
            return Field(name, indicator=missing)
        if kind == TIME:
            return Field(name, "time", indicator=missing)
        if kind == UNTYPED:
            # What its cells look like must not decide.
            raise InvalidTable(f"column {name!r} has no type. {_NO_TYPE.format(name=name)}")
        raise InvalidTable(f"column {name!r} holds {kind}, not numbers. {_TEXT.format(name=name)}")
    if kind not in (TEXT, NUMBER, UNTYPED):
        raise InvalidTable(f"column {name!r} holds {kind}, so it has no levels: they are for text or numbers")
    never = [level for level in levels if kind == NUMBER and not _is_written_whole(level)]
    if never:
        raise InvalidTable(
            f"levels of column {name!r} include {never[0]!r}, but the column holds numbers: give whole ones"
        )
    return Field(name, "category", levels, indicator=missing)


def _is_written_whole(level: Level) -> bool:
    try:
        return str(int(level)) == str(level)
    except ValueError:
        return False


def cells_of(cycles: tuple[Cycle, ...]) -> str:
    """Say what the cells of a column that goes round hold."""
    return TIME if isinstance(cycles[0], str) else NUMBER


def check_levels(levels: Any) -> dict[str, tuple[Level, ...]]:
    """Read the declared levels of columns, or say what is wrong with them."""
    if levels is None:
        return {}
    how = "give a mapping {column name: [level, ...]} of text or whole numbers"
    if not isinstance(levels, Mapping):
        raise InvalidTable(f"levels is {levels!r}; {how}")
    found = {}
    for name, declared in levels.items():
        if isinstance(declared, str) or not isinstance(declared, Iterable) or not (every := list(declared)):
            raise InvalidTable(f"levels of column {name!r} are {declared!r}; {how}")
        wrong = [v for v in every if isinstance(v, bool) or not isinstance(v, str | numbers.Integral)]
        if wrong:
            raise InvalidTable(f"a level of column {name!r} is {wrong[0]!r}; {how}")
        # A level is compared as it is written, so 1 and "1" are the same one.
        if len({str(level) for level in every}) < len(every):
            raise InvalidTable(f"levels of column {name!r} hold a level twice: {every}")
        found[name] = tuple(str(v) if isinstance(v, str) else int(v) for v in every)
    return found
