"""What is written after an option, as values: bounds, levels, rounds, weights, numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.errors import InvalidBounds, InvalidInput


def parse(name: str, value: Any) -> Any:
    """Read the value of an option, or of an entry of the config file."""
    if name == "bounds":
        return _parse_bounds(value)
    if name == "levels" and isinstance(value, tuple):
        return dict(named_levels(entry) for entry in value)
    if name == "cyclic" and isinstance(value, tuple):
        return {key: [_value(one) for one in text.split(",")] for key, text in map(_named("cyclic"), value)}
    if name == "column_weights" and isinstance(value, tuple):
        return {
            key: number(text, f"the weight of {key}") for key, text in map(_named("column weights"), value)
        }
    if name == "missing" and isinstance(value, tuple):
        return dict(map(_named("missing"), value)) if len(value) > 1 or "=" in value[0] else value[0]
    if name in ("epsilon", "delta") and isinstance(value, str):
        return number(value, f"--{name}")
    if name == "k" and isinstance(value, str) and "=" in value:
        pairs = [entry.rpartition("=") for entry in value.split(",")]
        return {zone.strip(): whole(text, f"--k of {zone}") for zone, _, text in pairs}
    if name in ("k", "max_iter") and value != "auto":
        return whole(value, f"--{name.replace('_', '-')}")
    return value


def parse_zones(given: Any, columns: Any) -> Any:
    """Read zones: a file of GeoJSON, or column=level:epsilon,level:epsilon; or a config file's table."""
    from shoal.domain import Zones

    pair = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns
    if pair is not None and len(pair) != 2:
        raise InvalidInput(f"--zone-columns {columns!r} are not two columns, x,y")
    if isinstance(given, dict):  # of a config file: {column: {level: epsilon}}
        if len(given) != 1:
            raise InvalidInput("zones of a config file are a path, or one column with its levels")
        ((column, levels),) = given.items()
        return Zones.from_column(column, levels)
    column, equals, text = str(given).partition("=")
    if not equals or Path(str(given)).exists():
        return Zones.from_geojson(given, columns=None if pair is None else (pair[0], pair[1]))
    levels = {}
    for entry in text.split(","):
        level, colon, epsilon = entry.rpartition(":")
        if not colon or not level:
            raise InvalidInput(f"--zones {given!r}: {entry!r} is not level:epsilon")
        levels[level] = number(epsilon, f"the epsilon of zone {level}")
    return Zones.from_column(column, levels)


def _parse_bounds(value: Any) -> Any:
    if isinstance(value, dict):  # from the config file
        return {name: tuple(pair) if isinstance(pair, list) else pair for name, pair in value.items()}
    if not isinstance(value, tuple):
        return value
    if any("=" in entry for entry in value):
        return dict(_named_bounds(entry) for entry in value)
    if len(value) > 1:
        raise InvalidBounds(f"bounds {', '.join(value)}: write name=low:high for each column")
    return value[0] if ":" not in value[0] else _range(value[0])


def _named(what: str) -> Callable[[str], tuple[str, str]]:
    def read(entry: str) -> tuple[str, str]:
        name, _, text = entry.rpartition("=")
        if not name:
            raise InvalidInput(f"{what} {entry!r} have no column; write name=... once per column")
        return name, text

    return read


def named_range(entry: str) -> tuple[str, tuple[float, float]]:
    """Read the range of a column, written name=low:high."""
    name, _, text = entry.rpartition("=")
    if not name:
        raise InvalidBounds(f"bounds {entry!r} have no column; write name=low:high for each column")
    return name, _range(text)


def _named_bounds(entry: str) -> tuple[str, Any]:
    name, text = _named("bounds")(entry)
    if text == "boolean":
        return name, text
    low, dots, high = text.partition("..")
    return (name, (low.strip(), high.strip())) if dots else (name, _range(text))


def _range(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidBounds(f"bounds {text!r} are not a range; write low:high, such as 0:100")
    return number(low, "a bound"), number(high, "a bound")


def parse_type(entry: str) -> tuple[str, str]:
    """Read what a column of text holds, written name=boolean."""
    name, equals, kind = entry.rpartition("=")
    if not equals or not name:
        raise InvalidInput(f"types {entry!r} are not name=boolean, name=number or name=time")
    return name, kind


def named_levels(entry: str, what: str = "levels") -> tuple[str, list[str]]:
    """Read the levels of a column, written name=a,b,c."""
    name, equals, levels = entry.partition("=")
    if not equals or not levels:
        raise InvalidInput(f"{what} {entry!r} are not name=a,b,c")
    return name, levels.split(",")


def parse_extra(table: Any, entries: tuple[str, ...]) -> dict[str, Any]:
    """Read parameters of the algorithm's class, written name=value."""
    if not isinstance(table, dict):
        raise InvalidInput(f"the config file's entry set is {table!r}; a table [set] of parameters is wanted")
    found = dict(table)
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not (name and equals):
            raise InvalidInput(f"--set {entry!r} is not name=value")
        found[name.strip().replace("-", "_")] = _value(text)
    return found


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def whole(value: Any, what: str) -> Any:
    """Read a whole number, or say what it was meant for; values of a config file are checked elsewhere."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        raise InvalidInput(f"{what} is {value!r}, not a whole number or auto") from None


def number(text: str, what: str) -> float:
    """Read a number, or say what it was meant for."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{what} is {text!r}, not a number") from None
