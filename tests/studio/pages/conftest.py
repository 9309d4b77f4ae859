"""A studio in a process of its own for all tests of a worker, a table to open, and a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("nicegui", reason="needs nicegui (pip install -e '.[studio]')")
pytest.importorskip("argon2", reason="needs argon2-cffi (pip install -e '.[studio]')")
sys.path.insert(0, str(Path(__file__).parent))

from browsing import PATIENCE, Running, running, visiting

import needs
from shoal.studio.workshop import Study


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of 1,000 trips in three places."""
    made = tmp_path_factory.mktemp("studio")
    rng = np.random.default_rng(5)
    middle = np.array([[10.70, 59.91], [10.76, 59.93], [10.80, 59.95]])[rng.integers(0, 3, 1000)]
    where = middle + rng.normal(0, 0.006, (1000, 2))
    pq.write_table(
        pa.table({"lon": where[:, 0], "lat": where[:, 1], "tip": rng.gamma(2, 2, 1000)}),
        made / "trips.parquet",
    )
    return made


@pytest.fixture(scope="session")
def studio(folder: Path) -> Iterator[Running]:
    with running(folder / "home", "--demo") as found:
        yield found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, studio: Running) -> Iterator[Any]:
    with visiting(chromium, studio.origin, studio.link()) as found:
        yield found


@pytest.fixture(scope="session")
def prepared(studio: Running) -> Study:
    """A study of which three levels were tried, by a process of its own."""
    study = studio.study()
    job = study.prepare(("strongest", "good", "very weak")).wait(PATIENCE)
    assert job.state == "done", job.message
    return study
