"""A studio in a process of its own, and a real browser in front of it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shoal.studio.access import AccessStore
from shoal.studio.access.sessions import new_link
from shoal.studio.workshop import Studio, Study

# Seconds that a slow machine may take to start a server or to fit.
PATIENCE = 240
BOUNDS = {"lon": (10.6, 10.9), "lat": (59.85, 60.0)}
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


@dataclass
class Running:
    """A studio that runs, and how to get into it."""

    home: Path
    process: subprocess.Popen[str]
    origin: str
    studio: Studio
    table: Path
    made: int = field(default=0)

    def link(self) -> str:
        """An address that signs in once."""
        store = AccessStore(self.home / "access.db")
        try:
            return new_link(store)
        finally:
            store.close()

    def study(self, *, total: float = 5.0, **declared: Any) -> Study:
        """A table that is declared, with a budget of its own."""
        self.made += 1
        name = f"trips-{self.made}"
        self.studio.create_dataset(name, epsilon=total)
        given = {"columns": ("lon", "lat"), "bounds": BOUNDS, "k": 3, "dataset": name, **declared}
        return self.studio.open(self.table, title=name, **given)

    def spent(self, study: Study) -> float:
        return self.studio.budget(study.draft.dataset).spent


@contextmanager
def running(home: Path, *more: str) -> Iterator[Running]:
    """Start `shoal studio`, as people do, and end it."""
    command = [
        sys.executable,
        "-m",
        "shoal",
        "studio",
        "--home",
        str(home),
        "--port",
        "0",
        "--no-browser",
        *more,
    ]
    home.parent.mkdir(parents=True, exist_ok=True)
    said = home.with_suffix(".said")
    with said.open("w") as words:
        process = subprocess.Popen(command, stderr=words, text=True)
    try:
        origin = _address(said, process)
        _listens(origin, process)
        yield Running(home, process, origin, Studio(home), home.parent / "trips.parquet")
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(said: Path, process: subprocess.Popen[str]) -> str:
    for _ in range(10 * PATIENCE):
        if found := re.search(r"(http://127\.0\.0\.1:\d+)/", said.read_text()):
            return found[1]
        assert process.poll() is None, f"the studio ended: {said.read_text()}"
        time.sleep(0.1)
    raise AssertionError(f"the studio said {said.read_text()!r}")


def _listens(origin: str, process: subprocess.Popen[str]) -> None:
    import httpx

    for _ in range(10 * PATIENCE):
        assert process.poll() is None, "the studio ended"
        try:
            httpx.get(origin, timeout=30)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the studio does not listen")


# What axe finds serious, and no more of its long answer. Between light and dark only colours change.
_AXE = """async (rules) => {
    const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
    const found = await axe.run({ ...only, resultTypes: ["violations"] });
    return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => [one.id, one.nodes[0].html.slice(0, 200)]);
}"""
# That the page has been laid out anew, and no colour is on its way to another.
_STILL = """async () => {
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    return document.getAnimations().every(
        (one) => one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity);
}"""


def findings(page: Any, where: str) -> list[tuple[str, str, str]]:
    """What axe finds serious on a page, wide and narrow, light and dark; and what runs off the screen."""
    carried = pytest.importorskip("axe_playwright_python", reason="needs the package that carries axe-core")
    page.evaluate((Path(carried.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = []
    colours = ["color-contrast", "link-in-text-block"]
    for size, scheme, rules in [
        (WIDE, "light", []),
        (WIDE, "dark", colours),
        (NARROW, "dark", []),
        (NARROW, "light", colours),
    ]:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        until(lambda: page.evaluate(_STILL))
        here = f"{where} {size['width']} {scheme}"
        found += [(here, *finding) for finding in page.evaluate(_AXE, rules)]
        root = "document.documentElement"
        over = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        if over > 0:
            found.append((here, "runs off the screen", f"{over} pixels"))
    page.set_viewport_size(WIDE)
    return found


def until(happens: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait for what happens elsewhere, and return it."""
    end = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)
    return found


def go(page: Any, address: str) -> None:
    """Open a page, and wait until it listens."""
    page.goto(address)
    listens(page)


def listens(page: Any) -> None:
    """Wait until the socket of a page is there: before that, a click may overtake what was typed."""
    page.wait_for_function("() => window.did_handshake")


@contextmanager
def visiting(chromium: Any, origin: str, link: str, **options: Any) -> Iterator[Any]:
    """A signed-in page; nothing it does may ask anybody but the studio, nor fail in a script."""
    asked: list[str] = []
    broken: list[str] = []
    context = chromium.new_context(viewport=WIDE, color_scheme="light", **options)
    context.set_default_timeout(1000 * PATIENCE)
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("pageerror", lambda error: broken.append(str(error)))
    go(page, link)
    yield page
    context.close()
    elsewhere = [
        url for url in asked if not url.startswith((origin, origin.replace("http", "ws"), "data:", "blob:"))
    ]
    assert not elsewhere
    assert not broken
