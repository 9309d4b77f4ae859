"""Public linear maps to few columns, and questions asked about what rows become under them.

A row is mapped by itself alone, so tables that differ in one row are mapped to such tables: a projection is
free, and whatever is proven of a partition or loss holds of the projected one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Columns, Labels, Metric
from shoal.domain import STEPS, to_steps
from shoal.errors import InvalidInput
from shoal.queries.kernels import dispatch, reference
from shoal.queries.partitions.cells import Keyed, Partition

# Products of two lattice values are multiples of 2^-40: up to this they add up exactly in 53 bits.
_MOST = 2**13
# A row of length L has a coordinate of about L / sqrt(d) along a random direction; this many are kept.
_REACH = 1.5
# A vector that has less than this part of its length left, at right angles to others, is spanned by them.
_SPANNED = 1e-9


@dataclass(frozen=True, eq=False)
class Projection:
    """Inner products of a row with public directions, clipped to [-1, 1] and put on the lattice again.

    Products and their partial sums are whole multiples of 2^-40 below 2^13, which float64 holds: whatever the
    order a matrix product adds them in, the result is exact, and so a function of the row alone.

    Parameters
    ----------
    matrix : ndarray of shape (n_directions, n_columns)
        Directions with entries in [-1, 1], rounded to the lattice. The absolute values of each add up to at
        most 8192.

    Examples
    --------
    >>> turn = Projection(np.array([[0.5, 0.5]]))
    >>> turn.apply(np.array([[1.0, -0.5], [0.0, -0.5]], dtype=np.float32))
    array([[ 0.5, -0.5]], dtype=float32)
    """

    matrix: Array

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all() or np.abs(matrix).max() > 1:
            raise InvalidInput(
                f"a matrix of shape {matrix.shape}; (directions, columns) of entries from -1 to 1 is wanted"
            )
        rounded = np.ascontiguousarray(to_steps(matrix) / STEPS)
        if np.abs(rounded).sum(axis=1).max() > _MOST:
            raise InvalidInput(f"a direction's entries add up to more than {_MOST}; scale it down")
        object.__setattr__(self, "matrix", rounded)

    @classmethod
    def random(
        cls, n_directions: int, n_columns: int, rng: np.random.Generator, metric: Metric = None
    ) -> Projection:
        """Return a map to random orthogonal directions, scaled so that few rows are clipped.

        With as many directions as columns, or more, it is the identity, and nothing is clipped.

        Parameters
        ----------
        n_directions, n_columns : int
            Of the image and of the table.
        rng : numpy Generator
            Public randomness.
        metric : ndarray of shape (n_columns,), optional
            Weights of the squared distance between rows, which the image is to keep.

        Examples
        --------
        >>> Projection.random(2, 2, np.random.default_rng(0)).matrix
        array([[1., 0.],
               [0., 1.]])
        """
        lengths = np.ones(n_columns) if metric is None else np.sqrt(metric)
        if n_directions >= n_columns:
            return cls(np.diag(lengths))
        directions = orthogonal(n_directions, n_columns, rng) * lengths
        typical = _REACH * np.sqrt((lengths**2).mean())
        # No row of the box lies beyond the sum of absolute values: no need to leave room there.
        reach = min(float(typical), float(np.abs(directions).sum(axis=1).max()))
        return cls(np.clip(directions / reach, -1.0, 1.0))

    @property
    def n_directions(self) -> int:
        """Columns of the image."""
        return len(self.matrix)

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return int(self.matrix.shape[1])

    def apply(self, columns: Columns) -> Columns:
        """Return the image of each row of a chunk, rounded toward zero."""
        if len(columns) != self.n_columns:
            raise InvalidInput(f"the map is for {self.n_columns} columns; the table has {len(columns)}")
        if not dispatch.pays(columns.size * self.n_directions):
            return reference.project(columns, self.matrix)
        loops = dispatch.compiled_loops("compiled_projection")
        image = np.empty((self.n_directions, columns.shape[1]), dtype=np.float32)
        table = np.ascontiguousarray(columns, dtype=np.float32)
        loops.project(table, self.matrix, np.empty((self.n_directions, loops.ROWS)), image)
        return image

    def describe(self) -> str:
        """Say the map in a few words."""
        return f"{self.n_columns} columns projected to {self.n_directions}"


@dataclass(frozen=True, eq=False)
class Projected:
    """Cells of the image of a projection: a row is in the cell that its image is in.

    Distances in the image are not weighted: a metric belongs into the projection.

    Parameters
    ----------
    projection : Projection
        The map.
    partition : Partition
        Cells of [-1, 1]^n_directions.

    Examples
    --------
    >>> from shoal.queries.partitions.cells import Grid
    >>> halves = Projected(Projection(np.array([[0.5, 0.5]])), Grid((2,)))
    >>> halves.assign(np.array([[1.0, -1.0], [-0.5, 0.5]], dtype=np.float32), None)
    array([1, 0], dtype=int32)
    """

    projection: Projection
    partition: Partition

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return self.partition.n_cells

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        return self.projection.n_columns

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002 - same for all partitions
        """Return the cell of each row's image."""
        return self.partition.assign(self.projection.apply(columns), None)

    def keys(self, columns: Columns) -> npt.NDArray[np.int64]:
        """Return the cell of each row's image, where cells have keys."""
        if not isinstance(self.partition, Keyed):
            raise InvalidInput(f"cells have no keys: {self.partition.describe()}")
        return self.partition.keys(self.projection.apply(columns))

    def describe(self) -> str:
        """Say the partition in a few words."""
        return f"{self.partition.describe()}, {self.projection.describe()}"


def orthogonal(n_directions: int, n_columns: int, rng: np.random.Generator) -> Array:
    """Return random directions of length one, at right angles to each other; at most as many as columns.

    Examples
    --------
    >>> found = orthogonal(3, 10, np.random.default_rng(0))
    >>> (found @ found.T).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return orthonormal(rng.standard_normal((n_directions, n_columns)))


def orthonormal(vectors: Array) -> Array:
    """Return directions of length one, at right angles to each other, that span the same as these vectors.

    Gram and Schmidt twice over: elementwise arithmetic gives the same bits on every machine. A vector that
    those before it span gives none.

    Examples
    --------
    >>> orthonormal(np.array([[3.0, 0.0], [-1.0, 0.0], [5.0, -2.0]]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    found: list[Array] = []
    for given in vectors:
        vector = given
        for _ in range(2):
            for earlier in found:
                vector = vector - (vector * earlier).sum() * earlier
        length = np.sqrt((vector * vector).sum())
        if length > _SPANNED * np.sqrt((given * given).sum()):
            found.append(vector / length)
    return np.array(found).reshape(-1, vectors.shape[1])
