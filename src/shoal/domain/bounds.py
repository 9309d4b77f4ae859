"""Public bounds of every column: the box that rows are clipped to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidBounds

BoundsLike: TypeAlias = str | tuple[Any, Any] | Sequence[Any] | Mapping[str, Any]

_HOW = (
    "give bounds=(lower, upper) as two numbers or two arrays with one entry per column, "
    "or a mapping {column name: (lower, upper)}"
)


_UNKNOWN = (-np.inf, np.inf)


@dataclass(frozen=True)
class Bounds:
    """A box known without looking at the rows.

    Parameters
    ----------
    lower, upper : tuple of float
        One entry per column, ``lower[i] <= upper[i]``. Equal entries make a constant column; (-inf, inf)
        says that the bounds of a column are not known yet.
    source : str
        Where the bounds came from; the certificate repeats it.

    Examples
    --------
    >>> Bounds.parse((0, 10), 2)
    Bounds(lower=(0.0, 0.0), upper=(10.0, 10.0), source='given')
    >>> Bounds.parse({"lat": (40, 41), "lon": (-75, -73)}, 2, ("lon", "lat")).lower
    (-75.0, 40.0)
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    source: str = "given"

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper):
            raise InvalidBounds(
                f"bounds have {len(self.lower)} lower and {len(self.upper)} upper entries; {_HOW}"
            )
        if len(self.lower) == 0:
            raise InvalidBounds(f"bounds are empty; {_HOW}")
        for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if (low, high) == _UNKNOWN:
                continue
            if not (np.isfinite(low) and np.isfinite(high)):
                raise InvalidBounds(f"bounds of column {i} are ({low}, {high}); both must be finite numbers")
            if low > high:
                raise InvalidBounds(
                    f"bounds of column {i} are reversed: lower {low} is above upper {high}; swap them"
                )

    @classmethod
    def parse(
        cls, bounds: BoundsLike | Bounds | None, n_columns: int, names: Sequence[str] | None = None
    ) -> Bounds:
        """Read bounds as a user writes them.

        Parameters
        ----------
        bounds : (lower, upper), mapping of column name to (lower, upper), "latlon" or None
            Scalars serve every column; where columns differ, give two lists or arrays with an entry a
            column. "latlon" is the globe, for columns named after longitude and latitude. None: not known, to
            be estimated inside the budget.
        n_columns : int
            The number of columns wanted.
        names : sequence of str, optional
            Column names, needed for a mapping.
        """
        if isinstance(bounds, Bounds):
            found = bounds
        elif bounds is None:
            found = cls.not_known(n_columns)
        elif isinstance(bounds, str):
            found = cls._preset(bounds, names)
        elif isinstance(bounds, Mapping):
            found = cls._from_mapping(bounds, names)
        else:
            found = cls._from_pair(bounds, n_columns)
        if found.unknown and not (bounds is None or isinstance(bounds, Bounds)):
            raise InvalidBounds(
                f"bounds of column {found.unknown[0]} are infinite; give finite ones, or none"
            )
        if len(found.lower) != n_columns:
            raise InvalidBounds(
                f"bounds are for {len(found.lower)} columns, the table has {n_columns}; {_HOW}"
            )
        return found

    @classmethod
    def _from_mapping(cls, bounds: Mapping[Any, Any], names: Sequence[str] | None) -> Bounds:
        if names is None:
            raise InvalidBounds(
                "bounds are given by column name, but the table has no column names; "
                "pass a data frame or give bounds=(lower, upper)"
            )
        missing = [name for name in names if name not in bounds]
        unknown = [name for name in bounds if name not in names]
        if missing or unknown:
            raise InvalidBounds(
                f"bounds by name do not fit the columns {list(names)}: missing {missing}, unknown {unknown}"
            )
        pairs = [_pair(bounds[name], f"column {name!r}") for name in names]
        return cls(tuple(_number(low) for low, _ in pairs), tuple(_number(high) for _, high in pairs))

    @classmethod
    def _preset(cls, preset: str, names: Sequence[str] | None) -> Bounds:
        if preset != "latlon":
            raise InvalidBounds(f"there is no preset {preset!r} of bounds; the one there is is 'latlon'")
        axes = [geographic_axis(name) for name in names or ()]
        if not axes or None in axes:
            raise InvalidBounds(
                f"bounds='latlon' needs columns named after longitude and latitude, got {list(names or ())}"
            )
        reach = [180.0 if axis == "longitude" else 90.0 for axis in axes]
        return cls(tuple(-r for r in reach), tuple(reach), "preset latlon")

    @classmethod
    def _from_pair(cls, bounds: Any, n_columns: int) -> Bounds:
        lower, upper = _pair(bounds, "the table")
        if n_columns == 2 and _could_be_pairs(bounds, lower, upper):
            raise InvalidBounds(
                f"bounds {bounds!r} can be read in two ways: as (lower, upper) with an entry per column, or "
                "as a pair for each of two columns; give a mapping {column name: (lower, upper)}, or "
                "([lower, lower], [upper, upper]) as a tuple of lists or arrays"
            )
        return cls(_column_values(lower, n_columns), _column_values(upper, n_columns))

    @classmethod
    def not_known(cls, n_columns: int) -> Bounds:
        """Say that no bounds are known: they have to be estimated inside the budget."""
        return cls((-np.inf,) * n_columns, (np.inf,) * n_columns, "not known")

    @property
    def unknown(self) -> tuple[int, ...]:
        """The columns whose bounds are not known yet."""
        pairs = zip(self.lower, self.upper, strict=True)
        return tuple(j for j, pair in enumerate(pairs) if pair == _UNKNOWN)

    @property
    def middle(self) -> npt.NDArray[np.float64]:
        """The centre of the box; halves first, so that wide bounds do not overflow."""
        return np.asarray(self.lower) / 2 + np.asarray(self.upper) / 2

    @property
    def half_width(self) -> npt.NDArray[np.float64]:
        """Half the width of each column."""
        return np.asarray(self.upper) / 2 - np.asarray(self.lower) / 2


