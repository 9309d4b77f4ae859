"""Labelling the data holder's own rows with released centres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal._typing import Array
from shoal.domain import Domain
from shoal.queries import Voronoi
from shoal.sources import open_like


class HasCentres(Protocol):
    """Centres in the table's own units, and the domain that they belong to."""

    @property
    def centres(self) -> Array:
        """One row a group."""
        ...

    @property
    def domain(self) -> Domain:
        """Of the table."""
        ...


def cells_of(release: HasCentres) -> tuple[Voronoi, Domain]:
    """Return the cells around a release's centres, and the domain that rows are to be encoded with."""
    domain = replace(
        release.domain, missing="centre", max_weight=None
    )  # a row to be labelled is never dropped
    return Voronoi(domain.encode(list(release.centres.T)).columns.T.astype(np.float64)), domain


def label(release: HasCentres, X: Any) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the nearest centre of each row, a chunk of rows at a time.

    Parameters
    ----------
    release : Release or Groups
        Whose centres.
    X : array-like, data frame, path or FileTable
        The data holder's own rows; the labels are not for release.
    """
    cells, domain = cells_of(release)
    for chunk in open_like(X, release.domain.schema).encoded(domain):
        yield cells.assign(chunk.columns, domain.metric)
