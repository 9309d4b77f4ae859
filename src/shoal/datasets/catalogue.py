"""What is known of every data set that lives in a file: catalogue.toml, read once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Download:
    """Where a text table is published and how to read it.

    Parameters
    ----------
    url : str
        The public source.
    columns : tuple of int
        Positions of the features in a line.
    members : tuple of str
        Files to read, one after the other, where the source is a zip archive.
    separator : str
        Between the cells of a line; blanks if empty.
    """

    url: str
    columns: tuple[int, ...]
    members: tuple[str, ...] = ()
    separator: str = ""


@dataclass(frozen=True)
class Entry:
    """The facts of one data set.

    Parameters
    ----------
    name, title : str
        What it is called, in short and in words.
    file : str
        Its Parquet file.
    n_rows : int
        Rows of that file.
    columns : tuple of str
        The feature columns.
    label : str or None
        The label column, where there is one.
    k : int
        Number of groups to look for.
    lower, upper : float or tuple of float
        Bounds.
    bounds_source, source, licence, note : str
        Where the bounds and the rows come from, on what terms, and what was done to them.
    sha256 : str
        Of the Parquet file.
    rows_sha256 : str
        Of the rows themselves; see `shoal.datasets.files.rows_digest`.
    download : Download or None
        The public source, where there is one that can be read.
    first, drawn : int, optional
        Take only this many rows: the first ones, or some drawn once at random.
    """

    name: str
    title: str
    file: str
    n_rows: int
    columns: tuple[str, ...]
    k: int
    lower: Any
    upper: Any
    bounds_source: str
    source: str
    licence: str
    sha256: str
    rows_sha256: str
    label: str | None = None
    note: str = ""
    download: Download | None = None
    first: int | None = None
    drawn: int | None = None


@cache
def catalogue() -> dict[str, Entry]:
    """Return all entries by name.

    Examples
    --------
    >>> catalogue()["adult"].columns[0]
    'age'
    """
    text = files("shoal.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)
    # What is `of` another set is the same but for what it says anew.
    return {
        name: _entry(name, {**known.get(facts.pop("of", ""), {}), **facts}) for name, facts in known.items()
    }


def _entry(name: str, facts: dict[str, Any]) -> Entry:
    facts = dict(facts)
    source = facts.pop("download", None)
    if source is not None:
        source = dict(source)
        source["columns"] = tuple(source["columns"])
        source["members"] = tuple(source.get("members", ()))
    columns = facts.pop("columns")
    return Entry(name=name, columns=_columns(columns), download=source and Download(**source), **facts)


def _columns(columns: list[str] | str) -> tuple[str, ...]:
    # "p000..p783" stands for all columns from the first to the last.
    if isinstance(columns, list):
        return tuple(columns)
    first, last = columns.split("..")
    prefix = first.rstrip("0123456789")
    width = len(first) - len(prefix)
    return tuple(
        f"{prefix}{i:0{width}d}" for i in range(int(first[len(prefix) :]), int(last[len(prefix) :]) + 1)
    )
