"""`shoal ask`: what can be had of a released synopsis, as often as wanted and at no further cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from shoal.cli.records import load_groups
from shoal.reporting.console import command, say, write_json


@command()
@click.argument("synopsis", type=click.Path(path_type=Path))
@click.option("--k", type=int, multiple=True, help="Find this many groups; several times for several.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    help="Folder to write the synopsis to again, with the groups for each --k; must not exist.",
)
@click.option(
    "--box", multiple=True, help="Count the rows of a box: name=low:high once per column, others unlimited."
)
@click.option("--sample", type=int, help="Draw this many synthetic rows; needs --out.")
@click.option("--out", type=click.Path(path_type=Path), help="CSV file for the synthetic rows.")
def ask(
    synopsis: Path,
    k: tuple[int, ...],
    save: Path | None,
    box: tuple[str, ...],
    sample: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask a SYNOPSIS (`shoal fit --synopsis`) for groups, for the rows of a box, or for synthetic rows.

    A coreset (`--synopsis --algorithm coreset`) gives groups.

    It was paid for when it was made; nothing here touches the table or costs anything.
    """
    from shoal.errors import InvalidInput
    from shoal.release import CoresetRelease, SynopsisRelease

    if not k and not box and sample is None:
        raise InvalidInput("ask for something: --k 5, --box name=low:high or --sample 1000 --out rows.csv")
    if (sample is None) != (out is None):
        raise InvalidInput("--sample and --out go together: say how many synthetic rows, and where to")
    if out is not None and out.exists():
        raise InvalidInput(f"the output file {out} exists; give another name, or move it away first")
    release = load_groups(synopsis)
    if isinstance(release, CoresetRelease) and (box or sample is not None):
        raise InvalidInput(f"{synopsis} is a coreset: it gives groups (--k), not counts or synthetic rows")
    if not isinstance(release, SynopsisRelease | CoresetRelease):
        raise InvalidInput(f"{synopsis} holds groups, not a synopsis; make one with: shoal fit --synopsis")
    found: dict[str, Any] = {}
    if save is not None and not (k and isinstance(release, SynopsisRelease)):
        raise InvalidInput("--save keeps groups (--k) beside the synopsis that they were found on")
    several = {str(one): _groups(release, one) for one in k}
    if several:
        found["groups"] = several[str(k[0])] if len(k) == 1 else several
    if save is not None and isinstance(release, SynopsisRelease):
        release.save(save, groups=k)
        found["saved"] = str(save)
    if box and isinstance(release, SynopsisRelease):
        found["rows"], found["standard_error"] = release.count(*_ends(release, box))
    if sample is not None and out is not None:
        _write(release, sample, out)
        found["sample"] = str(out)
    if as_json:
        write_json(found)
    else:
        _print(release, found, several)


def _groups(release: Any, k: int) -> list[dict[str, Any]]:
    from shoal.cli.records import groups_of

    return groups_of(release.names, *release.kmeans(k))


def _ends(release: Any, box: tuple[str, ...]) -> tuple[list[float], list[float]]:
    from shoal.cli.parsing import named_range
    from shoal.errors import InvalidInput

    ranges = dict(named_range(entry) for entry in box)
    if unknown := [name for name in ranges if name not in release.names]:
        raise InvalidInput(f"the synopsis has no column {unknown[0]!r}; it has {', '.join(release.names)}")
    ends = [ranges.get(name, (-math.inf, math.inf)) for name in release.names]
    return [low for low, _ in ends], [high for _, high in ends]


def _write(release: Any, n: int, out: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv

    pa.csv.write_csv(release.sample(n, like="pyarrow"), str(out))


def _print(release: Any, found: dict[str, Any], several: dict[str, Any]) -> None:
    from rich.console import Console

    from shoal.cli.show import print_table
    from shoal.release.told import size_with_error

    for k, groups in several.items():
        lines = [
            [str(i), *map("{:.6g}".format, group["centre"].values()), f"{max(group['size'], 0):,.0f}"]
            for i, group in enumerate(groups)
        ]
        title = f"{k} groups found on the released counts"
        print_table(Console(), title, ["group", *release.names, "size"], lines)
    if "rows" in found:
        click.echo(f"{size_with_error(found['rows'], found['standard_error'])} rows in the box")
    if "saved" in found:
        say(f"written to {found['saved']}, with the groups")
    if "sample" in found:
        say(f"synthetic rows written to {found['sample']}")
