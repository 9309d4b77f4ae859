"""The inner loops of the gate: which centre is nearest, and integer sums by cell.

A chunk of rows is a C-contiguous float32 array `columns` (d, n), a line per column of the table, every value
a multiple of 2^-20 in [-1, 1]. Public points are int64 lattice steps. Results are exact integers, and a
label is a function of its row and the public points alone: so sums do not depend on chunks, order or threads.

Work is done by loops compiled on first use (and kept on disk), or by NumPy if numba is not installed or
``SHOAL_NO_NUMBA=1``; both give the same bits. Loops are serial, use no linear-algebra library and release the
interpreter's lock: run several chunks in several threads.
"""

from shoal.queries.kernels.cells import accumulate, count, cut, offset_cost, offsets, products
from shoal.queries.kernels.costs import cell_costs, set_costs
from shoal.queries.kernels.dispatch import compiles, telling_of_compiling, warm
from shoal.queries.kernels.nearest import assign, assign_sums

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
    "telling_of_compiling",
    "warm",
]
