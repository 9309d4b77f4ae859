"""Requests to a real server: who is let in where, and what every answer says."""

from __future__ import annotations

import json
import ssl
import subprocess

import httpx
import pytest
from servers import BROWSER, PASSWORDS, PATIENCE, csrf_of, login, opened, seen_before, until
from small_app import CELL

from shoal.studio.access.accounts import Users
from shoal.studio.access.attempts import PER_NAME
from shoal.studio.access.roles import CURATOR, VIEWER, User
from shoal.studio.access.sessions import Sessions
from shoal.studio.access.tokens import Tokens

pytestmark = pytest.mark.slow  # servers in processes of their own

PROGRAM = {"accept": "application/json"}


def bearer(server, name, role, of=None):
    _, secret = Tokens(server.store()).create(User(name, of or role), role, 1)
    return {"authorization": f"Bearer {secret}", **PROGRAM}


def test_nobody_gets_no_further_than_the_login_page(small):
    with small.client() as client:
        for path in ("/", "/secret", "/undeclared", "/nothing", "/_nicegui/auto/static/x/y.csv"):
            got = client.get(path)
            assert (got.status_code, got.headers["location"].split("?")[0]) == (303, "/login"), path
        assert httpx.get(f"{small.origin}/api/v1/numbers").status_code == 401
        assert client.get("/login").status_code == 200


def test_a_viewer_is_kept_out_of_what_a_curator_sees(small):
    with small.signed_in("ben") as ben, small.signed_in("ana") as ana:
        assert ben.get("/").status_code == 200
        assert ben.get("/secret").status_code == 403
        assert ana.get("/secret").status_code == 200


def test_what_is_not_declared_is_there_for_nobody(small):
    with small.signed_in("ana") as ana:
        for path in ("/undeclared", "/api/v1/forgotten", "/undeclared/", "/%75ndeclared"):
            got = ana.get(path)
            assert got.status_code == 404, path
            assert CELL not in got.text


def test_a_page_says_nothing_of_its_error_and_neither_does_any_log(small):
    with small.signed_in("ana") as ana:
        for path in ("/boom", "/later", "/api/v1/fails"):
            got = ana.get(f"{path}?q={CELL}")
            assert got.status_code == 500
            assert CELL not in got.text
            assert "ValueError" not in got.text
        ana.get(f"/nothing?{CELL}")
        ana.get(f"/{CELL}")
    written = small.written()
    assert "incident" in written
    assert "ValueError" in written
    assert CELL not in written


def test_the_access_log_tells_who_and_which_kind_of_page(small):
    with small.signed_in("ana") as ana:
        ana.get("/secret?x=1")
    wanted = {"user": "ana", "method": "GET", "route": "/secret", "status": 200}

    def last():
        line = json.loads((small.home / "access.log").read_text().splitlines()[-1])
        return {name: line[name] for name in line if name != "time"}

    until(lambda: last() == wanted)  # it is written after the answer was sent
    assert (small.home / "access.log").stat().st_mode & 0o777 == 0o600


def test_every_answer_has_the_headers(small):
    with small.signed_in("ana") as ana:
        for path in ("/", "/secret", "/nothing", "/login", "/boom"):
            headers = ana.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert "camera=()" in headers["permissions-policy"]
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")
            assert "frame-ancestors 'none'" in policy
            assert "http:" not in policy.replace(small.origin, "")
            assert "strict-transport-security" not in headers
            assert "server" not in headers
        scripts = ana.get("/").headers["content-security-policy"].split("script-src ")[1].split(";")[0]
        assert "'unsafe-inline'" not in scripts
        assert (
            ana.get("/").headers["content-security-policy"] != ana.get("/").headers["content-security-policy"]
        )
        assert "script-src" not in ana.get("/login").headers["content-security-policy"]


