"""One level of a tree of cubes: the children of the cubes that are active, and everything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal._typing import Array, Columns, Integers, Labels, Metric
from shoal.domain import STEPS, to_steps
from shoal.errors import InvalidInput
from shoal.queries.partitions.cells import MOST_CELLS

# Half as wide as the domain at every level, down to two steps of the lattice.
MOST_LEVELS = 20


@dataclass(frozen=True, eq=False)
class Cubes:
    """The children of the active cubes of a tree; rows that are in none of these are in the last cell.

    The root is the domain, or a cube of twice its width moved by a shift. A cube has 2^n_columns children of
    half its width. Child c of the i-th active cube has the key i 2^n_columns + c, where the bits of c say in
    which half it is along each column, the first column's being the highest.

    Parameters
    ----------
    n_columns : int
        Columns of the domain.
    active : tuple of ndarray of int64
        Keys of the children that became active, sorted, for every level so far.
    shift : ndarray of shape (n_columns,), optional
        Of the root, in [-1, 1]; rounded to the lattice. Wherever it lies, the wide root holds the domain.

    Examples
    --------
    >>> columns = np.array([[-1.0, -0.6, 0.2, 1.0]], dtype=np.float32)
    >>> root = Cubes(1)
    >>> root.keys(columns)
    array([0, 0, 1, 1])
    >>> left = root.split(np.array([0]))  # the lower half is active: its quarters, and the rest
    >>> left.keys(columns), left.n_cells
    (array([0, 0, 2, 2]), 3)
    >>> left.centres_of(np.array([0, 1]))
    array([[-0.75],
           [-0.25]])
    """

    n_columns: int
    active: tuple[Integers, ...] = ()
    shift: Array | None = None

    def __post_init__(self) -> None:
        if self.shift is not None:
            shift = to_steps(np.asarray(self.shift, dtype=np.float64)) / STEPS
            if shift.shape != (self.n_columns,):
                raise InvalidInput(f"a shift of shape {shift.shape}; ({self.n_columns},) is wanted")
            object.__setattr__(self, "shift", shift)
        if not 1 <= self.n_columns <= 61 or len(self.active) >= MOST_LEVELS:
            raise InvalidInput(
                f"cubes of {self.n_columns} columns at level {len(self.active) + 1}: 1 to 61 columns and "
                f"at most {MOST_LEVELS} levels are wanted"
            )
        parents = 1
        for keys in self.active:
            in_order = keys.ndim == 1 and bool((np.diff(keys, prepend=-1) > 0).all())
            if not in_order or (len(keys) and keys[-1] >= parents << self.n_columns):
                raise InvalidInput("active cubes must be different children of active cubes, sorted by key")
            parents = len(keys)
        if self.n_cells > MOST_CELLS:
            raise InvalidInput(f"cubes of {self.n_columns} columns have more than 2**62 children; use fewer")

    @property
    def n_active(self) -> int:
        """How many cubes have their children here."""
        return len(self.active[-1]) if self.active else 1

    @property
    def n_cells(self) -> int:
        """All children, and one."""
        return (self.n_active << self.n_columns) + 1

    @property
    def level(self) -> int:
        """How often the root is halved to get these children."""
        return len(self.active) + 1

    def split(self, keys: Integers) -> Cubes:
        """Return the next level, where these children are active."""
        return Cubes(self.n_columns, (*self.active, np.sort(keys)), self.shift)

    def keys(self, columns: Columns) -> Integers:
        """Return the cell of each row of a chunk."""
        places = (columns * np.float32(STEPS)).astype(np.int64)
        if self.shift is None:
            bits = STEPS.bit_length()
            places += STEPS
        else:
            bits = STEPS.bit_length() + 1
            places += 2 * STEPS - to_steps(self.shift)[:, np.newaxis]
        # The upper border belongs to the last cube.
        np.minimum(places, (1 << bits) - 1, out=places)
        cells = np.full(columns.shape[1], self.n_cells - 1, dtype=np.int64)
        inside, cubes = np.arange(columns.shape[1]), np.zeros(columns.shape[1], dtype=np.int64)
        for level, active in enumerate(self.active, 1):
            children = self._children(cubes, places[:, inside], bits - level)
            found = np.searchsorted(active, children)
            stays = found < len(active)
            stays[stays] = active[found[stays]] == children[stays]
            inside, cubes = inside[stays], found[stays]
        cells[inside] = self._children(cubes, places[:, inside], bits - self.level)
        return cells

    def _children(self, cubes: Integers, places: Integers, bit: int) -> Integers:
        children = cubes
        for line in places:
            children = children << 1 | (line >> bit & 1)
        return children

    def assign(self, columns: Columns, metric: Metric) -> Labels:  # noqa: ARG002 - same for all partitions
        """Return the cell of each row of a chunk, where all cells can be held."""
        if self.n_cells >= 2**31:
            raise InvalidInput(f"{self.n_cells} cells are too many to label one by one; use `keys`")
        return self.keys(columns).astype(np.int32)

    def centres_of(self, keys: Integers) -> Array:
        """Return the middle of some children, or the nearest point of the domain."""
        places = np.zeros((1, self.n_columns), dtype=np.int64)
        halves = np.arange(self.n_columns)[::-1]
        for level in (*self.active, keys):
            parents, child = level >> self.n_columns, level[:, np.newaxis] >> halves & 1
            places = 2 * places[parents] + child
        unit = (2 * places + 1) / (1 << self.level) - 1
        return np.clip(unit if self.shift is None else 2 * unit + self.shift, -1.0, 1.0)

    def describe(self) -> str:
        """Say the partition in a few words."""
        many = "cube" if self.n_active == 1 else "cubes"
        return f"{1 << self.n_columns} children of {self.n_active} {many} at level {self.level}, and the rest"
