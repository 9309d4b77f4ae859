"""`shoal show`, `shoal verify` and `shoal algorithms`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import TOTAL
from shoal.cli.records import record
from shoal.reporting.console import command, write_json

_FOLDER = click.argument("release", type=click.Path(path_type=Path))
# Points of a coreset that are printed; all are in its files.
_SHOWN = 20
# What a table draws between two columns: a line, and a blank on each side.
_BETWEEN = 3


@command()
@_FOLDER
@TOTAL
def show(release: Path, total: bool, as_json: bool) -> None:
    """Show the groups of a RELEASE, its grid, its points or what a step learnt, and its certificate."""
    from shoal.errors import InvalidInput
    from shoal.release import Release, load

    found = load(release)
    if total:
        if not isinstance(found, Release):
            raise InvalidInput(f"{release} holds no groups, and so no total errors: leave --total out")
        found = found.with_totals()  # so that the certificate says it as well
    if as_json:
        write_json({**record(found, total=total), "certificate": found.certificate.to_dict()})
        return
    print_release(found, total=total)
    click.echo()
    click.echo(str(found.certificate))


def print_release(release: Any, *, total: bool = False) -> None:
    """Print groups with their noise, or what a synopsis or a coreset is, and the guarantee."""
    from rich.console import Console

    from shoal.release import CoresetRelease, StepRelease, SynopsisRelease

    console, guarantee = Console(), release.certificate.guarantee
    if isinstance(release, SynopsisRelease):
        for line in synopsis_lines(release):
            console.print(line, highlight=False)
    elif isinstance(release, CoresetRelease):
        guarantee = release.guarantee
        print_points(release, console)
    elif isinstance(release, StepRelease):
        print_step(release, console)
    else:
        print_groups(release, console, total=total)
    for line in release.certificate.clipped_lines():
        console.print(line, highlight=False)
    for relation, text in guarantee.items():
        console.print(f"{text} [dim]({relation})[/]")
    console.print(f"protects {release.certificate.unit}")
    for line in release.certificate.zone_lines():
        console.print(f"  {line}", highlight=False)


def synopsis_lines(release: Any) -> list[str]:
    """Say in a few lines what a synopsis holds."""
    held = release.synopsis
    bounds = zip(release.names, release.domain.bounds.lower, release.domain.bounds.upper, strict=True)
    return [
        f"Noisy counts of rows in {held.describe()}",
        *(f"  {name}: {low:.6g} to {high:.6g}" for name, low, high in bounds),
        f"a count ± {held.sd:.2g}; about {held.rows:,.0f} rows in all",
    ]


def print_step(release: Any, console: Any) -> None:
    """Print what a step learnt: a line for each column, then what it learnt of directions."""
    values = release.values
    names = [f"direction {i}" for i in range(len(values.get("components", ())))]
    columns = {name: values[name] for name in ("lower", "upper", "mean", "scale") if name in values}
    columns |= dict(zip(names, values.get("components", ()), strict=True))
    noise = values.get("mean_noise_sd")
    lines = [
        [name, *(_with_noise(v[j], noise[j] if of == "mean" else None) for of, v in columns.items())]
        for j, name in enumerate(release.names)
    ]
    print_table(console, release.learnt.describe().capitalize(), ["column", *columns], lines)
    for name, share in zip(names, values.get("explained_variance_ratio", ()), strict=True):
        console.print(f"{name} has {100 * share:.0f} % of the variance", highlight=False)


def _with_noise(value: float, noise: float | None) -> str:
    return f"{value:.6g}" if noise is None else f"{value:.6g} ± {noise:.2g}"


def print_points(release: Any, console: Any) -> None:
    """Print the heaviest points of a coreset."""
    of = "" if len(release.parts) == 1 else f" of {len(release.parts)} tables"
    n, rows = len(release.weights), release.weights.sum()
    heaviest = (-release.weights).argsort(kind="stable")[:_SHOWN]
    lines = [[*map("{:.6g}".format, release.points[i]), f"{release.weights[i]:,.0f}"] for i in heaviest]
    title = f"A coreset{of}: {n} points for about {rows:,.0f} rows, heaviest first"
    print_table(console, title, [*release.names, "weight"], lines)
    if n > _SHOWN:
        console.print(f"and {n - _SHOWN} more")


def print_groups(release: Any, console: Any, *, total: bool = False) -> None:
    """Print groups with their noise, and what gives reason to doubt them."""
    import numpy as np

    known = release.intervals(total=True) if total else None
    title = "Groups (± is the noise of the last answer, for this grouping)"
    if known is not None and known.known:
        title = "Groups (± is the total error: how far another fit would be)"
    print_table(console, title, *release.told(total=total))
    if known is not None:
        console.print(f"{known.describe()}.", highlight=False)
    if (release.merged_into != np.arange(len(release.sizes))).any():
        console.print("= marks groups that noise cannot tell apart: they have one centre, their sizes add up")
    for doubt in release.doubts:
        console.print(f"doubt: {doubt.text}", highlight=False)


def print_table(console: Any, title: str, header: list[str], lines: list[list[str]]) -> None:
    """Print lines in tables that are no wider than the terminal."""
    if not console.encoding.startswith("utf"):  # before it is laid out, so that columns stay straight
        lines = [[cell.replace("±", "+/-") for cell in line] for line in lines]
    for table in tables(title, header, lines, console.width):
        console.print(table)


def tables(title: str, header: list[str], lines: list[list[str]], width: int) -> Iterator[Any]:
    """Lay lines out in tables that are no wider than the terminal.

    A row for each line where that fits; else the lines stand side by side, and their names at the left.

    Parameters
    ----------
    title : str
        Above the first table.
    header : list of str
        What the cells of a line are.
    lines : list of list of str
        The cells.
    width : int
        Letters in a row of the terminal.
    """
    from rich.table import Table

    widths = [max(map(len, column)) + _BETWEEN for column in zip(header, *lines, strict=True)]
    turned = sum(widths) >= width
    if turned:
        cell = max(len(text) for line in lines for text in line) + _BETWEEN
        n = max(1, (width - max(map(len, header)) - _BETWEEN - 1) // cell)
        groups = [lines[start : start + n] for start in range(0, len(lines), n)]
        parts = [[list(row) for row in zip(header, *group, strict=True)] for group in groups]
    else:
        parts = [[header, *lines]]
    for (first, *rows), above in zip(parts, [title] + [None] * len(parts), strict=False):
        table = Table(title=above, title_justify="left")
        for j, name in enumerate(first):
            table.add_column(name, justify="left" if turned and j == 0 else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        yield table


@command()
@_FOLDER
@click.option("--signed-by", help="A public key (PEM) or its fingerprint: the release must be signed by it.")
def verify(release: Path, signed_by: str | None, as_json: bool) -> None:
    """Check that a RELEASE is whole: hashes, charges and results recomputed from its transcript.

    This shows integrity. Whose it is shows only a signature (`shoal sign`) by a key that you know: anybody
    can make a release that verifies.
    """
    from shoal.release import verify as check

    verdict = check(release, signed_by=signed_by)
    if as_json:
        write_json(verdict.to_dict())
    else:
        click.echo(str(verdict))
    raise SystemExit(0 if verdict.ok else 1)
