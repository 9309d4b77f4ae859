"""Read whatever was released."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.release.coreset import CoresetRelease
from shoal.release.files import CORESET, SYNOPSIS
from shoal.release.release import Release
from shoal.release.synopsis import SynopsisRelease


def load(folder: str | os.PathLike[str]) -> Release | SynopsisRelease | CoresetRelease:
    """Read what was released into a folder: groups, a synopsis, or a coreset.

    Parameters
    ----------
    folder : path
        Where it was saved.
    """
    path = Path(folder)
    if (path / SYNOPSIS).is_file():
        return SynopsisRelease.load(path)
    return CoresetRelease.load(path) if (path / CORESET).is_file() else Release.load(path)
