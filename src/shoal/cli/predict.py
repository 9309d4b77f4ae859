"""`shoal predict`: labels for the data holder's own rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import Reading, reading_options
from shoal.cli.records import load_groups
from shoal.reporting.console import command, say, write_json


@command()
@click.argument("release", type=click.Path(path_type=Path))
@click.argument("table", type=str, nargs=-1, required=True)
@reading_options
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Parquet or CSV file to write.")
def predict(release: Path, table: tuple[str, ...], out: Path, as_json: bool, **reading: Any) -> None:
    """Label the rows of TABLE (files, a folder, a glob or - for standard input) with the groups of a RELEASE.

    The labels are about single rows: for the data holder's own use, not for release.
    """
    from shoal.errors import InvalidInput
    from shoal.release import Release, ZonedRelease
    from shoal.release.labels import label, label_by_zone

    if out.exists():
        raise InvalidInput(f"the output file {out} exists; give another name, or move it away first")
    if out.suffix not in (".parquet", ".csv"):
        raise InvalidInput(f"the output file {out} must end in .parquet or .csv")
    found = load_groups(release)
    if not isinstance(found, Release):
        raise InvalidInput(f"{release} is a synopsis and has no groups; find some: shoal ask {release} --k 5")
    labels = label if not isinstance(found, ZonedRelease) else lambda of, X: label_by_zone(of.parts, X)
    rows = _write(labels(found, _opened(table, reading, found.domain.schema)), out)
    if as_json:
        write_json({"out": str(out), "rows": rows, "for_release": False})
    else:
        say(f"{rows:,} labels written to {out}: for your own use, not for release")


def _opened(table: tuple[str, ...], reading: dict[str, Any], schema: Any) -> Any:
    """Open a table whose layout is said; of others, the fitted columns are read."""
    given = {name: value for name, value in reading.items() if value is not None}
    if schema is not None and schema.named:
        given.setdefault("columns", [field.name for field in schema.fields])
    return Reading.of(given).open(table)


def _write(labels: Any, out: Path) -> int:
    """Write labels as they come; a file that is not finished is removed."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    schema = pa.schema([("label", pa.int32())])
    make = pa.parquet.ParquetWriter if out.suffix == ".parquet" else pa.csv.CSVWriter
    part = out.with_name(out.name + ".part")
    rows = 0
    try:
        with make(str(part), schema) as writer:
            for chunk in labels:
                writer.write_table(pa.table({"label": chunk}, schema=schema))
                rows += len(chunk)
        part.rename(out)
    finally:
        part.unlink(missing_ok=True)
    return rows
