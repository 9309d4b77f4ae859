"""`shoal profile`: what groups are like in columns that did not decide them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import Reading
from shoal.cli.parsing import number, parse
from shoal.reporting.console import command, say, write_json


@command()
@click.argument("release", type=click.Path(path_type=Path))
@click.argument("table", type=str, nargs=-1, required=True)
@click.option(
    "--bounds", multiple=True, required=True, help="A column to profile: name=low:high, or boolean."
)
@click.option("--epsilon", type=str, required=True, help="Privacy loss allowed for the profile.")
@click.option("--delta", type=str, default="0", help="Above 0 for (epsilon, delta); 0 by default.")
@click.option("--unit", help="Column that names the person whose rows are protected together.")
@click.option("--max-rows", type=int, default=1, help="The most rows of one person that are kept.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder to write; must not exist."
)
def profile(release: Path, table: tuple[str, ...], out: Path, as_json: bool, **given: Any) -> None:
    """Ask TABLE for noisy means of further columns, for each group of a RELEASE, and write them to a folder.

    It is a question of its own, with a budget of its own; what a release and its profile cost adds up.
    """
    from shoal import GroupProfile
    from shoal.errors import InvalidInput
    from shoal.release import Release, check_free, load

    found = load(release)
    if not isinstance(found, Release):
        raise InvalidInput(f"{release} holds no groups, but a synopsis or a coreset")
    check_free(out)
    model = GroupProfile(
        found,
        epsilon=number(given["epsilon"], "--epsilon"),
        delta=number(given["delta"], "--delta"),
        bounds=parse("bounds", given["bounds"]),
        unit=given["unit"],
        max_rows=given["max_rows"],
    ).fit(Reading().open(table))
    model.release_.save(out)
    header, lines = model.told()
    if as_json:
        means = [dict(zip(model.names_, map(float, line), strict=True)) for line in model.means_]
        noise = [dict(zip(model.names_, map(float, line), strict=True)) for line in model.means_noise_sd_]
        write_json({"out": str(out), "means": means, "noise_sd": noise, "sizes": model.sizes_.tolist()})
        return
    from rich.console import Console

    from shoal.cli.show import tables

    console = Console()
    for shown in tables("Means (± is privacy noise)", header, lines, console.width):
        console.print(shown)
    say(f"\nwritten to {out}. Check it with: shoal verify {out}")
