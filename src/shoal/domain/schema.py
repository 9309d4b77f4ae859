"""Which columns of a table are clustered and how each becomes numbers, known without looking at rows."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from shoal.domain.bounds import Bounds, BoundsLike
from shoal.errors import InvalidTable

Level: TypeAlias = str | int
Kind: TypeAlias = Literal["number", "boolean", "category"]

NUMBER, BOOLEAN, TEXT, UNTYPED = "number", "boolean", "text", "untyped"
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
    kind : {"number", "boolean", "category"}
        A boolean is 0 or 1; a category becomes one column of 0 and 1 for each level.
    levels : tuple of str or int
        The declared levels of a category.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[Level, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns it becomes."""
        return tuple(f"{self.name}={level}" for level in self.levels) if self.levels else (self.name,)


@dataclass(frozen=True)
class Schema:
    """The columns that are clustered, and those that name the person and weigh the row.

    Parameters
    ----------
    fields : tuple of Field
        The clustered columns of the table as it is.
    named : bool
        Whether the table has column names; arrays have none.
    unit : str, optional
        The column that names the person.
    weight : str, optional
        The column that holds the weight of the row.

    Examples
    --------
    >>> types = {"age": "number", "member": "boolean", "colour": "text", "who": "text"}
    >>> schema = Schema.of(types, levels={"colour": ["red", "green"]}, unit="who")
    >>> schema.names
    ('age', 'member', 'colour=red', 'colour=green')
    >>> schema.bounds((0, 100)).upper
    (100.0, 1.0, 1.0, 1.0)
    """

    fields: tuple[Field, ...]
    named: bool = True
    unit: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidTable("the table has 0 feature(s) (shape=(n, 0)) while a minimum of 1 is required")
        names = [name for field in self.fields for name in field.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidTable(f"columns {twice} would appear twice; rename one of each")

    @classmethod
    def of(
        cls,
        types: Mapping[str, str],
        *,
        levels: Mapping[str, Iterable[Level]] | None = None,
        unit: str | None = None,
        weight: str | None = None,
        ignore: Collection[str] = (),
        named: bool = True,
        declared: Mapping[str, str] | None = None,
    ) -> Schema:
        """Give every column its part, or say which cannot have it.

        Parameters
        ----------
        types : mapping of str to str
            What each column of the table holds: "number", "boolean", "text", "untyped" or a type's own name.
        levels : mapping of str to list of str or int, optional
            The declared levels of category columns.
        unit, weight : str, optional
            Columns that name the person and hold the weight; they are not clustered.
        ignore : collection of str
            Columns to pass over where they are there.
        named : bool
            Whether the names in `types` are the table's own.
        declared : mapping of str to {"number", "boolean"}, optional
            What to take columns of text and untyped ones for, where they have no levels.
        """
        with_levels = _check_levels(levels)
        types = {
            name: (declared or {}).get(name, kind)
            if kind in (TEXT, UNTYPED) and name not in with_levels and name != unit
            else kind
            for name, kind in types.items()
        }
        for column, part in ((unit, "unit"), (weight, "sample_weight")):
            if column is not None:
                _check_role(column, part, types, named)
        if unit is not None and unit == weight:
            raise InvalidTable(f"column {unit!r} cannot both name the person and weigh the row")
        apart = {unit, weight, *ignore}
        features = [name for name in types if name not in apart]
        for name in with_levels:
            if name not in features or not named:
                raise no_such_column(name, features if named else (), "levels are declared for")
        fields = tuple(_field(name, types[name], with_levels.get(name)) for name in features)
        return cls(fields, named, unit, weight)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns after encoding, or None where the table has none."""
        return tuple(name for field in self.fields for name in field.names) if self.named else None

    @property
    def n_columns(self) -> int:
        """The number of columns after encoding."""
        return sum(len(field.names) for field in self.fields)

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """The declared levels of each category column."""
        return {field.name: field.levels for field in self.fields if field.kind == "category"}

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the table that is read: the clustered ones, then the person and the weight."""
        roles = tuple(name for name in (self.unit, self.weight) if name is not None)
        return tuple(field.name for field in self.fields) + roles

    def bounds(self, given: BoundsLike | Bounds | None) -> Bounds:
        """Read the bounds of the columns after encoding.

        Pairs serve the number columns; a mapping names columns of the table as it is. Booleans and
        categories lie in [0, 1] by their encoding, so a mapping need not name them.

        Parameters
        ----------
        given : (lower, upper), mapping, preset name, Bounds or None
            As for :meth:`shoal.domain.Bounds.parse`.
        """
        if isinstance(given, Bounds):
            return Bounds.parse(given, self.n_columns)
        by_name = given if isinstance(given, Mapping) else {}
        numbers = [
            field.name
            for field in self.fields
            if field.kind == "number" or (field.kind == "boolean" and field.name in by_name)
        ]
        if not numbers and not by_name:
            return Bounds((0.0,) * self.n_columns, (1.0,) * self.n_columns, "given by the columns' types")
        found = Bounds.parse(given, len(numbers), numbers if self.named else None)
        pairs = dict(zip(numbers, zip(found.lower, found.upper, strict=True), strict=True))
        both = [pairs.get(field.name, (0.0, 1.0)) for field in self.fields for _ in field.names]
        return Bounds(tuple(low for low, _ in both), tuple(high for _, high in both), found.source)


def no_such_column(name: Any, names: Collection[str], what: str) -> InvalidTable:
    """Return the error for a column that is not there; it names those that are nearly called so."""
    if not names:
        return InvalidTable(f"{what} column {name!r}, but the table has no column names; pass a data frame")
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {_some(names)}"
    return InvalidTable(f"{what} column {name!r}, which the table does not have; {hint}")


def _some(names: Collection[str]) -> str:
    shown = list(names)[:20]
    return f"{shown}" + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _check_levels(levels: Any) -> dict[str, tuple[Level, ...]]:
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


def _check_role(column: Any, part: str, types: Mapping[str, str], named: bool) -> None:
    if not named or column not in types:
        raise no_such_column(column, types if named else (), f"{part} is")
    wanted = (NUMBER, TEXT, UNTYPED) if part == "unit" else (NUMBER, BOOLEAN, UNTYPED)
    if types[column] not in wanted:
        words = "text or numbers" if part == "unit" else "numbers"
        raise InvalidTable(f"{part} is column {column!r}, which holds {types[column]}; it must hold {words}")


def _field(name: str, kind: str, levels: tuple[Level, ...] | None) -> Field:
    if levels is None:
        if kind == BOOLEAN:
            return Field(name, "boolean")
        if kind == NUMBER:
            return Field(name)
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
    return Field(name, "category", levels)


def _is_written_whole(level: Level) -> bool:
    try:
        return str(int(level)) == str(level)
    except ValueError:
        return False
