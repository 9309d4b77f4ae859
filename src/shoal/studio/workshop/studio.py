"""A studio: a folder with studies, jobs, releases and a ledger, that survives restarts."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from shoal.accounting import Accountant
from shoal.errors import InvalidInput
from shoal.queries import NotForRelease
from shoal.sources.files import find_files
from shoal.studio.workshop.archive import Archive
from shoal.studio.workshop.draft import Draft
from shoal.studio.workshop.jobs import OVER
from shoal.studio.workshop.store import dumps, now
from shoal.studio.workshop.story import BudgetStory, story_of
from shoal.studio.workshop.study import Study
from shoal.studio.workshop.values import Source

LOCAL = "curator"
"""Who does what nobody is named for: the one user of a studio without users."""
UPLOAD_LIMIT = 2 * 2**30
"""Bytes of a file that may be sent, unless told otherwise: a browser sends no more in one go."""


class Studio(Archive):
    """What a studio does, without any page.

    Parameters
    ----------
    home : path
        A folder, made if it is not there, that its owner alone can enter (0700): `studio.db`, a ledger,
        files that were sent, and releases. What was under way when a studio ended goes on.
    two_people : bool, optional
        Whether a release waits until a second person approves it; as it was, if not given.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> studio = Studio.demo(folder.name)
    >>> study = studio.studies()[0]
    >>> study.title, [column.name for column in study.schema()]
    ('Made-up city pick-ups', ['longitude', 'latitude'])
    >>> studio.budget("city").left
    10.0
    >>> folder.cleanup()
    """

    def __init__(self, home: str | os.PathLike[str], *, two_people: bool | None = None) -> None:
        super().__init__(home)
        with self.memory.writing() as connection:  # whoever is first draws it
            connection.execute(
                "INSERT OR IGNORE INTO settings VALUES ('id', ?)", (dumps(secrets.token_hex(16)),)
            )
        if two_people is not None:
            self.memory.set("two_people", bool(two_people))
        self.red: dict[tuple[str, str], NotForRelease] = {}  # what curators look at now; never written down

    @classmethod
    def demo(cls, home: str | os.PathLike[str] | None = None, **how: Any) -> Studio:
        """Return a studio with the made-up city in it, and a budget for it.

        Parameters
        ----------
        home : path, optional
            As above; a new temporary folder, if not given.
        **how
            As for the class.
        """
        from shoal.studio.workshop.demo import add_city

        studio = cls(tempfile.mkdtemp(prefix="shoal-studio-") if home is None else home, **how)
        add_city(studio)
        return studio

    # Settings and ledgers.

    @property
    def id(self) -> str:
        """Drawn at random when the studio was made."""
        return str(self.memory.setting("id"))

    @property
    def two_people(self) -> bool:
        """Whether a release waits until a second person approves it."""
        return bool(self.memory.setting("two_people", False))

    @property
    def ledger(self) -> str:
        """The studio's own ledger."""
        return str(self.home / "budget.ledger")

    def datasets(self, ledger: str = "") -> tuple[str, ...]:
        """Return the data sets of a ledger; of the studio's own, if not given."""
        from shoal.ledger import open_store

        where = ledger or self.ledger
        if "://" not in where and not Path(where).is_file():
            return ()
        return tuple(open_store(where).datasets())

    def create_dataset(self, name: str, *, epsilon: float, ledger: str = "", **terms: Any) -> BudgetStory:
        """Lay down a budget for a table: its total, and whom it protects. It cannot be raised later.

        Parameters
        ----------
        name : str
            The data set.
        epsilon : float
            The total of all releases.
        ledger : str
            Where; the studio's own, if not given.
        **terms
            As for :meth:`shoal.Accountant.create`: `delta`, `unit`, `neighbours`, `renewal`, ...
        """
        Accountant.create(ledger or self.ledger, name, epsilon=epsilon, **terms)
        return self.budget(name, ledger)

    def accountant(self, dataset: str, ledger: str = "", **how: Any) -> Any:
        """Open a data set of a ledger."""
        return Accountant.open(ledger or self.ledger, dataset, **how)

    def budget(self, dataset: str, ledger: str = "") -> BudgetStory:
        """Tell the story of a data set's ledger: what was laid down, what went where, what is left.

        Parameters
        ----------
        dataset : str
            The data set.
        ledger : str
            Where; the studio's own, if not given.
        """
        return story_of(self.accountant(dataset, ledger), self.releases())

    # Studies.

    def open(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "",
        by: str = LOCAL,
        source: Source | None = None,
        session: str | None = None,
        **declared: Any,
    ) -> Study:
        """Open a table as a new study. Its names and types can be asked for; no row is read.

        Parameters
        ----------
        path : path, optional
            A Parquet, CSV or Arrow file, a folder or a pattern.
        title : str
            What the study is called; the file's name, if not given.
        by : str
            Who opens it.
        source : Source, optional
            Instead of a path: what was sent (`upload`), or a public table (`public`).
        session : str, optional
            The session that it belongs to, where what was sent is deleted when that ends.
        **declared
            As for :meth:`Study.declare`.
        """
        if source is None:
            if path is None:
                raise InvalidInput("no table is named: give a path, a file that was sent, or a public table")
            found = Path(path).expanduser()
            source = Source("path", str(found.resolve()), found.name)
        find_files(source.path, None)  # it is there, and is known by its name
        draft = Draft().changed(declared)
        id = secrets.token_hex(8)
        self.memory.change(
            "INSERT INTO studies (id, title, source, draft, token, owner, session, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                id,
                title or Path(source.name).stem,
                dumps(source.to_dict()),
                dumps(draft.to_dict()),
                secrets.token_urlsafe(18),
                by,
                session,
                now(),
            ),
        )
        study = self.study(id)
        return study.declare(**declared) if declared else study

    def study(self, id: str) -> Study:
        """Return a study by its id."""
        if self.memory.one("SELECT 1 FROM studies WHERE id = ?", (id,)) is None:
            raise InvalidInput(f"there is no study {id!r}; it may have been closed")
        return Study(id, self)

    def studies(self) -> tuple[Study, ...]:
        """Return the studies that are open, the newest first."""
        rows = self.memory.all(
            "SELECT id FROM studies WHERE closed IS NULL ORDER BY created DESC, rowid DESC"
        )
        return tuple(Study(row["id"], self) for row in rows)

    def public(self, name: str, *, by: str = LOCAL) -> Study:
        """Open a public table to rehearse on, with a budget of its own.

        Parameters
        ----------
        name : str
            One of `shoal.datasets`' tables that need no download: "iris", "wine", "digits", ...
        by : str
            Who opens it.
        """
        from shoal.studio.workshop.demo import add_public

        return add_public(self, name, by)

    # What is sent.

    def upload(self, name: str, content: BinaryIO | Iterable[bytes], limit: int = UPLOAD_LIMIT) -> Source:
        """Keep a file that was sent, for the owner of the studio alone; refuse one that is too large.

        Parameters
        ----------
        name : str
            What it was called; only the last part counts.
        content : file or iterable of bytes
            Its bytes, piece by piece.
        limit : int
            The most bytes.
        """
        plain = Path(name.replace("\\", "/")).name
        if not plain or plain.startswith(".") or not plain.isprintable() or len(plain) > 200:
            raise InvalidInput("the file's name cannot be used; call it something like trips.parquet")
        folder = self.home / "uploads" / secrets.token_hex(16)
        folder.mkdir(mode=0o700)
        path = folder / plain
        try:
            pieces = iter(lambda: content.read(2**20), b"") if hasattr(content, "read") else content
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                size = 0
                for piece in pieces:
                    size += len(piece)
                    if size > limit:
                        raise InvalidInput(
                            f"the file is larger than {limit / 2**20:,.0f} MB: put it beside the studio and "
                            "open it by its path, or raise the limit"
                        )
                    file.write(piece)
            find_files(str(path), None)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return Source("upload", str(path), plain)

    def forget_uploads(self, session: str) -> int:
        """Delete what was sent in a session that has ended, unless a release is under way; close its studies.

        Parameters
        ----------
        session : str
            As it was given to `open`.

        Returns
        -------
        int
            How many studies were closed.
        """
        rows = self.memory.all("SELECT id FROM studies WHERE session = ? AND closed IS NULL", (session,))
        done = 0
        for row in rows:
            study = Study(row["id"], self)
            if not any(not job.over for job in study.jobs()):
                study.close()
                done += 1
        return done

    # Its end.

    def close(self, *, stop_jobs: bool = False) -> None:
        """Let go of processes; with `stop_jobs`, ask them to stop. `recover` finds what goes on."""
        if stop_jobs:
            for job in self.jobs():
                if job.state not in OVER:
                    job.stop()
        self._processes.let_go()

    def __repr__(self) -> str:
        return f"<Studio of {len(self.studies())} studies and {len(self.releases())} releases>"
