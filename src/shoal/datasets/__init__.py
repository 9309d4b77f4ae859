"""Data sets by name, each with its public bounds, number of groups and source.

>>> from shoal import datasets
>>> datasets.load("gaussians", d=3, k=4).X.shape
(10000, 3)

Three kinds: tables in files (read from the directory `SHOAL_DATA`, else from the user's cache directory, else
downloaded from their public source and checked), the small ones that scikit-learn ships, and made-up
families that need nothing.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Literal

from shoal.datasets.catalogue import Entry, catalogue
from shoal.datasets.city import city_pickups
from shoal.datasets.dataset import Dataset
from shoal.datasets.families import FAMILIES
from shoal.datasets.files import directory, fetch, read
from shoal.datasets.shipped import SHIPPED
from shoal.datasets.synthetic import balcan_gaussians, gaussians, tiger_stand_in
from shoal.errors import InvalidInput

__all__ = ["Dataset", "about", "directory", "groups", "load", "names", "options", "provide"]

_FAMILIES: dict[str, Callable[..., Dataset]] = {
    "balcan_gaussians": balcan_gaussians,
    "city_pickups": city_pickups,
    "gaussians": gaussians,
    "tiger_stand_in": tiger_stand_in,
    **FAMILIES,
}


def names(kind: Literal["all", "file", "shipped", "synthetic"] = "all") -> tuple[str, ...]:
    """Return the names that `load` knows.

    Parameters
    ----------
    kind : {"all", "file", "shipped", "synthetic"}
        Tables in files, those that scikit-learn ships, made-up families, or all of them.

    Examples
    --------
    >>> names("synthetic")[:4]
    ('arcs', 'balcan_gaussians', 'boxes', 'broad_gaussians')
    >>> "adult" in names()
    True
    """
    kinds = {"file": tuple(catalogue()), "shipped": tuple(SHIPPED), "synthetic": tuple(_FAMILIES)}
    kinds["all"] = sum(kinds.values(), ())
    if kind not in kinds:
        raise InvalidInput(f"kind is {kind!r}; it must be one of {', '.join(map(repr, kinds))}")
    return tuple(sorted(kinds[kind]))


def load(name: str, **parameters: int) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of `names()`.
    **parameters : int
        For made-up families: rows ``n``, columns ``d``, groups ``k``, ``seed``.

    Returns
    -------
    Dataset
        Rows, column names, public bounds, number of groups, source and licence.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.n_rows, wine.n_columns, wine.k
    (178, 13, 3)
    """
    known_ones = options(name)
    if unknown := [parameter for parameter in parameters if parameter not in known_ones]:
        known = ", ".join(known_ones) or "no parameters"
        raise InvalidInput(f"{name!r} has no parameter {unknown[0]!r}; it takes {known}")
    if name in _FAMILIES:
        return _FAMILIES[name](**parameters)
    return SHIPPED[name]() if name in SHIPPED else read(catalogue()[name])


def options(name: str) -> tuple[str, ...]:
    """Return the parameters that a data set takes; only made-up families have any.

    Examples
    --------
    >>> options("gaussians"), options("iris")
    (('n', 'd', 'k', 'seed'), ())
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(names())}"
        raise InvalidInput(f"there is no data set {name!r}; {hint}")
    return tuple(inspect.signature(_FAMILIES[name]).parameters) if name in _FAMILIES else ()


def about(name: str) -> Entry | Dataset:
    """Return the facts of a data set (title, source, licence, bounds, k) without its rows.

    Examples
    --------
    >>> about("adult").licence
    'CC BY 4.0 (UCI)'
    """
    if "n" in options(name):
        return load(name, n=0)
    return catalogue()[name] if name in catalogue() else load(name)


def groups(name: str, **parameters: int) -> int:
    """Return how many groups to look for in a data set, without loading it.

    Examples
    --------
    >>> groups("adult"), groups("gaussians", k=7)
    (5, 7)
    """
    if "k" in options(name):
        return int(parameters.get("k", inspect.signature(_FAMILIES[name]).parameters["k"].default))
    return about(name).k


def provide(name: str) -> None:
    """Make sure that a data set can be loaded: download its file if it has one that is not at hand.

    Examples
    --------
    >>> provide("gaussians")
    """
    options(name)
    if name in catalogue():
        fetch(catalogue()[name])
