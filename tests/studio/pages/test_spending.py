"""A release spends once: double click, reload, two tabs, a dead server; and not at all where it cannot."""

from __future__ import annotations

import math
import re

import pytest
from browsing import Running, findings, go, listens, running, until, visiting

from needs import needs
from shoal.studio.workshop import Study

# One worker has them all: another would start a studio, a browser and three fits of its own.
pytestmark = [needs("chromium"), pytest.mark.slow, pytest.mark.xdist_group("studio")]


def _ask(page, studio: Running, study: Study) -> None:
    go(page, f"{studio.origin}/studies/{study.id}/release")
    page.get_by_role("button", name="Release and spend").click()
    page.get_by_role("button", name=re.compile("^Spend ε")).wait_for()


def _arrived(page) -> str:
    """Wait until a page has gone to the release, or says that it was released; return its address."""
    page.wait_for_function(
        "() => location.pathname.startsWith('/releases/') || "
        "document.body.innerText.includes('It was spent once')"
    )
    if "/releases/" not in page.url:
        return page.get_by_role("link", name="See the release").get_attribute("href")
    return re.search("/releases/.*", page.url)[0]


def test_double_clicks_two_tabs_and_a_reload_spend_once(page, studio: Running):
    study = studio.study()
    second = page.context.new_page()
    _ask(second, studio, study)
    _ask(page, studio, study)
    page.get_by_role("button", name=re.compile("^Spend ε")).dblclick()
    second.get_by_role("button", name=re.compile("^Spend ε")).dblclick()
    until(study.current_job)  # a reload that comes before it was asked for asks anew, and that is right
    page.reload()
    assert _arrived(page) == _arrived(second)
    assert len(study.releases()) == 1
    assert 0.5 < studio.spent(study) <= 1  # a price that is not cut into shares leaves a little unspent
    go(page, f"{studio.origin}/studies/{study.id}/release")
    page.get_by_text("It was spent once").wait_for()
    assert page.get_by_role("button", name="Release and spend").count() == 0

    # The release's own page: what is downloaded, shared, and seen by nobody in particular.
    page.get_by_role("link", name="See the release").click()
    page.locator("[data-drawn]").wait_for()
    listens(page)
    links = page.locator(".files a").all()
    assert {"centres.csv", "certificate.html", "report.html", "repeat.py"} <= {
        link.get_attribute("href").rsplit("/", 1)[1] for link in links
    }
    for link in links:
        answer = page.request.get(studio.origin + link.get_attribute("href"))
        assert answer.ok, link.get_attribute("href")
        assert "attachment" in answer.headers["content-disposition"]
    page.get_by_role("button", name="Share it").click()
    shared = page.locator("a[href^='/public/']").get_attribute("href")
    listens(page)
    stranger = page.context.browser.new_context()
    seen = stranger.new_page()
    seen.goto(studio.origin + shared)
    assert seen.get_by_role("heading", name=study.title).count() == 1
    assert seen.locator("svg.shoal-map").count() == 1
    assert seen.locator("script").count() == 0
    sure = 1 / (1 + math.exp(-studio.spent(study)))
    assert seen.get_by_text(f"can be at most {100 * sure:.0f} % sure").count() == 1
    assert not findings(page, "the release") + findings(seen, "its public page")
    assert stranger.request.get(f"{studio.origin}/studies/{study.id}/scene.json").status in (401, 403)
    page.get_by_role("button", name="Stop sharing").click()
    page.get_by_role("button", name="Share it").wait_for()
    assert stranger.request.get(studio.origin + shared).status == 404
    stranger.close()


def test_a_spent_budget_is_told_and_nothing_can_be_asked_for(page, studio: Running):
    study = studio.study(total=0.5)
    go(page, f"{studio.origin}/studies/{study.id}/release")
    page.get_by_text("This cannot be released").wait_for()
    assert page.get_by_role("button", name="Release and spend").is_disabled()
    study.choose("strong")
    page.reload()
    listens(page)
    page.get_by_role("button", name="Release and spend ε 0.25").wait_for()
    assert studio.spent(study) == 0


def test_a_server_that_dies_in_the_middle_goes_on_and_spends_once(chromium, folder):
    home = folder / "second"
    with running(home) as first:
        study = first.study()
        with visiting(chromium, first.origin, first.link()) as page:
            _ask(page, first, study)
            page.get_by_role("button", name=re.compile("^Spend ε")).click()
            page.get_by_text("Releasing").wait_for()
            first.process.kill()
            first.process.wait()
    with running(home) as again, visiting(chromium, again.origin, again.link()) as page:
        go(page, f"{again.origin}/studies/{study.id}/release")
        _arrived(page)
        assert len(study.releases()) == 1
        assert 0.5 < again.spent(study) <= 1
