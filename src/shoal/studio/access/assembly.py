"""Puts the guard around an app of NiceGUI, and serves it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import ASGIApp

from shoal.studio.access import pages
from shoal.studio.access.accounts import Users
from shoal.studio.access.doors import Doors
from shoal.studio.access.guard import API, Guard
from shoal.studio.access.headers import mark_scripts
from shoal.studio.access.logs import AccessLog, incident, quieten
from shoal.studio.access.policy import POLICY, Policy
from shoal.studio.access.roles import NOBODY, SCOPE_KEY, User, Visit
from shoal.studio.access.sessions import Sessions, new_link
from shoal.studio.access.settings import Settings
from shoal.studio.access.sockets import Sockets, owner_of
from shoal.studio.access.store import AccessStore
from shoal.studio.access.tokens import Tokens

# Bytes of one message of a socket: NiceGUI's browser side sends no more than a megabyte.
_MESSAGE = 2**20


class Protected(Guard):
    """A guarded app, and what the studio around it needs."""

    sockets: Sockets
    store: AccessStore
    # Whether it is for the one local curator.
    local: bool
    doors: Doors


def protect(
    app: ASGIApp,
    store: AccessStore,
    settings: Settings,
    *,
    access_log: Path | None = None,
    policy: Policy = POLICY,
) -> Protected:
    """Put the guard around `app`, in which ``ui.run_with`` has mounted NiceGUI; serve what comes back.

    Raises `InvalidInput` where there are no users and others could reach it.
    """
    from nicegui import core
    from nicegui.client import templates

    local = not Users(store)
    settings.check_users(not local)
    quieten()
    mark_scripts(templates)
    core.sio.eio.cors_allowed_origins = sorted(settings.allowed_origins)
    core.sio.eio.transports = ["websocket"]
    core.app.config.socket_io_js_transports = ["websocket"]
    _say_nothing(core.app)
    sessions = Sessions(store, idle=settings.idle, absolute=settings.absolute, local=local)
    sockets = Sockets(core.sio, sessions)
    core.app.on_startup(sockets.start)
    core.app.on_shutdown(sockets.stop)
    doors = Doors(store, settings, sessions, sockets, local=local)
    doors.declare(policy)
    guard = Protected(
        app,
        doors.app,
        doors.paths,
        policy=policy,
        settings=settings,
        sessions=sessions,
        tokens=Tokens(store, local=local),
        log=AccessLog(access_log, store.clock),
    )
    guard.sessions, guard.sockets, guard.store, guard.local, guard.doors = (
        sessions,
        sockets,
        store,
        local,
        doors,
    )
    return guard


def _say_nothing(app: Any) -> None:
    """Let no error of a page reach a page or a log with its words."""
    from nicegui.logging import log

    async def failed(request: Request, error: Exception) -> Response:
        number = incident(error)
        if request.url.path.startswith(API):
            return JSONResponse(pages.problem(500, number), 500)
        return Response(pages.error_page(500, number), 500, media_type="text/html")

    async def missing(request: Request, error: Exception) -> Response:  # noqa: ARG001
        if request.url.path.startswith(API):
            return JSONResponse(pages.problem(404), 404)
        return Response(pages.error_page(404), 404, media_type="text/html")

    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(404, missing)
    app._page_exception_handler = None  # so that `failed` is asked
    told = app._exception_handlers
    told[:] = [incident, *(handler for handler in told if handler not in (log.exception, incident))]


def current_user(of: Any = None) -> User | None:
    """Who is behind a request or a page of NiceGUI; without an argument, behind the page or event at hand."""
    return current_visit(of).user


def csrf_token(of: Any = None) -> str:
    """Give what a form of this visitor carries in its field ``csrf``, a request in ``x-shoal-csrf``."""
    return current_visit(of).csrf or ""


def current_visit(of: Any = None) -> Visit:
    """Who is behind a request or page, with their session."""
    if of is None:
        from nicegui import ui

        of = ui.context.client
    if hasattr(of, "scope"):
        visit = of.scope.get(SCOPE_KEY, NOBODY)
        return visit if isinstance(visit, Visit) else NOBODY
    return owner_of(of)


def entry_url(guard: Protected) -> str:
    """Give what to open in a browser: for the one local curator, with a token that works once."""
    if not guard.local:
        return guard.settings.url + "/"
    return new_link(guard.store, guard.settings.url)


def all_routes(app: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every address and method of an app and of what is mounted in it, for the test that all are declared."""
    from fastapi.routing import iter_route_contexts

    if isinstance(app, Guard):
        yield from all_routes(app._doors)
        yield from all_routes(app.app)
        return
    for route in app.routes:
        if isinstance(route, Mount):
            if getattr(route.app, "routes", None):
                yield from all_routes(route.app, prefix + route.path)
            else:
                yield f"{prefix}{route.path}/{{path:path}}", "*"
        elif isinstance(route, WebSocketRoute):
            yield prefix + route.path, "WEBSOCKET"
        elif isinstance(route, Route):
            for method in sorted(route.methods or {"GET"}):
                yield prefix + route.path, method
        else:
            for inner in iter_route_contexts([route]):
                for method in sorted(inner.methods or {"GET"}):
                    yield f"{prefix}{inner.path}", method


def serve(guard: Protected, *, temporary: Path) -> None:
    """Run the server until it is stopped.

    Parameters
    ----------
    guard : Protected
    temporary : Path
        A folder for files as they come in, emptied now and readable by nobody else.
    """
    import uvicorn

    temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary.chmod(0o700)
    for left in temporary.iterdir():
        left.unlink()
    tempfile.tempdir = str(temporary)
    os.environ["TMPDIR"] = str(temporary)
    settings = guard.settings
    uvicorn.Server(
        uvicorn.Config(
            guard,
            host=settings.host,
            port=settings.port,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
            log_level="warning",
            access_log=False,  # it would write addresses with what stands in them
            proxy_headers=False,  # the guard reads them, and only from the proxy
            server_header=False,
            ws_max_size=_MESSAGE,
        )
    ).run()
