"""`shoal budget`: data sets in a ledger, what was spent on them, and whether all is as it was written."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from shoal.accounting import ZCDP, Accountant
from shoal.accounting.windows import RENEWALS
from shoal.cli.drawing import LEDGER_VARIABLE
from shoal.cli.parsing import named_levels, number
from shoal.ledger import Record, open_store
from shoal.ledger import backup as write_backup
from shoal.ledger import migrate as move_ledger
from shoal.ledger import restore as read_backup
from shoal.reporting.console import Exit, command, say, write_json

_LEDGER = click.option(
    "--ledger",
    envvar=LEDGER_VARIABLE,
    required=True,
    help=f"A file, or a postgresql:// URL; {LEDGER_VARIABLE} if not given.",
)
_NAME = click.argument("dataset")


@click.group("budget")
def budget_group() -> None:
    """Keep a budget that survives, in a ledger: for months, colleagues and machines."""


def _subcommand(name: str, *options: Any) -> Callable[[Callable[..., Any]], click.Command]:
    def make(function: Callable[..., Any]) -> click.Command:
        for option in reversed((*options, _LEDGER)):
            function = option(function)
        made = command(name)(function)
        budget_group.add_command(made)
        return made

    return make


@_subcommand(
    "create",
    _NAME,
    click.option("--epsilon", type=str, help="The total privacy loss of all fits together."),
    click.option("--delta", type=str, help="Above 0 for (epsilon, delta); 0 by default."),
    click.option("--rho", type=str, help="Instead of epsilon: a zCDP total."),
    click.option(
        "--pure", type=str, help="With delta: the part of epsilon kept for pure fits beside others."
    ),
    click.option("--unit", help="Column that names the person; a row is protected if not given."),
    click.option(
        "--neighbours",
        type=click.Choice(["add-remove", "replace"]),
        default="add-remove",
        help="What all fits hide: that a row is there (the default), or what it says (replace).",
    ),
    click.option(
        "--parts", multiple=True, help="A public column and its levels, disjoint: region=north,south."
    ),
    click.option(
        "--parts-per-person", type=int, help="The most parts of a column that are read of a person."
    ),
    click.option(
        "--renew", "renewal", type=click.Choice(RENEWALS), help="The budget is there anew so often."
    ),
    click.option("--decided-by", help="With --renew: who has decided it. Certificates name them."),
)
def create(ledger: str, dataset: str, parts: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Put DATASET with a total into a ledger, which is made if it is not there."""
    terms = {name: value for name, value in given.items() if value is not None}
    for name in ("epsilon", "delta", "rho", "pure"):
        if name in terms:
            number(terms[name], f"--{name}")  # an error that names the option; text itself is exact
            terms[name] = Fraction(terms[name])
    if parts:
        terms["parts"] = dict(named_levels(entry, "--parts") for entry in parts)
    accountant = Accountant.create(ledger, dataset, **terms)
    if as_json:
        write_json(described(accountant))
        return
    print_budget(accountant)
    say(f"\nuse it with: shoal fit ... --ledger {accountant.ledger} --dataset {dataset}")


@_subcommand("show", _NAME)
def show(ledger: str, dataset: str, as_json: bool) -> None:
    """Show what DATASET has left, and fits that are not over."""
    accountant = Accountant.open(ledger, dataset)
    if as_json:
        write_json(described(accountant))
    else:
        print_budget(accountant)


@_subcommand("list")
def list_datasets(ledger: str, as_json: bool) -> None:
    """List the data sets of a ledger."""
    found = [Accountant.open(ledger, name) for name in open_store(ledger).datasets()]
    if as_json:
        write_json([described(accountant) for accountant in found])
        return
    for accountant in found:
        click.echo(f"{accountant.dataset}: {accountant.describe()}")


@_subcommand("history", _NAME)
def history(ledger: str, dataset: str, as_json: bool) -> None:
    """Tell what was recorded of DATASET, in order."""
    records = Accountant.open(ledger, dataset).records()
    if as_json:
        write_json([_shown(record) for record in records])
        return
    for record in records:
        click.echo(
            f"{record.number:>5}  {record.time}  {record.hash[:12]}  {_line(record.kind, record.content)}"
        )


@_subcommand("close", _NAME)
def close(ledger: str, dataset: str, as_json: bool) -> None:
    """Close DATASET: nothing more can be reserved from it."""
    accountant = Accountant.open(ledger, dataset)
    accountant.close()
    if as_json:
        write_json(described(accountant))
    else:
        say(f"{dataset} is closed; its history stays")


