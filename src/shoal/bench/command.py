"""The `shoal bench` command."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from shoal import datasets
from shoal.errors import InvalidInput, ShoalError
from shoal.reporting.console import command, write_json

_RESULTS = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("benchmarks/results"),
    show_default=True,
    help="Directory of the raw results.",
)

# Runs with a page of their own: the parts of the flagship's run, all or one.
FLAGSHIP_RUNS = {
    "flagship": "What KMeans has to show: regret, loose bounds, peers, one mean, its own choice of k",
    "peers": "KMeans on the tables with stored figures of peers, beside them",
}
# All figures and tables of the five papers; what they need is kept packed.
PAPERS = "papers"


@click.group("bench")
def bench_group() -> None:
    """Measure accuracy and speed, and draw the report."""


@command("list")
def list_command(as_json: bool) -> None:
    """List the experiments, and what those that cannot run wait for."""
    from rich.console import Console
    from rich.table import Table

    from shoal.bench.experiments import EXPERIMENTS
    from shoal.bench.plan import awaited

    if as_json:
        write_json(
            [{"name": e.name, "title": e.title, "waits_for": list(awaited(e))} for e in EXPERIMENTS.values()]
            + [{"name": name, "title": title, "waits_for": []} for name, title in FLAGSHIP_RUNS.items()]
        )
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("waits for")
    for experiment in EXPERIMENTS.values():
        table.add_row(experiment.name, experiment.title, ", ".join(awaited(experiment)))
    for name, title in FLAGSHIP_RUNS.items():
        table.add_row(name, title, "")
    Console().print(table, highlight=False)


bench_group.add_command(list_command)


@bench_group.command("run")
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer runs, values and tables: minutes instead of hours.")
@click.option("--runs", type=click.IntRange(min=1), help="No more runs of each than these; more go on later.")
@click.option("--at", type=float, multiple=True, help="Only these values of what is varied; may be repeated.")
@click.option("--method", "labels", multiple=True, help="Only these methods, as figures call them.")
@click.option("--data", "only", multiple=True, help="Only these data sets; may be given several times.")
@click.option("--processes", type=click.IntRange(min=1), help="Worker processes; all cores if not given.")
@click.option("--fresh", is_flag=True, help="Set earlier results aside and begin anew.")
@click.option("--tuning", is_flag=True, help="flagship: only tables and seeds that tuning may see.")
@click.option("--held-out", is_flag=True, help="flagship: only tables that tuning may not see.")
@click.option(
    "--part", "parts", multiple=True, help="flagship: only these parts; may be given several times."
)
@_RESULTS
def run_command(
    names: tuple[str, ...],
    quick: bool,
    runs: int | None,
    at: tuple[float, ...],
    labels: tuple[str, ...],
    only: tuple[str, ...],
    processes: int | None,
    fresh: bool,
    tuning: bool,
    held_out: bool,
    parts: tuple[str, ...],
    results: Path,
) -> None:
    """Run experiments by NAME, "papers" (all figures of the five papers) or "all".

    Interrupt at will: running again goes on where it stopped.
    """
    from shoal.bench import experiments
    from shoal.bench.runner import pack, run

    if not names:
        raise click.UsageError("name an experiment, or 'all'; 'shoal bench list' shows them")
    if names[0] in FLAGSHIP_RUNS:
        if len(names) > 1:
            raise click.UsageError(f"{names[0]!r} is run by itself")
        if at or labels:
            raise click.UsageError(f"--at and --method are not for {names[0]!r}")
        if tuning and held_out:
            raise click.UsageError("--tuning and --held-out leave no table: give one of them, or neither")
        chosen_parts = ("peers",) if names[0] == "peers" else parts
        _run_flagship(chosen_parts, tuning, held_out, only, quick, runs, processes, fresh, results)
        return
    if tuning or held_out or parts:
        raise click.UsageError("--tuning, --held-out and --part are for 'flagship' and 'peers'")
    try:
        every = list(experiments.EXPERIMENTS) if names == ("all",) else names
        if names == (PAPERS,):
            # Cheapest first: whoever stops it has most verdicts.
            theirs = (e for e in experiments.EXPERIMENTS.values() if e.paper != "ours")
            every = [e.name for e in sorted(theirs, key=lambda e: e.hours)]
        chosen = [experiments.lookup(name) for name in every]
        chosen = [e.at(at) if at else e for e in chosen]
        chosen = [e.of(labels) if labels else e for e in chosen]
        for name in only:
            datasets.options(name)
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error
    try:
        chosen = [e if runs is None else e.with_runs(runs) for e in chosen]
        written = run(chosen, results=results, quick=quick, processes=processes, only=only, fresh=fresh)
        if names == (PAPERS,):
            pack(results)
    except KeyboardInterrupt:
        click.echo(f"Stopped. Finished runs are kept in {results}; the same command goes on.", err=True)
        raise SystemExit(130) from None
    except ShoalError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{written} new results in {results}. 'shoal bench report' draws them.")


def _run_flagship(
    parts: tuple[str, ...],
    tuning: bool,
    held_out: bool,
    only: tuple[str, ...],
    quick: bool,
    runs: int | None,
    processes: int | None,
    fresh: bool,
    results: Path,
) -> None:
    from shoal.bench.flagship.parts import PARTS
    from shoal.bench.flagship.run import run

    if unknown := [part for part in parts if part not in PARTS]:
        raise click.UsageError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    try:
        written = run(
            results=results,
            parts=parts or tuple(PARTS),
            tuning=tuning,
            held_out=held_out,
            only=only,
            quick=quick,
            runs=runs,
            processes=processes,
            fresh=fresh,
        )
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt:
        click.echo(f"Stopped. Finished runs are kept in {results}; the same command goes on.", err=True)
        raise SystemExit(130) from None
    name = "flagship-tuning" if tuning else "flagship"
    click.echo(f"{written} new results in {results}; {results / name}.md says what they show.")


@bench_group.command("report")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where report.html, report.md and figures/ go; inside the results directory if not given.",
)
@_RESULTS
def report_command(names: tuple[str, ...], out: Path | None, results: Path) -> None:
    """Draw the report from the results there are; nothing is run.

    With NAMEs, figures of these experiments only; all claims are judged either way.
    """
    from shoal.bench.experiments import lookup
    from shoal.bench.report import build

    target = out or results / "report"
    try:
        complaints = build(results, target, names=tuple(lookup(name).name for name in names))
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error}: install the extra 'bench' (pip install 'shoal[bench]')"
        ) from error
    for complaint in complaints:
        click.echo(complaint, err=True)
    click.echo(f"{target / 'report.html'}\n{target / 'report.md'}")


@bench_group.group("peers")
def peers_group() -> None:
    """Other libraries to compare with, each in an environment of its own."""


@peers_group.add_command
@command("list")
def peers_list(as_json: bool) -> None:
    """List the peers and whether they are installed."""
    from shoal.bench import peers

    if as_json:
        homes = {name: str(peers.home(name)) for name in peers.PEERS if peers.installed(name)}
        write_json(
            [
                {"name": name, "installed": homes.get(name), "requirements": list(peer.requirements)}
                for name, peer in peers.PEERS.items()
            ]
        )
        return
    for name, peer in peers.PEERS.items():
        state = f"installed in {peers.home(name)}" if peers.installed(name) else "not installed"
        click.echo(f"{name}: {state} ({', '.join(peer.requirements)})")


@peers_group.command("setup")
@click.argument("names", metavar="[NAME]...", nargs=-1)
def peers_setup(names: tuple[str, ...]) -> None:
    """Make the environments of peers with venv and pip; all of them if none is named."""
    from shoal.bench import peers

    for name in names:
        if name not in peers.PEERS:
            near = difflib.get_close_matches(name, peers.PEERS, n=3, cutoff=0.4) or list(peers.PEERS)
            raise click.UsageError(f"there is no peer {name!r}; did you mean {' or '.join(map(repr, near))}?")
    # Those on no package index are set up when they are named: whoever does so has them.
    for name in names or [name for name, peer in peers.PEERS.items() if not peer.place]:
        click.echo(f"{name}: setting up in {peers.home(name)}")
        try:
            versions = peers.setup(name)
        except peers.PeerFailed as error:
            raise click.ClickException(str(error)) from error
        click.echo(f"{name}: " + ", ".join(f"{package} {version}" for package, version in versions.items()))
