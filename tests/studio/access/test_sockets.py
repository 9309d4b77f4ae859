"""Sockets to a real server: who may open one, and for which pages it may speak."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest
from servers import PATIENCE, Refused, Running, Socket, csrf_of, opened, seen_before, until
from websockets.exceptions import ConnectionClosed

from shoal.studio.access.accounts import Users
from shoal.studio.access.roles import CURATOR
from shoal.studio.access.sessions import Sessions

pytestmark = pytest.mark.slow  # servers in processes of their own


def pressed(server: Running) -> list[str]:
    """Who has pressed the curator's button so far."""
    file = server.home / "pressed"
    return file.read_text().split() if file.exists() else []


def never_pressed(server: Running) -> bool:
    """Whether nobody has pressed it, a while after it was tried."""
    time.sleep(0.5)
    return not pressed(server)


@pytest.fixture
def page(small):
    """A curator's page, with its socket open, as in a browser."""
    (small.home / "pressed").unlink(missing_ok=True)
    with small.signed_in("ana") as ana:
        page = opened(ana.get("/secret").text)
        socket = Socket(small, ana, client_id=page.client_id)
        yield ana, page, socket
        socket.close()


def test_a_curators_own_socket_presses_the_button(small, page):
    _, opened_page, socket = page
    socket.emit("event", opened_page.button("press"))
    assert until(lambda: pressed(small)) == ["ana"]


def test_what_is_typed_arrives_in_the_order_in_which_it_was_typed(small, page):
    """Each key tells all that a field holds: one that is overtaken would put back what was there before."""
    _, opened_page, socket = page
    said = ["x" * length for length in range(1, 301)]
    for words in said:
        socket.emit("event", opened_page.written("name", words))
    socket.emit("event", opened_page.button("press"))
    until(lambda: pressed(small))
    assert (small.home / "typed").read_text().split() == said


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", None])
def test_a_page_of_another_origin_opens_no_socket(small, page, origin):
    ana, opened_page, _ = page
    for named in ("", opened_page.client_id):
        with pytest.raises(Refused, match="403"):
            Socket(small, ana, origin=origin, client_id=named)


def test_nobody_opens_a_socket(small, page):
    with pytest.raises(Refused, match="403"):
        Socket(small, None)
    with httpx.Client() as stranger:
        stranger.cookies.set(f"shoal-{small.port}", "made-up")
        with pytest.raises(Refused, match="403"):
            Socket(small, stranger, client_id=page[1].client_id)


@pytest.mark.parametrize("name", ["ben", "carl"])
def test_nobody_speaks_for_the_page_of_another(small, page, name):
    """Not a viewer for a curator's page, nor one curator for another's: ledgers name who did it."""
    _, opened_page, _ = page
    with small.signed_in(name) as other:
        with pytest.raises(Refused, match="Implicit handshake failed"):
            Socket(small, other, client_id=opened_page.client_id)
        socket = Socket(small, other)
        hello = {"client_id": opened_page.client_id, "tab_id": "t", "document_id": "e", "next_message_id": 0}
        assert socket.ask("handshake", hello) == [False]
        socket.emit("event", opened_page.button("press"))
        assert socket.ask("event", opened_page.button("press")) == [False]
        for message in ("ack", "javascript_response", "log", "unheard_of"):
            socket.emit(
                message, {"client_id": opened_page.client_id, "next_message_id": 99, "request_id": "x"}
            )
        # The same with a page of their own, which is a good page.
        own = opened(other.get("/").text)
        with_page = Socket(small, other, client_id=own.client_id)
        assert with_page.ask("event", opened_page.button("press")) == [False]
        assert never_pressed(small)
        socket.close()
        with_page.close()


def test_the_same_person_in_another_session_speaks_only_for_that(small, page):
    _, opened_page, _ = page
    with small.signed_in("ana") as elsewhere:
        socket = Socket(small, elsewhere)
        assert socket.ask("event", opened_page.button("press")) == [False]
        socket.close()
    assert never_pressed(small)


@pytest.mark.parametrize(
    "message", [None, 7, "x", [], {}, {"client_id": 5}, {"client_id": {"a": 1}}, {"client_id": None}]
)
def test_odd_messages_are_dropped(small, page, message):
    _, opened_page, socket = page
    for name in ("event", "handshake", "ack", "log", "javascript_response"):
        socket.emit(name, message)
    socket.emit("event", opened_page.button("press"))
    assert until(lambda: pressed(small)) == ["ana"]


def test_messages_go_to_the_socket_of_their_page_alone(small, page):
    _, opened_page, socket = page
    with small.signed_in("ben") as ben:
        listening = Socket(small, ben, client_id=opened(ben.get("/").text).client_id)
        socket.emit("event", opened_page.button("fail"))
        assert listening.is_open(1)
        listening.close()


