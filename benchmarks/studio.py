"""How fast the studio answers: the slider (input to redraw), and layers in twenty browsers at once.

    python benchmarks/studio.py [--sessions 20] [--moves 120]

It starts `shoal studio --demo`, has the levels tried, and drives Debian's Chromium. Times are measured in the
page, from the input event to two frames after the redraw (`performance.measure`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.async_api import Browser, Page, async_playwright

from shoal.studio.access import AccessStore
from shoal.studio.access.sessions import new_link
from shoal.studio.workshop import Studio

# Milliseconds that are aimed at: 95 % of the slider's answers, and half of those of all sessions.
SLIDER, LAYERS = 300, 200
_TIMES = "performance.getEntriesByName('shoal-redraw').map(entry => entry.duration)"
_SLIDE = """async (moves) => {
  const slider = document.querySelector('.dial-range'), most = Number(slider.max);
  for (let i = 0; i < moves; i++) {
    slider.value = String((i * 3) % (most + 1));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((done) => setTimeout(done, 60));
  }
  await new Promise((done) => setTimeout(done, 800));
}"""
_LAYERS = """async (moves) => {
  const boxes = [...document.querySelectorAll('.layers input')];
  for (let i = 0; i < moves; i++) {
    boxes[i % boxes.length].click();
    await new Promise((done) => setTimeout(done, 250));
  }
  await new Promise((done) => setTimeout(done, 1500));
}"""


async def main(sessions: int, moves: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        command = [
            sys.executable,
            "-m",
            "shoal",
            "studio",
            "--demo",
            "--home",
            str(home),
            "--port",
            "0",
            "--no-browser",
        ]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        try:
            assert process.stderr is not None
            origin = re.search(r"http://[\d.:]+", process.stderr.readline())
            assert origin is not None
            study = Studio(home).studies()[0]
            begun = time.monotonic()
            job = study.prepare().wait(1800)
            assert job.state == "done", job.message
            print(f"levels tried in {time.monotonic() - begun:.0f} s, on a machine of {os.cpu_count()} cores")
            address = f"{origin[0]}/studies/{study.id}/explore"
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox"]
                )
                await one_slider(browser, home, address, moves)
                await many_layers(browser, home, address, sessions)
                await browser.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


async def one_slider(browser: Browser, home: Path, address: str, moves: int) -> None:
    page = await _visit(browser, home, address)
    await page.evaluate(_SLIDE, moves)
    times = await page.evaluate(_TIMES)
    _tell("slider, one session", times, 95, SLIDER)
    await page.context.close()


async def many_layers(browser: Browser, home: Path, address: str, sessions: int) -> None:
    pages = [await _visit(browser, home, address) for _ in range(sessions)]
    await asyncio.gather(*(page.evaluate(_LAYERS, 12) for page in pages))
    times = [t for page in pages for t in await page.evaluate(_TIMES)]
    _tell(f"layers, {sessions} sessions at once", times, 50, LAYERS)


async def _visit(browser: Browser, home: Path, address: str) -> Page:
    context = await browser.new_context(viewport={"width": 1360, "height": 900})
    context.set_default_timeout(240_000)
    page = await context.new_page()
    store = AccessStore(home / "access.db")
    await page.goto(new_link(store))
    store.close()
    await page.goto(address)
    await page.locator("[data-drawn]").wait_for()
    return page


def _tell(what: str, times: list[float], percentile: int, aim: float) -> None:
    got = float(np.percentile(times, percentile))
    verdict = "reached" if got <= aim else "NOT reached"
    print(
        f"{what}: {len(times)} redraws, median {np.median(times):.0f} ms, 95th percentile "
        f"{np.percentile(times, 95):.0f} ms; wanted is {percentile} % within {aim} ms: {verdict}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--moves", type=int, default=120)
    given = parser.parse_args()
    asyncio.run(main(given.sessions, given.moves))
