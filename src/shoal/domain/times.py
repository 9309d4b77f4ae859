"""Times as numbers, and times and numbers that go round: hours of a day, days of a week.

A time is what a clock on the wall shows, in the zone that it is written in: as seconds since 1970, without
an offset. What goes round becomes two columns, the cosine and the sine of its place on the circle, so that
23:59 lies beside 0:00.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidBounds, InvalidTable

Cycle: TypeAlias = float | str
"""The length of a round in a column's own units, or one of `ROUNDS` for times."""

_DAY = 86_400.0
# Seconds of a round, and how long before 1970 one began: that year began on a Thursday, weeks do on Mondays.
ROUNDS: dict[str, tuple[float, float]] = {
    "day": (_DAY, 0.0),
    "week": (7 * _DAY, 3 * _DAY),
    "year": (365.2425 * _DAY, 0.0),
}
# Places that are told apart on a circle: of a day, every 1.3 seconds.
_PLACES = 2**16
_FIRST_DAY = date(1970, 1, 1).toordinal()
_WRITTEN = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?"
    r" ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?"
)
_BLANKS = " \t\n\r\v\f"


def seconds(value: Any) -> float:
    """Return a time as seconds since 1970, on the clock of its own zone; what is none is NaN.

    It looks at one value, whatever it is, and cannot fail.

    Examples
    --------
    >>> [seconds(cell) for cell in ("1970-01-02", "1970-01-01 00:00:01.5", "1970-01-01T01:00+05:00")]
    [86400.0, 1.5, 3600.0]
    >>> [seconds(cell) for cell in ("1.5.2024", "2024-02-30", 12, None, np.datetime64("NaT"))]
    [nan, nan, nan, nan, nan]
    """
    try:
        return _seconds(value)
    except Exception:  # no such day; or a time of somebody's own kind, which may do anything
        return math.nan


def _seconds(value: Any) -> float:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value.strip(_BLANKS))
        if found is None:
            return math.nan
        year, month, day, hour, minute, second, part = found.groups()
        micros = int((part or "").ljust(6, "0")[:6])
        value = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), micros
        )
    if isinstance(value, np.datetime64):
        return math.nan if np.isnat(value) else int(value.astype("M8[us]").astype(np.int64)) / 1e6
    if not isinstance(value, date) or value != value:  # a missing time is not itself
        return math.nan
    whole = (value.toordinal() - _FIRST_DAY) * 86_400
    if isinstance(value, datetime):
        whole += value.hour * 3600 + value.minute * 60 + value.second
        return (whole * 1_000_000 + value.microsecond) / 1e6
    return float(whole)


def written(value: float) -> str:
    """Write seconds since 1970 as a time, to the second.

    Examples
    --------
    >>> written(seconds("2024-05-01")), written(0.5)
    ('2024-05-01', '1970-01-01 00:00:00')
    """
    whole = math.floor(value)
    shown = str(np.datetime64(whole, "s")).replace("T", " ")
    return shown.removesuffix(" 00:00:00") if whole == value else shown


def is_time(value: Any) -> bool:
    """Say whether a bound is written as a time, and not as a number.

    Examples
    --------
    >>> is_time("2024-05-01"), is_time(date(2024, 5, 1)), is_time("5"), is_time(5)
    (True, True, False, False)
    """
    return isinstance(value, str | date | np.datetime64) and not math.isnan(seconds(value))


def time_bound(value: Any, name: str) -> float:
    """Return a bound of a column of times, or say what is wrong with it."""
    if not is_time(value):
        raise InvalidBounds(
            f"a bound of column {name!r} is {value!r}; the column holds times: give two dates or times, such "
            "as ('2024-01-01', '2025-01-01')"
        )
    return seconds(value)


def circle(
    values: npt.NDArray[np.float64], cycle: Cycle
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the cosine and the sine of each value's place on its circle; NaN where it is missing.

    A value's place is rounded to one of 65,536 first, by arithmetic that gives the same wherever the value
    stands: cosines of an array do not.

    Examples
    --------
    >>> across, up = circle(np.array([0.0, 6.0, 12.0, 30.0, np.nan]), 24)
    >>> across.tolist(), up.tolist()
    ([1.0, 0.0, -1.0, 0.0, nan], [0.0, 1.0, 0.0, 1.0, nan])
    """
    length, before = ROUNDS[cycle] if isinstance(cycle, str) else (float(cycle), 0.0)
    with np.errstate(all="ignore"):  # a warning about a cell would tell of it
        place = np.rint(np.mod(values + before, length) / length * _PLACES)
    known = np.isfinite(place)
    index = np.where(known, place, _PLACES + 1).astype(np.int64)
    across, up = _circle()
    return across[index], up[index]


def on_circle(
    across: npt.NDArray[np.float64], up: npt.NDArray[np.float64], cycle: Cycle
) -> npt.NDArray[np.float64]:
    """Return where on its round a mean of cosines and sines lies: in hours for "day", in days for others.

    Examples
    --------
    >>> on_circle(np.array([0.0, 0.0]), np.array([0.5, -0.5]), "day")
    array([ 6., 18.])
    """
    shown = {"day": 24.0, "week": 7.0, "year": 365.2425}
    length = shown[cycle] if isinstance(cycle, str) else float(cycle)
    return np.asarray(np.mod(np.arctan2(up, across) / (2 * np.pi), 1.0) * length)


@cache
def _circle() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return cosine and sine of every place, and NaN behind them; exact at the quarters."""
    angles = 2 * np.pi * np.arange(_PLACES + 1) / _PLACES
    across, up = np.cos(angles), np.sin(angles)
    quarter = _PLACES // 4
    across[[quarter, 3 * quarter]], up[[0, 2 * quarter, _PLACES]] = 0.0, 0.0
    across[[0, 2 * quarter, _PLACES]], up[[quarter, 3 * quarter]] = [1.0, -1.0, 1.0], [1.0, -1.0]
    return np.append(across, np.nan), np.append(up, np.nan)


def check_cycles(cyclic: Any) -> dict[str, tuple[Cycle, ...]]:
    """Read which columns go round, or say what is wrong.

    Examples
    --------
    >>> check_cycles({"hour": 24, "pickup": ["day", "week"]})
    {'hour': (24.0,), 'pickup': ('day', 'week')}
    """
    how = (
        "give a mapping {column name: length of a round}, such as {'hour': 24}, or, for a column of times, "
        "{'pickup': 'day'}, 'week', 'year' or a list of these"
    )
    if cyclic is None:
        return {}
    if not isinstance(cyclic, Mapping):
        raise InvalidTable(f"cyclic is {cyclic!r}; {how}")
    found: dict[str, tuple[Cycle, ...]] = {}
    for name, given in cyclic.items():
        several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        words = [one for one in several if isinstance(one, str)]
        lengths = [one for one in several if not isinstance(one, str)]
        right = all(word in ROUNDS for word in words) and all(map(_is_length, lengths))
        if not right or not several or bool(words) == bool(lengths) or len(set(several)) < len(several):
            raise InvalidTable(f"cyclic of column {name!r} is {given!r}; {how}")
        found[str(name)] = tuple(words) if words else tuple(float(length) for length in lengths)
    return found


def _is_length(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < math.inf
