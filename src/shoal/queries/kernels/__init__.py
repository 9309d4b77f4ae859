"""The inner loops of the gate: which centre is nearest, and integer sums by cell.

A chunk of rows is a C-contiguous float32 array `columns` (d, n), one line a column of the table, every value
a multiple of 2^-20 in [-1, 1]. Public points are int64 lattice steps. Results are exact integers, and a
label is a function of its row and the public points alone: so sums do not depend on chunks, order or threads.

Work is done by loops compiled on first use (and kept on disk), or by NumPy if numba is not installed or
``SHOAL_NO_NUMBA=1``; both give the same bits. Loops are serial, use no linear-algebra library and release the
interpreter's lock: run several chunks in several threads.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import numpy.typing as npt

from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.queries.kernels import reference
from shoal.queries.kernels.reference import Columns, Floats, Integers, Labels

__all__ = [
    "accumulate",
    "assign",
    "assign_sums",
    "cell_costs",
    "compiles",
    "count",
    "cut",
    "offset_cost",
    "offsets",
    "products",
    "set_costs",
    "warm",
]

LONGEST = 2**30
"""Largest radius or width: products with them then fit the kernels' integers."""


@cache
def compiles() -> bool:
    """Say whether loops are compiled here."""
    return os.environ.get("SHOAL_NO_NUMBA") != "1" and find_spec("numba") is not None


@cache
def compiled_loops(name: str) -> ModuleType:
    """Import compiled loops when they are first needed, so that importing Shoal does not import numba."""
    return import_module(f"shoal.queries.kernels.{name}")


def warm() -> None:
    """Compile every loop now, for those who want to time what follows."""
    if compiles():
        for name in ("few", "stats", "losses", "projection", "relative", "swaps"):
            compiled_loops(f"compiled_{name}")
        for start in compiled_loops("compiled").STARTERS:
            start()


def assign(columns: Columns, centres: Integers, metric: Floats | None = None) -> Labels:
    """Label each row with its exact nearest centre, ties to the lowest index.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
        A chunk of lattice values.
    centres : ndarray of int64, shape (k, d)
        Lattice steps in [-2^20, 2^20].
    metric : ndarray of float64, shape (d,), optional
        Positive weight of each column's squared difference. Weighted distances are rounded, by the same
        operations in the same order for every row.

    Returns
    -------
    ndarray of int32, shape (n,)

    Examples
    --------
    >>> assign(np.array([[-1.0, 0.0, 0.5]], dtype=np.float32), np.array([[-(2**20)], [2**20]]))
    array([0, 0, 1], dtype=int32)
    """
    columns, centres, metric = _table(columns), _points(centres, columns), _weights(metric, columns)
    if not compiles():
        return reference.assign(columns, centres, metric)
    labels = np.empty(columns.shape[1], dtype=np.int32)
    _sweep(columns, centres, metric, labels, np.empty((0, 0, 0)))
    return labels


