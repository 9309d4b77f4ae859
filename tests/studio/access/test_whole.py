"""Every route and every message of the whole studio, tried by those who may and those who may not."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import httpx
import pytest
from servers import BROWSER, PASSWORDS, PATIENCE, Socket, csrf_of, free_port, opened, running, with_users

from needs import chromium, needs

pytestmark = pytest.mark.slow

# What nobody at all may ask for, with no name and no link: written out, so that another one is a decision.
PUBLIC = {
    "/login",
    "/enter",
    "/favicon.ico",
    "/assets/{path:path}",
    "/assets/city.geojson",
    "/public/{name}",
    "/public/{name}/download/{file}",
}
# What a viewer may ask for beside it, on pages; the API's list is in its own tests.
VIEWER = {
    "/logout",
    "/releases",
    "/releases/{release}",
    "/releases/{release}/download/{name}",
    "/basemap.geojson",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("whole"), free_port()
    with_users(home).close()
    with running([str(Path(__file__).with_name("whole_app.py")), str(home), str(port)], home, port) as server:
        yield server


@pytest.fixture(scope="module")
def study(whole):
    with whole.signed_in("ana") as ana:
        return ana.get("/api/v1/studies").json()[0]["id"]


def routes(whole):
    """Every address and method, but NiceGUI's own code and its sockets."""
    return [one for one in json.loads(whole.entry) if not one[0].startswith(("/_nicegui/", "/_nicegui_ws"))]


def address(template, study):
    filled = template.replace("{study}", study).replace("{path:path}", "studio.css")
    return re.sub(r"\{[^}]+\}", "x", filled)


def test_every_route_is_declared(whole):
    undeclared = [one for one in json.loads(whole.entry) if not one[2]]
    # Sockets are declared as such; what NiceGUI has beside its code is refused to everybody.
    allowed = {"/_nicegui_ws/{path:path}"}
    assert {path for path, _, _ in undeclared} <= allowed, undeclared


def test_every_route_is_tried_by_nobody_a_viewer_and_a_curator(whole, study):
    tried = 0
    with whole.client() as nobody, whole.signed_in("ben") as ben, whole.signed_in("ana") as ana:
        for template, method, _ in routes(whole):
            if template == "/logout":
                continue  # it would end what is tried with; tested elsewhere
            url = address(template, study if method == "GET" else "x")
            verb = "GET" if method == "*" else method
            got = {}
            for name, client in (("nobody", nobody), ("viewer", ben), ("curator", ana)):
                token = {"x-shoal-csrf": csrf_of(client)} if client is not nobody else {}
                got[name] = client.request(verb, url, headers={"origin": whole.origin, **token})
            codes = {name: answer.status_code for name, answer in got.items()}
            tried += 1
            is_api = template.startswith("/api/")
            if template in PUBLIC:
                assert codes["nobody"] in (200, 403, 404), (template, codes)
            elif is_api:
                assert codes["nobody"] == 401, (template, codes)
            else:
                assert codes["nobody"] in (303, 401), (template, codes)
                assert got["nobody"].headers.get("location", "/login").startswith("/login"), template
            viewers = template in PUBLIC | VIEWER or (is_api and codes["viewer"] != 403)
            if not viewers:
                led_away = template == "/" and got["viewer"].headers.get("location") == "/releases"
                assert codes["viewer"] == 403 or led_away, (template, method, codes)
            assert codes["curator"] not in (401, 500), (template, codes)
            assert codes["curator"] != 403 or template in ("/enter", "/login"), (template, codes)
    assert tried > 40


def test_pages_of_curators_open_for_curators(whole, study):
    pages = ("/", "/budget", "/tour", "/releases", "/studies/{study}/open", "/studies/{study}/explore")
    with whole.signed_in("ana") as ana, whole.signed_in("ben") as ben:
        for template in pages:
            assert ana.get(address(template, study)).status_code == 200, template
        assert ben.get("/releases").status_code == 200
        for template in set(pages) - {"/releases"}:
            assert ben.get(address(template, study)).status_code in (303, 403), template


def state(client):
    """All that a message could have changed."""
    kept = [client.get(f"/api/v1/{path}").json() for path in ("studies", "jobs", "releases", "datasets")]
    return [*kept, *(client.get(f"/api/v1/datasets/{name}/budget").json() for name in kept[-1])]


def test_no_message_of_a_viewer_reaches_a_curators_page(whole, study):
    """Every listener of every page that a curator has open, for a viewer with a good page of their own."""
    sent = 0
    with whole.signed_in("ana") as ana, whole.signed_in("ben") as ben:
        before = state(ana)
        own = Socket(whole, ben, client_id=opened(ben.get("/releases").text).client_id)
        steps = ("open", "explore", "zones", "release")
        for path in ("/", "/budget", "/tour", *(f"/studies/{study}/{step}" for step in steps)):
            answer = ana.get(path)
            if answer.status_code != 200:
                continue
            page = opened(answer.text)
            curators = Socket(whole, ana, client_id=page.client_id)
            for number, element in page.elements.items():
                for event in element.get("events", ()):
                    message = {
                        "id": int(number),
                        "client_id": page.client_id,
                        "listener_id": event["listener_id"],
                        "args": [],
                    }
                    assert own.ask("event", message) == [False], (path, element)
                    sent += 1
            curators.close()
        assert sent > 20
        assert state(ana) == before
        own.close()


@needs("chromium")
def test_signing_out_is_on_every_page(whole):
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 700})
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(f"{whole.origin}/login")
        page.get_by_label("Name").fill("ben")
        page.get_by_label("Password").fill(PASSWORDS["ben"])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{whole.origin}/releases")
        page.locator("details.who summary").click()
        if shots := os.environ.get("SHOAL_SCREENSHOTS"):
            page.screenshot(path=f"{shots}/signing-out.png")
        page.get_by_role("button", name="Sign out", exact=True).click()
        page.wait_for_url(f"{whole.origin}/login")
        page.goto(f"{whole.origin}/releases")
        assert page.url.startswith(f"{whole.origin}/login")
        if shots:
            page.screenshot(path=f"{shots}/signing-in.png")
        browser.close()


def test_a_page_that_is_not_shared_has_no_public_page(whole):
    with whole.client() as nobody:
        for name in ("x", "", "..", "%2e%2e", "1' OR 1=1 --"):
            assert nobody.get(f"/public/{name}").status_code in (303, 404)


def test_a_studio_keeps_its_folder_to_itself(whole):
    assert whole.home.stat().st_mode & 0o077 == 0
    for path in whole.home.rglob("*"):
        if path.name != "output.txt":  # the test's own
            assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, path


def test_programs_and_browsers_are_told_the_same(whole):
    refused = httpx.get(f"{whole.origin}/api/v1/studies", headers=BROWSER)
    assert (refused.status_code, refused.json()["status"]) == (401, 401)
