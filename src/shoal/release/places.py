"""What releases of places with weights have in common: columns, and groups found for free."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.domain import Domain
from shoal.errors import InvalidInput
from shoal.release.certificate import Certificate, column_names
from shoal.release.labels import label
from shoal.release.told import Told, told

Made = TypeVar("Made", bound=Synopsis)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups found on a synopsis or a coreset: they cost nothing more, and may be published like it.

    Unpacked, they are centres and sizes.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Where they are, in the table's own units.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes; they may be negative.
    domain : Domain
        Of what they were found on.
    certificate : Certificate
        Of what they were found on.
    """

    centres: Array
    sizes: Array
    domain: Domain
    certificate: Certificate

    def __iter__(self) -> Iterator[Array]:
        return iter((self.centres, self.sizes))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names; x0, x1, ... where the table has none."""
        return column_names(self.domain)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centre of each row. The labels are for the data holder's own use.

        Parameters
        ----------
        X : array-like, data frame, path or FileTable
            Rows with the columns that were clustered; others are passed over.
        """
        return np.concatenate(list(label(self, X)))

    def plot(self, **how: Any) -> Any:
        """Draw the groups: on a map where two columns are longitude and latitude, else column by column.

        Parameters
        ----------
        **how
            As for :func:`shoal.release.plotting.plot_groups`.
        """
        from shoal.release.plotting import plot_groups

        return plot_groups(self, **how)

    def told(self) -> Told:
        """Return the groups as a person reads them."""
        unknown = np.full_like(self.centres, np.nan)
        return told(self.domain, self.centres, unknown, self.sizes, float("nan"))

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a group: its number, centre and size."""
        columns = zip(self.names, self.centres.T, strict=True)
        by_name = {**dict(columns), "size": self.sizes}
        return [
            {"cluster": i, **{n: float(v[i]) for n, v in by_name.items()}} for i in range(len(self.sizes))
        ]

    def _repr_html_(self) -> str:
        from shoal.release.html import places_html

        return places_html("Groups found on what was released, for free.", *self.told(), self.certificate)


class PlacesRelease(ABC):
    """Places with noisy weights that may be published; whatever is asked of them costs nothing more."""

    if TYPE_CHECKING:

        @property
        def certificate(self) -> Certificate:
            """What is guaranteed."""

    @property
    @abstractmethod
    def _places(self) -> Synopsis:
        """What is released, in the scaled units of the domain."""

    @property
    def domain(self) -> Domain:
        """Column names, bounds, scaling, missing cells and unit that the places belong to."""
        return self._places.domain

    @property
    def names(self) -> tuple[str, ...]:
        """Column names; x0, x1, ... where the table has none."""
        return column_names(self.domain)

    def kmeans(
        self, n_clusters: int, *, n_starts: int = 30, rng: int | np.random.Generator | None = 0
    ) -> Groups:
        """Find groups on what was released, as often and for as many clusters as you like.

        Parameters
        ----------
        n_clusters : int
            How many groups; a coreset was made to serve the number it was fitted for, and fewer.
        n_starts : int
            Starts, judged on released values alone.
        rng : int or numpy Generator, optional
            Where starts come from; the same ones unless told otherwise.
        """
        k, starts = whole_number(n_clusters, "n_clusters"), whole_number(n_starts, "n_starts")
        found = self._places.kmeans(k, np.random.default_rng(rng), starts)
        return Groups(self.domain.decode(found.centres), found.masses, self.domain, self.certificate)

    def _columns_shown(self) -> str:
        return ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number, or say that it is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def framed(rows: Array, names: tuple[str, ...] | None, like: str | None) -> Any:
    """Return rows as a frame of a library that is installed, or as an array.

    Examples
    --------
    >>> framed(np.zeros((2, 1)), ("age",), "pyarrow").column_names
    ['age']
    """
    known = ("pandas", "polars", "pyarrow", "numpy")
    if like is not None and like not in known:
        raise InvalidInput(f"like is {like!r}; it must be one of {', '.join(map(repr, known))}")
    if like == "numpy" or (like is None and names is None):
        return rows
    columns = dict(zip(names or [f"x{j}" for j in range(rows.shape[1])], rows.T, strict=True))
    for library in known[:3] if like is None else (like,):
        try:
            module = import_module(library)
        except ImportError:
            continue
        return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    raise InvalidInput(f"{like} is not installed; give like='pyarrow' or 'numpy'")
