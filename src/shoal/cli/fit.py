"""`shoal fit`: from a file to a release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shoal.accounting import budget_of
from shoal.cli.options import TOTAL, Job, fit_options, read_job
from shoal.cli.records import record
from shoal.errors import DamagedFile, EngineFailed, GroupsOfNoise, InvalidInput, ShoalError, SuspectBounds
from shoal.reporting.console import Exit, command, fail, say, write_json


@command()
@fit_options
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder to write; must not exist."
)
@TOTAL
@click.option(
    "--engine",
    help="Let workers read the files: those of a cluster of this machine (dask), of a scheduler "
    "(dask://host:port), of Spark as it is set up here (spark) or of one of its masters (spark://host:port).",
)
def fit(out: Path, total: bool, engine: str | None, as_json: bool, **given: Any) -> None:
    """Find the groups of TABLE (files, a folder, a glob or - for standard input), privately.

    A release is written to a folder. With --synopsis, write the counts of its rows over a grid or a tree
    instead, or the points of a coreset.
    """
    from shoal.release import check_free

    job = read_job(**given)
    if total and job.synopsis:
        raise InvalidInput("a synopsis has no groups, and so no total errors: leave --total out")
    job = job.with_budget()
    check_free(out)
    with _connected(engine):
        job = replace(job, reading=replace(job.reading, engine=engine))
        model, spent = _fit(job, quiet=as_json)
    release = _with_totals(model.release_) if total else model.release_
    try:
        release.save(out)
    except InvalidInput as error:  # it could be written to before the fit
        gone = f"{_gone(model, model.certificate_.charges)}; nothing was written{_resume(job)}"
        fail(f"{error}. {gone}", Exit.SPENT)
    if as_json:
        write_json({"out": str(out), "spent": spent, **record(release, total=total)})
        return
    from shoal.cli.show import print_release

    print_release(release, total=total)
    if hasattr(model, "cost_curve_"):
        click.echo(f"\n{model.cost_curve_}")
    say(f"\nwritten to {out}. Check it with: shoal verify {out}")
    if (budget := job.parameters.get("budget")) is not None:
        say(f"{budget.dataset}: {budget.describe()}")


def _connected(engine: str | None) -> AbstractContextManager[Any]:
    if engine is None:
        return nullcontext()
    from shoal.sources.engines.files import connected

    return connected(engine)


def _fit(job: Job, *, quiet: bool) -> tuple[Any, float]:
    model, table = job.estimator(), job.open()
    paid: list[Any] = []
    model.on_charge = paid.append
    model.verbose = not quiet
    try:
        with warnings.catch_warnings():
            if not quiet:  # they are printed with the groups
                warnings.simplefilter("ignore", GroupsOfNoise)
                warnings.simplefilter("ignore", SuspectBounds)
            model.fit(table, sample_weight=job.weight)
    except (KeyboardInterrupt, ShoalError) as stop:
        if not paid and isinstance(stop, ShoalError):
            raise  # bad input, or no budget: nothing was spent
        interrupted = isinstance(stop, KeyboardInterrupt)
        # A damaged file or an engine says what was spent by itself.
        spent = "" if isinstance(stop, DamagedFile | EngineFailed) else f": {_gone(model, paid)}"
        why = "interrupted" if interrupted else str(stop)
        said = f"{why}{spent}; nothing was written{_resume(job)}"
        fail(said, Exit.INTERRUPTED if interrupted else Exit.SPENT)
    return model, sum(float(charge.amount) for charge in paid)


def _with_totals(release: Any) -> Any:
    """Add total errors; whoever does not wait for them does not lose what was paid for."""
    try:
        return release.with_totals()
    except KeyboardInterrupt:
        say("interrupted: the release is written without total errors; shoal show --total computes them")
        return release


def _resume(job: Job) -> str:
    """Say how to go on with a fit whose answers lie in a ledger."""
    budget = job.parameters.get("budget")
    if budget is None or budget.last_fit is None:
        return ""
    return f". Its answers are in the ledger: go on with --resume {budget.last_fit}"


def _gone(model: Any, charges: Sequence[Any]) -> str:
    """Say what was spent, in the terms that the budget was given in."""
    if not charges:
        return "nothing was spent"
    budget = budget_of(model.epsilon, model.delta)
    total = sum(charge.amount for charge in charges)
    if charges[0].currency == "epsilon":
        return f"{float(total):.6g} of epsilon = {float(budget.epsilon):g} was spent and is gone"
    return f"{100 * float(total / budget.amount):.3g} % of {budget.describe()} was spent and is gone"
