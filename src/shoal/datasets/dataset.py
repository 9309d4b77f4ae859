"""A table with the public facts a private fit needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import InvalidInput

Array: TypeAlias = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of features, with its public bounds, number of groups and origin.

    Parameters
    ----------
    name, title : str
        What it is called, in short and in words.
    X : ndarray of shape (n_rows, n_columns)
        The features alone: no label, no auxiliary column. Read-only.
    names : tuple of str
        Column names.
    bounds : (lower, upper)
        Two arrays with one entry per column, as an estimator's `bounds` takes them.
    bounds_source : str
        Where the bounds come from. "NOT public" says that a bound was rounded from the rows, which is fine
        for a benchmark and a leak anywhere else.
    k : int
        How many groups to look for, as in the papers or by construction.
    source, licence : str
        Whom it comes from and on what terms.
    labels : ndarray of shape (n_rows,), optional
        A class or the generating group of each row, where there is one.

    Examples
    --------
    >>> from shoal import datasets
    >>> flowers = datasets.load("iris")
    >>> flowers.n_rows, flowers.names[0], flowers.k
    (150, 'sepal length (cm)', 3)
    >>> bool(abs(flowers.scaled()).max() <= 1)
    True
    """

    name: str
    title: str
    X: Array
    names: tuple[str, ...]
    bounds: tuple[Array, Array]
    bounds_source: str
    k: int
    source: str
    licence: str
    labels: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or not self.X.shape[1] == len(self.names) == len(self.bounds[0]):
            raise InvalidInput(
                f"{self.name}: a table of shape {self.X.shape} does not fit {len(self.names)} column names "
                f"and {len(self.bounds[0])} bounds"
            )
        for array in (self.X, *self.bounds):
            array.setflags(write=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def public(self) -> bool:
        """Whether all bounds are public, so that using them does not leak."""
        return "NOT public" not in self.bounds_source

    def scaled(self) -> Array:
        """Return the rows clipped to the bounds and scaled to [-1, 1] in every column."""
        lower, upper = self.bounds
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        return (np.clip(self.X, lower, upper) - middle) / np.where(half > 0, half, 1.0)

    def sample(self, n: int, *, seed: int = 0) -> Dataset:
        """Return `n` rows drawn without replacement, in random order.

        Examples
        --------
        >>> from shoal import datasets
        >>> datasets.load("iris").sample(10).n_rows
        10
        """
        if not 0 <= n <= self.n_rows:
            raise InvalidInput(f"cannot draw {n} of the {self.n_rows} rows of {self.name!r}")
        chosen = np.random.default_rng(seed).permutation(self.n_rows)[:n]
        return replace(self, X=self.X[chosen], labels=None if self.labels is None else self.labels[chosen])


def box(lower: Any, upper: Any, n_columns: int) -> tuple[Array, Array]:
    """Spread scalar bounds over all columns."""
    return (
        np.broadcast_to(np.asarray(lower, dtype=np.float64), n_columns).copy(),
        np.broadcast_to(np.asarray(upper, dtype=np.float64), n_columns).copy(),
    )


def check_options(name: str, options: Mapping[str, Any], least: Mapping[str, int]) -> None:
    """Check that every option is a whole number of at least `least`."""
    for option, value in options.items():
        wanted = least.get(option, 0)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < wanted:
            raise InvalidInput(
                f"{name}: {option} is {value!r}; it must be a whole number of at least {wanted}"
            )
