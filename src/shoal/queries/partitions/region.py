"""Public boxes of lattice points, and the rows inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels, Metric
from shoal.domain import STEPS
from shoal.errors import InvalidInput


@dataclass(frozen=True)
class Region:
    """A box of lattice points, ends included.

    Parameters
    ----------
    lower, upper : tuple of int
        Lattice steps.

    Examples
    --------
    >>> Region.whole(1)
    Region(lower=(-1048576,), upper=(1048576,))
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper) or not all(map(_ordered, self.lower, self.upper)):
            raise InvalidInput(f"a region from {self.lower} to {self.upper} is not a box within the bounds")

    @classmethod
    def whole(cls, n_columns: int) -> Region:
        """Return the whole domain."""
        return cls((-STEPS,) * n_columns, (STEPS,) * n_columns)

    @property
    def narrow(self) -> tuple[int, ...]:
        """The columns in which not every value is inside."""
        ends = zip(self.lower, self.upper, strict=True)
        return tuple(axis for axis, end in enumerate(ends) if end != (-STEPS, STEPS))

    @property
    def middle(self) -> npt.NDArray[np.float64]:
        """The middle, in scaled units."""
        return np.asarray((np.array(self.lower) + np.array(self.upper)) / (2 * STEPS))

    @property
    def half_width(self) -> npt.NDArray[np.float64]:
        """Half the width of every column, in scaled units, and at least one step."""
        return np.asarray(np.maximum((np.array(self.upper) - np.array(self.lower)) / 2, 1.0) / STEPS)

    def clip(self, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the nearest points of the region, in scaled units."""
        return np.clip(points, np.array(self.lower) / STEPS, np.array(self.upper) / STEPS)

    def widened(self, by: npt.NDArray[np.float64]) -> Region:
        """Return a region that reaches further by some scaled units on every side, but not out of bounds."""
        steps = np.ceil(by * STEPS).astype(np.int64)
        lower = np.maximum(np.array(self.lower) - steps, -STEPS)
        upper = np.minimum(np.array(self.upper) + steps, STEPS)
        return Region(tuple(map(int, lower)), tuple(map(int, upper)))

    def strides(self, axis: int, parts: int, steps: Integers) -> Integers:
        """Return in which of equal parts of a column values lie; values outside are below 0 or too large."""
        low, high = self.lower[axis], self.upper[axis]
        return np.asarray((steps - low) * parts // (high - low + 1))


def _ordered(low: int, high: int) -> bool:
    return -STEPS <= low <= high <= STEPS


@dataclass(frozen=True)
class Inside:
    """Two cells: outside a region, and inside it.

    Parameters
    ----------
    region : Region
        A public box.

    Examples
    --------
    >>> Inside(Region((0,), (STEPS // 2,))).assign(np.array([[-0.1, 0.0, 0.5, 0.6]], dtype=np.float32), None)
    array([0, 1, 1, 0], dtype=int32)
    """

    region: Region

    @property
    def n_cells(self) -> int:
        """Outside and inside."""
        return 2

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002
        """Return 1 for rows inside."""
        inside = np.ones(columns.shape[1], dtype=np.bool_)
        for axis in self.region.narrow:
            steps = (columns[axis] * np.float32(STEPS)).astype(np.int64)
            inside &= (steps >= self.region.lower[axis]) & (steps <= self.region.upper[axis])
        return inside.astype(np.int32)

    def describe(self) -> str:
        """Say the partition in a few words."""
        return "inside a public box"
