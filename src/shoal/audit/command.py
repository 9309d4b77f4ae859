"""`shoal audit`: try to catch an algorithm leaking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from shoal.errors import ShoalError
from shoal.reporting.console import Exit, command, write_json


@command("audit")
@click.argument("algorithm", required=False)
@click.option(
    "--all", "every", is_flag=True, help="Audit every algorithm, synopsis and step at epsilon 0.5, 1 and 3."
)
@click.option(
    "--epsilon", type=float, multiple=True, help="The claim to test; 1 if not given. May be repeated."
)
@click.option("--runs", type=int, help="Runs on each table of a case [what a minute allows; 600 with --all].")
@click.option(
    "--thorough",
    is_flag=True,
    help="Make 2,000 runs on each table, or 20,000 with --all.",
)
@click.option("--canary", "canaries", multiple=True, help="Only this pair of tables. May be repeated.")
@click.option(
    "--every-canary", is_flag=True, help="Also those pairs that are about code which other algorithms have."
)
@click.option("--processes", type=int, help="Processes; all cores if not given.")
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep findings in this file; what is there already is not done again.",
)
@click.option(
    "--fresh", multiple=True, help="Do this algorithm again, whatever --results has. May be repeated."
)
@click.option("--out", type=click.Path(dir_okay=False), help="Write PATH.md and PATH.html as well.")
def audit_command(
    algorithm: str | None,
    every: bool,
    epsilon: tuple[float, ...],
    runs: int | None,
    thorough: bool,
    canaries: tuple[str, ...],
    every_canary: bool,
    processes: int | None,
    results: Path | None,
    fresh: tuple[str, ...],
    as_json: bool,
    out: str | None,
) -> None:
    """Try to catch ALGORITHM leaking more than it claims.

    ALGORITHM is one of `shoal algorithms`, a synopsis or a step of a pipeline, by its name or its class:
    lloyd, KMeans, grid-synopsis, PrivateScaler. It takes about a minute, and says what it could have shown.

    Neighbouring tables are told apart by everything that can be seen; losses are computed exactly; noise is
    tested against its law; a run is repeated without its rows; and what a model holds is searched.

    With --results, interrupt at will: the same command goes on where it stopped.

    Exit codes: 0 nothing detected, 1 a leak, 2 bad usage.
    """
    if every == (algorithm is not None):
        raise click.UsageError("name an algorithm, or use --all")
    if canaries and every_canary:
        raise click.UsageError("name canaries, or use --every-canary")
    if runs is not None and thorough:
        raise click.UsageError("say how many --runs, or be --thorough")
    if fresh and results is None:
        raise click.UsageError("--fresh is about findings that were kept: say where, with --results")
    how = {"canaries": canaries or None, "every": every_canary, "processes": processes, "results": results}
    try:
        report = _run(algorithm, epsilon, runs or _usual_runs(every, thorough, results), fresh, how)
    except ShoalError as error:
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        kept = "" if results is None else f"; findings are kept in {results}, and the same command goes on"
        click.echo(f"interrupted{kept}", err=True)
        sys.exit(int(Exit.INTERRUPTED))
    _show(report, as_json, out)
    sys.exit(int(Exit.DONE if report.passed else Exit.FAILED))


def _usual_runs(every: bool, thorough: bool, results: Path | None) -> int | None:
    if thorough:
        return 20_000 if every else 2000
    if every:
        return 600
    # Findings that are kept are for a number of runs; what a minute allows would be another one every time.
    return None if results is None else 400


def _run(
    algorithm: str | None,
    epsilon: tuple[float, ...],
    runs: int | None,
    fresh: tuple[str, ...],
    how: dict[str, Any],
) -> Any:
    from shoal.audit.audited import audited
    from shoal.audit.progress import Bar
    from shoal.audit.suite import EPSILONS, audit_all

    with Bar() as watch:
        return audit_all(
            algorithms=None if algorithm is None else [audited(algorithm)],
            epsilons=epsilon or (EPSILONS if algorithm is None else (1.0,)),
            runs=runs,
            fresh=[audited(name) for name in fresh],
            watch=watch,
            **how,
        )


def _show(report: Any, as_json: bool, out: str | None) -> None:
    from rich.console import Console

    from shoal.audit.pages import rich_table, write

    if out is not None:
        for path in write(report, out):
            click.echo(f"written: {path}", err=True)
    if as_json:
        write_json(report.to_dict())
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)  # in a file, lines need not fit a window
    console.print(rich_table(report))
    for name in dict.fromkeys(f.algorithm for f in report.subjects):
        for epsilon in dict.fromkeys(f.epsilon for f in report.subjects if f.algorithm == name):
            console.print(_verdict(report, name, epsilon), highlight=False)
    if any(f.audit == "black box" for f in report.subjects):
        console.print(
            f"With {report.runs:,} runs on each table the black box could have shown an epsilon of up to "
            f"{report.power:.2f}; the exact audit shows smaller leaks.",
            highlight=False,
        )


def _verdict(report: Any, name: str, epsilon: float) -> str:
    from rich.markup import escape

    mine = [f for f in report.subjects if f.algorithm == name and f.epsilon == epsilon]
    caught = [f for f in mine if not f.passed]
    lower = [f.measured for f in mine if f.audit == "black box"]
    found = f"lower bound {max(lower):.2f}, claimed {epsilon:g}" if lower else f"claimed {epsilon:g}"
    if not caught:
        return f"[green]not detected[/]: {name}, {found} ({len(mine)} audits)"
    why = escape("; ".join(f"{f.audit}: {f.detail}" for f in caught))
    return f"[bold red]leaks[/]: {name}, {found}; {why}"
