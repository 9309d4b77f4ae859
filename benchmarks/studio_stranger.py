"""How long a stranger takes from a clone to a released, certified clustering of a file of their own.

    python benchmarks/studio_stranger.py [--rows 20000] [--pictures FOLDER]

It clones the repository it lies in, installs the studio into an empty environment, starts `shoal studio`, and
does in Debian's Chromium what docs/how-to/studio.md says. Nobody reads here what they agree to: people take
longer. Every step is printed with its seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parents[1]
# Minutes from the clone to the certificate.
AIM = 5
BOUNDS = {"lon": (10.6, 10.9), "lat": (59.85, 60.0)}


@contextmanager
def step(what: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    print(f"{time.monotonic() - begun:7.1f} s  {what}", flush=True)


def write_table(path: Path, rows: int) -> None:
    rng = np.random.default_rng(7)
    middle = np.array([[10.70, 59.91], [10.76, 59.93], [10.80, 59.95]])[rng.integers(0, 3, rows)]
    np.savetxt(path, middle + rng.normal(0, 0.006, (rows, 2)), "%.6f", ",", header="lon,lat", comments="")


def install(folder: Path) -> Path:
    with step("git clone"):
        subprocess.run(["git", "clone", "-q", HERE, folder / "shoal"], check=True)
    with step("python3 -m venv env && env/bin/pip install './shoal[studio]'"):
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        pip = [folder / "env/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{folder / 'shoal'}[studio]"], check=True)
    return folder / "env/bin/shoal"


def release(page: Page, table: Path, pictures: Path | None) -> str:
    """Open, declare, explore and release a table; return its certificate."""

    def picture(name: str) -> None:
        if pictures is not None:
            page.screenshot(path=pictures / f"{name}.png")

    with step("open the file"):
        page.get_by_role("heading", name="Your tables").wait_for()
        page.get_by_label("Path of a file").fill(str(table))
        page.get_by_role("button", name="Open", exact=True).click()
        page.wait_for_url("**/open")
    with step("columns, bounds, budget"):
        for name, ends in BOUNDS.items():
            page.get_by_role("checkbox", name=name).click()
            for word, end in zip(("Lowest", "Highest"), ends, strict=True):
                page.get_by_label(f"{word} {name}").fill(str(end))
        picture("open")
        page.get_by_role("button", name="Save and explore").click()
        page.wait_for_url("**/explore")
    with step("pay for the look, and have the levels tried"):
        page.get_by_role("button", name=re.compile("^Pay ε")).click()
        page.locator(".dial-range").wait_for()
        page.locator("[data-drawn]").wait_for()
        picture("explore")
    with step("release"):
        page.goto(page.url.replace("explore", "release"))
        page.get_by_role("button", name=re.compile("^Release and spend")).click()
        page.get_by_role("button", name=re.compile("^Spend ε")).click()
        page.wait_for_url("**/releases/*")
        page.locator("[data-drawn]").wait_for()
        picture("release")
    with step("download the certificate"):
        link = page.locator(".files a[href$='certificate.json']").get_attribute("href")
        origin = re.match(r"http://[\d.:]+", page.url)
        assert link is not None
        assert origin is not None
        return page.request.get(origin[0] + link).text()


def main(rows: int, pictures: Path | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "trips.csv"
        write_table(table, rows)
        begun = time.monotonic()
        shoal = install(folder)
        with step("shoal studio, until it listens"):
            command = [shoal, "studio", "--home", folder / "home", "--port", "0", "--no-browser"]
            studio = subprocess.Popen(
                command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )
            assert studio.stderr is not None
            address = re.search(r"http://\S+", studio.stderr.readline())
            assert address is not None
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox"]
                )
                page = browser.new_page(viewport={"width": 1280, "height": 860})
                page.set_default_timeout(300_000)
                page.goto(address[0])
                certificate = release(page, table, pictures)
                browser.close()
        finally:
            studio.send_signal(signal.SIGINT)
            studio.wait(60)
        minutes = (time.monotonic() - begun) / 60
        verdict = "reached" if minutes <= AIM else "NOT reached"
        print(f"{minutes:.1f} minutes, {len(certificate)} characters of certificate; aim {AIM}: {verdict}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each page")
    given = parser.parse_args()
    main(given.rows, given.pictures)
