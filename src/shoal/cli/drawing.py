"""Options that say which ledger a command draws on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from shoal.errors import InvalidInput

LEDGER_VARIABLE = "SHOAL_LEDGER"
"""The environment variable that names the ledger, where an option does not."""

DRAWING_OPTIONS = (
    click.option(
        "--ledger", help=f"The ledger that holds the budget: a file or URL; {LEDGER_VARIABLE} if not given."
    ),
    click.option("--dataset", help="The data set of the ledger: its total is what may be spent."),
    click.option(
        "--part", multiple=True, help="The part to fit, as declared: column=level, column= for the rest."
    ),
    click.option("--resume", help="Go on with a fit of the ledger, with all else as it was."),
)
DRAWING_NAMES = ("ledger", "dataset", "part")
"""Those that a config file may have."""


@dataclass(frozen=True)
class Drawing:
    """The data set that a fit draws on, as asked for on the command line."""

    ledger: str | None = None
    dataset: str | None = None
    part: Mapping[str, str | None] | None = None
    resume: str | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Drawing:
        """Take what says so out of all settings."""
        return cls(
            settings.get("ledger"),
            settings.get("dataset"),
            _parse_part(settings.get("part")),
            settings.get("resume"),
        )

    def parameters(self) -> dict[str, Any]:
        """Open the data set; return it as the fit's budget, with whom it protects; {} if there is none."""
        from shoal.accounting import Accountant

        if self.dataset is None:
            for name in ("ledger", "part", "resume"):
                if getattr(self, name) is not None:
                    raise InvalidInput(f"--{name} needs --dataset: which data set of the ledger is it?")
            return {}
        ledger = self.ledger or os.environ.get(LEDGER_VARIABLE)
        if not ledger:
            raise InvalidInput(
                f"--dataset is in a ledger: name it with --ledger or {LEDGER_VARIABLE}, or make one with "
                "shoal budget create"
            )
        budget = Accountant.open(ledger, self.dataset, part=self.part, resume=self.resume)
        return {"unit": budget.charter.column, "neighbours": budget.charter.neighbours, "budget": budget}


def _parse_part(value: Any) -> Mapping[str, str | None] | None:
    if value is None or isinstance(value, dict):
        return value
    found: dict[str, str | None] = {}
    for entry in [value] if isinstance(value, str) else value:
        name, equals, level = entry.partition("=")
        if not name or not equals:
            raise InvalidInput(f"--part {entry!r} is not column=level")
        found[name] = level or None
    return found