@_subcommand(
    "verify",
    _NAME,
    click.option(
        "--certificate",
        "certificates",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A release's folder; may be given again. What contradicts it is found.",
    ),
)
def verify(ledger: str, dataset: str, certificates: tuple[Path, ...], as_json: bool) -> None:
    """Check that DATASET's records are whole, in order and within its total, and fit certificates."""
    from shoal.accounting.verifying import NOTE, Claim, verify_dataset
    from shoal.release import load

    held = [(str(folder), load(folder).certificate) for folder in certificates]
    claims = [Claim(name, found.ledger, found.charges) for name, found in held]
    checks = verify_dataset(open_store(ledger), dataset, claims)
    ok = all(check.ok for check in checks)
    if as_json:
        rows = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        write_json({"ok": ok, "checks": rows, "note": NOTE})
    else:
        for check in checks:
            click.secho("ok      " if check.ok else "FAILED  ", fg="green" if check.ok else "red", nl=False)
            click.echo(f"{check.name}: {check.detail}")
        say(NOTE)
    if not ok:
        raise SystemExit(int(Exit.FAILED))


@_subcommand(
    "backup", click.option("--out", type=click.Path(path_type=Path), required=True, help="A new file.")
)
def backup(ledger: str, out: Path, as_json: bool) -> None:
    """Write all data sets of a ledger to one file, which its owner alone can read."""
    heads = write_backup(open_store(ledger), out)
    if as_json:
        write_json({name: {"record": number, "head": found} for name, (number, found) in heads.items()})
        return
    for name, (record, found) in heads.items():
        click.echo(f"{name}: {record} records, sha256 {found}")


@_subcommand("restore", click.argument("backup_file", type=click.Path(path_type=Path)))
def restore(ledger: str, backup_file: Path, as_json: bool) -> None:
    """Write the data sets of BACKUP_FILE into a new ledger.

    What was spent since is not in it. Verify it with every certificate that was issued after the backup.
    """
    names = read_backup(backup_file, open_store(ledger))
    if as_json:
        write_json(list(names))
        return
    say(
        f"restored {', '.join(names)}. What was spent after the backup is not in it: run shoal budget verify "
        "with all later certificates"
    )


@_subcommand("migrate", click.option("--to", help="Another ledger; if not given, to this Shoal's version."))
def migrate(ledger: str, to: str | None, as_json: bool) -> None:
    """Move all data sets to another ledger, or bring this one up to this Shoal's version."""
    if to is None:
        before, after = open_store(ledger).upgrade()
        done: Any = {"from_version": before, "to_version": after}
        text = (
            f"version {before} is now version {after}"
            if before < after
            else f"it has version {after} already"
        )
    else:
        names = move_ledger(open_store(ledger), open_store(to))
        done = list(names)
        text = f"moved {', '.join(names)} to {open_store(to).shown}; from the old ledger nothing can be spent"
    if as_json:
        write_json(done)
    else:
        say(text)


def described(accountant: Any) -> dict[str, Any]:
    """Return what is known of a data set, for machines."""
    book, charter = accountant.book, accountant.charter
    plain = charter.to_plain()
    del plain["parts_key"]
    return {
        "dataset": accountant.dataset,
        "ledger": accountant.ledger,
        **plain,
        "spent": float(accountant.spent),
        "left": float(accountant.left),
        "currency": "rho" if isinstance(accountant.budget, ZCDP) else "epsilon",
        "window": accountant.window,
        "windows": list(book.windows()) if charter.renewal else [],
        "closed": book.closed,
        "fits": len(book.fits),
        "open_fits": [
            {"fit": fit.id, "label": fit.label, "since": fit.time, "budget": fit.budget.describe()}
            for fit in book.fits.values()
            if fit.open
        ],
        "notes": list(book.notes),
        "record": book.known[0],
        "head": book.known[1],
    }


def print_budget(accountant: Any) -> None:
    """Print what a data set has left."""
    for name, text in accountant.summary():
        click.echo(f"{name:<10}{text}")


def _shown(record: Record) -> dict[str, Any]:
    """Return a record for machines, without the keys that choose rows and parts of people."""
    body = record.content
    body.pop("key", None)
    body.get("charter", {}).pop("parts_key", None)
    return {"record": record.number, "time": record.time, "kind": record.kind, **body, "hash": record.hash}


def _line(kind: str, body: dict[str, Any]) -> str:
    fit = body.get("fit", "")
    if kind == "created":
        return f"created with {_budget(body['charter']['budget'])}"
    if kind == "reserved":
        part = "" if body["part"] is None else f", part {body['part'][0]} = {body['part'][1] or 'others'}"
        window = f", window {body['window']}" if body["window"] else ""
        return f"fit {fit}  {body['label']} reserves {_budget(body['budget'])}{part}{window}"
    if kind == "charged":
        amount = f"{body['currency']} {float(Fraction(body['amount'])):.6g}"
        return f"fit {fit}  charged {amount} for question {body['number']}: {body['question']}"
    if kind == "answered":
        return f"fit {fit}  answered question {body['number']}"
    if kind == "resumed":
        lost = float(Fraction(body["lost"]))
        return f"fit {fit}  resumed" + (f", {lost:.6g} was charged without an answer" if lost else "")
    if kind == "ended":
        return f"fit {fit}  ended: {body['outcome']}"
    return " ".join([kind, *(str(value) for value in body.values())])


def _budget(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {float(Fraction(value)):g}" for name, value in values.items())
