"""The kernels again in plain NumPy: what they mean, and what runs where there is no compiler.

Every function gives bit for bit what its compiled namesake gives, by other means where that is possible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shoal._typing import Array, Columns, Integers, Labels
from shoal.domain import STEPS

# Rows and centres at a time, so that what is made on the way is some megabytes.
_ROWS = 8192
_PANEL = 2048
"""Columns whose lattice products add up to below 2^53, so that float64 adds them exactly in any order."""


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, n, _ROWS))


def _steps(columns: Columns) -> Integers:
    return (columns * np.float32(STEPS)).astype(np.int64)


def assign(columns: Columns, centres: Integers, metric: Array | None = None) -> Labels:
    """Label each row with its nearest centre, ties to the lowest index; see `shoal.queries.kernels`."""
    labels = np.empty(columns.shape[1], dtype=np.int32)
    for rows in _blocks(columns.shape[1]):
        block = columns[:, rows].astype(np.float64)
        # argmin returns the first of equals.
        labels[rows] = np.argmin(
            _scores(block, centres) if metric is None else _weighted(block, centres, metric), axis=0
        )
    return labels


def _scores(block: Array, centres: Integers) -> Integers:
    """Return |c|^2 - 2 x.c in whole lattice steps: |x - c|^2 but for a term that all centres share."""
    scores = np.repeat((centres * centres).sum(axis=1)[:, np.newaxis], block.shape[1], axis=1)
    for start in range(0, len(block), _PANEL):
        panel = slice(start, start + _PANEL)
        products = centres[:, panel].astype(np.float64) @ (block[panel] * STEPS)
        scores -= 2 * products.astype(np.int64)
    return scores


def _weighted(block: Array, centres: Integers, metric: Array) -> Array:
    """Return weighted distances; the order of operations is part of the result."""
    distances = np.zeros((len(centres), block.shape[1]))
    for values, points, weight in zip(block, centres.T, metric, strict=True):
        step = values - (points / STEPS)[:, np.newaxis]
        distances += weight * (step * step)
    return distances


def project(columns: Columns, matrix: Array) -> Columns:
    """Return the products of each row with the rows of a matrix, clipped and rounded toward zero."""
    # Exact, whatever order a library adds in: lattice products below 2^13 in all.
    image = np.clip(matrix @ columns.astype(np.float64), -1.0, 1.0)
    # Adding zero turns -0.0 into 0.0: equal values have equal bits.
    return np.asarray(np.trunc(image * STEPS) / STEPS + 0.0, dtype=np.float32)


def assign_sums(
    columns: Columns, centres: Integers, metric: Array | None = None
) -> tuple[Integers, Integers]:
    """Return the sum, in lattice steps, and the count of each centre's rows."""
    labels = assign(columns, centres, metric)
    sums = np.zeros(centres.shape, dtype=np.int64)
    for rows in _blocks(columns.shape[1]):
        np.add.at(sums, labels[rows], _steps(columns[:, rows]).T)
    return sums, count(labels, len(centres))


def accumulate(values: npt.NDArray[np.int32], labels: Labels, n_cells: int) -> Integers:
    """Add up integers by label."""
    sums = np.zeros((n_cells, len(values)), dtype=np.int64)
    for rows in _blocks(values.shape[1]):
        np.add.at(sums, labels[rows], values[:, rows].T.astype(np.int64))
    return sums


def count(labels: Labels, n_cells: int) -> Integers:
    """Count labels."""
    return np.bincount(labels, minlength=n_cells).astype(np.int64, copy=False)


def cut(columns: Columns, labels: Labels, direction: Integers, cuts: Integers, firsts: Integers) -> Labels:
    """Label each row by how many cuts of its cell it has passed along a direction."""
    out = np.empty(columns.shape[1], dtype=np.int32)
    for rows in _blocks(columns.shape[1]):
        places = direction @ _steps(columns[:, rows])
        passed = (cuts[labels[rows]] <= places[:, np.newaxis]).sum(axis=1)
        out[rows] = firsts[labels[rows]] + passed
    return out


