"""`shoal compare`: two releases side by side."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.reporting.console import command, say, write_json


@command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--noise-alone", is_flag=True, help="Go by the noise of the last answers only: quick.")
def compare(first: Path, second: Path, noise_alone: bool, as_json: bool) -> None:
    """Say which groups moved, came or went from the FIRST release to the SECOND by more than noise.

    Changes are held against total errors, where these are known of both releases.
    """
    from shoal.errors import InvalidInput
    from shoal.release import Release, load
    from shoal.release import compare as side_by_side

    found = []
    for folder in (first, second):
        release = load(folder)
        if not isinstance(release, Release):
            raise InvalidInput(
                f"{folder} holds no groups, but a synopsis or a coreset: it cannot be compared"
            )
        found.append(release)
    comparison = side_by_side(*found, total=not noise_alone)
    if as_json:
        write_json(comparison.to_dict())
        return
    for change in comparison.changes:
        click.echo(change.describe())
    say("\n" + "\n".join(comparison.notes))
