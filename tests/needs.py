"""What some tests need of the machine: a browser, a Java runtime, a PostgreSQL server.

`@needs("chromium")` skips a test where there is no Chromium, and says so. Continuous integration installs
everything and sets `SHOAL_REQUIRE=all` (or a list, `SHOAL_REQUIRE=java,postgres`): then a test that would be
skipped fails, so that nothing goes untested because an installation went wrong.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def chromium() -> str | None:
    """Where the browser is, if anywhere."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def java() -> str | None:
    """Where the Java runtime is, if anywhere."""
    return shutil.which("java")


def postgres() -> str | None:
    """Where the server's programs are, if anywhere and with a driver: Debian keeps them off the path."""
    if importlib.util.find_spec("psycopg") is None:
        return None
    found = shutil.which("initdb")
    if found:
        return str(Path(found).resolve().parent)
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return str(versions[-1].parent) if versions else None


def spark() -> str | None:
    """Where pyspark is, if it is installed and has a Java runtime to run on."""
    found = importlib.util.find_spec("pyspark") if java() else None
    return found.origin if found else None


def mkdocs() -> str | None:
    """Where mkdocs is, if it is installed."""
    found = importlib.util.find_spec("mkdocs")
    return found.origin if found else None


# What to look for, and what to do where it is missing.
KNOWN: dict[str, tuple[Callable[[], str | None], str]] = {
    "chromium": (chromium, "no Chromium on the path (Debian: apt-get install chromium)"),
    "java": (java, "no Java runtime on the path (Debian: apt-get install default-jre-headless)"),
    "mkdocs": (mkdocs, "no mkdocs (pip install -e '.[docs]')"),
    "postgres": (postgres, "no PostgreSQL server programs or psycopg (Debian: apt-get install postgresql)"),
    "spark": (spark, "no pyspark with a Java runtime (pip install -e '.[spark]')"),
}

needs = pytest.mark.needs


def required() -> frozenset[str]:
    """What must not be missing here: the names in `SHOAL_REQUIRE`, or all."""
    names = {name.strip() for name in os.environ.get("SHOAL_REQUIRE", "").split(",")} - {""}
    if names == {"all"}:
        return frozenset(KNOWN)
    if unknown := names - set(KNOWN):
        raise pytest.UsageError(
            f"SHOAL_REQUIRE names {sorted(unknown)}; wanted 'all' or some of {sorted(KNOWN)}, with commas"
        )
    return frozenset(names)


def missing(name: str) -> str | None:
    """Why a test that needs `name` cannot run here; None if it can."""
    find, reason = KNOWN[name]
    return None if find() else f"needs {name}: {reason}"


def wanted_by(item: pytest.Item) -> Iterator[str]:
    """The names in a test's marks; a name that is not known is a mistake in the test."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if name not in KNOWN:
                raise pytest.UsageError(
                    f"{item.nodeid} needs {name!r}; tests/needs.py knows only {sorted(KNOWN)}"
                )
            yield name


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, or fail it where it must."""
    for name in wanted_by(item):
        reason = missing(name)
        if reason and name in required():
            pytest.fail(f"{reason}, and SHOAL_REQUIRE asks for it", pytrace=False)
        if reason:
            pytest.skip(reason)


def pytest_configure(config: pytest.Config) -> None:
    """Say no to a misspelt SHOAL_REQUIRE before any test runs."""
    required()
