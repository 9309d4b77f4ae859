"""Cells of every kind that a column may hold, odd ones among them: each must be read by itself."""

import math
import uuid
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd


class Fails(Fraction):
    """A number of somebody's own, which is none."""

    def __float__(self):
        raise RuntimeError("of a row")


NUMBERS = [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, None, 1e308, 7.0]
TEXTS = ["red", "n/a", "", " 7 ", "7", "inf", "nan", "1e400", "true", "\x00", "é", None, "ⅷ"]
OBJECTS = [
    *NUMBERS,
    *TEXTS,
    True,
    np.int64(7),
    np.float32(0.1),
    np.bool_(False),
    b"red",
    b"\xff",
    "\ud800",
    "\udcff",
    2**70,
    10**400,
    10**5000,
    Decimal("7.0"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1E+999999"),
    date(2024, 5, 1),
    datetime(2024, 5, 1, 12),
    pd.Timestamp("2024-05-01"),
    pd.NaT,
    pd.NA,
    np.datetime64("NaT", "s"),
    np.datetime64("2024-05-01", "ns"),
    np.timedelta64(5, "s"),
    np.timedelta64(3, "M"),
    np.timedelta64("NaT", "s"),
    pd.Timedelta("1s"),
    Fails(),
    uuid.UUID(int=5),
    ("a", 1),
    (("a",), ("b",)),
    ["a"],
    1j,
    object,
]
HASHABLE = [cell for cell in OBJECTS if not isinstance(cell, list | bool | np.bool_)]
INTEGERS = [0, 7, -1, 2**53 + 1, None]
DECIMALS = [Decimal("7.00"), Decimal("0.25"), Decimal("-1.50"), None]
TICKS = [0, 1, -1, 86_400_000, 1_714_521_600_001, 2**62, -(2**62), None]
WIDE = [2**70, -(2**100), 7, None]