def test_only_websockets_and_no_taking_over(small, page):
    ana, opened_page, _ = page
    for transport in ("polling", "websocket"):
        path = f"/_nicegui_ws/socket.io/?EIO=4&transport={transport}&client_id={opened_page.client_id}"
        assert ana.get(path, headers={"origin": small.origin}).status_code == 404
        assert ana.post(path, headers={"origin": small.origin}).status_code in (403, 404)
    with pytest.raises(Refused, match="403"):
        Socket(small, ana, sid="abc")


@pytest.mark.parametrize("way", ["logout", "command line", "role"])
def test_signing_out_closes_sockets_and_forgets_pages(small, way):
    (small.home / "pressed").unlink(missing_ok=True)
    users = Users(small.store())
    with small.client() as dora:
        users.add("dora", CURATOR, "heron lantern quiet 9")
        try:
            from shoal.studio.access.roles import User

            secret = Sessions(small.store()).start(User("dora", CURATOR))
            dora.cookies.set(f"shoal-{small.port}", secret, domain="127.0.0.1")
            page = opened(dora.get("/secret").text)
            socket = Socket(small, dora, client_id=page.client_id)
            if way == "logout":
                form = {"csrf": csrf_of(dora)}
                assert dora.post("/logout", data=form, headers={"origin": small.origin}).status_code == 303
            else:
                # Another process ends it: the very next event is refused, and soon the socket is closed.
                Sessions(small.store()).end_all("dora")
                if way == "role":
                    socket.emit("event", page.button("press"))
            assert not socket.is_open(PATIENCE)  # at the next sweep
            assert never_pressed(small)
        finally:
            users.remove("dora")


def test_a_browser_that_is_left_alone_does_not_keep_its_session_alive(start):
    """It confirms by itself what it was sent; only what somebody does counts."""
    server = start(idle=1000.0)
    with server.signed_in("ana") as ana:
        page = opened(ana.get("/secret").text)
        socket = Socket(server, ana, client_id=page.client_id)
        seen_before(server, 994.0)
        for number in range(32):  # eight seconds: more than are left
            time.sleep(0.25)
            try:
                socket.emit("ack", {"client_id": page.client_id, "next_message_id": number})
            except ConnectionClosed:
                break
        assert ana.get("/").status_code == 303
        socket.close()


def test_an_error_in_an_event_is_written_without_its_words(small, page):
    from small_app import CELL

    _, opened_page, socket = page
    socket.emit("event", opened_page.button("fail"))
    socket.emit(
        "log", {"client_id": opened_page.client_id, "level": "error", "message": f"from a browser: {CELL}"}
    )
    until(lambda: "ValueError at small_app.py" in small.written())
    assert CELL not in small.written()
    assert "from a browser" not in small.written()


def test_what_was_sent_before_a_page_went_is_heard_before_it_goes(monkeypatch):
    """NiceGUI drops what comes for a page without a socket: who saves and then follows a link has saved."""
    import socketio

    from shoal.studio.access import sockets
    from shoal.studio.access.roles import SCOPE_KEY, User, Visit

    ana = User("ana", CURATOR)

    class Slow:
        """Sessions of which the first look takes longest."""

        naps = iter((0.3, 0.1, 0.0))

        def touch(self, _: str) -> User:
            time.sleep(next(self.naps))
            return ana

    async def visit() -> list[str]:
        heard: list[str] = []
        server = socketio.AsyncServer(async_mode="asgi")
        server.on("connect", lambda *_: None)
        server.on("disconnect", lambda _: heard.append("gone"))
        server.on("event", lambda _, message: heard.append(message["said"]))
        sockets.Sockets(server, Slow())
        on = server.handlers["/"]
        await on["connect"]("s", {"asgi.scope": {SCOPE_KEY: Visit(ana, "session")}}, None)
        said = [on["event"]("s", {"client_id": "page", "said": word}) for word in ("1", "12", "save")]
        await asyncio.gather(*said, on["disconnect"]("s"))
        return heard

    monkeypatch.setattr(sockets, "owns_client", lambda *_: True)
    assert asyncio.run(visit()) == ["1", "12", "save", "gone"]


def test_every_message_of_nicegui_goes_through_the_guard():
    from nicegui import core

    from shoal.studio.access.sockets import Sockets

    before = dict(core.sio.handlers["/"])
    try:
        Sockets(core.sio, sessions=None)
        assert set(core.sio.handlers["/"]) == set(before)
        assert all(hasattr(handler, "guarded") for handler in core.sio.handlers["/"].values())
    finally:
        core.sio.handlers["/"] = before
