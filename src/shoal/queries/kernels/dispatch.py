"""Whether loops are compiled, and checks of what they are given: their arithmetic rests on these."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

from shoal._compiling import LOADING, at_once, compiles, much, telling_of_compiling, with_compiler
from shoal._typing import Array, Columns, Integers, Labels
from shoal.domain import STEPS
from shoal.errors import InvalidInput

__all__ = [
    "LONGEST", "cells", "compiled_loops", "compiles", "pays", "points", "table", "telling_of_compiling",
    "warm", "weights",
]  # fmt: skip

LONGEST = 2**30
"""Largest radius or width: products with them then fit the kernels' integers."""


def pays(work: int) -> bool:
    """Say whether to run a compiled loop, and not its twin in `reference.py`, which gives the same bits.

    Parameters
    ----------
    work : int
        How many numbers the twin would look at.
    """
    return compiles() and much(work)


@cache
def compiled_loops(name: str) -> ModuleType:
    """Import compiled loops when they are first needed, so that importing Shoal does not import numba."""
    with LOADING:
        with_compiler()
        return import_module(f"shoal.queries.kernels.{name}")


def warm() -> None:
    """Compile every loop now, for those who want to time what follows."""
    at_once()
    if compiles():
        for name in ("few", "weighted", "stats", "losses", "projection", "relative", "swaps"):
            compiled_loops(f"compiled_{name}")
        for start in compiled_loops("compiled").STARTERS:
            start()


def table(columns: Columns) -> Columns:
    """Return rows as the loops want them."""
    return np.ascontiguousarray(columns, dtype=np.float32)


def points(points: Integers, columns: Columns) -> Integers:
    """Check public points: the kernels' error bounds and index arithmetic rest on this."""
    steps = np.ascontiguousarray(points, dtype=np.int64)
    if steps.ndim != 2 or steps.shape[1] != len(columns) or not steps.size:
        raise InvalidInput(f"points of shape {steps.shape}; (at least 1, {len(columns)}) is wanted")
    if max(int(steps.max()), -int(steps.min())) > STEPS:
        raise InvalidInput(f"points reach beyond {STEPS} lattice steps; clip them to the domain first")
    return steps


def weights(metric: Array | None, columns: Columns) -> Array | None:
    """Check the weights of a metric, where there is one."""
    if metric is None:
        return None
    found = np.ascontiguousarray(metric, dtype=np.float64)
    if found.shape != (len(columns),):
        raise InvalidInput(f"a metric of shape {found.shape}; ({len(columns)},) is wanted")
    return found


def cells(labels: Labels, n_cells: int, n: int) -> Labels:
    """Check labels: compiled loops write where they point. How many rows there are is not said."""
    found = np.ascontiguousarray(labels, dtype=np.int32)
    if found.shape != (n,) or (n and not 0 <= int(found.min()) <= int(found.max()) < n_cells):
        raise InvalidInput(f"labels are not one integer from 0 to {n_cells - 1} for each row")
    return found