def test_code_that_is_the_same_for_everybody_may_be_kept_by_browsers(small):
    with small.client() as client:
        with small.signed_in("ana") as ana:
            import re

            path = re.search(r'src="(/_nicegui/[^"]+nicegui.js)"', ana.get("/").text).group(1)
        assert "max-age" in client.get(path).headers["cache-control"]


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites(small):
    with small.client() as client:
        kept = login(client, small.origin, "ana", PASSWORDS["ana"]).headers.get_list("set-cookie")
    (session,) = [cookie.lower() for cookie in kept if cookie.startswith(f"shoal-{small.port}=")]
    assert "httponly" in session
    assert "samesite=strict" in session
    assert "path=/" in session


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_changes_nothing(small, headers):
    with small.signed_in("ana") as ana:
        del ana.headers["sec-fetch-site"]
        token = {"x-shoal-csrf": csrf_of(ana)}
        assert ana.post("/api/v1/numbers", content=b"x", headers=token | headers).status_code == 403
        form = {"csrf": csrf_of(ana)}
        assert ana.post("/logout", data=form, headers=headers).status_code == 403
        assert ana.get("/").status_code == 200
        assert ana.post("/login", data={}, headers=headers).status_code == 403


@pytest.mark.parametrize("token", [None, "", "0" * 64])
def test_our_own_page_needs_the_token_too(small, token):
    with small.signed_in("ana") as ana:
        headers = {"origin": small.origin} | ({} if token is None else {"x-shoal-csrf": token})
        assert ana.post("/api/v1/numbers", content=b"x", headers=headers).status_code == 403
        assert (
            ana.post("/logout", data={"csrf": token or ""}, headers={"origin": small.origin}).status_code
            == 403
        )
        right = {"origin": small.origin, "x-shoal-csrf": csrf_of(ana)}
        assert ana.post("/api/v1/numbers", content=b"abc", headers=right).json() == {"bytes": 3}


def test_a_form_of_another_browser_does_not_sign_in(small):
    with small.client() as mine, small.client() as other:
        mine.get("/login")
        taken = other.get("/login").text.split('name="csrf" value="')[1].split('"')[0]
        form = {"name": "ana", "password": PASSWORDS["ana"], "csrf": taken, "next": "/"}
        assert mine.post("/login", data=form, headers={"origin": small.origin}).status_code == 403


def test_no_part_of_another_page(small):
    with small.signed_in("ana") as ana:
        for mode in ("no-cors", "cors", "websocket"):
            headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode}
            assert ana.get("/", headers=headers).status_code == 403
            assert ana.get("/api/v1/numbers", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""]
)
def test_a_name_that_is_not_ours_is_not_answered(small, host):
    with small.signed_in("ana") as ana:
        assert ana.get("/", headers={"host": host}).status_code in (400, 421)


@pytest.mark.parametrize(
    "after", ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", ""]
)
def test_signing_in_leads_nowhere_else(small, after):
    with small.client() as client:
        got = login(client, small.origin, "ana", PASSWORDS["ana"], next=after)
        assert (got.status_code, got.headers["location"]) == (303, "/")


def test_signing_in_leads_to_where_one_wanted_to_go(small):
    with small.client() as client:
        where = client.get("/secret").headers["location"]
        assert where == "/login?next=/secret"
        assert (
            login(client, small.origin, "ana", PASSWORDS["ana"], next="/secret").headers["location"]
            == "/secret"
        )


def test_signing_in_gives_a_new_id_and_ends_the_old_one(small):
    with small.signed_in("ana") as ana, small.client() as thief:
        thief.cookies = httpx.Cookies(ana.cookies)
        assert thief.get("/").status_code == 200
        # The login form is not shown to who is signed in; an attacker would make the victim send it.
        bound = "x" * 43
        ana.cookies.set(f"shoal-{small.port}-form", bound)
        from shoal.studio.access.hashing import csrf_of as made_of

        form = {"name": "carl", "password": PASSWORDS["carl"], "csrf": made_of(bound), "next": "/"}
        assert ana.post("/login", data=form, headers={"origin": small.origin}).status_code == 303
        assert "hello carl" in ana.get("/").text
        assert thief.get("/").status_code == 303


