"""What one cell says, as a number and as a word.

Two rules that look at one cell, whatever it holds, and cannot fail. All that reads columns in bulk
(`columns.py`) says the same as they do.
"""

from __future__ import annotations

import math
import numbers
import re
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

# How a number is written. Digits are taken for good ("++"), so that the time is linear in the length.
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|[+-]?inf(?:inity)?", re.I)
_BLANKS = " \t\n\r\v\f"
# Whole decimals with more digits are left as they are: "1E+999999" has a million.
_LONGEST = 1000
_MONTHS = (np.dtype("m8[M]"), np.dtype("m8[Y]"))


def number(value: Any) -> float:
    """Return a cell as a number; what says none is NaN.

    Examples
    --------
    >>> [number(cell) for cell in ("1.5", " -2e3 ", "inf", True, Decimal("0.25"), 10**400)]
    [1.5, -2000.0, inf, 1.0, 0.25, inf]
    >>> [number(cell) for cell in ("n/a", "1,5", "0x10", None, (1,), "nan")]
    [nan, nan, nan, nan, nan, nan]
    """
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value
    if isinstance(value, str | bytes):
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        text = text.strip(_BLANKS)
        return float(text) if _NUMBER.fullmatch(text) else math.nan
    # NumPy takes spans of time for whole numbers, and fails to make them such.
    if isinstance(value, np.timedelta64) or not isinstance(value, numbers.Real | Decimal | np.bool_):
        return math.nan
    try:
        with np.errstate(all="ignore"):  # a long double may be too large
            return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except Exception:  # a decimal that signals; somebody's own kind of number, which may do anything
        return math.nan


def word(value: Any) -> str | None:
    """Return a cell as it is written, or None if it is missing or of no known kind.

    Numbers are written alike whatever holds them, whole ones without a point: pandas keeps them as floats
    where a column has missing cells.

    Examples
    --------
    >>> [word(cell) for cell in ("red", b"red", 7, 7.0, np.int8(7), Decimal("7.0"), True)]
    ['red', 'red', '7', '7', '7', '7', 'true']
    >>> [word(cell) for cell in (-0.0, 0.5, date(2024, 5, 1), ("Ada", 1), math.nan, None, object())]
    ['0', '0.5', '2024-05-01', "['Ada', '1']", None, None, None]
    """
    try:
        return _written(value)
    except Exception:  # somebody's own kind of text or number, which may do anything
        return None


def _written(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _time(value)
    if isinstance(value, numbers.Integral):
        return _digits(int(value))
    if isinstance(value, float | np.floating):
        cell = number(value)
        if not math.isfinite(cell):
            return None
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, date | time | timedelta | UUID):
        return str(value) if value == value else None  # a missing time is not itself
    if isinstance(value, tuple):
        return repr([None if isinstance(part, tuple) else word(part) for part in value])
    return None


def _time(value: np.datetime64 | np.timedelta64) -> str:
    if value.dtype in _MONTHS:  # how long they are is not said
        return str(value)
    # As Python writes it, so that it does not matter whether pandas made it its own.
    short: Any = value.astype(f"{value.dtype.kind}8[us]")
    return str(short.item()) if short == value else str(value)


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python writes no more than some thousand digits
        return hex(value)


def _decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return None
    if value.adjusted() < _LONGEST and value == value.to_integral_value():
        return str(int(value))
    return str(value)
