"""Which columns of a table are clustered and how each becomes numbers, known without looking at rows."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as with_default
from typing import Any

from shoal.domain.bounds import Bounds, BoundsLike
from shoal.domain.fields import (
    ADDED,
    BOOLEAN,
    NUMBER,
    TEXT,
    TIME,
    UNTYPED,
    Field,
    Level,
    cells_of,
    check_levels,
    field_of,
)
from shoal.domain.part import Part
from shoal.domain.times import check_cycles, is_time, time_bound
from shoal.domain.zones import InZone
from shoal.errors import InvalidTable

__all__ = [
    "ADDED",
    "BOOLEAN",
    "NUMBER",
    "TEXT",
    "TIME",
    "UNTYPED",
    "Field",
    "Level",
    "Schema",
    "declared_by",
    "no_such_column",
]

_TIMES = (
    "column {name!r} holds times: give it bounds by name, as in bounds={{{name!r}: ('2024-01-01', "
    "'2025-01-01')}}, or say that it goes round, as in cyclic={{{name!r}: 'day'}}; or leave it out"
)


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
    part : Part or InZone, optional
        The part of the table, or the zone, whose rows are read; all rows, if not given.

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
    part: Part | InZone | None = with_default(default=None, metadata=ADDED)

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
        cyclic: Mapping[str, Any] | None = None,
        indicators: bool | Collection[str] = False,
        part: Part | InZone | None = None,
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
        declared : mapping of str to {"number", "boolean", "time"}, optional
            What to take columns of text and untyped ones for, where they have no levels.
        cyclic : mapping of str to float, str or a list of these, optional
            Which columns go round, and how far it is: a length, or "day", "week" or "year" for times.
        indicators : bool or collection of str
            Which columns get another one that says where cells are missing: all, none, or those named.
        part : Part or InZone, optional
            The part of the table whose rows are read, by a column that is not clustered; or the zone, by a
            place in two columns that may be.
        """
        part = part.placed((), types) if isinstance(part, InZone) else part
        by_part = None if part is None or len(part.columns) > 1 else part.columns[0]
        with_levels, rounds = check_levels(levels), check_cycles(cyclic)
        declared = {**(declared or {}), **{n: cells_of(every) for n, every in rounds.items()}}
        types = {
            name: declared.get(name, kind)
            if kind in (TEXT, UNTYPED) and name not in with_levels and name not in (unit, by_part)
            else kind
            for name, kind in types.items()
        }
        for column, role in ((unit, "unit"), (weight, "sample_weight"), (by_part, "part")):
            if column is not None:
                _check_role(
                    column, "zones" if role == "part" and isinstance(part, InZone) else role, types, named
                )
        if part is not None and by_part is None:
            for column in part.columns:
                _check_place(column, types, named)
        if unit is not None and unit == weight:
            raise InvalidTable(f"column {unit!r} cannot both name the person and weigh the row")
        apart = {unit, weight, by_part, *ignore}
        features = [name for name in types if name not in apart]
        for name in with_levels:
            if name not in features or not named:
                raise no_such_column(name, features if named else (), "levels are declared for")
        for name in rounds:
            if name not in features or not named:
                raise no_such_column(name, features if named else (), "cyclic names")
            if name in with_levels:
                raise InvalidTable(f"column {name!r} has levels and is in cyclic; it can be one of them")
        missing = features if indicators is True else indicators or ()
        for name in missing:
            if name not in features:
                raise no_such_column(name, features if named else (), "missing names")
        fields = tuple(
            field_of(name, types[name], with_levels.get(name), rounds.get(name), name in missing)
            for name in features
        )
        return cls(fields, named, unit, weight, part)

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
        """Every column of the table that is read: the clustered ones, then person, weight and part."""
        part = () if self.part is None else self.part.columns
        roles = (name for name in (self.unit, self.weight, *part) if name is not None)
        return tuple(dict.fromkeys([*(field.name for field in self.fields), *roles]))

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each column after encoding is: its field's kind, or "indicator"."""
        return tuple(kind for field in self.fields for kind in field.kinds)

    @property
    def roles(self) -> dict[str, Any]:
        """What was declared of the clustered columns, as :meth:`of` takes it."""
        return {
            "levels": self.levels,
            "cyclic": {field.name: field.cycles for field in self.fields if field.cycles},
            "indicators": [field.name for field in self.fields if field.indicator],
            "declared": {field.name: field.cells for field in self.fields if field.kind != "category"},
        }

    def bounds(self, given: BoundsLike | Bounds | None) -> Bounds:
        """Read the bounds of the columns after encoding.

        Pairs serve the number columns; a mapping names columns of the table as it is. Booleans and
        categories lie in [0, 1] by their encoding, so a mapping need not name them.

        Parameters
        ----------
        given : (lower, upper), mapping, preset name, Bounds or None
            As for :meth:`shoal.domain.Bounds.parse`; bounds of times are dates or times.
        """
        if isinstance(given, Bounds):
            return Bounds.parse(given, self.n_columns)
        by_name: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
        for field in self.fields:
            if field.kind == "time":
                by_name[field.name] = _time_bounds(field.name, by_name)
            elif field.kind == "boolean" and by_name.get(field.name) == BOOLEAN:
                by_name[field.name] = (0.0, 1.0)
        measured = [
            field.name
            for field in self.fields
            if field.kind in ("number", "time") or (field.kind == "boolean" and field.name in by_name)
        ]
        if not measured and not by_name:
            pairs, source = {}, "given by the columns' types"
        else:
            found = Bounds.parse(by_name or given, len(measured), measured if self.named else None)
            ends = zip(found.lower, found.upper, strict=True)
            pairs, source = dict(zip(measured, ends, strict=True)), found.source
        both = [
            _BY_KIND.get(kind, pairs.get(field.name, (0.0, 1.0)))
            for field in self.fields
            for kind in field.kinds
        ]
        return Bounds(tuple(low for low, _ in both), tuple(high for _, high in both), source)

    def column_weights(self, given: Any) -> tuple[float, ...] | None:
        """Read how many times a difference in each column counts, for the columns after encoding.

        Parameters
        ----------
        given : mapping of str to float, optional
            Weights of columns of the table as it is; the others count once.
        """
        if given is None:
            return None
        how = "give a mapping {column name: how many times it counts}, such as {'age': 2}"
        if not isinstance(given, Mapping):
            raise InvalidTable(f"column_weights is {given!r}; {how}")
        names = [field.name for field in self.fields]
        for name, weight in given.items():
            if not self.named or name not in names:
                raise no_such_column(name, names if self.named else (), "column_weights names")
            if (
                isinstance(weight, bool)
                or not isinstance(weight, numbers.Real)
                or not 0 < float(weight) < _ENDLESS
            ):
                raise InvalidTable(
                    f"column_weights of {name!r} is {weight!r}; it must be a number above 0: leave out a "
                    "column that is not to count"
                )
        return tuple(float(given.get(field.name, 1.0)) for field in self.fields for _ in field.names)


