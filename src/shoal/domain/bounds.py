"""Public bounds of every column: the box that rows are clipped to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidBounds

BoundsLike: TypeAlias = tuple[Any, Any] | Sequence[Any] | Mapping[str, tuple[float, float]]

_HOW = (
    "give bounds=(lower, upper) as two numbers or two arrays with one entry a column, "
    "or a mapping {column name: (lower, upper)}"
)


@dataclass(frozen=True)
class Bounds:
    """A box known without looking at the rows.

    Parameters
    ----------
    lower, upper : tuple of float
        One entry a column, ``lower[i] <= upper[i]``. Equal entries make a constant column.
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
        bounds : (lower, upper) or mapping of column name to (lower, upper)
            Scalars serve every column.
        n_columns : int
            The number of columns wanted.
        names : sequence of str, optional
            Column names, needed for a mapping.
        """
        if isinstance(bounds, Bounds):
            found = bounds
        elif bounds is None:
            raise InvalidBounds(
                "bounds are missing: Shoal never reads them off the rows, which would leak; " + _HOW
            )
        elif isinstance(bounds, Mapping):
            found = cls._from_mapping(bounds, names)
        else:
            found = cls._from_pair(bounds, n_columns)
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
    def _from_pair(cls, bounds: Any, n_columns: int) -> Bounds:
        lower, upper = _pair(bounds, "the table")
        return cls(_column_values(lower, n_columns), _column_values(upper, n_columns))

    @property
    def middle(self) -> npt.NDArray[np.float64]:
        """The centre of the box; halves first, so that wide bounds do not overflow."""
        return np.asarray(self.lower) / 2 + np.asarray(self.upper) / 2

    @property
    def half_width(self) -> npt.NDArray[np.float64]:
        """Half the width of each column."""
        return np.asarray(self.upper) / 2 - np.asarray(self.lower) / 2


def _pair(value: Any, what: str) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidBounds(f"bounds of {what} are {value!r}, not a pair (lower, upper); {_HOW}") from None
    return low, high


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidBounds(f"a bound is {value!r}, not a number; {_HOW}") from None


def _column_values(value: Any, n_columns: int) -> tuple[float, ...]:
    if np.ndim(value) == 0:
        return (_number(value),) * n_columns
    return tuple(_number(entry) for entry in np.ravel(np.asarray(value, dtype=object)))
