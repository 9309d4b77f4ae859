"""A real browser behind the guard: pages work under the content policy, and nothing else runs."""

from __future__ import annotations

import pytest
from servers import PASSWORDS, PATIENCE, until

from needs import chromium, needs

pytestmark = [pytest.mark.slow, needs("chromium")]


@pytest.fixture
def browser():
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield running
        running.close()


def test_signing_in_pressing_and_signing_out(small, browser):
    (small.home / "pressed").unlink(missing_ok=True)
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    said, asked, sockets = [], [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto(f"{small.origin}/secret")
    assert page.url == f"{small.origin}/login?next=/secret"
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill(PASSWORDS["ana"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="press").click()
    until(lambda: (small.home / "pressed").exists() and (small.home / "pressed").read_text() == "ana\n")
    assert not [line for line in said if "Content Security Policy" in line or "Refused" in line], said
    assert all(url.startswith((small.origin, "data:", "blob:")) for url in asked), asked
    assert len(sockets) >= 1
    assert all(url.startswith(small.origin.replace("http", "ws")) for url in sockets)
    # What the page itself could not have sent does not run: not in markup, nor loaded from elsewhere.
    page.evaluate(
        """() => {
            const div = document.createElement('div');
            div.innerHTML = '<img src=x onerror="window.ran = 1">';
            document.body.append(div);
            for (const source of ['', 'https://evil.example/x.js']) {
                const script = document.createElement('script');
                if (source) script.src = source; else script.textContent = 'window.ran = 2';
                document.body.append(script);
            }
        }"""
    )

    def refused() -> bool:
        page.wait_for_timeout(100)  # the browser tells while it is waited for
        return any("Content Security Policy" in line for line in said)

    until(refused)
    page.wait_for_timeout(500)
    assert page.evaluate("window.ran === undefined")
    # Nothing of the session can be read by a script, nor lies in the browser's storage.
    assert page.evaluate("document.cookie") == ""
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert "ana" not in kept.replace("__nicegui_tab_id", "")


def test_a_page_of_another_site_reaches_nothing(small, browser, tmp_path):
    """The browser of somebody who is signed in visits a page that tries."""
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(f"{small.origin}/login")
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill(PASSWORDS["ana"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{small.origin}/")
    # localhost and 127.0.0.1 are two sites to a browser, and both are us: the cookie is of one of them.
    evil = context.new_page()
    evil.route(
        "http://evil.test/**", lambda route: route.fulfill(body="<p>evil</p>", content_type="text/html")
    )
    evil.goto("http://evil.test/")
    got = evil.evaluate(
        """async (origin) => {
            const tried = {};
            const socket = new WebSocket(
                origin.replace('http', 'ws') + '/_nicegui_ws/socket.io/?EIO=4&transport=websocket');
            tried.socket = await new Promise((done) => {
                socket.onopen = () => done('open'); socket.onerror = () => done('refused'); });
            for (const [name, how] of Object.entries({get: {}, post: {method: 'POST', body: 'x'}}))
                tried[name] = await fetch(origin + '/api/v1/numbers', {credentials: 'include', ...how})
                    .then((answer) => answer.status, () => 'refused');
            const frame = document.createElement('iframe');
            frame.src = origin + '/secret';
            document.body.append(frame);
            await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
            try { tried.frame = frame.contentDocument === null ? 'refused' : 'open'; }
            catch { tried.frame = 'refused'; }
            return tried;
        }""",
        small.origin,
    )
    assert got == {"socket": "refused", "get": "refused", "post": "refused", "frame": "refused"}
    context.close()
