"""Hashes of rows by their cells: equal rows have equal hashes, whatever holds them and wherever they stand.

Privacy does not rest on them, only evenness: every key gives coins that belong to rows (docs/proofs).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.domain.lattice import as_doubles

Hashes = npt.NDArray[np.uint64]


def hash_rows(columns: Sequence[npt.NDArray[np.generic]], seeds: Hashes) -> Hashes:
    """Mix the cells of each row into its seed, to 63 bits. Equal rows have equal hashes, of whatever type.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        The cells.
    seeds : ndarray of uint64, shape (n,)
        Where each row's hash starts: a key, or that of a person.
    """
    state = seeds
    for values in columns:
        cells = as_doubles(values) + 0.0  # a new array, and no minus zero
        cells[np.isnan(cells)] = np.nan
        state = mix(state ^ cells.view(np.uint64))
    return state >> np.uint64(1)  # below any limit


def mix(x: Hashes) -> Hashes:
    """Scramble 64 bits, one to one: the finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
