"""Starts studios in processes of their own, and speaks to them as a browser does."""

from __future__ import annotations

import contextlib
import html
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from shoal.studio.access.accounts import Users
from shoal.studio.access.roles import CURATOR, VIEWER, User
from shoal.studio.access.sessions import Sessions
from shoal.studio.access.store import AccessStore

PASSWORDS = {name: f"heron lantern quiet {number}" for number, name in enumerate(("ana", "ben", "carl"))}
ROLES = {"ana": CURATOR, "ben": VIEWER, "carl": CURATOR}
# Seconds that a slow machine may take to answer, or to start a server.
PATIENCE = 240.0
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}


def with_users(home: Path) -> AccessStore:
    """A store with two curators and a viewer."""
    store = AccessStore(home / "access.db")
    for name, role in ROLES.items():
        Users(store).add(name, role, PASSWORDS[name])
    return store


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Running:
    """A server, its folder and what it printed."""

    home: Path
    port: int
    entry: str
    process: subprocess.Popen[str]
    origin: str
    verify: Any = True
    output: Path = field(default_factory=Path)

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(
            base_url=self.origin, headers=BROWSER, verify=self.verify, timeout=PATIENCE, **options
        )

    def signed_in(self, name: str) -> httpx.Client:
        """A browser with a session; made in the store, because a password takes its time."""
        client = self.client()
        with contextlib.closing(self.store()) as store:
            secret = Sessions(store).start(User(name, ROLES[name]))
        client.cookies.set(f"shoal-{self.port}", secret, domain="127.0.0.1")
        return client

    def store(self) -> AccessStore:
        return AccessStore(self.home / "access.db")

    def written(self) -> str:
        """Everything that it printed or logged."""
        return self.output.read_text() + "".join(file.read_text() for file in self.home.glob("access.log*"))


@contextlib.contextmanager
def running(command: list[str], home: Path, port: int, *, scheme: str = "http", verify: Any = True):
    """Start a server that prints the address to open as its first line."""
    output = home / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=file, text=True, cwd=home
        )
    assert process.stdout is not None
    try:
        entry = process.stdout.readline().strip()
        origin = f"{scheme}://127.0.0.1:{port}"
        until = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{origin}/login", verify=verify, timeout=PATIENCE)
                break
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.1)
        yield Running(home, port, entry, process, origin, verify, output)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def until(happens: Callable[[], Any]) -> Any:
    """Wait for what a server does after it has answered, and return it."""
    end = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return found


def seen_before(running: Running, seconds: float) -> None:
    """Let all sessions have been seen so many seconds ago: nobody has to wait until they end."""
    with contextlib.closing(running.store()) as store, store.write() as connection:
        connection.execute("UPDATE sessions SET seen = ?", (store.clock() - seconds,))


def login(client: httpx.Client, origin: str, name: str, password: str, **more: str) -> httpx.Response:
    """Fill in the form."""
    shown = client.get("/login")
    found = re.search(r'name="csrf" value="([^"]+)"', shown.text)
    token = found.group(1) if found else ""
    form = {"name": name, "password": password, "csrf": token, "next": "/"} | more
    return client.post("/login", data=form, headers={"origin": origin})


def csrf_of(client: httpx.Client) -> str:
    """What the pages of this session put into their forms."""
    from shoal.studio.access.hashing import csrf_of as made_of

    (session,) = [cookie.value for cookie in client.cookies.jar if not cookie.name.endswith("-form")]
    return made_of(str(session))


@dataclass
class Opened:
    """A page of NiceGUI as the browser got it."""

    client_id: str
    elements: dict[str, Any]

    def button(self, label: str) -> dict[str, Any]:
        """An event that presses a button."""
        return self._event(label, "click")

    def written(self, label: str, words: str) -> dict[str, Any]:
        """An event that says what a field holds now."""
        return self._event(label, "update:value", json.dumps(words))

    def _event(self, label: str, kind: str, *args: str) -> dict[str, Any]:
        for number, element in self.elements.items():
            if element.get("props", {}).get("label") == label:
                (event,) = [event for event in element["events"] if event["type"] == kind]
                return {
                    "id": int(number),
                    "client_id": self.client_id,
                    "listener_id": event["listener_id"],
                    "args": list(args),
                }
        raise AssertionError(f"nothing is called {label}")

    @property
    def upload_url(self) -> str:
        return next(
            element["props"]["url"]
            for element in self.elements.values()
            if "upload" in str(element.get("props", {}).get("url", ""))
        )


def opened(page: str) -> Opened:
    """Read the page's number and elements off its markup."""
    found = re.search(r"parseElements\(String\.raw`(.*?)`\)", page, re.S)
    assert found, page[:500]
    number = re.search(r"client_id['\"]: ['\"]([0-9a-f-]{36})", page)
    assert number
    return Opened(number.group(1), json.loads(html.unescape(found.group(1))))


class Refused(Exception):
    """A socket was not let in."""


class Socket:
    """A socket as socket.io's browser side opens it."""

    def __init__(
        self,
        running: Running,
        client: httpx.Client | None,
        *,
        origin: str | None = "own",
        client_id: str = "",
        **more,
    ) -> None:
        query = {"EIO": "4", "transport": "websocket"} | more
        if client_id:
            query |= {
                "client_id": client_id,
                "implicit_handshake": "true",
                "document_id": "d",
                "tab_id": "t",
                "next_message_id": "0",
            }
        cookies = "; ".join(f"{c.name}={c.value}" for c in client.cookies.jar) if client else ""
        url = f"{running.origin.replace('http', 'ws', 1)}/_nicegui_ws/socket.io/?{httpx.QueryParams(query)}"
        self._stack = contextlib.ExitStack()
        try:
            opening = connect(
                url,
                origin=running.origin if origin == "own" else origin,  # type: ignore[arg-type]
                additional_headers={"Cookie": cookies} if cookies else {},
                open_timeout=PATIENCE,
                ssl=running.verify if running.origin.startswith("https") else None,
                proxy=None,
            )
            self.connection: ClientConnection = self._stack.enter_context(opening)
            assert self.read().startswith("0")
            self.connection.send("40")
            answer = self.read()
            if not answer.startswith("40"):
                self.close()
                raise Refused(answer)
        except (InvalidHandshake, ConnectionClosed) as error:
            self.close()
            raise Refused(str(error)) from None

    def read(self, timeout: float = PATIENCE) -> str:
        return str(self.connection.recv(timeout))

    def emit(self, name: str, message: Any) -> None:
        self.connection.send("42" + json.dumps([name, message]))

    def ask(self, name: str, message: Any) -> Any:
        """Emit, and wait for the answer to it."""
        self.connection.send("421" + json.dumps([name, message]))
        while True:
            got = self.read()
            if got.startswith("431"):
                return json.loads(got[3:])
            if got == "2":
                self.connection.send("3")

    def is_open(self, within: float) -> bool:
        """Whether it is still open after so many seconds."""
        until = time.monotonic() + within
        while (left := until - time.monotonic()) > 0:
            try:
                got = self.read(left)
            except TimeoutError:
                return True
            except ConnectionClosed:
                return False
            if got.startswith("41"):
                return False
            if got == "2":
                self.connection.send("3")
        return True

    def close(self) -> None:
        self._stack.close()