def offsets(
    columns: Columns, labels: Labels, anchors: Integers, radius: int, width: int, ball: bool
) -> npt.NDArray[np.int32]:
    """Return clipped offsets from the anchors, in steps of radius / width, rounded toward zero."""
    out = np.empty(columns.shape, dtype=np.int32)
    for rows in _blocks(columns.shape[1]):
        values = _steps(columns[:, rows]) - anchors[labels[rows]].T
        if not ball:
            values = np.clip(values, -radius, radius)
        out[:, rows] = np.sign(values) * (np.abs(values) * width // radius)
        if ball:
            squares = (values * values).sum(axis=0)
            far = squares > radius * radius
            # Cut by 2^-50, more than all roundings: the squares of the result never exceed width^2.
            scale = width / np.sqrt(squares[far].astype(np.float64)) * (1.0 - 2.0**-50)
            out[:, rows][:, far] = np.trunc(values[:, far] * scale)
    return out


def offset_cost(
    columns: Columns, labels: Labels, anchors: Integers, radius: int, width: int
) -> npt.NDArray[np.int32]:
    """Return floor(2 width min(|x - a|^2, radius^2) / radius^2) - width."""
    out = np.empty(columns.shape[1], dtype=np.int32)
    whole, twice = radius * radius, 2 * width
    for rows in _blocks(columns.shape[1]):
        values = _steps(columns[:, rows]) - anchors[labels[rows]].T
        clipped = np.minimum((values * values).sum(axis=0), whole)
        # float64 gives the quotient within one; the remainder is exact modulo 2^64 and settles it.
        quotient = (clipped.astype(np.float64) * twice / whole).astype(np.int64)
        left = clipped * twice - quotient * whole
        quotient += (left >= whole).astype(np.int64) - (left < 0)
        out[rows] = quotient - width
    return out


def products(values: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.int32]:
    """Return trunc(v_i v_j / width) of each row for all i <= j."""
    wide = values.astype(np.int64)
    upper = np.triu_indices(len(wide))
    both = wide[upper[0]] * wide[upper[1]]
    return np.asarray(np.sign(both) * (np.abs(both) // width), dtype=np.int32)


def set_costs(
    columns: Columns,
    sets: Integers,
    metric: Array,
    scale: float,
    width: int,
    shares: Labels | None,
    squared: bool = True,
) -> Integers:
    """Return the sum over rows of trunc(min(scale |x - s|^2, width)) for each set s of centres."""
    totals = np.zeros(len(sets), dtype=np.int64)
    for rows in _blocks(columns.shape[1]):
        block = columns[:, rows].astype(np.float64)
        for i, centres in enumerate(sets):
            nearest = _weighted(block, centres, metric).min(axis=0)
            gaps = nearest if squared else np.sqrt(nearest)
            losses = np.minimum(gaps * scale, width).astype(np.int64)
            totals[i] += (losses if shares is None else losses * shares[rows] // STEPS).sum()
    return totals


def cell_costs(
    columns: Columns,
    labels: Labels,
    candidates: Integers,
    anchors: Integers,
    metric: Array,
    scales: Array,
    width: int,
    shares: Labels | None,
) -> Integers:
    """Sum |x - y|^2 - |x - a|^2 over each cell's rows for its candidates y, scaled and clipped."""
    cells, m, _ = candidates.shape
    totals = np.zeros((cells, m), dtype=np.int64)
    for rows in _blocks(columns.shape[1]):
        block, cell = columns[:, rows].astype(np.float64), labels[rows]
        away, from_anchor = np.zeros((m, len(cell))), np.zeros(len(cell))
        for c, values in enumerate(block):
            step = values - (candidates[:, :, c] / STEPS)[cell].T
            away += metric[c] * (step * step)
            step = values - (anchors[:, c] / STEPS)[cell]
            from_anchor += metric[c] * (step * step)
        losses = np.clip((away - from_anchor) * scales[cell] + width / 2, 0.0, float(width)).astype(np.int64)
        if shares is not None:
            losses = losses * shares[rows] // STEPS
        np.add.at(totals, cell, losses.T)
    return totals


def swap_costs(
    columns: Columns,
    centres: Integers,
    candidates: Integers,
    metric: Array,
    scale: float,
    width: int,
    shares: Labels | None,
    squared: bool = True,
) -> Integers:
    """Return the loss of the centres with one replaced by a candidate, for all pairs: shape (k, m)."""
    totals = np.zeros((len(centres), len(candidates)), dtype=np.int64)
    for rows in _blocks(columns.shape[1]):
        block = columns[:, rows].astype(np.float64)

        def lost(points: Integers, block: Array = block, rows: slice = rows) -> Integers:
            gaps = _weighted(block, points, metric)
            losses = np.minimum((gaps if squared else np.sqrt(gaps)) * scale, width).astype(np.int64)
            return losses if shares is None else losses * shares[rows] // STEPS

        kept = lost(centres)
        most = np.full(block.shape[1], width, dtype=np.int64)
        if shares is not None:
            most = most * shares[rows] // STEPS
        for i in range(len(centres)):
            others = np.delete(kept, i, axis=0).min(axis=0) if len(centres) > 1 else most
            for j, candidate in enumerate(candidates):
                totals[i, j] += np.minimum(others, lost(candidate[np.newaxis])[0]).sum()
    return totals
