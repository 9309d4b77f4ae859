"""What a curator has declared of a table: all public, nothing of it read off rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from shoal.errors import InvalidInput
from shoal.studio.workshop.values import Plain

ESTIMATE = "estimate"
"""As bounds: estimated privately, inside the price of the preview, and public from then on."""
# Of the one look: small beside most levels, and enough to predict by; see benchmarks/studio_preview.py.
PREVIEW_EPSILON = 0.1

Bounds = Mapping[str, tuple[Any, Any]] | str | None


@dataclass(frozen=True)
class Draft(Plain):
    """The declarations of a study.

    Parameters
    ----------
    columns : tuple of str
        The columns to cluster.
    types : dict of str to str
        What columns of text hold: "number", "boolean" or "time".
    bounds : dict of str to (low, high), "latlon", "estimate" or None
        Public bounds of each column (a rectangle on a map gives those of two); a preset; estimated privately;
        or not declared yet.
    levels : dict of str to list
        The public levels of category columns.
    unit : str or None
        The column that names the person, as the ledger has it; None protects a row.
    max_rows : int
        The most rows of one person that are kept.
    k : int or "auto"
        How many groups, or as many as the released counts show.
    ledger, dataset : str
        Where the budget lies. An empty ledger is the studio's own.
    delta : float
        Of a release; 0 for pure ones. Above 0, the ledger's data set must have one too.
    n_rows : int or None
        A public number of rows that the curator vouches for.
    header : bool
        Of a file of text: whether its first line holds names. The curator says so.
    preview_epsilon : float
        What the one look costs.
    zones : dict or None
        A GeoJSON of disjoint public regions with levels of their own.
    """

    columns: tuple[str, ...] = ()
    types: dict[str, str] = field(default_factory=dict)
    bounds: Any = None
    levels: dict[str, list[Any]] = field(default_factory=dict)
    unit: str | None = None
    max_rows: int = 1
    k: int | str = "auto"
    ledger: str = ""
    dataset: str = ""
    delta: float = 0.0
    n_rows: int | None = None
    header: bool = True
    preview_epsilon: float = PREVIEW_EPSILON
    zones: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.k != "auto" and (isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1):
            raise InvalidInput(f"k is {self.k!r}; give a whole number of groups, or 'auto'")
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or self.max_rows < 1:
            raise InvalidInput(f"max_rows is {self.max_rows!r}; it is a whole number of at least 1")
        if not 0 < float(self.preview_epsilon) <= 1:
            raise InvalidInput(
                f"the preview's epsilon is {self.preview_epsilon!r}; give one above 0 and at most 1"
            )
        if not isinstance(self.delta, int | float) or not 0 <= self.delta < 1:
            raise InvalidInput(f"delta is {self.delta!r}; it is a probability, at least 0 and below 1")
        if isinstance(self.bounds, str) and self.bounds not in ("latlon", ESTIMATE):
            raise InvalidInput(
                f"bounds are {self.bounds!r}; give low and high per column, 'latlon' or 'estimate'"
            )
        if isinstance(self.bounds, Mapping):
            object.__setattr__(self, "bounds", {str(n): _pair(n, ends) for n, ends in self.bounds.items()})

    def changed(self, changes: Mapping[str, Any]) -> Draft:
        """Return the draft with other declarations, or say which there is none of."""
        known = {f.name for f in fields(self)}
        for name in changes:
            if name not in known:
                raise InvalidInput(f"{name!r} cannot be declared; what can is {', '.join(sorted(known))}")
        return replace(self, **changes)

    def missing(self) -> tuple[str, ...]:
        """Return what has to be declared before anything can be read, in words."""
        found = []
        if not self.dataset:
            found.append("a budget: the ledger's data set that this table is")
        if not self.columns:
            found.append("the columns to look at")
        if self.bounds is None:
            found.append("bounds of the columns, or that they are to be estimated privately")
        elif isinstance(self.bounds, Mapping):
            lacking = [n for n in self.columns if n not in self.bounds and n not in self.levels]
            found += [f"bounds of column {name!r}" for name in lacking]
        return tuple(found)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Draft:
        """Read what `to_dict` wrote."""
        return cls(**plain)

    def look_key(self, source: Mapping[str, Any]) -> str:
        """Return what the one paid look depends on: with another of these, it has to be paid for again."""
        own = (
            "columns",
            "types",
            "bounds",
            "levels",
            "unit",
            "max_rows",
            "ledger",
            "dataset",
            "delta",
            "header",
        )
        said = {name: asdict(self)[name] for name in (*own, "preview_epsilon")}
        return digest({"source": dict(source), **said})

    def view_key(self, source: Mapping[str, Any]) -> str:
        """Return what the prepared levels depend on: the look, and what is free to change after it."""
        return digest({"look": self.look_key(source), "k": self.k, "n_rows": self.n_rows})


def digest(value: Any) -> str:
    """Return a short name for a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _pair(name: Any, ends: Any) -> tuple[Any, Any]:
    if isinstance(ends, str) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise InvalidInput(f"bounds of column {name!r} are {ends!r}; give low and high")
    return ends[0], ends[1]
