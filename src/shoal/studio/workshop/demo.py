"""Tables to try a studio on: a made-up city, and public tables to rehearse with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.studio.workshop.values import Source

if TYPE_CHECKING:
    from shoal.studio.workshop.studio import Studio
    from shoal.studio.workshop.study import Study

CITY = "city"
"""The made-up city's data set in the studio's ledger."""
# Rows of the made-up city: enough for groups to show at strong levels, few enough to be made in a second.
_ROWS = 100_000
# Of a table that is nobody's, so that all levels can be tried.
_TOTAL = 10.0


def add_city(studio: Studio) -> Study:
    """Put the made-up city into a studio, with a budget and declarations; once."""
    from shoal.datasets.city import city_pickups

    for study in studio.studies():
        if study.source.kind == "demo":
            return study
    return _add(studio, city_pickups(n=_ROWS), CITY, "demo", "curator")


def add_public(studio: Studio, name: str, by: str) -> Study:
    """Open a public table, with a budget of its own."""
    from shoal.datasets import load

    return _add(studio, load(name), f"rehearsal-{name}", "public", by)


def _add(studio: Studio, table: Any, dataset: str, kind: str, by: str) -> Study:
    path = studio.home / "demo" / f"{table.name}.parquet"
    if not path.is_file():
        _write(table, path)
    if dataset not in studio.datasets():
        studio.create_dataset(dataset, epsilon=_TOTAL)
    lower, upper = table.bounds
    bounds = {n: (float(a), float(b)) for n, a, b in zip(table.names, lower, upper, strict=True)}
    source = Source(kind, str(path), f"{table.name}.parquet")
    declared = {"columns": tuple(table.names), "bounds": bounds, "k": table.k, "dataset": dataset}
    return studio.open(source=source, title=table.title, by=by, **declared)


def _write(table: Any, path: Path) -> None:
    partial = path.with_suffix(".partial")
    pq.write_table(pa.table(dict(zip(table.names, table.X.T, strict=True))), partial)
    partial.rename(path)
