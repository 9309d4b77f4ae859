"""What is public about a table and whom the guarantee protects: what the gate and the algorithms share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from shoal.domain.bounds import Bounds
from shoal.domain.earth import earth_pairs, earth_reach
from shoal.domain.lattice import STEPS, Chunk, as_doubles, decode, encode
from shoal.domain.magnitude import encode_bucket
from shoal.domain.schema import ADDED, Schema
from shoal.errors import InvalidInput

Neighbours: TypeAlias = Literal["add-remove", "replace"]
Scaling: TypeAlias = Literal["bounds", "none", "earth"]
SCALINGS = get_args(Scaling)
Missing: TypeAlias = Literal["centre", "drop"]


@dataclass(frozen=True)
class Unit:
    """The privacy unit: one row added or removed, one row replaced, or one person's rows.

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


@dataclass(frozen=True)
class Domain:
    """Everything about a table that is known without its rows.

    Parameters
    ----------
    bounds : Bounds
        The public box.
    scaling : {"bounds", "none", "earth"}
        Whether distance is measured after scaling each column to its bounds, or in the table's own units, or
        on the ground between longitudes and latitudes.
    missing : {"centre", "drop"}
        Cells that are NaN or infinite go to the centre of their bounds, or drop their row.
    unit : Unit
        Whom the guarantee protects.
    names : tuple of str, optional
        Column names.
    max_weight : float, optional
        The public maximum of row weights; None where rows are not weighted.
    schema : Schema, optional
        How the columns of the table as it is became these columns.
    column_weights : tuple of float, optional
        How many times a difference in each column counts; once where not given.

    Examples
    --------
    >>> domain = Domain(Bounds.parse((0, 10), 2))
    >>> domain.n_columns, domain.metric
    (2, None)
    """

    bounds: Bounds
    scaling: Scaling = "bounds"
    missing: Missing = "centre"
    unit: Unit = field(default_factory=Unit)
    names: tuple[str, ...] | None = None
    max_weight: float | None = None
    schema: Schema | None = None
    column_weights: tuple[float, ...] | None = field(default=None, metadata=ADDED)

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise InvalidInput(f"scaling is {self.scaling!r}; it must be 'bounds', 'none' or 'earth'")
        if self.missing not in ("centre", "drop"):
            raise InvalidInput(f"missing is {self.missing!r}; it must be 'centre' or 'drop'")
        if self.missing == "drop" and self.unit.replace:
            # Replacing a complete row by an incomplete one would change the number of rows kept.
            raise InvalidInput("missing='drop' needs neighbours='add-remove'; use missing='centre'")
        if self.scaling == "earth":
            earth_pairs(self.names)  # or says what is missing
        if self.max_weight is not None and not _is_positive(self.max_weight):
            raise InvalidInput(f"max_weight is {self.max_weight!r}; it must be a finite number above 0")

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.bounds.lower)

    @property
    def metric(self) -> npt.NDArray[np.float64] | None:
        """Column weights of the squared distance between scaled rows, or None when all are one."""
        plain = self.scaling == "bounds" and self.column_weights is None
        return None if plain else self.column_scale**2

    @property
    def column_scale(self) -> npt.NDArray[np.float64]:
        """What scaled columns are multiplied by so that plain distance is the one that is measured in."""
        reach = self._reach
        widest = float(reach.max())
        # Only ratios matter for the nearest centre; dividing by the widest keeps them in range.
        # Of unknown bounds there are none yet, and nothing is measured before they were estimated.
        return reach / widest if 0 < widest < np.inf else np.ones(self.n_columns)

    @property
    def length_unit(self) -> float:
        """What one unit of scaled distance is, in the units that distance is measured in."""
        return float(self._reach.max())

    @property
    def _reach(self) -> npt.NDArray[np.float64]:
        """How far it is from the middle of each column to its bounds, in the units of distance."""
        if self.scaling == "none":
            reach = self.bounds.half_width
        elif self.scaling == "earth":
            reach = earth_reach(self.names, self.bounds)
        else:
            reach = np.ones(self.n_columns)
        return reach if self.column_weights is None else reach * np.asarray(self.column_weights)

    def encode(
        self, columns: Sequence[npt.NDArray[np.generic]], weights: npt.NDArray[np.generic] | None = None
    ) -> Chunk:
        """Put rows on the lattice.

        Each row is mapped by itself alone, so neighbouring tables stay neighbours. Weights are clipped to
        [0, max_weight]; a missing one is 0, and all are at the maximum if none are given. A column of
        unknown bounds is sorted into magnitudes.
        """
        if len(columns) != self.n_columns:
            raise InvalidInput(f"rows of {len(columns)} columns for a domain of {self.n_columns}")
        n = len(columns[0])
        out = np.empty((self.n_columns, n), dtype=np.float32)
        incomplete = np.zeros(n, dtype=np.bool_)
        for j, values in enumerate(columns):
            incomplete |= self._encode_column(j, values, out[j])
        steps = None
        if self.max_weight is not None:
            given = np.full(n, np.inf) if weights is None else as_doubles(weights)
            # Clip before dividing: a huge weight over a small maximum would overflow.
            shares = np.clip(np.nan_to_num(given, nan=0.0), 0.0, self.max_weight) / self.max_weight
            steps = np.floor(shares * STEPS).astype(np.int32)
        if self.missing == "drop" and incomplete.any():
            out = np.ascontiguousarray(out[:, ~incomplete])
            steps = None if steps is None else steps[~incomplete]
        return Chunk(out, steps)

    def _encode_column(
        self, j: int, values: npt.NDArray[np.generic], out: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Put the cells of one column on the lattice; return which were missing."""
        if j in self.bounds.unknown:
            return encode_bucket(values, out)
        return encode(values, self.bounds.lower[j], self.bounds.upper[j], out)

    def decode(self, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Map scaled points back to the table's own units."""
        return decode(points, self.bounds.lower, self.bounds.upper)


def _is_positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and 0 < float(value) < float("inf")
