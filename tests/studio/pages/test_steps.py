"""The steps of the work, in a real browser: open, explore, zones; and what goes wrong on the way."""

from __future__ import annotations

import os
import re
import signal

import pytest
from browsing import BOUNDS, Running, findings, go, listens, until

from needs import needs
from shoal.studio.workshop import Study

# One worker has them all: another would start a studio, a browser and three fits of its own.
pytestmark = [needs("chromium"), pytest.mark.slow, pytest.mark.xdist_group("studio")]


def _settled(page) -> str:
    """The canvas of centres, once two looks at it are alike."""
    canvas, seen = page.locator(".leaflet-overlay-pane canvas").first, ""
    while (now := canvas.evaluate("c => c.toDataURL()")) != seen:
        seen = now
        page.wait_for_timeout(300)
    return seen


def test_a_file_is_opened_and_declared_and_its_look_has_a_price(page, studio: Running):
    page.get_by_label("Path of a file").fill(str(studio.table))
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/open")
    listens(page)
    id = re.search(r"studies/(\w+)/open", page.url)[1]
    # One column after the other: ticking the next keeps what was typed.
    for name, (low, high) in BOUNDS.items():
        page.get_by_role("checkbox", name=name).click()
        page.get_by_label(f"Lowest {name}").fill(str(low))
        page.get_by_label(f"Highest {name}").fill(str(high))
    page.get_by_label("Data set of the ledger").click()
    page.get_by_role("option", name="a new budget").click()
    page.get_by_label("Name of the data set").fill("by-hand")
    page.get_by_label("Total epsilon").fill("1.5")
    page.get_by_role("button", name="Save and explore").click()
    page.wait_for_url("**/explore")
    listens(page)
    page.get_by_role("button", name="Pay ε 0.1").wait_for()
    draft = studio.studio.study(id).draft
    assert draft.columns == ("lon", "lat")
    assert {name: tuple(ends) for name, ends in draft.bounds.items()} == BOUNDS
    assert studio.studio.budget("by-hand").total == 1.5
    assert studio.studio.budget("by-hand").spent == 0  # a price was shown, and nothing else


def test_a_slow_server_takes_no_text_away_when_another_column_is_ticked(page, studio: Running):
    """Whoever writes on before the fields of that column are there keeps the words and the place."""
    study = studio.study(columns=("lon",), bounds={"lon": (10, 11)})
    go(page, f"{studio.origin}/studies/{study.id}/open")
    lowest = page.get_by_label("Lowest lon")
    lowest.wait_for()
    os.kill(studio.process.pid, signal.SIGSTOP)
    try:
        page.get_by_role("checkbox", name="tip").click()
        lowest.focus()
        page.keyboard.press("End")
        page.keyboard.type(".25")
    finally:
        os.kill(studio.process.pid, signal.SIGCONT)
    page.get_by_label("Lowest tip").wait_for()
    page.keyboard.type("5")
    assert lowest.input_value() == "10.255"
    page.get_by_label("Preset for tip").click()
    page.get_by_role("option", name="a percentage").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".q-notification", has_text="Saved").wait_for()
    assert study.draft.bounds == {"lon": (10.255, 11), "tip": (0, 100)}


def _a_new_budget(page, studio: Running, study: Study, **terms: str) -> None:
    """Open the page of a study, and write down a budget for it."""
    go(page, f"{studio.origin}/studies/{study.id}/open")
    page.get_by_label("Data set of the ledger").click()
    page.get_by_role("option", name="a new budget").click()
    for name, value in terms.items():
        label = {"name": "Name of the data set", "total": "Total epsilon", "delta": "Delta"}[name]
        page.get_by_label(label, exact=True).fill(value)


