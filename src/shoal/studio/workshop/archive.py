"""What a studio keeps in its folder: jobs, and what was released by them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InvalidInput
from shoal.studio.workshop.jobs import RUNNING, WAITING, Job
from shoal.studio.workshop.processes import Processes
from shoal.studio.workshop.releases import ReleaseRecord
from shoal.studio.workshop.store import Memory

if TYPE_CHECKING:
    pass

_FOLDERS = ("uploads", "looks", "views", "releases", "locks", "demo")


class Archive:
    """A folder that its owner alone can enter, with long work and its results; it survives restarts.

    Parameters
    ----------
    home : path
        The folder, made if it is not there.
    """

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self.home = Path(home).expanduser().resolve()
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home.chmod(0o700)
        for name in _FOLDERS:
            (self.home / name).mkdir(mode=0o700, exist_ok=True)
        self.memory = Memory(self.home / "studio.db")
        self._processes = Processes(self)

    # Jobs.

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the newest first."""
        rows = self.memory.all("SELECT * FROM jobs ORDER BY created DESC, rowid DESC")
        return tuple(Job.of(row, self) for row in rows)

    def job(self, id: str) -> Job:
        """Return a job by its id."""
        row = self.memory.one("SELECT * FROM jobs WHERE id = ?", (id,))
        if row is None:
            raise InvalidInput(f"there is no job {id!r}")
        return Job.of(row, self)

    def start(self, id: str) -> None:
        """Have a job done by a process of its own."""
        self._processes.start(id)

    def recover(self) -> tuple[Job, ...]:
        """Go on with all that was under way when the studio ended; return it. Call it once, at the start."""
        rows = self.memory.all("SELECT id FROM jobs WHERE state IN (?, ?)", (WAITING, RUNNING))
        for row in rows:
            self.start(row["id"])
        return tuple(self.job(row["id"]) for row in rows)

    # Releases.

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return all releases, the newest first."""
        rows = self.memory.all("SELECT * FROM releases ORDER BY created DESC, rowid DESC")
        return tuple(ReleaseRecord.of(row, self.home) for row in rows)

    def release(self, id: str) -> ReleaseRecord:
        """Return a release by its id."""
        row = self.memory.one("SELECT * FROM releases WHERE id = ?", (id,))
        if row is None:
            raise InvalidInput(f"there is no release {id!r}")
        return ReleaseRecord.of(row, self.home)

    def shared(self, name: str) -> ReleaseRecord:
        """Return a release by the name under which it is shared with anybody who has it."""
        row = self.memory.one("SELECT * FROM releases WHERE shared = ?", (name,))
        if row is None:
            raise InvalidInput("there is no such release, or it is not shared any more")
        return ReleaseRecord.of(row, self.home)

    def share(self, release: str, on: bool = True) -> ReleaseRecord:
        """Give a release a public read-only page, or take it away.

        Parameters
        ----------
        release : str
            Its id.
        on : bool
            Whether anybody who has the name may see it.
        """
        name = secrets.token_urlsafe(12) if on else None
        keep = " AND shared IS NULL" if on else ""
        self.memory.change(f"UPDATE releases SET shared = ? WHERE id = ?{keep}", (name, release))
        return self.release(release)

    def history(self) -> list[dict[str, Any]]:
        """Tell what was released and asked for, the newest first, for a page."""
        releases = {record.job: record for record in self.releases()}
        return [
            {**job.to_dict(), "release": releases[job.id].to_dict() if job.id in releases else None}
            for job in self.jobs()
            if job.kind == "release"
        ]
