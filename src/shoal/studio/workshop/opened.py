"""A table that was opened: what it is, and what was declared of it. All that it says is read anew."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.accounting import Pure
from shoal.domain.bounds import geographic_axis
from shoal.errors import InvalidInput
from shoal.sources import FileTable
from shoal.studio.workshop import models
from shoal.studio.workshop.draft import Draft
from shoal.studio.workshop.jobs import DONE, FAILED, PREPARE, STOPPED, WAITING, Job
from shoal.studio.workshop.levels import Level, level_of
from shoal.studio.workshop.store import dumps, now
from shoal.studio.workshop.values import ColumnInfo, Source

if TYPE_CHECKING:
    from shoal.studio.workshop.studio import Studio


class Opened:
    """The first story of a study: a table is opened and declared. Nothing is read but names and types.

    Parameters
    ----------
    id : str
        Its name in the studio.
    studio : Studio
        Whose it is.
    """

    def __init__(self, id: str, studio: Studio) -> None:
        self.id = id
        self.studio = studio

    # What it is.

    def _row(self) -> Any:
        row = self.studio.memory.one("SELECT * FROM studies WHERE id = ?", (self.id,))
        if row is None:
            raise InvalidInput(f"there is no study {self.id!r}; it may have been closed")
        return row

    @property
    def title(self) -> str:
        """What it is called."""
        return str(self._row()["title"])

    @property
    def by(self) -> str:
        """Who opened it."""
        return str(self._row()["owner"])

    @property
    def source(self) -> Source:
        """Where the table is."""
        return Source(**json.loads(self._row()["source"]))

    @property
    def draft(self) -> Draft:
        """What was declared so far."""
        return Draft.from_dict(json.loads(self._row()["draft"]))

    @property
    def token(self) -> str:
        """The key under which this study is released once.

        All tabs have the same one, until something else is declared or `another` release is asked for.
        """
        return str(self._row()["token"])

    @property
    def looks(self) -> bool:
        """Whether real rows are shown on the curator's screen now."""
        return bool(self._row()["looks"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        row, draft = self._row(), self.draft
        return {
            "id": self.id,
            "title": row["title"],
            "by": row["owner"],
            "created": row["created"],
            "source": {**self.source.to_dict(), "path": self.source.name},
            "draft": draft.to_dict(),
            "missing": list(draft.missing()),
            "looks": bool(row["looks"]),
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "summary": self.summary(),
        }

    def summary(self) -> str:
        """Sum up the choices so far in one line."""
        draft = self.draft
        parts = [self._row()["title"]]
        parts.append(
            ", ".join(draft.columns[:4]) + (", ..." if len(draft.columns) > 4 else "") or "no columns yet"
        )
        parts.append("groups: let the data say" if draft.k == "auto" else f"{draft.k} groups")
        who = "one row" if draft.unit is None else f"one {draft.unit} with up to {draft.max_rows} rows"
        parts.append(f"protects {who}")
        parts.append(f"budget {draft.dataset!r}" if draft.dataset else "no budget yet")
        parts += [f"delta {draft.delta:g}"] if draft.delta else []
        if (level := self.chosen) is not None:
            parts.append(f"level {level.name!r}")
        return " · ".join(parts)

    def schema(self) -> tuple[ColumnInfo, ...]:
        """Return the names and types of the file's own schema; no cell is read.

        Of a file of text the first line is taken for names where the curator has declared that it holds them
        (`header`); without, names are those declared as columns, in order.
        """
        draft = self.draft
        table = FileTable(self.source.path, None if draft.header else draft.columns, header=draft.header)
        return tuple(ColumnInfo(name, kind, geographic_axis(name)) for name, kind in table.offered.items())

    # What is declared.

    def declare(self, **changes: Any) -> Self:
        """Declare columns, bounds, k, the budget and all else that is public; see :class:`Draft`.

        What cannot be is refused at once; nothing is read but names and types.

        Parameters
        ----------
        **changes
            Any of the parameters of :class:`Draft`, and `title`.
        """
        title = changes.pop("title", None)
        before = self.draft
        draft = before.changed(changes)
        if draft.dataset:
            charter = self.studio.accountant(draft.dataset, draft.ledger).charter
            if "unit" in changes and changes["unit"] != charter.column:
                raise InvalidInput(
                    f"data set {draft.dataset!r} protects {_whom(charter.column)}, and "
                    f"{_whom(changes['unit'])} is asked for: losses add up for one kind only. Declare "
                    "that, or another data set"
                )
            if draft.delta and isinstance(charter.budget, Pure):
                raise InvalidInput(
                    f"delta is {draft.delta:g}, and data set {draft.dataset!r} lays down "
                    f"{charter.budget.describe()} with none: declare delta=0, or another data set"
                )
            draft = draft.changed({"unit": charter.column})
        if draft.zones != before.zones:
            if self.looks:
                raise InvalidInput(
                    "zones are fixed before real rows are shown, since their borders are published: switch "
                    "that off first"
                )
            models.zones_of(draft)
        if draft.columns:
            models.check_table(self.source, draft)
        with self.studio.memory.writing() as connection:
            connection.execute("UPDATE studies SET draft = ? WHERE id = ?", (dumps(draft.to_dict()), self.id))
            if title is not None:
                connection.execute("UPDATE studies SET title = ? WHERE id = ?", (str(title), self.id))
            if draft != before:
                connection.execute(
                    "UPDATE studies SET token = ? WHERE id = ?", (secrets.token_urlsafe(18), self.id)
                )
        return self

    @property
    def chosen(self) -> Level | None:
        """The level that was chosen on a page; it binds nobody."""
        found = self.studio.memory.setting(f"level:{self.id}")
        return None if found is None else level_of(found)

    def choose(self, level: Level | str | float) -> Level:
        """Keep the level that the slider is on."""
        wanted = level_of(level)
        self.studio.memory.set(f"level:{self.id}", wanted.epsilon)
        return wanted

    def close(self) -> None:
        """Close the study; what was sent for it is deleted, what was released stays."""
        source = self.source
        self.studio.memory.change("UPDATE studies SET closed = ? WHERE id = ?", (now(), self.id))
        if source.kind == "upload":
            shutil.rmtree(Path(source.path).parent, ignore_errors=True)

    # How.

    def _ready(self) -> Draft:
        draft = self.draft
        if missing := draft.missing():
            raise InvalidInput(f"before anything is read, declare {'; '.join(missing)}")
        return draft

    def _ask(self, kind: str, token: str, request: dict[str, Any], by: str, state: str) -> Job:
        """Write a job down, once per token, and have it done."""
        memory, id = self.studio.memory, secrets.token_hex(8)
        made = memory.change(
            "INSERT INTO jobs (id, kind, study, token, request, state, owner, created, updated) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (token) DO NOTHING",
            (id, kind, self.id, token, dumps(request), state, by, now(), now()),
        )
        row = memory.one("SELECT * FROM jobs WHERE token = ?", (token,))
        job = Job.of(row, self.studio)  # type: ignore[arg-type]
        if made and state == WAITING:
            self.studio.start(job.id)
        elif not made and kind == PREPARE and job.state in (STOPPED, FAILED):
            return job.resume()
        elif not made and kind == PREPARE and job.state == DONE and not self._views_file().is_file():
            memory.change("UPDATE jobs SET state = ? WHERE id = ?", (FAILED, job.id))
            return job.resume()
        return job.refreshed()

    def _look_key(self, draft: Draft) -> str:
        return draft.look_key(self.source.to_dict())

    def _view_key(self, draft: Draft) -> str:
        return draft.view_key(self.source.to_dict())

    def _look_folder(self) -> Path:
        return self.studio.home / "looks" / self._look_key(self.draft)

    def _views_file(self) -> Path:
        return self.studio.home / "views" / f"{self._view_key(self.draft)}.json"

    def __repr__(self) -> str:
        return f"<Study {self.summary()}>"


def _whom(column: str | None) -> str:
    return "a row" if column is None else f"a person (column {column!r})"