def test_delta_is_declared_explained_and_part_of_the_risk(page, studio: Running):
    study = studio.study()
    _a_new_budget(page, studio, study, name="with-delta", total="2", delta="one in a million")
    page.get_by_label("Help: delta").click()
    page.get_by_text("The probability with which the promise of epsilon may fail").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".q-notification", has_text="Delta is 'one in a million'; give a number").wait_for()
    assert "with-delta" not in studio.studio.datasets()
    page.get_by_label("Delta", exact=True).fill("1e-6")
    page.get_by_role("status").filter(
        has_text=re.compile("at most 88 % sure .*, except with probability 1e-06")
    ).wait_for()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".q-notification", has_text="Saved").wait_for()
    assert study.draft.delta == 1e-6
    assert studio.studio.budget("with-delta").delta == 1e-6

    # What is copied has it, and so do the line that sums up, the price and the risk of the steps that follow.
    page.locator(".code-card summary").click()
    page.locator(".code pre", has_text="--delta 1e-06").wait_for()
    page.locator(".code pre", has_text="delta=1e-06,").wait_for()
    for step in ("explore", "release"):
        go(page, f"{studio.origin}/studies/{study.id}/{step}")
        page.get_by_text(re.compile("at most .* sure .*, except with probability 1e-06")).first.wait_for()
        page.get_by_text(re.compile("costs epsilon [0-9.]+, delta 1e-06")).first.wait_for()
        page.locator(".sum", has_text="delta 1e-06").wait_for()

    # In a data set with delta a release may have another, or none; without, there is nothing to choose.
    go(page, f"{studio.origin}/studies/{study.id}/open")
    field = page.get_by_label("Delta", exact=True)
    field.wait_for()
    assert field.input_value() == "1e-06"
    field.fill("0")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".q-notification", has_text="Saved").wait_for()
    assert study.draft.delta == 0
    study.declare(dataset=studio.study().draft.dataset)
    page.reload()
    listens(page)
    page.get_by_text("5 of 5 epsilon is left").wait_for()
    assert page.get_by_label("Delta", exact=True).count() == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [("/nowhere/trips.parquet", "nowhere"), ("", "no path is given"), (__file__, ".py")],
    ids=["missing", "none", "not a table"],
)
def test_a_bad_path_is_told_and_opens_nothing(page, studio: Running, path: str, said: str):
    before = len(studio.studio.studies())
    page.get_by_label("Path of a file").fill(path)
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".q-notification", has_text=said).wait_for()
    assert len(studio.studio.studies()) == before


def test_a_file_is_sent_and_a_broken_one_is_not_kept(page, studio: Running):
    box = page.locator(".drop input[type=file]")
    box.set_input_files({"name": "broken.parquet", "mimeType": "", "buffer": b"not a table"})
    page.locator(".q-notification").wait_for()
    assert not [study for study in studio.studio.studies() if study.source.kind == "upload"]
    assert not [left for left in (studio.home / "uploads").rglob("*") if left.is_file()]
    box.set_input_files(studio.table)
    page.wait_for_url("**/open")
    listens(page)
    page.get_by_role("checkbox", name="tip").wait_for()
    assert studio.studio.studies()[0].source.kind == "upload"


def test_the_first_line_of_a_file_without_names_is_never_read(page, studio: Running):
    secret = studio.home.parent / "secret.csv"
    secret.write_text("10.7123,59.9123\n10.8,59.95\n")
    page.get_by_label("Path of a file").fill(str(secret))
    page.get_by_role("checkbox", name="A text file begins with a line of names").click()
    page.get_by_label("Names of all its columns").fill("lon, lat")
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/open")
    listens(page)
    page.get_by_role("checkbox", name="lat").wait_for()
    assert "10.7123" not in page.content()
    draft = studio.studio.studies()[0].draft
    assert (draft.header, draft.columns) == (False, ("lon", "lat"))

    # What is asked of a column goes with its type; of the others nothing is asked again.
    page.get_by_label("Lowest lon").fill("10")
    page.get_by_label("Type of lat").click()
    page.get_by_role("option", name="one of some values").click()
    page.get_by_label("Values of lat").wait_for()
    assert page.get_by_label("Lowest lat").count() == 0
    assert page.get_by_label("Lowest lon").input_value() == "10"