def test_a_cookie_that_comes_twice_is_none(small):
    with small.signed_in("ana") as ana:
        (value,) = [c.value for c in ana.cookies.jar if c.name == f"shoal-{small.port}"]
    twice = f"shoal-{small.port}={value}; shoal-{small.port}=other"
    assert httpx.get(f"{small.origin}/", headers=BROWSER | {"cookie": twice}).status_code == 303
    assert httpx.get(f"{small.origin}/", headers=BROWSER | {"cookie": twice.split(";")[0]}).status_code == 200


def test_signing_out_ends_the_session(small):
    with small.signed_in("ana") as ana, small.signed_in("ana") as elsewhere:
        kept = httpx.Cookies(ana.cookies)
        got = ana.post("/logout", data={"csrf": csrf_of(ana)}, headers={"origin": small.origin})
        assert got.status_code == 303
        assert "storage" in got.headers["clear-site-data"]
        ana.cookies = kept
        assert ana.get("/").status_code == 303
        assert elsewhere.get("/").status_code == 200


def test_signing_out_everywhere(small):
    with small.signed_in("carl") as carl, small.signed_in("carl") as elsewhere, small.signed_in("ana") as ana:
        form = {"csrf": csrf_of(carl), "everywhere": "1"}
        assert carl.post("/logout", data=form, headers={"origin": small.origin}).status_code == 303
        assert elsewhere.get("/").status_code == 303
        assert ana.get("/").status_code == 200


