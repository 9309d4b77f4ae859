"""`shoal explain`: the price and the accuracy, before anything is spent."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import click

from shoal.cli.options import fit_options, read_job
from shoal.reporting.console import command, write_json


@command()
@fit_options
@click.option("--rows", type=str, required=True, help="A guess of the number of rows, such as 1e6.")
def explain(rows: str, as_json: bool, **given: Any) -> None:
    """Say what a fit of TABLE would spend on what, and how accurate it should be.

    No row is read, only the names and types of the columns.
    """
    from shoal.cli.parsing import number
    from shoal.estimators.explanation import explain as rehearse

    job = read_job(**given)
    plan = rehearse(job.estimator(), job.open().schema, number(rows, "--rows"))
    if as_json:
        write_json(plan.to_dict())
    else:
        _print(plan)


def _print(plan: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{plan.algorithm}[/] ({plan.status}), {plan.budget}")
    console.print(f"{plan.risk}.\n")
    charges = Table("times", "what is asked", "noise", "share of each", title="What would be paid")
    total = sum(float(charge.amount) for charge in plan.charges)
    for charge, alike in groupby(plan.charges):
        share = f"{float(charge.amount) / total:.1%}"
        charges.add_row(str(len(list(alike))), charge.question, charge.mechanism.split("(")[0], share)
    console.print(charges)
    console.print(f"\nWhat would be released: {plan.released}")
    unit = "" if plan.bounds_known else " (as a share of the half width; bounds are not known yet)"
    console.print(f"\nWith {plan.rows:,.0f} rows, a group of average size has about {plan.group_size:,.0f}.")
    console.print(f"Predicted noise of a size, for a given grouping: ± {plan.size_error:,.1f}")
    console.print(f"Predicted noise of a centre{unit}, for a given grouping:")
    for name, error in plan.centre_error.items():
        console.print(f"  {name:<20} ± {error:.4g}")
    if plan.mostly_noise:
        console.print(
            "\n[yellow]The answer would be mostly noise.[/] Raise epsilon, ask for fewer groups, "
            "give tighter bounds, or cluster more rows."
        )
