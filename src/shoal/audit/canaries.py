"""Neighbouring tables on which known mistakes show: each one is sharp for a way to leak.

A canary is a pair of tables, what makes it sharp, and what it catches. All values lie in [-1, 1], which is
what the bounds are set to; the pairs are made for k-means, but any mechanism can be run on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal._typing import Array
from shoal.domain.domain import Neighbours
from shoal.errors import InvalidInput

BOUNDS = (-1.0, 1.0)
# Little work and few questions: a run is cheap, and the whole budget goes to where the row shows.
SMALL = {
    "max_iter": 1,
    "n_jobs": 1,
    "n_starts": 1,
    "population": 20,
    "survivors": 4,
    "max_generations": 3,
    "n_levels": 1,
    "n_swaps": 1,
    "n_components": 1,
}


@dataclass(frozen=True, eq=False)
class Canary:
    """Two neighbouring tables that a mistake tells apart.

    Parameters
    ----------
    name : str
        What it is called.
    catches : str
        The mistake.
    D, D_prime : table
        The neighbours.
    n_clusters : int
        With how many centres it is sharpest.
    neighbours : {"add-remove", "replace"}
        In which sense they are neighbours.
    how : mapping
        Further estimator parameters that make it sharp; those that an estimator does not have are left out.
    needs : tuple of str
        Parameters without which an estimator cannot be tried on it.
    """

    name: str
    catches: str
    D: Any
    D_prime: Any
    n_clusters: int = 1
    neighbours: Neighbours = "add-remove"
    how: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def parameters(self, epsilon: float) -> dict[str, Any]:
        """Return what to make an estimator with; it takes those that it has."""
        claim = {"epsilon": epsilon, "bounds": BOUNDS, "neighbours": self.neighbours}
        return {**claim, "n_clusters": self.n_clusters, **SMALL, **self.how}


def _at(*point: float, n: int = 1) -> Array:
    return np.tile(np.array(point, dtype=np.float64), (n, 1))


def _plus(rows: Array, *point: float) -> Array:
    return np.vstack([rows, _at(*point)])


def empty(_: float) -> Canary:
    """Add the first row of all (a)."""
    return Canary("empty", "errors, defaults or shapes of a table without rows", np.zeros((0, 2)), _at(1, 1))


def alone(_: float) -> Canary:
    """(b) A row that is alone in its cell."""
    crowd = _at(0.6, 0.6, n=20)
    return Canary("alone", "no noise on clusters without rows", crowd, _plus(crowd, -0.9, -0.9), 2)


def corner(_: float) -> Canary:
    """(c) A row in a far corner."""
    crowd = _at(0.0, 0.0, n=20)
    return Canary("corner", "a sensitivity that is too small", crowd, _plus(crowd, -1.0, -1.0))


def jump(epsilon: float) -> Canary:
    """(d) A number of rows at which a rule jumps: the side of a grid of Su et al., sqrt(N epsilon / 10)."""
    # From 7 to 8 cells: as telling as from 22 to 23, at 5,062 rows, and ten times as quick.
    n = math.ceil(7.5**2 * 10 / epsilon) - 1
    crowd = _at(0.25, 0.25, n=n)
    return Canary(
        "jump",
        "a grid, block or number of rounds sized by the exact number of rows",
        crowd,
        _plus(crowd, 0.25, 0.25),
        2,
        how={"max_iter": "auto"},
    )


def tie(_: float) -> Canary:
    """(e) A row exactly between two centres."""
    crowd = np.vstack([_at(-0.5, 0.0, n=10), _at(0.5, 0.0, n=10)])
    return Canary("tie", "a cell that depends on rounding or on other rows", crowd, _plus(crowd, 0, 0), 2)


def duplicates(_: float) -> Canary:
    """(f) One more of the same."""
    crowd = _at(0.5, -0.5, n=10)
    return Canary("duplicates", "counting distinct rows", crowd, _plus(crowd, 0.5, -0.5), 2)


def missing(_: float) -> Canary:
    """(g) A row that is not there to be read."""
    crowd = _at(0.5, 0.5, n=10)
    return Canary("missing", "an error or warning about a cell", crowd, _plus(crowd, np.nan, -np.inf))


def dropped(_: float) -> Canary:
    """(g) The same where such rows are dropped."""
    crowd = _at(0.5, 0.5, n=10)
    return Canary(
        "dropped",
        "a trace of rows that were dropped",
        crowd,
        _plus(crowd, np.nan, 0.5),
        how={"missing": "drop"},
        needs=("missing",),
    )


def outside(_: float) -> Canary:
    """(g) A row far out of bounds."""
    crowd = _at(0.5, 0.5, n=10)
    return Canary("outside", "rows that are not clipped, or that overflow", crowd, _plus(crowd, 1e300, -7.0))


def widest(_: float) -> Canary:
    """(h) A row that changes the smallest and largest values."""
    crowd = np.linspace([-0.1, -0.1], [0.1, 0.1], 20)
    return Canary("widest", "bounds or scales read off the rows", crowd, _plus(crowd, 0.95, -0.95))


def two_ends(_: float) -> Canary:
    """(i) Ten rows at each end and one between (Lu and Shen; SubCluster)."""
    crowd = np.vstack([_at(-1.0, n=10), _at(1.0, n=10)])
    return Canary("two ends", "an output that only some tables can have", crowd, _plus(crowd, 0.2), 2)


def outlier(_: float) -> Canary:
    """(j) A row that D-squared sampling would nearly always pick, in place of an ordinary one."""
    crowd = _at(-0.9, -0.9, n=30)
    other = np.vstack([crowd[1:], _at(0.9, 0.9)])
    return Canary("outlier", "starting centres picked from the rows", crowd, other, 2, "replace")


def order(_: float) -> Canary:
    """(k) A row at the front, which moves every other one by a place."""
    crowd = np.tile([[-0.8, -0.8], [0.8, 0.8]], (15, 1))
    shifted = np.vstack([_at(0.8, 0.8), crowd])
    return Canary("order", "blocks cut by a row's place", crowd, shifted, 2)


def too_few(_: float) -> Canary:
    """(l) Fewer rows than clusters."""
    return Canary(
        "too few", "errors about more clusters than rows", _at(0.3, 0.3), _plus(_at(0.3, 0.3), 1, 1), 3
    )


def all_equal(_: float) -> Canary:
    """(m) All rows alike, or one not."""
    crowd = _at(0.3, 0.3, n=10)
    other = np.vstack([crowd[1:], _at(-1.0, 1.0)])
    return Canary("all equal", "dividing by a spread that is zero", crowd, other, 2, "replace")


def person(_: float) -> Canary:
    """Beyond the list: a person with many more rows than are charged for."""
    import pyarrow as pa

    def table(names: list[str], rows: Array) -> Any:
        return pa.table({"who": names, "x": rows[:, 0], "y": rows[:, 1]})

    crowd, others = _at(-0.5, -0.5, n=5), [f"person {i}" for i in range(5)]
    return Canary(
        "person",
        "a person with more rows than the guarantee is charged for",
        table(others, crowd),
        table([*others, *["Ada"] * 12], np.vstack([crowd, _at(1.0, 1.0, n=12)])),
        how={"unit": "who", "max_rows": 2},
        needs=("unit", "max_rows"),
    )


CANARIES: dict[str, Callable[[float], Canary]] = {
    "empty": empty,
    "alone": alone,
    "corner": corner,
    "jump": jump,
    "tie": tie,
    "duplicates": duplicates,
    "missing": missing,
    "dropped": dropped,
    "outside": outside,
    "widest": widest,
    "two ends": two_ends,
    "outlier": outlier,
    "order": order,
    "too few": too_few,
    "all equal": all_equal,
    "person": person,
}


def canary(name: str, epsilon: float = 1.0) -> Canary:
    """Return a canary by its name; the jump depends on epsilon.

    Examples
    --------
    >>> pair = canary("alone")
    >>> pair.catches, len(pair.D), len(pair.D_prime)
    ('no noise on clusters without rows', 20, 21)
    """
    if name not in CANARIES:
        raise InvalidInput(f"there is no canary {name!r}; there are {', '.join(CANARIES)}")
    return CANARIES[name](epsilon)
