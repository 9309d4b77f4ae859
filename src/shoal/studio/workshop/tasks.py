"""A job as its own process sees it: what is asked, and where to tell how far it is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from shoal.accounting import Accountant, Charge
from shoal.sources import FileTable
from shoal.studio.workshop.draft import Draft
from shoal.studio.workshop.jobs import RUNNING
from shoal.studio.workshop.models import table_of
from shoal.studio.workshop.store import Memory, dumps, now
from shoal.studio.workshop.values import Source

# Seconds between two lines about progress.
_FLICKER = 0.2


class Task:
    """One job, in its process.

    Parameters
    ----------
    home : Path
        The studio's folder.
    job : str
        Its id.
    """

    def __init__(self, home: Path, job: str) -> None:
        self.home, self.id = home, job
        self.memory = Memory(home / "studio.db")
        row = self._row()
        self.kind, self.study, self.by = row["kind"], row["study"], row["owner"]
        self.request: dict[str, Any] = json.loads(row["request"])
        self.draft = Draft.from_dict(self.request["draft"])
        self.source = Source(**self.request["source"])
        self._told = 0.0

    def _row(self) -> Any:
        return self.memory.one("SELECT * FROM jobs WHERE id = ?", (self.id,))

    @property
    def state(self) -> str:
        """Its state now."""
        return str(self._row()["state"])

    @property
    def approved_by(self) -> str | None:
        """Who approved it."""
        found: str | None = self._row()["approved_by"]
        return found

    @property
    def is_to_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return bool(self._row()["stop"])

    def table(self) -> FileTable:
        """Open the table; no row is read."""
        return table_of(self.source, self.draft)

    def budget(self, fit: str) -> Any:
        """Open the ledger for a fit of this name: begun once, and gone on with if it was begun."""
        ledger = self.draft.ledger or str(self.home / "budget.ledger")
        return Accountant.open(ledger, self.draft.dataset, fit=fit)

    def become(self, state: str, message: str, result: dict[str, Any] | None = None) -> None:
        """Tell of another state."""
        whole = {"progress": 1.0} if result is not None else {}
        fields = {"state": state, "message": message, "updated": now(), **whole}
        if result is not None:
            fields["result"] = dumps(result)
        said = ", ".join(f"{name} = ?" for name in fields)
        self.memory.change(f"UPDATE jobs SET {said} WHERE id = ?", (*fields.values(), self.id))

    def tell(self, progress: float, message: str) -> None:
        """Tell how far it is; not more often than anybody could read."""
        if time.monotonic() - self._told < _FLICKER:
            return
        self._told = time.monotonic()
        self.memory.change(
            "UPDATE jobs SET progress = ?, message = ?, updated = ? WHERE id = ? AND state = ?",
            (min(max(progress, 0.0), 1.0), message, now(), self.id, RUNNING),
        )

    def watch(self, model: Any, start: float, end: float, what: str) -> None:
        """Have an estimator tell of its charges, from one share of the work to another."""
        from shoal.estimators.progress import rehearsed_questions

        schema = model._open(self.table(), None).schema
        about = rehearsed_questions(model, schema) or 10
        asked = 0

        def paid(charge: Charge) -> None:
            nonlocal asked
            asked += 1
            share = asked / max(about + 1, asked + 1)
            self.tell(start + share * (end - start), f"{what}: {charge.question}")

        self.tell(start, f"{what}: reading")
        model.on_charge = paid
