"""What releases of places with weights have in common: columns, groups found for free, and reading them."""

from __future__ import annotations

import numbers
import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shoal._typing import Array
from shoal.algorithms import Runs, counts_clipped, run_prepared
from shoal.algorithms.synopses.synopsis import Synopsis
from shoal.domain import Domain
from shoal.errors import InvalidInput, InvalidRelease, ReplayMismatch
from shoal.queries import ReplayCurator, Transcript
from shoal.release.certificate import column_names

Made = TypeVar("Made", bound=Synopsis)


class Groups(NamedTuple):
    """Groups found on a synopsis, in the table's own units.

    Parameters
    ----------
    centres : ndarray of shape (n_clusters, n_columns)
        Where they are.
    sizes : ndarray of shape (n_clusters,)
        Noisy sizes; they may be negative.
    """

    centres: Array
    sizes: Array


class PlacesRelease(ABC):
    """Places with noisy weights that may be published; whatever is asked of them costs nothing more."""

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
        return Groups(self.domain.decode(found.centres), found.masses)

    def _columns_shown(self) -> str:
        return ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")


def run_again(algorithm: Runs[Made], transcript: Transcript) -> Made:
    """Make what was released from its recorded answers, or say why these are not of such a run."""
    curator = ReplayCurator(transcript)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was said at the time, and the release says it
            made = run_prepared(algorithm, curator, count_clipped=counts_clipped(transcript))
        curator.finish()
    except ReplayMismatch as error:
        raise InvalidRelease(str(error)) from None
    return made


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number, or say that it is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)
