"""One face for numpy arrays and data frames: names, types from the schema, and columns cut in chunks.

What is refused here is refused by the schema (shape, column types), never by what a cell holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidTable

_TEXT = (
    "Shoal clusters numbers: drop the column, or turn it into numbers by a rule that does not look at rows"
)


class Table:
    """A typed view of a table in memory; no copy is made.

    Parameters
    ----------
    data : array-like of shape (n_rows, n_columns), or a pandas, polars, pyarrow, ... data frame
        Its numeric and boolean columns can be read; any other type is an error.

    Examples
    --------
    >>> table = Table(np.zeros((4, 2), dtype=np.float32))
    >>> table.names is None, table.n_columns
    (True, 2)
    """

    def __init__(self, data: Any) -> None:
        frame = nw.from_native(data, strict=False, eager_only=False)
        if isinstance(frame, nw.LazyFrame):
            raise InvalidTable("the table is a lazy frame; call .collect() first")
        self._frame: Any = frame if isinstance(frame, nw.DataFrame) else None
        if self._frame is not None:
            self._check_schema(self._frame.schema)
            self.names: tuple[str, ...] | None = tuple(str(c) for c in self._frame.columns)
            self.n_columns = len(self.names)
            self._n_rows = len(self._frame)
        else:
            self._array = _as_array(data)
            self.names = None
            self._n_rows, self.n_columns = self._array.shape
        if self.n_columns == 0:
            raise InvalidTable("the table has 0 feature(s) (shape=(n, 0)) while a minimum of 1 is required")

    @staticmethod
    def _check_schema(schema: Any) -> None:
        for name, dtype in schema.items():
            if not (dtype.is_numeric() or dtype == nw.Boolean):
                raise InvalidTable(f"column {name!r} holds {dtype}, not numbers. {_TEXT}")

    def chunks(self, rows: int) -> Sequence[tuple[int, int]]:
        """Cut the table in ranges of at most `rows` rows; an empty table has one empty range."""
        return [(a, min(a + rows, self._n_rows)) for a in range(0, max(self._n_rows, 1), rows)]

    def columns(self, start: int, stop: int) -> list[npt.NDArray[np.generic]]:
        """Return the columns of one range of rows; cells that are null are NaN."""
        if self._frame is None:
            return [self._array[start:stop, j] for j in range(self.n_columns)]
        part = self._frame[start:stop]
        return [_series_values(part[name]) for name in self._frame.columns]


def _series_values(series: Any) -> npt.NDArray[np.generic]:
    values = series.to_numpy()
    if values.dtype == object or series.dtype == nw.Boolean:  # nullable columns of pandas and pyarrow
        values = series.cast(nw.Float64).to_numpy()
    if values.dtype == object:
        values = np.array([np.nan if v is None else float(v) for v in series.to_list()], dtype=np.float64)
    return np.asarray(values)


def _as_array(data: Any) -> npt.NDArray[np.generic]:
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise InvalidTable(
            "the table is a sparse matrix; Shoal reads dense rows: pass X.toarray() if it fits in memory"
        )
    try:
        array = np.asarray(data)
    except ValueError:
        raise InvalidTable(f"a {type(data).__name__} of ragged rows is not a table") from None
    if array.dtype.kind == "c":
        raise InvalidTable("Complex data not supported: the table holds complex numbers")
    if array.dtype.kind == "O":
        # Looking at the cells of an untyped array would make this error depend on rows.
        raise InvalidTable(
            "the array has no type (dtype=object); declare one, for example X.astype(float): the argument "
            "must be a table of numbers, not of a string or a number as it comes"
        )
    if array.dtype.kind not in "fiub":
        raise InvalidTable(f"the array holds {array.dtype}, not numbers. {_TEXT}")
    if array.ndim != 2:
        raise InvalidTable(
            f"Expected 2D array, got {array.ndim}D array instead: a table has rows and columns. Reshape "
            "your data with X.reshape(-1, 1) for one column or X.reshape(1, -1) for one row"
        )
    return array
