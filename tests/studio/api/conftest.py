"""The API of the made-up city behind the guard, in this process."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

pytest.importorskip("nicegui", reason="needs nicegui (pip install -e '.[studio]')")
pytest.importorskip("argon2", reason="needs argon2-cffi (pip install -e '.[studio]')")

ROLES = {"ana": "curator", "carl": "curator", "ben": "viewer"}


class Api:
    """A studio, and one client for each of its people, with a token."""

    def __init__(self, home: Path, **how) -> None:
        from fastapi import FastAPI

        from shoal.studio.access.doors import Doors
        from shoal.studio.access.guard import Guard
        from shoal.studio.access.logs import AccessLog
        from shoal.studio.access.policy import Policy
        from shoal.studio.access.roles import Role, User
        from shoal.studio.access.sessions import Sessions
        from shoal.studio.access.settings import Settings
        from shoal.studio.access.store import AccessStore
        from shoal.studio.access.tokens import Tokens
        from shoal.studio.api import PREFIX, create_api
        from shoal.studio.workshop import Studio

        self.studio = Studio.demo(home, **how)
        self.store = AccessStore(home / "access.db")
        self.policy, settings = Policy(), Settings(max_upload=100_000)
        self.app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        self.app.mount(PREFIX, create_api(self.studio, max_upload=settings.max_upload, policy=self.policy))
        self.sessions, self.tokens = Sessions(self.store), Tokens(self.store)
        doors = Doors(self.store, settings, self.sessions, None, local=False)
        Doors.declare(self.policy)
        self.log = AccessLog(home / "access.log", self.store.clock)
        self.guard = Guard(
            self.app,
            doors.app,
            doors.paths,
            policy=self.policy,
            settings=settings,
            sessions=self.sessions,
            tokens=self.tokens,
            log=self.log,
        )
        self.secrets = {}
        with self.store.write() as connection:  # without passwords, which nobody uses here
            for name, role in ROLES.items():
                connection.execute("INSERT INTO users VALUES (?, ?, '', 0)", (name, role))
        for name, role in ROLES.items():
            parsed = Role.parse(role)
            self.secrets[name] = self.tokens.create(User(name, parsed), parsed, 1)[1]

    def client(self, name: str | None = None) -> Client:
        return Client(self.guard, {"authorization": f"Bearer {self.secrets[name]}"} if name else {})


class Client:
    """Asks the app itself, without a server."""

    def __init__(self, app, headers) -> None:
        self._app, self._headers = app, headers

    def request(self, method: str, url: str, **how) -> httpx.Response:
        async def ask():
            through = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            base = "http://127.0.0.1:8765"
            async with httpx.AsyncClient(transport=through, base_url=base, headers=self._headers) as client:
                return await client.request(method, url, **how)

        return asyncio.run(ask())

    def __getattr__(self, method: str):
        return lambda url, **how: self.request(method.upper(), url, **how)


@pytest.fixture
def make_api(tmp_path):
    with contextlib.ExitStack() as stack:

        def make(**how):
            api = Api(tmp_path / "studio", **how)
            stack.callback(api.store.close)
            stack.callback(api.log.close)
            stack.callback(api.studio.close, stop_jobs=True)
            return api

        yield make


@pytest.fixture
def api(make_api):
    return make_api()
