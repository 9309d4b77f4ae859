"""What candidates are chosen by: losses that one row raises by a whole number from 0 to WIDTH, each.

Only the range of one row's change over the candidates matters for privacy, and it is at most WIDTH by the
clipping below, whatever the public candidates are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal._typing import Array, Integers, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries import kernels

WIDTH = 2**20
"""The most that one row adds to a loss. Sums of 2^43 rows fit an int64."""


class Loss(Protocol):
    """A frozen, data-free value: candidates, and what each row has against each of them."""

    @property
    def n_candidates(self) -> int:
        """How many there are to choose from."""
        ...

    @property
    def n_columns(self) -> int:
        """The columns of the table it is for."""
        ...

    def exact_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the exact loss of every candidate, summed over the rows of a chunk."""
        ...

    def describe(self) -> str:
        """Say the loss in a few words."""
        ...


@dataclass(frozen=True, eq=False)
class ClusterCost:
    """The k-means or k-medians cost of each of many sets of centres.

    A row adds its squared distance to the nearest centre of the set, as a share of the largest that any row
    can have to any of the sets, in WIDTH steps, rounded down.

    Parameters
    ----------
    sets : ndarray of shape (n_candidates, n_clusters, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    squared : bool
        Whether distances are squared, as for k-means, or not, as for k-medians.

    Examples
    --------
    >>> cost = ClusterCost(np.array([[[0.0]], [[1.0]]]))
    >>> cost.reach(None)  # from -1 to the set {1}
    4.0
    >>> cost.exact_losses(Chunk(np.array([[1.0, 0.5]], dtype=np.float32)), None) * 16 // WIDTH
    array([5, 1])
    """

    sets: Array
    squared: bool = True

    def __post_init__(self) -> None:
        points = np.asarray(self.sets, dtype=np.float64)
        if points.ndim != 3 or not points.size or not np.isfinite(points).all():
            raise InvalidInput(
                f"sets of shape {points.shape}; finite points of shape (sets, centres, columns) are wanted"
            )
        object.__setattr__(self, "sets", to_steps(points) / STEPS)

    @property
    def n_candidates(self) -> int:
        """How many sets there are."""
        return len(self.sets)

    @property
    def n_columns(self) -> int:
        """The columns of a centre."""
        return int(self.sets.shape[2])

    def reach(self, metric: Metric) -> float:
        """Return a bound of what any row of the domain adds: its distance to the nearest centre of any set.

        The corner furthest from a centre bounds the distance to it, so the best centre of a set bounds the
        distance to the set.
        """
        weights = np.ones(self.n_columns) if metric is None else metric
        square = float((((np.abs(self.sets) + 1) ** 2) @ weights).min(axis=1).max())
        return square if self.squared else math.sqrt(square)

    def exact_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the cost of every set over the rows of a chunk."""
        scale = WIDTH / self.reach(metric)
        return kernels.set_costs(
            chunk.columns, to_steps(self.sets), metric, scale, WIDTH, chunk.weights, self.squared
        )

    def describe(self) -> str:
        """Say the loss in a few words."""
        cost = "cost" if self.squared else "distances"
        return f"{cost} of {self.n_candidates} sets of {self.sets.shape[1]} public centres"