def test_tokens_are_for_programs_and_have_a_role(small):
    viewer, curator = bearer(small, "ana", VIEWER, CURATOR), bearer(small, "ana", CURATOR)
    url = f"{small.origin}/api/v1/numbers"
    assert httpx.get(url, headers=viewer).json() == {"user": "ana"}
    assert httpx.post(url, headers=viewer, content=b"x").status_code == 403
    assert httpx.post(url, headers=curator, content=b"x").json() == {"bytes": 1}
    assert httpx.get(f"{small.origin}/", headers=curator | {"accept": "text/html"}).status_code == 303
    assert httpx.get(url, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert (
        httpx.get(
            url, headers={"authorization": curator["authorization"].replace("Bearer", "Basic")}
        ).status_code
        == 401
    )
    Tokens(small.store()).revoke(Tokens(small.store()).list()[-1].id)
    assert httpx.post(url, headers=curator, content=b"x").status_code == 401


def test_a_wrong_token_is_not_helped_by_a_session(small):
    with small.signed_in("ana") as ana:
        got = ana.get("/api/v1/numbers", headers={"authorization": "Bearer wrong"})
        assert got.status_code == 401
        assert got.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_stops_at_its_limit_as_it_comes_in(small, chunked):
    sent = 0

    def stream():
        nonlocal sent
        for _ in range(400):
            sent += 100_000
            yield b"x" * 100_000

    with small.signed_in("ana") as ana:
        headers = {"origin": small.origin, "x-shoal-csrf": csrf_of(ana)}
        try:
            got = ana.post("/api/v1/numbers", content=stream() if chunked else b"x" * 2**21, headers=headers)
        except (httpx.WriteError, httpx.RemoteProtocolError):
            assert sent < 40_000_000  # it hung up before all was sent
        else:
            assert got.status_code == 413


def test_uploads_go_to_ones_own_page_up_to_a_limit(small):
    with small.signed_in("ana") as ana, small.signed_in("carl") as carl, small.signed_in("ben") as ben:
        where = opened(ana.get("/secret").text).upload_url
        files = {"file": ("table.csv", b"1,2\n")}
        own = {"origin": small.origin}
        for other in (carl, ben):
            assert other.post(where, files=files, headers=own).status_code == 403
        assert httpx.post(f"{small.origin}{where}", files=files, headers=own).status_code == 401
        assert ana.post(where, files=files, headers={"origin": "https://evil.example"}).status_code == 403
        assert not (small.home / "uploaded").exists()
        big = {"file": ("big.csv", b"x" * 300_000)}
        assert ana.post(where, files=big, headers=own).status_code == 413
        assert not (small.home / "uploaded").exists()
        assert ana.post(where, files=files, headers=own).status_code == 200
        assert (small.home / "uploaded").read_text() == "table.csv"
        assert list((small.home / "tmp").iterdir()) == []


def test_too_many_attempts_are_refused_even_with_the_right_password(start):
    server = start()
    with server.client() as client:
        for _ in range(PER_NAME):
            got = login(client, server.origin, "ana", "not the password")
            assert got.status_code == 401
            assert "do not fit" in got.text
        got = login(client, server.origin, "ana", PASSWORDS["ana"])
        assert got.status_code == 429
        assert int(got.headers["retry-after"]) > 0
        assert login(client, server.origin, "nobody-of-this-name", "x").status_code == 401
        assert login(client, server.origin, "ben", PASSWORDS["ben"]).status_code == 303
    assert "not the password" not in server.written()


def test_without_users_a_printed_link_opens_it_once(start):
    server = start(users=False)
    assert server.entry.startswith(f"{server.origin}/enter?token=")
    with server.client() as mine, server.client() as other:
        assert mine.get("/").status_code == 303
        assert "printed" in mine.get("/login").text
        assert mine.get("/enter?token=wrong").status_code == 403
        assert mine.get(server.entry).headers["location"] == "/"
        assert "hello local" in mine.get("/").text
        assert mine.get("/secret").status_code == 200
        assert other.get(server.entry).status_code == 403
        assert other.get("/").status_code == 303
        assert mine.get(server.entry).status_code == 303
        # A password that is later given to someone does not sign in here.
        Users(server.store()).add("dora", CURATOR, "a password of hers, long")
        assert login(other, server.origin, "dora", "a password of hers, long").status_code == 403
    assert server.entry.split("=")[1] not in server.written()


def test_a_session_that_is_idle_ends(start):
    server = start(idle=1000.0)
    with server.signed_in("ana") as ana:
        assert ana.get("/").status_code == 200
        seen_before(server, 999.0 - PATIENCE)
        assert ana.get("/").status_code == 200  # and now it was seen
        seen_before(server, 1001.0)
        assert ana.get("/").status_code == 303
    assert Sessions(server.store(), idle=1000.0).names() == frozenset()


def test_only_the_proxy_is_believed_and_only_behind_one(start, small):
    forwarded = {
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-prefix": "/evil",
        "x-forwarded-host": "evil.example",
    }
    with small.signed_in("ana") as ana:
        assert "/evil" not in ana.get("/", headers=forwarded).text
    server = start(proxy=["127.0.0.1"], origins=["https://studio.example.org"])
    with server.client(follow_redirects=False) as client:
        assert client.get("/login").status_code == 421
        client.headers["host"] = "studio.example.org"
        got = client.get("/login", headers=forwarded)
        assert got.status_code == 200
        assert "max-age" in got.headers["strict-transport-security"]
        (cookie,) = got.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-shoal-form=")
        assert "secure" in cookie.lower()


def test_whoever_goes_past_the_proxy_is_refused(start):
    server = start(proxy=["192.0.2.1"], origins=["https://studio.example.org"])
    with server.client() as client:
        client.headers["host"] = "studio.example.org"
        assert client.get("/login").status_code == 403


def test_tls(start, tmp_path):
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout {key} -out {cert}"
    command = ["openssl", *made.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    trust = ssl.create_default_context(cafile=cert)
    server = start(scheme="https", verify=trust, tls_cert=str(cert), tls_key=str(key))
    with server.client() as client:
        got = login(client, server.origin, "ana", PASSWORDS["ana"])
        assert got.status_code == 303
        assert "max-age" in got.headers["strict-transport-security"]
        (session,) = [c for c in got.headers.get_list("set-cookie") if c.startswith("__Host-shoal=")]
        assert "secure" in session.lower()
        assert client.get("/").status_code == 200
        assert f"wss://127.0.0.1:{server.port}" in client.get("/").headers["content-security-policy"]
