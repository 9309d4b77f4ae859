"""Histograms of more cells than can be held: exactly the law of "noise every cell, keep the large ones".

Cormode, Procopiuc, Srivastava and Tran 2012 filter like this; algorithm and proof: docs/proofs/grid.md. Only
occupied cells are ever counted; how many empty ones the noise lifts over the threshold is one binomial draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from shoal._typing import Integers
from shoal.domain import Chunk
from shoal.mechanisms import Entropy, binomial_tail, discrete_laplace, distinct_below, geometric_exp
from shoal.queries.partitions.cells import Keyed


@dataclass(frozen=True, eq=False)
class Occupied:
    """Exact counts of the cells that have rows: never to leave the gate.

    Parameters
    ----------
    cells : ndarray of int64
        Keys, sorted.
    counts : ndarray of int64
        Rows of each, at least 1.
    """

    cells: Integers
    counts: Integers


def exact_cells(partition: Keyed, chunk: Chunk) -> Occupied:
    """Count the rows of a chunk in the cells that it has rows in."""
    return Occupied(*np.unique(partition.keys(chunk.columns), return_counts=True))


def exact_part(partition: Keyed, chunk: Chunk) -> list[Occupied]:
    """Count as :func:`exact_cells` does, for :func:`gather`."""
    return [exact_cells(partition, chunk)]


def merge(one: Occupied, other: Occupied) -> Occupied:
    """Add up the counts of two chunks, in memory for their cells alone."""
    cells, place = np.unique(np.concatenate([one.cells, other.cells]), return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([one.counts, other.counts]))
    return Occupied(cells, counts)


def gather(parts: list[Occupied], more: list[Occupied]) -> list[Occupied]:
    """Add parts, and merge those of like size: each cell is merged a few times, however many chunks come."""
    found = list(parts)
    for part in more:
        found.append(part)
        while len(found) > 1 and len(found[-2].cells) <= 2 * len(found[-1].cells):
            last = found.pop()
            found[-1] = merge(found[-1], last)
    return found


def threshold_for(n_cells: int, rate: Fraction, spurious: float) -> int:
    """Return the least whole count that is kept, such that about `spurious` empty cells are.

    It is a function of public values, and any whole number serves privacy: a rounding error could only change
    how many empty cells are kept. A fraction would not do, as it would give empty cells values that no
    occupied one can have. Decimal logarithms are the same on every machine, so that a replay finds it again.

    Examples
    --------
    >>> threshold_for(5**10, Fraction(1), 25.0), threshold_for(4, Fraction(1), 100.0)
    (13, 1)
    """
    exact = Context(prec=40, rounding=ROUND_CEILING)
    ratio = exact.divide(Decimal(n_cells), exact.multiply(Decimal(2), Decimal(float(spurious))))
    least = exact.divide(exact.multiply(exact.ln(ratio), Decimal(rate.denominator)), Decimal(rate.numerator))
    return max(1, math.ceil(least))


def draw(
    exact: Occupied, n_cells: int, rate: Fraction, threshold: int, entropy: Entropy
) -> tuple[Integers, Integers]:
    """Return the kept cells, sorted, and their noisy counts.

    Parameters
    ----------
    exact : Occupied
        The cells with rows.
    n_cells : int
        All cells.
    rate : Fraction
        Of the discrete Laplace noise.
    threshold : int
        The least noisy count that is kept.
    entropy : Entropy
        Where noise comes from.
    """
    noisy = exact.counts + discrete_laplace(entropy, rate, len(exact.counts))
    kept = noisy >= threshold
    # Drawn among all cells, so that neither their number nor their places depend on rows; the noise of an
    # occupied cell is its own.
    lifted = distinct_below(entropy, n_cells, binomial_tail(entropy, n_cells, rate, threshold))
    empty = lifted[~np.isin(lifted, exact.cells)]
    # The discrete Laplace law at or above the threshold is the threshold and a geometric excess.
    values = threshold + geometric_exp(entropy, rate, len(empty))
    cells = np.concatenate([exact.cells[kept], empty])
    # By key: the order must not tell empty cells from occupied ones.
    order = np.argsort(cells)
    return cells[order], np.concatenate([noisy[kept], values])[order]
