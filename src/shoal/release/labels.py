"""Labelling the data holder's own rows with released centres."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def label_by_zone(parts: Sequence[HasCentres], X: Any) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the nearest centre of each row among those of its own zone, a chunk of rows at a time.

    Parameters
    ----------
    parts : sequence of Release
        Whose centres: one for each zone, in order. They are numbered through.
    X : array-like, data frame, path or FileTable
        The data holder's own rows; the labels are not for release.
    """
    cells = [cells_of(part) for part in parts]
    first = np.cumsum([0, *(len(part.centres) for part in parts)])
    for own in open_like(X, parts[0].domain.schema).by_zone([domain for _, domain in cells]):
        labels = np.zeros(sum(len(rows) for rows, _ in own), dtype=np.int32)
        for number, (rows, chunk) in enumerate(own):
            voronoi, domain = cells[number]
            labels[rows] = first[number] + voronoi.assign(chunk.columns, domain.metric)
        yield labels


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
