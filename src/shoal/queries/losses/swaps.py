"""What every swap of one centre for one candidate would cost: a loss scored in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Columns, Integers, Metric
from shoal.domain import STEPS, Chunk, to_steps
from shoal.errors import InvalidInput
from shoal.queries.kernels import dispatch, reference
from shoal.queries.losses.cluster_cost import WIDTH


@dataclass(frozen=True, eq=False)
class SwapCost:
    """The k-means cost of centres with one of them replaced by a candidate, for all pairs.

    Candidate number i m + j of the choice replaces centre i by the j-th of m candidates. A row adds its
    squared distance to the nearest centre then, as a share of the largest that any row can have after any of
    the swaps, in WIDTH steps, rounded down.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    candidates : ndarray of shape (n, n_columns)
        Public points of [-1, 1]^d; rounded to the lattice.
    squared : bool
        Whether distances are squared, as for k-means, or not, as for k-medians.

    Examples
    --------
    >>> swaps = SwapCost(np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]]))
    >>> losses = swaps.exact_losses(Chunk(np.array([[-1.0, 1.0, 1.0]], dtype=np.float32)), None)
    >>> losses / WIDTH * swaps.reach(None)  # {0, 1}, {1, 1}, {-1, 0}, {-1, 1}
    array([1., 4., 2., 0.])
    >>> swaps.after(2)
    array([[-1.],
           [ 0.]])
    """

    centres: Array
    candidates: Array
    squared: bool = True

    def __post_init__(self) -> None:
        for name in ("centres", "candidates"):
            points = np.asarray(getattr(self, name), dtype=np.float64)
            if points.ndim != 2 or not points.size or not np.isfinite(points).all():
                raise InvalidInput(f"{name} of shape {points.shape}; finite points are wanted, at least one")
            object.__setattr__(self, name, to_steps(points) / STEPS)
        if self.centres.shape[1] != self.candidates.shape[1]:
            raise InvalidInput(f"centres have {self.centres.shape[1]} columns, candidates another number")

    @property
    def n_candidates(self) -> int:
        """How many swaps there are."""
        return len(self.centres) * len(self.candidates)

    @property
    def n_columns(self) -> int:
        """The columns of a centre."""
        return int(self.centres.shape[1])

    def after(self, swap: int) -> Array:
        """Return the centres after a swap."""
        leaves, enters = divmod(int(swap), len(self.candidates))
        centres = self.centres.copy()
        centres[leaves] = self.candidates[enters]
        return centres

    def reach(self, metric: Metric) -> float:
        """Return a bound of what any row adds after any of the swaps, its distance to the nearest centre.

        The corner furthest from a point bounds the distance to it. After a swap, all but one of the centres
        are there, so the second best of them bounds the distance, and so does the candidate.
        """
        weights = np.ones(self.n_columns) if metric is None else metric
        kept, new = ((((np.abs(points) + 1) ** 2) @ weights) for points in (self.centres, self.candidates))
        square = min(new.max(), np.sort(kept)[1]) if len(kept) > 1 else new.max()
        return float(square if self.squared else np.sqrt(square))

    def exact_losses(self, chunk: Chunk, metric: Metric) -> Integers:
        """Return the cost after every swap over the rows of a chunk."""
        scale = WIDTH / self.reach(metric)
        weights = np.ones(self.n_columns) if metric is None else metric
        points = to_steps(self.centres), to_steps(self.candidates)
        losses = swap_costs(chunk.columns, *points, weights, scale, WIDTH, chunk.weights, self.squared)
        return losses.ravel()

    def describe(self) -> str:
        """Say the loss in a few words."""
        cost = "cost" if self.squared else "k-medians cost"
        return (
            f"{cost} of swapping one of {len(self.centres)} centres for one of {len(self.candidates)} others"
        )


def swap_costs(
    columns: Columns,
    centres: Integers,
    candidates: Integers,
    metric: Array,
    scale: float,
    width: int,
    shares: npt.NDArray[np.int32] | None,
    squared: bool = True,
) -> Integers:
    """Add up over rows trunc(min(scale |x - s|^2, width)) for the sets s after every swap: shape (k, m).

    Rounding and clipping keep order, so the loss to the nearest is the least of the losses: a row needs its
    two least among the centres, once, and then one for every candidate.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
    centres, candidates : ndarray of int64, shapes (k, d) and (m, d)
        Lattice steps.
    metric : ndarray of float64, shape (d,)
    scale : float
        Steps of the result in a unit of squared distance.
    width : int
        The most one row adds; below 2^31.
    shares : ndarray of int32, shape (n,), optional
        What each row's loss is multiplied with, in steps of 2^-20; rounded down.
    squared : bool
        Otherwise |x - s| is scaled, not its square.
    """
    if not dispatch.pays(columns.size * len(centres) * len(candidates)):
        return reference.swap_costs(columns, centres, candidates, metric, scale, width, shares, squared)
    loops = dispatch.compiled_loops("compiled_swaps")
    k, m = len(centres), len(candidates)
    shared, extra = np.zeros(m, dtype=np.int64), np.zeros((k, m), dtype=np.int64)
    parts = np.empty(0, dtype=np.int32) if shares is None else np.ascontiguousarray(shares, dtype=np.int32)
    loops.swap_costs(
        np.ascontiguousarray(columns, dtype=np.float32), centres / STEPS, candidates / STEPS,
        np.ascontiguousarray(metric, dtype=np.float64), scale, width, parts, int(squared),
        np.empty((len(columns), loops.ROWS)), np.empty(loops.ROWS), np.empty((4, loops.ROWS), dtype=np.int32),
        shared, extra,
    )  # fmt: skip
    return shared + extra
