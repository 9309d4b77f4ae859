"""Inner products of rows with public directions; see `shoal.queries.kernels.compiled`."""

from __future__ import annotations

import numpy as np

from shoal.domain import STEPS
from shoal.queries.kernels.compiled import Array, entry, part

ROWS = 512
"""Rows a block: the sums of a block stay in the first level of cache."""


@part
def _add_four(x0: Array, x1: Array, x2: Array, x3: Array, by: Array, sums: Array) -> None:
    m0, m1, m2, m3 = by[0], by[1], by[2], by[3]
    for i in range(x0.shape[0]):
        # Exact in float64, so the order does not matter.
        low = m0 * np.float64(x0[i]) + m1 * np.float64(x1[i])
        sums[i] = sums[i] + low + (m2 * np.float64(x2[i]) + m3 * np.float64(x3[i]))


@part
def _add_one(x: Array, m: float, sums: Array) -> None:
    for i in range(x.shape[0]):
        sums[i] = sums[i] + m * np.float64(x[i])


@part
def _clip(sums: Array, out: Array) -> None:
    for i in range(sums.shape[0]):
        clipped = min(max(sums[i], -1.0), 1.0)
        out[i] = np.float32(np.float64(np.int64(clipped * STEPS)) / STEPS)


@entry("f4[:,:] f8[:,:] F8[:,:] F4[:,:]")
def project(columns: Array, matrix: Array, sums: Array, image: Array) -> None:
    """Write the clipped products of each row of `columns` (d, n) with `matrix` (p, d) to `image` (p, n).

    `sums` is (p, 512).
    """
    d, n = columns.shape
    p = matrix.shape[0]
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        rows = stop - start
        for j in range(p):
            for i in range(rows):
                sums[j, i] = 0.0
        for c in range(0, d - 3, 4):
            x0, x1 = columns[c, start:stop], columns[c + 1, start:stop]
            x2, x3 = columns[c + 2, start:stop], columns[c + 3, start:stop]
            for j in range(p):
                _add_four(x0, x1, x2, x3, matrix[j, c : c + 4], sums[j, :rows])
        for c in range(d // 4 * 4, d):
            for j in range(p):
                _add_one(columns[c, start:stop], matrix[j, c], sums[j, :rows])
        for j in range(p):
            _clip(sums[j, :rows], image[j, start:stop])