def test_explore_answers_the_slider_and_shows_red_only_when_told(page, studio: Running, prepared: Study):
    go(page, f"{studio.origin}/studies/{prepared.id}/explore")
    page.locator("[data-drawn]").wait_for()
    west, south, east, north = map(float, page.locator(".map").get_attribute("data-box").split(","))
    (left, right), (low, high) = BOUNDS["lon"], BOUNDS["lat"]
    assert west < left < right < east  # the declared bounds are in sight,
    assert south < low < high < north
    assert (north - south) < 3 * (high - low) or (east - west) < 3 * (right - left)  # and little else

    slider = page.get_by_role("slider", name="Privacy level")
    slider.focus()
    page.keyboard.press("Home")
    page.locator(".dial-word", has_text="strongest").wait_for()
    assert slider.get_attribute("aria-valuetext") == "strongest, epsilon 0.05"
    # Of all that was released, the look of 0.1 among it, and not of this level alone.
    assert "at most 54" in page.locator(".risk").inner_text()
    wide = page.locator(".sizes tbody tr").all_inner_texts()
    page.keyboard.press("End")
    page.locator(".dial-word", has_text="very weak").wait_for()
    assert page.locator(".sizes tbody tr").all_inner_texts() != wide
    assert "The ledger does not hold this level" in page.locator(".risk").inner_text()  # 8, of 4.9
    page.locator(".sum", has_text="very weak").wait_for()  # the line that sums up follows,
    page.locator(".code-card summary").click()
    page.locator(".code pre", has_text="--epsilon 8").wait_for()  # and so does the code
    assert prepared.chosen.name == "very weak"

    # Layers: what is drawn changes.
    canvas = page.locator(".leaflet-points-pane canvas")
    full = canvas.evaluate("c => c.toDataURL()")
    page.get_by_role("checkbox", name="points").uncheck()
    canvas.wait_for(state="hidden")
    page.get_by_role("checkbox", name="points").check()
    canvas.wait_for(state="visible")
    assert canvas.evaluate("c => c.toDataURL()") == full
    drawn = _settled(page)
    page.get_by_role("checkbox", name="private centres").first.uncheck()
    without = _settled(page)
    assert without != drawn
    # The picture of another level, though its centres were hidden when it was chosen.
    slider.focus()
    page.keyboard.press("Home")
    page.locator(".dial-word", has_text="strongest").wait_for()
    page.get_by_role("checkbox", name="private centres").first.check()
    assert _settled(page) not in (drawn, without)
    assert canvas.evaluate("c => c.toDataURL()") != full
    page.get_by_text("Scatter", exact=True).click()
    page.locator(".plot canvas").first.wait_for()
    page.get_by_text("Map", exact=True).click()

    # Red is off at first; asked for, it is recorded before it is drawn.
    switch = page.get_by_role("switch")
    assert switch.get_attribute("aria-checked") == "false"
    assert page.locator(".red-cross").count() == 0
    assert not studio.studio.budget(prepared.draft.dataset).notes
    switch.click()
    page.get_by_role("button", name="Do not look").click()
    page.get_by_role("button", name="Do not look").wait_for(state="detached")
    until(lambda: switch.get_attribute("aria-checked") == "false")  # it goes back by itself
    assert not studio.studio.budget(prepared.draft.dataset).notes
    switch.click()
    page.get_by_role("button", name="Look, and record it").click()
    page.locator(".red-cross").first.wait_for()
    assert page.locator(".ribbon").inner_text().endswith("not for release.")
    assert any(
        "looked at the real rows" in said for said in studio.studio.budget(prepared.draft.dataset).notes
    )
    # A level tried on the real rows is under the same switch, and goes with it.
    page.get_by_role("button", name="Try this level on the real rows").click()
    page.locator(".red-ring").first.wait_for()
    scene = page.request.get(f"{studio.origin}/studies/{prepared.id}/scene.json").json()
    assert not {"red", "preview"} & set(scene)  # red comes by the socket alone, to this page
    assert not findings(page, "red")
    switch.click()
    until(lambda: page.locator(".red-ring, .red-cross").count() == 0)


def test_zones_are_drawn_named_and_saved(page, studio: Running):
    study = studio.study()
    go(page, f"{studio.origin}/studies/{study.id}/zones")
    page.locator("[data-drawn]").wait_for()
    page.get_by_role("link", name="Draw a rectangle").click()
    box = page.locator(".map").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.get_by_label("Name of zone 1").fill("clinic")
    page.get_by_role("button", name="Save zones").click()
    page.locator(".q-notification", has_text="Saved").wait_for()
    (zone,) = study.draft.zones["features"]
    assert zone["properties"] == {"name": "clinic", "epsilon": 0.25}
    corners = zone["geometry"]["coordinates"][0]
    assert all(BOUNDS["lon"][0] < lon < BOUNDS["lon"][1] for lon, _ in corners)
    assert studio.spent(study) == 0