def assign_sums(
    columns: Columns, centres: Integers, metric: Floats | None = None
) -> tuple[Integers, Integers]:
    """Assign as `assign` does and add up the rows of each centre, without keeping labels.

    Returns
    -------
    sums : ndarray of int64, shape (k, d)
        In lattice steps.
    counts : ndarray of int64, shape (k,)
    """
    columns, centres, metric = _table(columns), _points(centres, columns), _weights(metric, columns)
    if not compiles():
        return reference.assign_sums(columns, centres, metric)
    k, d = centres.shape
    totals = np.zeros((d // 4 + 1, k, 4))
    _sweep(columns, centres, metric, np.empty(0, dtype=np.int32), totals)
    # Every total is an exact multiple of 2^-20 below 2^33: so is its integer.
    flat = totals.transpose(1, 0, 2).reshape(k, -1)
    return (flat[:, :d] * STEPS).astype(np.int64), flat[:, d].astype(np.int64)


def _sweep(columns: Columns, centres: Integers, metric: Floats | None, kept: Labels, totals: Floats) -> None:
    """Assign a chunk; fill `kept` with labels and `totals` with sums and counts, each unless empty."""
    k, d = centres.shape
    rows = _block_rows(d, k)
    few = metric is None and d <= 4 and compiled_loops("compiled_few").suits(k, d)
    block = np.zeros((d // 4 * 4 + 4, rows), dtype=np.float64 if few else np.float32)
    block[d] = 1  # a column of ones: its sum is the count
    labels = np.empty((2, rows), dtype=np.int32)
    if few:
        loops = compiled_loops("compiled_few")
        loops.nearest_of_few(
            columns, *loops.prepare(centres), block, np.empty((2, rows)), labels[0], totals, kept
        )
    elif metric is None:
        loops = compiled_loops("compiled")
        points, half, norms, gap = loops.prepare(centres)
        scores = np.empty((len(points), rows), dtype=np.float32)
        two, row = np.empty((4, rows), dtype=np.float32), np.empty(d, dtype=np.int64)
        loops.nearest(
            columns, centres, norms, points, half, gap, block, scores, two, labels, row, totals, kept
        )
    else:
        compiled_loops("compiled").weighted(
            columns, centres, metric, block, np.empty((3, rows)), labels, totals, kept
        )


def _block_rows(d: int, k: int) -> int:
    """Return how many rows to hold at a time: their d values and k scores should stay in 384 kB of cache."""
    return min(512, max(256, 98_304 // (d + k + 8) // 32 * 32))


def accumulate(values: npt.NDArray[np.int32], labels: Labels, n_cells: int) -> Integers:
    """Add up integer statistics by cell.

    Parameters
    ----------
    values : ndarray of int32, shape (d, n)
    labels : ndarray of int32, shape (n,)
        In [0, n_cells).
    n_cells : int

    Returns
    -------
    ndarray of int64, shape (n_cells, d)
    """
    values, labels = np.ascontiguousarray(values, dtype=np.int32), _cells(labels, n_cells, values.shape[1])
    if not compiles():
        return reference.accumulate(values, labels, n_cells)
    sums = np.zeros((n_cells, len(values)), dtype=np.int64)
    compiled_loops("compiled_stats").accumulate(values, labels, sums)
    return sums


def count(labels: Labels, n_cells: int) -> Integers:
    """Count the rows of each cell: int64, shape (n_cells,)."""
    labels = _cells(labels, n_cells, len(labels))
    if not compiles():
        return reference.count(labels, n_cells)
    counts = np.zeros(n_cells, dtype=np.int64)
    compiled_loops("compiled_stats").count(labels, counts)
    return counts


def cut(columns: Columns, labels: Labels, direction: Integers, cuts: Integers, firsts: Integers) -> Labels:
    """Label each row by how many cuts of its cell it has passed along a direction.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
    labels : ndarray of int32, shape (n,)
        The cell of each row.
    direction : ndarray of int64, shape (d,)
        Whole coefficients whose absolute values add up to at most 2^32: every partial sum of lattice steps
        times coefficients is then below 2^53, and exact in float64.
    cuts : ndarray of int64, shape (n_cells, m)
        Places along the direction, in lattice steps times coefficients; each line not falling.
    firsts : ndarray of int64, shape (n_cells,)
        The label of rows that have passed none; below 2^31 - m.

    Returns
    -------
    ndarray of int32, shape (n,)
    """
    columns, labels = _table(columns), _cells(labels, len(cuts), columns.shape[1])
    direction, cuts = np.ascontiguousarray(direction), np.ascontiguousarray(cuts)
    if not compiles():
        return reference.cut(columns, labels, direction, cuts, firsts)
    out = np.empty(columns.shape[1], dtype=np.int32)
    compiled_loops("compiled_stats").cut(
        columns, labels, direction.astype(np.float64), cuts, np.ascontiguousarray(firsts), out
    )
    return out


def offsets(
    columns: Columns, labels: Labels, anchors: Integers, radius: int, width: int, ball: bool
) -> npt.NDArray[np.int32]:
    """Return each row minus its cell's anchor, clipped and rounded toward zero.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
    labels : ndarray of int32, shape (n,)
    anchors : ndarray of int64, shape (n_cells, d)
        Lattice steps in [-2^20, 2^20].
    radius : int
        In lattice steps: half width of the box, or radius of the L2 ball.
    width : int
        The radius in steps of the result, at most `radius`.
    ball : bool
        Project to the ball (a row outside it ends at most two steps inside); otherwise clip to the box.

    Returns
    -------
    ndarray of int32, shape (d, n)
        No value exceeds `width`; in a ball no row's sum of squares exceeds width^2.
    """
    columns, anchors = _table(columns), _points(anchors, columns)
    labels = _cells(labels, len(anchors), columns.shape[1])
    if not 1 <= width <= radius <= LONGEST:
        raise InvalidInput(f"width {width} and radius {radius}: 1 <= width <= radius <= {LONGEST} is wanted")
    if not compiles():
        return reference.offsets(columns, labels, anchors, radius, width, ball)
    out = np.empty(columns.shape, dtype=np.int32)
    compiled_loops("compiled_stats").offsets(columns, labels, anchors, radius, width, int(ball), out)
    return out


def offset_cost(
    columns: Columns,
    labels: Labels,
    anchors: Integers,
    radius: int,
    width: int,
    ball: bool,  # noqa: ARG001 - as `offsets`; distance is Euclidean for both shapes
) -> npt.NDArray[np.int32]:
    """Return floor(2 width min(|x - a|^2, radius^2) / radius^2) - width for each row.

    Parameters are those of `offsets`; `width` may exceed `radius`. The result, int32 of shape (n,), lies in
    [-width, width].
    """
    columns, anchors = _table(columns), _points(anchors, columns)
    labels = _cells(labels, len(anchors), columns.shape[1])
    if not (1 <= radius <= LONGEST and 1 <= width <= LONGEST):
        raise InvalidInput(f"width {width} and radius {radius}: from 1 to {LONGEST} is wanted")
    if not compiles():
        return reference.offset_cost(columns, labels, anchors, radius, width)
    out = np.empty(columns.shape[1], dtype=np.int32)
    compiled_loops("compiled_stats").offset_cost(columns, labels, anchors, radius, width, out)
    return out


def products(values: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.int32]:
    """Return trunc(v_i v_j / width) of each row for all i <= j, in the order of an upper triangle.

    Parameters
    ----------
    values : ndarray of int32, shape (d, n)
        In [-width, width].
    width : int
        At most 2^20.

    Returns
    -------
    ndarray of int32, shape (d (d + 1) / 2, n)
    """
    values = np.ascontiguousarray(values, dtype=np.int32)
    if not 1 <= width <= STEPS or np.abs(values).max(initial=0) > width:
        raise InvalidInput(f"values beyond a width of {width}, or that beyond {STEPS}")
    if not compiles():
        return reference.products(values, width)
    out = np.empty((len(values) * (len(values) + 1) // 2, values.shape[1]), dtype=np.int32)
    compiled_loops("compiled_stats").products(values, float(width), out)
    return out


def set_costs(
    columns: Columns,
    sets: Integers,
    metric: Floats | None,
    scale: float,
    width: int,
    shares: Labels | None,
    squared: bool = True,
) -> Integers:
    """Add up over rows trunc(min(scale |x - s|^2, width)) for each set s of centres: int64, shape (m,).

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
    sets : ndarray of int64, shape (m, k, d)
        Lattice steps in [-2^20, 2^20]; a row's distance is to the nearest of the k.
    metric : ndarray of float64, shape (d,), optional
        As in `assign`.
    scale : float
        Steps of the result in a unit of squared distance.
    width : int
        The most one row adds; below 2^31.
    shares : ndarray of int32, shape (n,), optional
        What each row's loss is multiplied with, in steps of 2^-20; rounded down.
    squared : bool
        Otherwise |x - s| is scaled, not its square.
    """
    columns = _table(columns)
    m, k, d = sets.shape
    points = _points(sets.reshape(m * k, d), columns).reshape(m, k, d)
    given = _weights(metric, columns)
    weights = np.ones(d) if given is None else given
    if not compiles():
        return reference.set_costs(columns, points, weights, scale, width, shares, squared)
    loops, totals = compiled_loops("compiled_losses"), np.zeros(m, dtype=np.int64)
    parts = np.empty(0, dtype=np.int32) if shares is None else np.ascontiguousarray(shares, dtype=np.int32)
    buffers = np.empty((d, loops.ROWS)), np.empty((3, loops.ROWS))
    how = weights, scale, width, parts, int(squared)
    loops.set_costs(columns, points / STEPS, *how, *buffers, totals)
    return totals


def cell_costs(
    columns: Columns,
    labels: Labels,
    candidates: Integers,
    anchors: Integers,
    metric: Floats | None,
    scales: Floats,
    width: int,
    shares: Labels | None,
) -> Integers:
    """Add up trunc(min(max(scale (|x - y|^2 - |x - a|^2) + width / 2, 0), width)) over each cell's rows.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
    labels : ndarray of int32, shape (n,)
    candidates : ndarray of int64, shape (n_cells, m, d)
        The points y of each cell, in lattice steps in [-2^20, 2^20].
    anchors : ndarray of int64, shape (n_cells, d)
        The point a of each cell.
    metric : ndarray of float64, shape (d,), optional
        As in `assign`.
    scales : ndarray of float64, shape (n_cells,)
        Steps of the result in a unit of squared distance.
    width, shares
        As in `set_costs`.

    Returns
    -------
    ndarray of int64, shape (n_cells, m)
    """
    columns = _table(columns)
    cells, m, d = candidates.shape
    points = _points(candidates.reshape(cells * m, d), columns).reshape(cells, m, d)
    pivots = _points(anchors, columns)
    labels = _cells(labels, cells, columns.shape[1])
    given = _weights(metric, columns)
    weights = np.ones(d) if given is None else given
    if not compiles():
        return reference.cell_costs(columns, labels, points, pivots, weights, scales, width, shares)
    totals = np.zeros((cells, m), dtype=np.int64)
    parts = np.empty(0, dtype=np.int32) if shares is None else np.ascontiguousarray(shares, dtype=np.int32)
    # The candidates of one column side by side: they lie in the lanes of the processor.
    turned = np.ascontiguousarray((points / STEPS).transpose(0, 2, 1))
    how = weights, np.ascontiguousarray(scales, dtype=np.float64), width, parts, np.empty(m)
    compiled_loops("compiled_losses").cell_costs(columns, labels, turned, pivots / STEPS, *how, totals)
    return totals


def _table(columns: Columns) -> Columns:
    return np.ascontiguousarray(columns, dtype=np.float32)


def _points(points: Integers, columns: Columns) -> Integers:
    """Check public points: the kernels' error bounds and index arithmetic rest on this."""
    steps = np.ascontiguousarray(points, dtype=np.int64)
    if steps.ndim != 2 or steps.shape[1] != len(columns) or not steps.size:
        raise InvalidInput(f"points of shape {steps.shape}; (at least 1, {len(columns)}) is wanted")
    if max(int(steps.max()), -int(steps.min())) > STEPS:
        raise InvalidInput(f"points reach beyond {STEPS} lattice steps; clip them to the domain first")
    return steps


def _weights(metric: Floats | None, columns: Columns) -> Floats | None:
    if metric is None:
        return None
    weights = np.ascontiguousarray(metric, dtype=np.float64)
    if weights.shape != (len(columns),):
        raise InvalidInput(f"a metric of shape {weights.shape}; ({len(columns)},) is wanted")
    return weights


def _cells(labels: Labels, n_cells: int, n: int) -> Labels:
    """Check labels: compiled loops write where they point. How many rows there are is not said."""
    cells = np.ascontiguousarray(labels, dtype=np.int32)
    if cells.shape != (n,) or (n and not 0 <= int(cells.min()) <= int(cells.max()) < n_cells):
        raise InvalidInput(f"labels are not one integer from 0 to {n_cells - 1} for each row")
    return cells
