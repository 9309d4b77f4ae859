"""A study: one opened table with its declarations, explored on made-up rows and released once."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.accounting import Pure
from shoal.domain.bounds import geographic_axis
from shoal.errors import BudgetExceeded, InvalidInput
from shoal.release.synopsis import SynopsisRelease
from shoal.sources import FileTable
from shoal.studio.workshop import models, repeat
from shoal.studio.workshop.draft import ESTIMATE, Draft, digest
from shoal.studio.workshop.jobs import AWAITING, DONE, FAILED, PREPARE, RELEASE, STOPPED, WAITING, Job
from shoal.studio.workshop.levels import LEVELS, Level, level_of
from shoal.studio.workshop.prices import price
from shoal.studio.workshop.releases import ReleaseRecord
from shoal.studio.workshop.store import dumps, now
from shoal.studio.workshop.values import ColumnInfo, LevelView, Price, Source

if TYPE_CHECKING:
    from shoal.queries import NotForRelease
    from shoal.studio.workshop.studio import Studio


class Study:
    """One opened table. All that it says is read anew, so that two tabs see the same.

    Made by :meth:`Studio.open`.

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

    def declare(self, **changes: Any) -> Study:
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

    def current_job(self) -> Job | None:
        """Return the release that was asked for under the present token, if one was."""
        row = self.studio.memory.one("SELECT * FROM jobs WHERE token = ?", (self.token,))
        return None if row is None else Job.of(row, self.studio)

    def another(self) -> str:
        """Ask for another release of this study: a new token, which can be spent once more."""
        token = secrets.token_urlsafe(18)
        self.studio.memory.change("UPDATE studies SET token = ? WHERE id = ?", (token, self.id))
        return token

    def close(self) -> None:
        """Close the study; what was sent for it is deleted, what was released stays."""
        source = self.source
        self.studio.memory.change("UPDATE studies SET closed = ? WHERE id = ?", (now(), self.id))
        if source.kind == "upload":
            shutil.rmtree(Path(source.path).parent, ignore_errors=True)

    # The one paid look, and what is free from then on.

    def price_of_preview(self) -> Price:
        """Return what the one look costs: nothing, where it was paid for."""
        draft = self._ready()
        return price(self, draft.preview_epsilon, what="the look", paid=self._look_folder().is_dir())

    def prepare(
        self, levels: Sequence[Level | str | float] = LEVELS, *, by: str = "curator", seed: int = 0
    ) -> Job:
        """Pay for one small synopsis, once, and try every level on rows made up from it.

        Parameters
        ----------
        levels : sequence of Level, str or float
            Which; all that have names, if not given.
        by : str
            Who asks.
        seed : int
            Of made-up rows and of what is tried on them: public.
        """
        draft = self._ready()
        wanted = [level_of(level).to_dict() for level in levels]
        key = self._view_key(draft)
        token = f"prepare:{self.id}:{key}:{digest(wanted)}:{seed}"
        if not self.price_of_preview().enough:
            raise BudgetExceeded(self.price_of_preview().sentence)
        models.check_plan(self, draft.preview_epsilon)
        request = {
            "levels": wanted,
            "seed": seed,
            "draft": draft.to_dict(),
            "source": self.source.to_dict(),
            "look": self._look_key(draft),
            "views": key,
        }
        return self._ask(PREPARE, token, request, by, WAITING)

    def views(self) -> tuple[LevelView, ...]:
        """Return the levels that were prepared for the present declarations, strongest first."""
        found = models.read_views(self._views_file())
        return found if self.draft.zones is None else tuple(map(models.without_zones, found))

    def view(self, level: Level | str | float) -> LevelView:
        """Return one prepared level."""
        wanted = level_of(level)
        for view in self.views():
            if view.level.epsilon == wanted.epsilon:
                return view
        raise InvalidInput(f"level {wanted.name!r} is not prepared yet for these declarations: prepare it")

    def look(self) -> SynopsisRelease | None:
        """Return the released synopsis that made-up rows are drawn from; None before it is paid for."""
        folder = self._look_folder()
        return SynopsisRelease.load(folder) if folder.is_dir() else None

    def bounds(self) -> dict[str, tuple[Any, Any]] | None:
        """Return the bounds that maps open on: declared, or released by the look; None before that."""
        found: dict[str, tuple[Any, Any]] | None
        found = models.bounds_of(self.draft, self.look() if self.draft.bounds == ESTIMATE else None)
        return found

    def clipped(self) -> dict[str, dict[str, float]]:
        """Return what share of each column is missing, below and above the bounds, as the look counted.

        Each has the standard deviation of its noise, `noise_sd`. Empty before the look is paid for.
        """
        look = self.look()
        return {} if look is None else {name: dict(found) for name, found in look.certificate.clipped.items()}

    # Looking at real rows.

    def look_at_real_rows(self, on: bool = True, *, by: str = "curator") -> Study:
        """Switch the red layer on or off. That is recorded in the ledger, and later certificates say it.

        Parameters
        ----------
        on : bool
            Whether real rows may be looked at, on the curator's screen alone.
        by : str
            Who switches it.
        """
        draft = self._ready()
        if on and not self.looks:
            # First the record: who crashes in between has looked at nothing, and it says that they may have.
            models.note_look(self.studio.accountant(draft.dataset, draft.ledger), by)
        if not on:
            for key in [key for key in self.studio.red if key[0] == self.id]:
                self.studio.red.pop(key, None)
        self.studio.memory.change("UPDATE studies SET looks = ? WHERE id = ?", (int(on), self.id))
        return self

    def red_centres(self) -> NotForRelease:
        """Return centres of k-means without privacy: for the curator's screen, and nowhere else."""
        return self._seen("", lambda: models.red_centres(self))

    def preview(self, level: Level | str | float) -> NotForRelease:
        """Return centres of a level tried on the real rows, unpaid: for the curator's screen alone.

        Parameters
        ----------
        level : Level, str or float
            Which.
        """
        epsilon = level_of(level).epsilon
        return self._seen(f":{epsilon}", lambda: models.preview_centres(self, epsilon))

    def _seen(self, which: str, compute: Callable[[], NotForRelease]) -> NotForRelease:
        draft = self._ready()
        if not self.looks:
            raise InvalidInput("the real rows are not looked at: switch that on first; it is recorded")
        # In this process's memory only, for as long as nothing else is declared.
        key = (self.id, self._view_key(draft) + which)
        if key not in self.studio.red:
            self.studio.red[key] = compute()
        return self.studio.red[key]

    # Release.

    def price_of(self, level: Level | str | float) -> Price:
        """Return what a release at a level costs, what remains after it, and what all of it amounts to."""
        wanted, draft = level_of(level), self.draft
        neighbours = self.studio.accountant(draft.dataset, draft.ledger).charter.neighbours
        lost = models.losses_of(draft, wanted.epsilon, neighbours)
        return price(self, lost, what=f"a release at level {wanted.name!r}")

    def release(
        self,
        level: Level | str | float,
        token: str | None = None,
        *,
        by: str = "curator",
        coreset: bool = False,
        approval: bool | None = None,
    ) -> Job:
        """Release at a level: spend once per token, however often it is asked for.

        Parameters
        ----------
        level : Level, str or float
            Which; its epsilon is the price of all that is released.
        token : str
            The study's token, as it was when the page was opened.
        by : str
            Who asks.
        coreset : bool
            Whether half of the price goes to a private coreset beside the centres. Not with zones: it has one
            level for the whole table.
        approval : bool, optional
            Whether a second person must approve; as the studio has it, if not given.
        """
        wanted = level_of(level)
        token = self.token if token is None else token
        known = self.studio.memory.one("SELECT * FROM jobs WHERE token = ?", (token,))
        if known is not None:
            return self._same(Job.of(known, self.studio), wanted)
        if token != self.token:
            raise InvalidInput(
                "something else was declared since this page was opened: look at it again, then release. "
                "Nothing was spent"
            )
        draft = self._ready()
        if coreset and draft.zones is not None:
            raise InvalidInput(
                "a coreset has one level for the whole table, and would take more from a row in a zone than "
                "its zone promises: release it without zones, or leave it out. Nothing was spent"
            )
        if not (cost := self.price_of(wanted)).enough:
            raise BudgetExceeded(cost.sentence)
        models.check_plan(self, wanted.epsilon)
        waits = self.studio.two_people if approval is None else approval
        request = {
            "level": wanted.to_dict(),
            "draft": draft.to_dict(),
            "bounds": self.bounds(),
            "source": self.source.to_dict(),
            "title": self.title,
            "coreset": bool(coreset),
            "look": self._look_key(draft) if self._look_folder().is_dir() else None,
            # Names of the fits in the ledger: drawn before anything is charged, so that they are begun once.
            "fits": {"centres": secrets.token_hex(8), "coreset": secrets.token_hex(8)},
        }
        return self._same(self._ask(RELEASE, token, request, by, AWAITING if waits else WAITING), wanted)

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs of this study, the newest first."""
        return tuple(job for job in self.studio.jobs() if job.study == self.id)

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases of this study, the newest first."""
        return tuple(record for record in self.studio.releases() if record.study == self.id)

    # The same thing elsewhere.

    def as_python(self, level: Level | str | float | None = None) -> str:
        """Return a step as Python: the release at a level or, before one is chosen, the look."""
        return repeat.as_python(self, None if level is None else level_of(level))

    def as_command(self, level: Level | str | float | None = None) -> str:
        """Return a step as a command: the release at a level or, before one is chosen, the look."""
        return repeat.as_command(self, None if level is None else level_of(level))

    # How.

    def _ready(self) -> Draft:
        draft = self.draft
        if missing := draft.missing():
            raise InvalidInput(f"before anything is read, declare {'; '.join(missing)}")
        return draft

    def _same(self, job: Job, level: Level) -> Job:
        if job.kind != RELEASE or job.study != self.id:
            raise InvalidInput("this token belongs to something else: open the page again")
        if job.request["level"]["epsilon"] != level.epsilon:
            raise InvalidInput(
                f"this was released at level {job.request['level']['name']!r} already; for another one, "
                "ask for another. Nothing more was spent"
            )
        return job

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
