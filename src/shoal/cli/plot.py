"""`shoal plot`: a picture of what was released."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.options import TOTAL
from shoal.cli.records import load_groups
from shoal.reporting.console import command, say, write_json


@command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--columns", help="Columns to draw, with commas between.")
@click.option("--title", help="Above the picture.")
@click.option("--k", type=int, help="Of a synopsis or a coreset: find this many groups and draw them.")
@TOTAL
@click.option("--out", type=click.Path(path_type=Path), help="PNG, SVG or PDF file to write; RELEASE.png.")
def plot(
    release: Path,
    columns: str | None,
    title: str | None,
    k: int | None,
    total: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draw the groups of a RELEASE: on a map where columns are longitude and latitude, else side by side."""
    from shoal.errors import InvalidInput
    from shoal.release import Release

    out = out or Path(f"{release.resolve().name}.png")
    if out.exists():
        raise InvalidInput(f"the output file {out} exists; give another name, or move it away first")
    if out.suffix not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"the output file {out} must end in .png, .svg or .pdf")
    found = load_groups(release)
    if not isinstance(found, Release):
        if k is None:
            raise InvalidInput(f"{release} holds no groups; say how many to find: shoal plot {release} --k 5")
        found = found.kmeans(k)
    if total and not isinstance(found, Release):
        raise InvalidInput(f"{release} holds no groups, and so no total errors: leave --total out")
    chosen = None if columns is None else columns.split(",")
    figure = found.plot(title=title, columns=chosen, **({"total": True} if total else {}))
    try:
        figure.savefig(out, dpi=144)
    except OSError as error:
        raise InvalidInput(f"nothing can be written to {out}: {error.strerror}") from None
    if as_json:
        write_json({"out": str(out)})
    else:
        say(f"drawn to {out}")