_ENDLESS = float("inf")
# Columns whose bounds follow from how they are encoded.
_BY_KIND = {"category": (0.0, 1.0), "indicator": (0.0, 1.0), "cycle": (-1.0, 1.0)}


def declared_by(bounds: Any) -> dict[str, str]:
    """Return what bounds by name say that columns without a type hold.

    Examples
    --------
    >>> declared_by({"age": (0, 100), "day": ("2024-01-01", "2025-01-01"), "member": "boolean"})
    {'age': 'number', 'day': 'time', 'member': 'boolean'}
    """
    if not isinstance(bounds, Mapping):
        return {}

    def said(pair: Any) -> str:
        if isinstance(pair, str):
            return BOOLEAN if pair == BOOLEAN else NUMBER
        return TIME if isinstance(pair, Iterable) and any(map(is_time, pair)) else NUMBER

    return {str(name): said(pair) for name, pair in bounds.items()}


def _time_bounds(name: str, by_name: Mapping[str, Any]) -> Any:
    given = by_name.get(name)
    if given is None:
        raise InvalidTable(_TIMES.format(name=name))
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given  # no pair, as will be said
    return tuple(time_bound(end, name) for end in given)


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


def _check_role(column: Any, part: str, types: Mapping[str, str], named: bool) -> None:
    if not named or column not in types:
        raise no_such_column(column, types if named else (), f"{part} is")
    named_by_words = part in ("unit", "part", "zones")
    wanted = (NUMBER, TEXT, UNTYPED) if named_by_words else (NUMBER, BOOLEAN, UNTYPED)
    if types[column] not in wanted:
        words = "text or numbers" if named_by_words else "numbers"
        raise InvalidTable(f"{part} is column {column!r}, which holds {types[column]}; it must hold {words}")


def _check_place(column: str, types: Mapping[str, str], named: bool) -> None:
    # An array has no names, but its columns can be counted: x0, x1, ...
    if column not in types:
        raise no_such_column(column, types if named else (), "zones lie over")
    if types[column] not in (NUMBER, TEXT, UNTYPED):
        raise InvalidTable(
            f"zones lie over column {column!r}, which holds {types[column]}; it must hold numbers"
        )
