"""What was released: a record for pages and the history, and files to download."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput
from shoal.release import CoresetRelease, Release, SynopsisRelease, load
from shoal.studio.workshop.files import Download, content_of, downloads_of
from shoal.studio.workshop.levels import Level
from shoal.studio.workshop.shown import page_of


@dataclass(frozen=True)
class ReleaseRecord:
    """A release, as pages and the history tell it; all of it may be published.

    Parameters
    ----------
    id, job, study : str
        Its name, and what it came of.
    title : str
        What the study was called.
    level : Level
        At which it was released.
    guarantee : dict
        What is promised, in words.
    by, approved_by : str
        Who released it.
    created : str
        When, in UTC.
    dataset : str
        The ledger's data set.
    spent : float
        What all releases of the data set, with this one, had spent by then, in the ledger's own terms.
    total : str
        What the ledger has laid down for all that may ever be released.
    delta : float
        Of the ledger.
    own_delta : float
        Of this release.
    fits : dict of str to str
        Its fits in the ledger.
    names : tuple of str
        Columns.
    groups : int
        How many.
    demo : bool
        Whether the table is the made-up city.
    shared : str or None
        The name of its public page.
    """

    id: str
    job: str
    study: str
    title: str
    level: Level
    guarantee: dict[str, str]
    by: str
    approved_by: str | None
    created: str
    dataset: str
    fits: dict[str, str]
    names: tuple[str, ...]
    groups: int
    spent: float = 0.0
    total: str = ""
    delta: float = 0.0
    own_delta: float = 0.0
    demo: bool = False
    shared: str | None = None
    _folder: Path = field(default=Path(), repr=False, compare=False)

    @classmethod
    def of(cls, row: sqlite3.Row, home: Path) -> ReleaseRecord:
        """Read a release of the studio's database."""
        plain = json.loads(row["record"])
        plain["level"], plain["names"] = Level(**plain["level"]), tuple(plain["names"])
        return cls(
            id=row["id"],
            job=row["job"],
            study=row["study"],
            created=row["created"],
            shared=row["shared"],
            _folder=home / "releases" / row["id"],
            **plain,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, numbers and strings, ready for JSON."""
        own = {n: getattr(self, n) for n in self.__dataclass_fields__ if not n.startswith("_")}
        downloads = [download.to_dict() for download in self.downloads()]
        return {**own, "level": self.level.to_dict(), "names": list(self.names), "downloads": downloads}

    @property
    def release(self) -> Release:
        """The release itself, as it was saved."""
        found = load(self._folder / "centres")
        assert isinstance(found, Release)
        return found

    @property
    def coreset(self) -> CoresetRelease | None:
        """The coreset that was released beside the centres, if one was."""
        folder = self._folder / "coreset"
        return CoresetRelease.load(folder) if folder.is_dir() else None

    @property
    def synopsis(self) -> SynopsisRelease | None:
        """The look that was paid for before, if one was; it may be published too."""
        folder = self._folder / "synopsis"
        return SynopsisRelease.load(folder) if folder.is_dir() else None

    def page(self) -> dict[str, Any]:
        """Return all that a page shows of the release, ready for JSON; all of it may be published."""
        return page_of(self)

    def downloads(self) -> tuple[Download, ...]:
        """Return what can be downloaded."""
        return tuple(downloads_of(self._folder))

    def download(self, name: str, basemap: dict[str, Any] | None = None) -> bytes:
        """Return the content of a file, by its name.

        Parameters
        ----------
        name : str
            One of `downloads`.
        basemap : dict, optional
            GeoJSON to draw the report's map on.
        """
        if name not in {download.name for download in self.downloads()}:
            raise InvalidInput(f"the release has no file {name!r}")
        return content_of(self, self._folder, name, basemap)
