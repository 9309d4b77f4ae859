"""`shoal plan`: which epsilon, and how many rows, a wanted accuracy needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.reporting.console import command, say, write_json


@command()
@click.option("--k", type=int, required=True, help="How many groups.")
@click.option("--error", type=float, required=True, help="How far centres may be off, in widths of a group.")
@click.option("--width", type=float, help="Of a group, as a share of half the bounds, such as 0.1.")
@click.option("--columns", type=int, default=2, show_default=True, help="How many columns.")
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    help="A released synopsis, or groups, that show what it is like.",
)
@click.option("--algorithm", default="auto", show_default=True, help="See `shoal algorithms`.")
@click.option("--delta", type=float, default=0.0, help="Above 0 for (epsilon, delta); 0 by default.")
@click.option("--rows", type=float, help="Say which epsilon so many rows need.")
@click.option("--epsilon", type=float, help="Say how many rows this epsilon needs.")
@click.option("--out", type=click.Path(path_type=Path), help="Draw the curve to a PNG, SVG or PDF file.")
def plan(k: int, error: float, as_json: bool, **given: Any) -> None:
    """Say which epsilon, and how many rows, a wanted accuracy needs, by trying it on made-up rows.

    The rows are of so many even groups of a --width, or --like a synopsis that was released. No table is
    read, and nothing is spent.
    """
    import shoal
    from shoal.algorithms import lookup
    from shoal.errors import InvalidInput

    if (given["width"] is None) == (given["like"] is None):
        raise InvalidInput(
            "say what the table is like: --width 0.1 (of a group), or --like a released synopsis"
        )
    shape: Any = shoal.load(given["like"]) if given["like"] else None
    shape = shape or shoal.EvenGroups(k, given["width"], given["columns"])
    info = lookup(given["algorithm"])
    model = getattr(shoal, info.estimator)(k, epsilon=1.0, delta=given["delta"], **dict(info.parameters))
    found = shoal.plan(model, shape, error=error)
    if given["out"] is not None:
        found.plot().savefig(given["out"], dpi=144)
        say(f"drawn to {given['out']}")
    answers = {
        "epsilon": None if given["rows"] is None else found.epsilon_for(given["rows"]),
        "rows": None if given["epsilon"] is None else found.rows_for(given["epsilon"]),
    }
    if as_json:
        write_json({**found.to_dict(), **answers})
        return
    click.echo(str(found))
    if given["rows"] is not None and answers["epsilon"] is not None:
        click.echo(f"{given['rows']:,.0f} rows need epsilon {answers['epsilon']:g}")
    if given["epsilon"] is not None and answers["rows"] is not None:
        click.echo(f"epsilon {given['epsilon']:g} needs {answers['rows']:,.0f} rows")
