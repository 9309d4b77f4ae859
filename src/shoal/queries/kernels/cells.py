"""Integer statistics of rows, and their sums by cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal._typing import Columns, Integers, Labels
from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.queries.kernels import dispatch, reference


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
    values, labels = (
        np.ascontiguousarray(values, dtype=np.int32),
        dispatch.cells(labels, n_cells, values.shape[1]),
    )
    if not dispatch.pays(2 * values.size):
        return reference.accumulate(values, labels, n_cells)
    sums = np.zeros((n_cells, len(values)), dtype=np.int64)
    dispatch.compiled_loops("compiled_stats").accumulate(values, labels, sums)
    return sums


def count(labels: Labels, n_cells: int) -> Integers:
    """Count the rows of each cell: int64, shape (n_cells,)."""
    labels = dispatch.cells(labels, n_cells, len(labels))
    if not dispatch.pays(len(labels)):
        return reference.count(labels, n_cells)
    counts = np.zeros(n_cells, dtype=np.int64)
    dispatch.compiled_loops("compiled_stats").count(labels, counts)
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
    columns, labels = dispatch.table(columns), dispatch.cells(labels, len(cuts), columns.shape[1])
    direction, cuts = np.ascontiguousarray(direction), np.ascontiguousarray(cuts)
    if not dispatch.pays(columns.size + columns.shape[1] * cuts.shape[1]):
        return reference.cut(columns, labels, direction, cuts, firsts)
    out = np.empty(columns.shape[1], dtype=np.int32)
    dispatch.compiled_loops("compiled_stats").cut(
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
    columns, anchors = dispatch.table(columns), dispatch.points(anchors, columns)
    labels = dispatch.cells(labels, len(anchors), columns.shape[1])
    if not 1 <= width <= radius <= dispatch.LONGEST:
        raise InvalidInput(
            f"width {width} and radius {radius}: 1 <= width <= radius <= {dispatch.LONGEST} is wanted"
        )
    if not dispatch.pays(4 * columns.size):
        return reference.offsets(columns, labels, anchors, radius, width, ball)
    out = np.empty(columns.shape, dtype=np.int32)
    dispatch.compiled_loops("compiled_stats").offsets(columns, labels, anchors, radius, width, int(ball), out)
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
    columns, anchors = dispatch.table(columns), dispatch.points(anchors, columns)
    labels = dispatch.cells(labels, len(anchors), columns.shape[1])
    if not (1 <= radius <= dispatch.LONGEST and 1 <= width <= dispatch.LONGEST):
        raise InvalidInput(f"width {width} and radius {radius}: from 1 to {dispatch.LONGEST} is wanted")
    if not dispatch.pays(4 * columns.size):
        return reference.offset_cost(columns, labels, anchors, radius, width)
    out = np.empty(columns.shape[1], dtype=np.int32)
    dispatch.compiled_loops("compiled_stats").offset_cost(columns, labels, anchors, radius, width, out)
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
    if not dispatch.pays(2 * values.size * len(values)):
        return reference.products(values, width)
    out = np.empty((len(values) * (len(values) + 1) // 2, values.shape[1]), dtype=np.int32)
    dispatch.compiled_loops("compiled_stats").products(values, float(width), out)
    return out
