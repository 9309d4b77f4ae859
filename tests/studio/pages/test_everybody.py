"""Pages for everybody: axe finds nothing serious, wide or narrow, light or dark; a keyboard is enough."""

from __future__ import annotations

import pytest
from browsing import BOUNDS, PATIENCE, Running, findings, go, listens, until

from needs import needs
from shoal.studio.workshop import Study

# One worker has them all: another would start a studio, a browser and three fits of its own.
pytestmark = [needs("chromium"), pytest.mark.slow, pytest.mark.xdist_group("studio")]

# Tabs from the top of a page to whatever is on it.
_FAR = 80


def test_no_page_has_serious_findings_of_axe(page, studio: Running, prepared: Study):
    unpaid, found = studio.study(), []
    steps = [f"/studies/{prepared.id}/{step}" for step in ("open", "explore", "zones", "release")]
    plain = ("/", "/releases", "/budget", "/tour", "/studies/nothing/open", f"/studies/{unpaid.id}/explore")
    for address in (*plain, *steps):
        go(page, studio.origin + address)
        page.locator("h1").wait_for()
        if address in steps[:3]:
            page.locator("[data-drawn]").wait_for()
        found += findings(page, address)
    assert not found


def test_plots_of_any_columns_fit_the_screen(page, studio: Running):
    """A scatter, and one line for each point across all columns, where errors have a number for each."""
    study = studio.study(columns=("lon", "tip", "lat"), bounds={**BOUNDS, "tip": (0, 100)}, k=2)
    job = study.prepare(("good",)).wait(PATIENCE)
    assert job.state == "done", job.message
    go(page, f"{studio.origin}/studies/{study.id}/explore")
    page.locator("[data-drawn]").wait_for()
    found = []
    for view in ("Scatter", "All columns"):
        page.get_by_text(view, exact=True).click()
        page.locator(".plot canvas").first.wait_for()
        found += findings(page, view)
    assert not found


def _reach(page, label: str) -> None:
    """Press Tab until what has this name has the focus."""
    for _ in range(_FAR):
        page.keyboard.press("Tab")
        here = page.evaluate(
            "() => { const e = document.activeElement, name = (of) => of?.getAttribute('aria-label');"
            " return [name(e), name(e.closest('[aria-label]')), e.innerText] }"
        )
        if any(said and said.strip() == label for said in here):
            return
    raise AssertionError(f"no Tab leads to {label!r}")


def test_a_table_is_opened_declared_and_asked_for_by_keyboard_alone(page, studio: Running):
    press, write = page.keyboard.press, page.keyboard.type
    page.get_by_role("heading", name="Your tables").wait_for()
    _reach(page, "Path of a file")
    write(str(studio.table))
    _reach(page, "Open")
    press("Enter")
    page.wait_for_url("**/open")
    listens(page)
    page.get_by_role("checkbox", name="lon").wait_for()
    for name in BOUNDS:
        _reach(page, name)
        press("Space")
        page.get_by_label(f"Lowest {name}").wait_for()
    for name, ends in BOUNDS.items():
        for word, end in zip(("Lowest", "Highest"), ends, strict=True):
            _reach(page, f"{word} {name}")
            write(str(end))
    _reach(page, "Name of the data set")
    press("Control+a")
    write("by-keyboard")
    _reach(page, "Save and explore")
    press("Enter")
    page.wait_for_url("**/explore")
    listens(page)
    page.get_by_role("button", name="Pay ε 0.1").wait_for()
    _reach(page, "Pay ε 0.1 and try the levels")

    # A zone needs no mouse either.
    go(page, page.url.replace("explore", "zones"))
    page.locator("[data-drawn]").wait_for()
    _reach(page, "Add a rectangle by its corners")
    press("Enter")
    for word, end in zip(("West", "South", "East", "North"), (10.7, 59.9, 10.72, 59.92), strict=True):
        _reach(page, f"{word} end")
        write(str(end))
    _reach(page, "Add it")
    press("Enter")
    page.get_by_label("Name of zone 1").wait_for()
    page.locator("h1").click()
    _reach(page, "Save zones")
    press("Enter")
    page.locator(".q-notification", has_text="Saved").wait_for()
    study = next(s for s in studio.studio.studies() if s.draft.dataset == "by-keyboard")
    (zone,) = study.draft.zones["features"]
    assert zone["geometry"]["coordinates"][0][0] == [10.7, 59.9]

    # Asked, Escape spends nothing.
    go(page, page.url.replace("zones", "release"))
    page.get_by_role("button", name="Release and spend").wait_for()
    _reach(page, "Release and spend ε 1")
    press("Enter")
    page.get_by_role("button", name="Not now").wait_for()
    _reach(page, "Not now")
    press("Enter")
    page.get_by_role("button", name="Not now").wait_for(state="detached")
    assert studio.spent(study) == 0


def test_help_opens_and_closes_by_keyboard(page, studio: Running):
    study = studio.study()
    go(page, f"{studio.origin}/studies/{study.id}/open")
    help = page.get_by_label("Help: bounds")
    help.focus()
    page.keyboard.press("Enter")
    page.get_by_text("never from a look at the rows;").wait_for()
    page.keyboard.press("Escape")
    until(lambda: page.locator("details.why[open]").count() == 0)
    until(lambda: help.evaluate("element => element === document.activeElement"))
