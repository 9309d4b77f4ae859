"""`shoal algorithms`: which there are, and what can be set of one."""

from __future__ import annotations

import inspect
from typing import Any

import click

from shoal.errors import InvalidInput
from shoal.reporting.console import command, write_json


@command()
@click.argument("name", required=False)
def algorithms(name: str | None, as_json: bool) -> None:
    """List the algorithms, their papers and what is known of their privacy; or tell all about NAME."""
    if name is None:
        _list(as_json)
    else:
        _tell(name, as_json)


def _list(as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from shoal.algorithms import PIPELINE_STEPS, REGISTRY, SYNOPSES

    if as_json:
        rooms = {"groups": REGISTRY, "synopsis": SYNOPSES, "step": PIPELINE_STEPS}
        write_json([{**_facts(info), "kind": kind} for kind, room in rooms.items() for info in room.values()])
        return
    table = Table("--algorithm", "class", "paper", "status", "on condition that")
    for info in REGISTRY.values():
        table.add_row(info.name, info.estimator, info.paper, info.status.value, info.condition)
    Console().print(table)
    click.echo(f"With --synopsis: {', '.join(SYNOPSES)}. Steps of pipelines: {', '.join(PIPELINE_STEPS)}.")
    click.echo("shoal algorithms NAME tells what can be set of one.")


def _tell(name: str, as_json: bool) -> None:
    import shoal
    from shoal.algorithms import PIPELINE_STEPS, REGISTRY, SYNOPSES
    from shoal.estimators.docstrings import entries, section
    from shoal.estimators.parameters import Common

    known = {**PIPELINE_STEPS, **SYNOPSES, **REGISTRY}
    info = known.get(name)
    if info is None:
        raise InvalidInput(f"there is no algorithm {name!r}; there are {', '.join(sorted(known))}")
    kind = getattr(shoal, info.estimator)
    told = entries(section(inspect.getdoc(kind) or "", "Parameters"))
    usual = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    common = {*Common.__annotations__, "n_clusters", "epsilon"}
    own = {n: entry for names, entry in told.items() for n in names.split(", ") if n not in common}
    if as_json:
        settable = [{"name": n, "default": _plain(usual[n]), "what": _text(e)} for n, e in own.items()]
        write_json({**_facts(info), "set": settable})
        return
    click.echo(f"{info.name}: {info.estimator}, {info.status.value}\n{info.paper}\n{info.condition}\n")
    takes = f"shoal.{info.estimator}, a step of pipelines in Python, takes:"
    takes = takes if name in PIPELINE_STEPS else "--set NAME=VALUE takes:"
    click.echo(takes if own else "Nothing of its own can be set.")
    for parameter, entry in own.items():
        kinds = entry.splitlines()[0].partition(" : ")[2]
        click.echo(f"  {parameter}={usual[parameter]}  ({kinds})")
        click.echo(click.wrap_text(_text(entry), 78, "      ", "      "))


def _facts(info: Any) -> dict[str, Any]:
    words = ("name", "estimator", "paper", "condition", "proof")
    return {word: getattr(info, word) for word in words} | {"status": info.status.value}


def _text(entry: str) -> str:
    """Return what an entry says, without its first line."""
    return " ".join(line.strip() for line in entry.splitlines()[1:])


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
