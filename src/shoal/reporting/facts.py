"""What results depend on beside the code that gave them: the machine, and the versions of everything."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    packages = ("shoal", "numpy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


@cache
def machine() -> str:
    """Describe the machine, but not whose it is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}"


@cache
def commit() -> str:
    """Return the commit that is run, with a ``-dirty`` if files were changed; empty if it is not known."""
    here = Path(__file__)
    try:
        # Inside another project's repository its commit would say nothing about us.
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        return _git(here.parent, "describe", "--always", "--dirty", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(where: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=where, check=True, capture_output=True, text=True, timeout=10)
    return done.stdout.strip()