def geographic_axis(name: str) -> str | None:
    """Say whether a column's name speaks of longitude or latitude.

    Examples
    --------
    >>> geographic_axis("pickup_longitude"), geographic_axis("Lat"), geographic_axis("plateau")
    ('longitude', 'latitude', None)
    """
    words = set(re.split(r"[^a-z]+", name.lower()))
    if words & {"lon", "lng", "long", "longitude"}:
        return "longitude"
    return "latitude" if words & {"lat", "latitude"} else None


def _pair(value: Any, what: str) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidBounds(f"bounds of {what} are {value!r}, not a pair (lower, upper); {_HOW}") from None
    return low, high


def _could_be_pairs(bounds: Any, lower: Any, upper: Any) -> bool:
    """Say whether bounds of two columns look like a pair per column, and not as (lower, upper) is written.

    Two arrays, or a tuple of two lists, are (lower, upper). What would be a pair with its larger end
    first, or a column of one value, nobody meant as pairs.
    """
    sides = (lower, upper)
    if not isinstance(bounds, np.ndarray) and any(isinstance(side, np.ndarray) for side in sides):
        return False
    if isinstance(bounds, tuple) and all(isinstance(side, list) for side in sides):
        return False
    if np.shape(lower) != (2,) or np.shape(upper) != (2,):
        return False
    return all(_number(first) < _number(second) for first, second in (lower, upper))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidBounds(f"a bound is {value!r}, not a number; {_HOW}") from None


def _column_values(value: Any, n_columns: int) -> tuple[float, ...]:
    if np.ndim(value) == 0:
        return (_number(value),) * n_columns
    return tuple(_number(entry) for entry in np.ravel(np.asarray(value, dtype=object)))
