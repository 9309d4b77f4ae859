"""What rows have against public candidates, added up."""

from __future__ import annotations

import numpy as np

from shoal._typing import Array, Columns, Integers, Labels
from shoal.domain import STEPS
from shoal.queries.kernels import dispatch, reference


def set_costs(
    columns: Columns,
    sets: Integers,
    metric: Array | None,
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
    columns = dispatch.table(columns)
    m, k, d = sets.shape
    points = dispatch.points(sets.reshape(m * k, d), columns).reshape(m, k, d)
    given = dispatch.weights(metric, columns)
    weights = np.ones(d) if given is None else given
    if not dispatch.pays(columns.size * m * k):
        return reference.set_costs(columns, points, weights, scale, width, shares, squared)
    loops, totals = dispatch.compiled_loops("compiled_losses"), np.zeros(m, dtype=np.int64)
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
    metric: Array | None,
    scales: Array,
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
    columns = dispatch.table(columns)
    cells, m, d = candidates.shape
    points = dispatch.points(candidates.reshape(cells * m, d), columns).reshape(cells, m, d)
    pivots = dispatch.points(anchors, columns)
    labels = dispatch.cells(labels, cells, columns.shape[1])
    given = dispatch.weights(metric, columns)
    weights = np.ones(d) if given is None else given
    if not dispatch.pays(columns.size * m):
        return reference.cell_costs(columns, labels, points, pivots, weights, scales, width, shares)
    totals = np.zeros((cells, m), dtype=np.int64)
    parts = np.empty(0, dtype=np.int32) if shares is None else np.ascontiguousarray(shares, dtype=np.int32)
    # The candidates of one column side by side: they lie in the lanes of the processor.
    turned = np.ascontiguousarray((points / STEPS).transpose(0, 2, 1))
    how = weights, np.ascontiguousarray(scales, dtype=np.float64), width, parts, np.empty(m)
    dispatch.compiled_loops("compiled_losses").cell_costs(
        columns, labels, turned, pivots / STEPS, *how, totals
    )
    return totals
