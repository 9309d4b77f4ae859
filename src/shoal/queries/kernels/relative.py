"""Loops over rows for offsets in radii of their cells: compiled, or by NumPy; both give the same bits."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Columns, Integers, Labels
from shoal.domain import STEPS
from shoal.errors import InvalidInput
from shoal.queries.kernels import dispatch

FARTHEST = 16
"""Radii that an offset is followed before it is cut to the ball: squares then fit 64 bits."""
# Rows at a time, so that what is made on the way is some megabytes.
_ROWS = 8192


def relative(
    columns: Columns, labels: Labels, anchors: Integers, radii: Integers, ball: bool
) -> npt.NDArray[np.int32]:
    """Return offsets from the anchors in 2^-20 of the radii, cut to the unit box or ball, toward zero.

    Parameters
    ----------
    columns : ndarray of float32, shape (d, n)
        A chunk of lattice values.
    labels : ndarray of int32, shape (n,)
        The cell of each row.
    anchors, radii : ndarrays of int64, shape (n_cells, d)
        Lattice steps; radii from 16 on.
    ball : bool
        Whether to cut to the ball.

    Returns
    -------
    ndarray of int32, shape (d, n)
        No value exceeds 2^20; in a ball no row's sum of squares exceeds 2^40.
    """
    most = FARTHEST * STEPS if ball else STEPS
    columns, labels, anchors, radii = _checked(columns, labels, anchors, radii)
    out = np.empty(columns.shape, dtype=np.int32)
    if dispatch.pays(4 * columns.size):
        _loops().relative(columns, labels, anchors, radii, most, int(ball), out)
        return out
    for rows in _blocks(columns.shape[1]):
        steps = _in_radii(columns[:, rows], labels[rows], anchors, radii, most)
        out[:, rows] = steps
        if ball:
            squares = (steps * steps).sum(axis=0)
            outside = squares > STEPS * STEPS
            # Cut by 2^-50, more than all roundings: the squares of the result never exceed 2^40.
            scale = STEPS / np.sqrt(squares[outside].astype(np.float64)) * (1.0 - 2.0**-50)
            out[:, rows][:, outside] = np.trunc(steps[:, outside] * scale)
    return out


def relative_reach(
    columns: Columns, labels: Labels, anchors: Integers, radii: Integers, ball: bool
) -> Integers:
    """Return the squared size of offsets in 2^-20 of the radii: of the longest column, or of all together."""
    most = FARTHEST * STEPS
    columns, labels, anchors, radii = _checked(columns, labels, anchors, radii)
    out = np.empty(columns.shape[1], dtype=np.int64)
    if dispatch.pays(4 * columns.size):
        _loops().relative_reach(columns, labels, anchors, radii, most, int(ball), out)
        return out
    for rows in _blocks(columns.shape[1]):
        steps = _in_radii(columns[:, rows], labels[rows], anchors, radii, most)
        out[rows] = (steps * steps).sum(axis=0) if ball else (steps * steps).max(axis=0)
    return out


def relative_cost(
    columns: Columns, labels: Labels, anchors: Integers, reaches: Integers, metric: Array | None
) -> npt.NDArray[np.int32]:
    """Return trunc(2^21 min(|x - a|^2 / reach^2, 1)) - 2^20 for each row, by operations in a fixed order."""
    columns, labels, anchors, _ = _checked(columns, labels, anchors, anchors)
    weights = np.ones(len(columns)) if metric is None else np.ascontiguousarray(metric, dtype=np.float64)
    reaches = np.ascontiguousarray(reaches, dtype=np.int64)
    out = np.empty(columns.shape[1], dtype=np.int32)
    if dispatch.pays(4 * columns.size):
        _loops().relative_cost(columns, labels, anchors, reaches, weights, out)
        return out
    for rows in _blocks(columns.shape[1]):
        block, points = columns[:, rows].astype(np.float64), anchors[labels[rows]].T / STEPS
        squares = np.zeros(block.shape[1])
        for c in range(len(block)):
            away = block[c] - points[c]
            squares += weights[c] * (away * away)
        reach = reaches[labels[rows]] / STEPS
        out[rows] = (np.minimum(squares / (reach * reach), 1.0) * (2 * STEPS)).astype(np.int64) - STEPS
    return out


def tree_keys(columns: Columns, axes: tuple[int, ...], column_bits: int) -> Integers:
    """Return the key of each row: one bit a level, the first level highest.

    Integer arithmetic on lattice steps: a row on a border falls to the upper side.
    """
    columns = np.ascontiguousarray(columns, dtype=np.float32)
    shifts = [column_bits - 1 - axes[:level].count(axis) for level, axis in enumerate(axes)]
    keys = np.zeros(columns.shape[1], dtype=np.int64)
    if dispatch.pays(columns.shape[1] * len(axes)):
        levels, bits = np.array(axes, dtype=np.int64), np.array(shifts, dtype=np.int64)
        _loops().tree_keys(columns, levels, bits, keys)
        return keys
    for axis, shift in zip(axes, shifts, strict=True):
        steps = np.minimum((columns[axis] * np.float32(STEPS)).astype(np.int64) + STEPS, 2 * STEPS - 1)
        keys = (keys << 1) | ((steps >> shift) & 1)
    return keys


def node_cells(
    keys: Integers,
    starts: Integers,
    ends: Integers,
    shifts: Integers,
    offsets: Integers,
    weights: npt.NDArray[np.int32] | None,
    out: Integers,
) -> None:
    """Count rows, or add up their weights, in the cells of disjoint ranges of keys.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        As :func:`tree_keys` gives them.
    starts, ends : ndarrays of int64
        The least key of each range, sorted, and the first behind it. Other rows are in no cell.
    shifts, offsets : ndarrays of int64
        A cell of a range has 2^shift keys; the range's first cell in `out`.
    weights : ndarray of int32, shape (n,), optional
        Of the rows.
    out : ndarray of int64
        Is added to.
    """
    if dispatch.pays(4 * len(keys)):
        none = np.empty(0, dtype=np.int32)
        _loops().node_cells(
            keys,
            starts,
            ends,
            shifts,
            offsets,
            none if weights is None else np.ascontiguousarray(weights),
            out,
        )
        return
    found = np.searchsorted(starts, keys, side="right") - 1
    inside = (found >= 0) & (keys < ends[found])
    node, key = found[inside], keys[inside]
    cells = offsets[node] + ((key - starts[node]) >> shifts[node])
    np.add.at(out, cells, 1 if weights is None else weights[inside].astype(np.int64))


def _loops() -> ModuleType:
    return dispatch.compiled_loops("compiled_relative")


def _blocks(n: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]


def _in_radii(columns: Columns, labels: Labels, anchors: Integers, radii: Integers, most: int) -> Integers:
    values = (columns * np.float32(STEPS)).astype(np.int64) - anchors[labels].T
    steps: Integers = np.sign(values) * np.minimum(np.abs(values) * STEPS // radii[labels].T, most)
    return steps


def _checked(
    columns: Columns, labels: Labels, anchors: Integers, radii: Integers
) -> tuple[Columns, Labels, Integers, Integers]:
    """Check shapes: compiled loops read where labels point."""
    columns = np.ascontiguousarray(columns, dtype=np.float32)
    cells = np.ascontiguousarray(labels, dtype=np.int32)
    if anchors.shape != radii.shape or anchors.ndim != 2 or anchors.shape[1] != len(columns):
        raise InvalidInput(
            f"anchors {anchors.shape} and radii {radii.shape} do not fit {len(columns)} columns"
        )
    n = columns.shape[1]
    if cells.shape != (n,) or (n and not 0 <= int(cells.min()) <= int(cells.max()) < len(anchors)):
        raise InvalidInput(f"labels are not one integer from 0 to {len(anchors) - 1} for each row")
    return (
        columns,
        cells,
        np.ascontiguousarray(anchors, dtype=np.int64),
        np.ascontiguousarray(radii, dtype=np.int64),
    )
