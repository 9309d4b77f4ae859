"""Jobs: long work in processes of their own, remembered, so that it goes on after a restart."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import InvalidInput
from shoal.studio.workshop.store import now

if TYPE_CHECKING:
    from shoal.studio.workshop.archive import Archive

AWAITING, WAITING, RUNNING = "awaiting approval", "waiting", "running"
DONE, STOPPED, FAILED, REFUSED = "done", "stopped", "failed", "refused"
OVER = (DONE, STOPPED, FAILED, REFUSED)
"""States that a job stays in."""
PREPARE, RELEASE = "prepare", "release"

# Seconds between two looks at a job that is waited for.
_LOOK = 0.1


@dataclass(frozen=True)
class Job:
    """Long work, as it was when it was looked at; `refreshed` looks again.

    Parameters
    ----------
    id : str
        Its name.
    kind : {"prepare", "release"}
        What it does.
    study : str
        For which study.
    state : str
        "awaiting approval", "waiting", "running", "done", "stopped", "failed" or "refused".
    progress : float
        From 0 to 1.
    message : str
        What it does now, or why it is over, in words.
    by, approved_by : str
        Who asked for it, and who approved.
    created, updated : str
        When, in UTC.
    request : dict
        What was asked for.
    result : dict
        What came of it: of a release, its id.
    """

    id: str
    kind: str
    study: str
    state: str
    progress: float
    message: str
    by: str
    approved_by: str | None
    created: str
    updated: str
    request: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    _studio: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, row: sqlite3.Row, studio: Archive) -> Job:
        """Read a job of the studio's database."""
        return cls(
            row["id"],
            row["kind"],
            row["study"],
            row["state"],
            row["progress"],
            row["message"],
            row["owner"],
            row["approved_by"],
            row["created"],
            row["updated"],
            json.loads(row["request"]),
            json.loads(row["result"] or "{}"),
            studio,
        )

    @property
    def over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in OVER

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        return {n: v for n, v in asdict(_bare(self)).items() if not n.startswith("_")}

    def refreshed(self) -> Job:
        """Return the job as it is now."""
        studio: Archive = self._studio
        return studio.job(self.id)

    def wait(self, seconds: float = 600.0) -> Job:
        """Return the job when it is over or waits for somebody, or as it is after so many seconds."""
        until, job = time.monotonic() + seconds, self.refreshed()
        while not job.over and job.state != AWAITING and time.monotonic() < until:
            time.sleep(_LOOK)
            job = job.refreshed()
        return job

    def stop(self) -> Job:
        """Ask it to stop. What was charged until then counts, and it can be gone on with."""
        studio: Archive = self._studio
        studio.memory.change(
            "UPDATE jobs SET stop = 1, updated = ? WHERE id = ? AND state IN (?, ?)",
            (now(), self.id, WAITING, RUNNING),
        )
        return self.refreshed()

    def resume(self) -> Job:
        """Go on with a job that was stopped or failed: from the ledger, with nothing spent twice."""
        studio: Archive = self._studio
        changed = studio.memory.change(
            "UPDATE jobs SET state = ?, stop = 0, message = '', updated = ? WHERE id = ? AND state IN (?, ?)",
            (WAITING, now(), self.id, STOPPED, FAILED),
        )
        if changed:
            studio.start(self.id)
        return self.refreshed()

    def approve(self, by: str) -> Job:
        """Approve a release that somebody else asked for; it begins.

        Parameters
        ----------
        by : str
            Who approves: not who asked.
        """
        studio: Archive = self._studio
        if by == self.by:
            raise InvalidInput(f"{by} asked for this release; a second person has to approve it")
        changed = studio.memory.change(
            "UPDATE jobs SET state = ?, approved_by = ?, message = '', updated = ? "
            "WHERE id = ? AND state = ? AND owner != ?",
            (WAITING, by, now(), self.id, AWAITING, by),
        )
        if changed:
            studio.start(self.id)
        return self.refreshed()

    def refuse(self, by: str, why: str = "") -> Job:
        """Refuse a release that awaits approval, or take back one's own: nothing was spent.

        Parameters
        ----------
        by : str
            Who.
        why : str
            A word to whoever asked.
        """
        studio: Archive = self._studio
        message = f"refused by {by}{': ' + why if why else ''}; nothing was spent"
        studio.memory.change(
            "UPDATE jobs SET state = ?, message = ?, updated = ? WHERE id = ? AND state = ?",
            (REFUSED, message, now(), self.id, AWAITING),
        )
        return self.refreshed()


def _bare(job: Job) -> Job:
    from dataclasses import replace

    return replace(job, _studio=None)
