"""Events of pages: a socket may speak for the pages of its own session, and only while that session lives.

NiceGUI names a page by a random number (its client) and lets any socket send events for any number it knows,
from any origin. The guard checks origin and session as a socket is opened; this checks each message after.

Messages of a socket are let through one after another, as they came. Every key tells all that a field holds:
if one overtook another while its session is looked up, the server would know less than the page shows.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from shoal.studio.access.logs import incident
from shoal.studio.access.roles import NOBODY, SCOPE_KEY, Visit
from shoal.studio.access.sessions import Sessions

# Seconds between two looks for sessions that have ended while their sockets were quiet.
SWEEP = 5.0
# Messages that are dropped: words of a browser for the server's log.
_DROPPED = frozenset({"log"})

Handler = Callable[..., Any]


def owner_of(client: Any) -> Visit:
    """Who opened a page."""
    request = client._request
    visit = request.scope.get(SCOPE_KEY, NOBODY) if request is not None else NOBODY
    return visit if isinstance(visit, Visit) else NOBODY


def owns_client(visit: Visit, client_id: object) -> bool:
    """Whether a page was opened in the same session."""
    from nicegui import Client

    client = Client.instances.get(client_id) if isinstance(client_id, str) else None
    if client is None or visit.session is None:
        return False
    return owner_of(client).session == visit.session


class Sockets:
    """Stands before each of NiceGUI's handlers of messages.

    Parameters
    ----------
    sio : socketio.AsyncServer
        NiceGUI's server of sockets.
    sessions : Sessions
    """

    def __init__(self, sio: Any, sessions: Sessions) -> None:
        self._sio, self._sessions = sio, sessions
        self._of: dict[str, Visit] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._plain: dict[str, Handler] = {}
        self._sweeper: asyncio.Task[None] | None = None
        # Called with nothing after sessions have ended, in a thread: uploads may have to go.
        self.on_sweep: list[Callable[[], object]] = []
        self._install()

    def _install(self) -> None:
        handlers = self._sio.handlers["/"]
        if len(self._sio.handlers) != 1 or self._sio.namespace_handlers:
            raise RuntimeError(
                "this version of NiceGUI has sockets that the studio does not know how to guard"
            )
        for name, handler in list(handlers.items()):
            plain = getattr(
                handler, "guarded", handler
            )  # another studio of the same process stood here before
            self._plain[name] = plain
            handlers[name] = self._guarded(name, plain)

    def _guarded(self, name: str, plain: Handler) -> Handler:
        if name == "connect":
            guarded: Handler = self._connect
        elif name == "disconnect":
            guarded = self._disconnect
        else:

            async def guarded(sid: str, message: Any = None) -> Any:
                return await self._message(name, plain, sid, message)

            guarded.guarded = plain  # type: ignore[attr-defined]
            return guarded

        async def method(*arguments: Any) -> Any:
            return await guarded(*arguments)

        method.guarded = plain  # type: ignore[attr-defined]
        return method

    async def _connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> Any:
        visit = environ.get("asgi.scope", {}).get(SCOPE_KEY, NOBODY)
        if visit.session is None:
            return False
        query = environ.get("QUERY_STRING", "")
        # NiceGUI reads the page's number from the query of the handshake.
        named = _named_client(query)
        if named is not None and not owns_client(visit, named):
            import socketio  # type: ignore[import-untyped]  # it has no types

            raise socketio.exceptions.ConnectionRefusedError("Implicit handshake failed")
        self._of[sid], self._turns[sid] = visit, asyncio.Lock()
        try:
            return await _called(self._plain["connect"], sid, environ, auth)
        except BaseException:
            self._forget(sid)
            raise

    async def _disconnect(self, sid: str, *_: Any) -> Any:
        # NiceGUI drops what comes from a page without a socket: what was sent before it went is heard first.
        async with self._forget(sid):
            return await _called(self._plain["disconnect"], sid)

    def _forget(self, sid: str) -> asyncio.Lock:
        """Let a socket speak no more; what it has said before is still waiting for this lock."""
        self._of.pop(sid, None)
        return self._turns.pop(sid, None) or asyncio.Lock()

    async def _message(self, name: str, plain: Handler, sid: str, message: Any) -> Any:
        visit = self._of.get(sid, NOBODY)
        named = message.get("client_id") if isinstance(message, dict) else None
        if visit.session is None or not owns_client(visit, named):
            return False
        # Browsers confirm what they got by themselves: only what somebody does keeps a session alive.
        look = self._sessions.touch if name == "event" else self._sessions.peek
        async with self._turns[sid]:
            user = await run_in_threadpool(look, visit.session)
            if user == visit.user:
                return None if name in _DROPPED else await _called(plain, sid, message)
        await self.hang_up(visit.session)
        return False

    async def hang_up(self, session: str) -> None:
        """Close every socket of a session that has ended, and forget its pages."""
        from nicegui import Client

        for sid in [sid for sid, visit in self._of.items() if visit.session == session]:
            await self._sio.disconnect(sid)
            self._forget(sid)
        for client in [client for client in Client.instances.values() if owner_of(client).session == session]:
            client.delete()

    def start(self) -> None:
        """Look, from now on, for sessions that have ended."""
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    def stop(self) -> None:
        """Look no more."""
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def sweep(self) -> None:
        """Close what belongs to sessions that have ended."""
        for session in {visit.session for visit in self._of.values() if visit.session}:
            if not await run_in_threadpool(self._sessions.alive, session):
                await self.hang_up(session)
        await run_in_threadpool(self._sessions.sweep)
        for call in self.on_sweep:
            await run_in_threadpool(call)

    async def _sweep(self) -> None:
        while True:
            try:
                await self.sweep()
            except Exception as error:
                incident(error)
            await asyncio.sleep(SWEEP)


def _named_client(query: str) -> str | None:
    from urllib.parse import parse_qs

    return parse_qs(query).get("client_id", [None])[0]


async def _called(handler: Handler, *arguments: Any) -> Any:
    result: Any | Awaitable[Any] = handler(*arguments)
    return await result if inspect.isawaitable(result) else result
