"""A study: one opened table with its declarations, explored on made-up rows and released once."""

from __future__ import annotations

import secrets

from shoal.errors import BudgetExceeded, InvalidInput
from shoal.studio.workshop import models, repeat
from shoal.studio.workshop.explored import Explored
from shoal.studio.workshop.jobs import AWAITING, RELEASE, WAITING, Job
from shoal.studio.workshop.levels import Level, level_of
from shoal.studio.workshop.prices import price
from shoal.studio.workshop.releases import ReleaseRecord
from shoal.studio.workshop.values import Price


class Study(Explored):
    """One opened table. All that it says is read anew, so that two tabs see the same.

    Made by :meth:`Studio.open`. It is opened and declared (`opened.py`), explored (`explored.py`), and here
    released.

    Parameters
    ----------
    id : str
        Its name in the studio.
    studio : Studio
        Whose it is.
    """

    # Release.

    def current_job(self) -> Job | None:
        """Return the release that was asked for under the present token, if one was."""
        row = self.studio.memory.one("SELECT * FROM jobs WHERE token = ?", (self.token,))
        return None if row is None else Job.of(row, self.studio)

    def another(self) -> str:
        """Ask for another release of this study: a new token, which can be spent once more."""
        token = secrets.token_urlsafe(18)
        self.studio.memory.change("UPDATE studies SET token = ? WHERE id = ?", (token, self.id))
        return token

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

    def _same(self, job: Job, level: Level) -> Job:
        if job.kind != RELEASE or job.study != self.id:
            raise InvalidInput("this token belongs to something else: open the page again")
        if job.request["level"]["epsilon"] != level.epsilon:
            raise InvalidInput(
                f"this was released at level {job.request['level']['name']!r} already; for another one, "
                "ask for another. Nothing more was spent"
            )
        return job
