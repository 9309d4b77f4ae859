"""`shoal explain`: the price and the accuracy, before anything is spent."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import fit_options, read_job
from shoal.reporting.console import command, write_json


@command()
@fit_options
@click.option("--rows", type=str, required=True, help="A guess of the number of rows, such as 1e6.")
@click.option(
    "--like",
    help="What the table is like: the folder of a release, or a made-up family such as separated_gaussians. "
    "Says how much more groups would cost than without privacy.",
)
def explain(rows: str, like: str | None, as_json: bool, **given: Any) -> None:
    """Say what a fit of TABLE would spend on what, and how accurate it should be.

    No row is read, only the names and types of the columns.
    """
    from shoal.cli.parsing import number
    from shoal.estimators.explanation import explain as rehearse

    job = read_job(**given)
    schema, about = job.open().schema, number(rows, "--rows")
    model = job.estimator()
    shape = None if like is None else _shape(like, len(schema.names), getattr(model, "n_clusters", 1))
    plan = rehearse(model, schema, about, like=shape)
    if like is not None and not Path(like).exists():
        plan = replace(plan, like=f"the made-up family {like}")
    if as_json:
        write_json(plan.to_dict())
    else:
        _print(plan)


def _shape(like: str, columns: int, k: Any) -> Any:
    """Load a release, or make up a family of as many columns and groups, scaled to any bounds."""
    if Path(like).exists():
        from shoal.release import load

        return load(like)
    from shoal import datasets
    from shoal.errors import InvalidInput

    known = datasets.names("synthetic")
    if like not in known:
        raise InvalidInput(f"--like {like}: no such folder, nor a family; there are {', '.join(known)}")
    groups = k if isinstance(k, int) else 5
    data = datasets.load(like, d=columns, k=groups, n=30_000, seed=0)
    return _Family(data.scaled(), columns)


class _Family:
    """A made-up family as a shape: rows in [-1, 1]."""

    def __init__(self, points: Any, columns: int) -> None:
        self._points, self.columns = points, columns

    def rows(self, n: int, seed: int) -> Any:  # noqa: ARG002 - it was drawn with a seed of its own
        return self._points[:n]


def _print(plan: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{plan.algorithm}[/] ({plan.status}), {plan.budget}")
    console.print(f"{plan.risk}.\n")
    charges = Table("times", "what is asked", "noise", "share of each", title="What would be paid")
    totals = _totals(plan.charges) if plan.zones else {}
    total = sum(float(charge.amount) for charge in plan.charges)
    for charge, alike in groupby(plan.charges):
        share = f"{float(charge.amount) / totals.get(_zone(charge), total):.1%}"
        charges.add_row(str(len(list(alike))), charge.question, charge.mechanism.split("(")[0], share)
    console.print(charges)
    if plan.zones:
        _print_zones(plan, console)
        return
    console.print(f"\nWhat would be released: {plan.released}")
    unit = "" if plan.bounds_known else " (as a share of the half width; bounds are not known yet)"
    console.print(f"\nWith {plan.rows:,.0f} rows, a group of average size has about {plan.group_size:,.0f}.")
    console.print(f"Predicted noise of a size, for a given grouping: ± {plan.size_error:,.1f}")
    console.print(f"Predicted noise of a centre{unit}, for a given grouping:")
    for name, error in plan.centre_error.items():
        console.print(f"  {name:<20} ± {error:.4g}")
    if plan.excess is not None:
        console.print(
            f"\nFor a table like {plan.like}, groups would cost about {plan.excess:.1%} more than without "
            f"privacy (at worst {plan.worst_excess:.1%} in these runs).",
            highlight=False,
        )
    if plan.mostly_noise:
        console.print(
            "\n[yellow]The answer would be mostly noise.[/] Raise epsilon, ask for fewer groups, "
            "give tighter bounds, or cluster more rows."
        )


def _zone(charge: Any) -> str:
    return str(charge.question).partition(": ")[0]


def _totals(charges: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for charge in charges:
        found[_zone(charge)] = found.get(_zone(charge), 0.0) + float(charge.amount)
    return found


def _print_zones(plan: Any, console: Any) -> None:
    """Print what each zone costs and would be worth."""
    from rich.table import Table

    columns = list(next(iter(plan.zones.values()))["centre_error"])
    noise = [f"noise of {name}" for name in columns]
    table = Table(
        "zone", "price", "rows", "released", "noise of a size", *noise, title="\nWhat zones would have"
    )
    for name, of in plan.zones.items():
        errors = [f"± {of['centre_error'][column]:.2g}" for column in columns]
        table.add_row(
            name, of["budget"], f"{of['rows']:,.0f}", of["released"], f"± {of['size_error']:,.1f}", *errors
        )
    console.print(table)
    console.print(
        f"\nTogether {plan.budget}: a row is in one zone, and a person in no more than they have rows. The "
        f"{plan.rows:,.0f} rows are imagined to be spread evenly over the bounds."
    )
    for name, of in plan.zones.items():
        if of["mostly_noise"]:
            console.print(
                f"[yellow]Zone {name} would be mostly noise.[/] Raise its epsilon, ask for fewer groups "
                "there, or make it larger."
            )
