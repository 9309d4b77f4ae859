"""`shoal show`, `shoal verify` and `shoal algorithms`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.console import speaks, write_json

_FOLDER = click.argument("release", type=click.Path(path_type=Path))
# Points of a coreset that are printed; all are in its files.
_SHOWN = 20
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result for machines.")


@click.command()
@_FOLDER
@_JSON
@speaks
def show(release: Path, as_json: bool) -> None:
    """Show the groups of a RELEASE, or its grid or points, and its certificate."""
    from shoal.release import load

    found = load(release)
    if as_json:
        from shoal.cli.fit import summary

        write_json({**summary(found), "certificate": found.certificate.to_dict()})
        return
    print_release(found)
    click.echo()
    click.echo(str(found.certificate))


def print_release(release: Any) -> None:
    """Print groups with their noise, or what a synopsis or a coreset is, and the guarantee."""
    from rich.console import Console

    from shoal.release import CoresetRelease, SynopsisRelease

    console, guarantee = Console(), release.certificate.guarantee
    if isinstance(release, SynopsisRelease):
        for line in synopsis_lines(release):
            console.print(line, highlight=False)
    elif isinstance(release, CoresetRelease):
        guarantee = release.guarantee
        print_points(release, console)
    else:
        print_groups(release, console)
    for relation, text in guarantee.items():
        console.print(f"{text} [dim]({relation})[/]")
    console.print(f"protects {release.certificate.unit}")


def synopsis_lines(release: Any) -> list[str]:
    """Say in a few lines what a synopsis holds."""
    held = release.synopsis
    bounds = zip(release.names, release.domain.bounds.lower, release.domain.bounds.upper, strict=True)
    return [
        f"Noisy counts of rows in {held.describe()}",
        *(f"  {name}: {low:.6g} to {high:.6g}" for name, low, high in bounds),
        f"a count ± {held.sd:.2g}; about {held.rows:,.0f} rows in all",
    ]


def print_points(release: Any, console: Any) -> None:
    """Print the heaviest points of a coreset."""
    from rich.table import Table

    tables = "" if len(release.parts) == 1 else f" of {len(release.parts)} tables"
    n, rows = len(release.weights), release.weights.sum()
    table = Table(
        title=f"A coreset{tables}: {n} points for about {rows:,.0f} rows, heaviest first",
        title_justify="left",
    )
    for name in (*release.names, "weight"):
        table.add_column(name, justify="right")
    for i in (-release.weights).argsort(kind="stable")[:_SHOWN]:
        table.add_row(*(f"{value:.6g}" for value in release.points[i]), f"{release.weights[i]:,.0f}")
    console.print(table)
    if n > _SHOWN:
        console.print(f"and {n - _SHOWN} more")


def print_groups(release: Any, console: Any) -> None:
    """Print groups with their noise, and what gives reason to doubt them."""
    import numpy as np
    from rich.table import Table

    table = Table(title="Groups (± is the noise of the last answer, for this grouping)", title_justify="left")
    table.add_column("group", justify="right")
    for name in (*release.names, "size"):
        table.add_column(name, justify="right")
    for i, (centre, sd, size) in enumerate(
        zip(release.centres, release.centre_sd, release.sizes, strict=True)
    ):
        cells = [
            f"{c:.6g} ± {s:.2g}" if np.isfinite(s) else f"{c:.6g} ± ?"
            for c, s in zip(centre, sd, strict=True)
        ]
        same = "" if release.merged_into[i] == i else f" = {release.merged_into[i]}"
        table.add_row(f"{i}{same}", *cells, f"{max(size, 0):,.0f} ± {release.size_sd:.2g}")
    console.print(table)
    if (release.merged_into != np.arange(len(release.sizes))).any():
        console.print("= marks groups that noise cannot tell apart: they have one centre, their sizes add up")
    for doubt in release.doubts:
        console.print(f"doubt: {doubt.text}", highlight=False)


@click.command()
@_FOLDER
@_JSON
@speaks
def verify(release: Path, as_json: bool) -> None:
    """Check that a RELEASE is whole: hashes, charges and results recomputed from its transcript.

    This shows integrity, not authorship: anybody can make a release that verifies.
    """
    from shoal.release import verify as check

    verdict = check(release)
    if as_json:
        write_json(
            {
                "ok": verdict.ok,
                "checks": [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in verdict.checks],
            }
        )
    else:
        click.echo(str(verdict))
    raise SystemExit(0 if verdict.ok else 1)


@click.command()
@_JSON
@speaks
def algorithms(as_json: bool) -> None:
    """List the algorithms, their papers and what is known of their privacy."""
    from shoal.algorithms import REGISTRY

    if as_json:
        words = ("name", "estimator", "paper", "condition", "proof")
        rows = REGISTRY.values()
        write_json([{w: getattr(info, w) for w in words} | {"status": info.status.value} for info in rows])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("--algorithm", "class", "paper", "status", "on condition that")
    for info in REGISTRY.values():
        table.add_row(info.name, info.estimator, info.paper, info.status.value, info.condition)
    Console().print(table)
