"""Signing in and out."""

from __future__ import annotations

import math

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from shoal.studio.access import pages
from shoal.studio.access.accounts import Users
from shoal.studio.access.attempts import Attempts
from shoal.studio.access.guard import ADDRESS_KEY, cookie_of
from shoal.studio.access.hashing import csrf_of, new_secret, same
from shoal.studio.access.policy import Policy
from shoal.studio.access.roles import LOCAL, PUBLIC, SCOPE_KEY, VIEWER, User, Visit
from shoal.studio.access.sessions import Sessions, use_link
from shoal.studio.access.settings import Settings
from shoal.studio.access.sockets import Sockets
from shoal.studio.access.store import AccessStore

# Passwords that are checked at the same time: each takes 64 MiB and a twentieth of a second.
_AT_ONCE = 2


class Doors:
    """The addresses ``/login``, ``/logout`` and ``/enter``."""

    paths = frozenset({"/login", "/logout", "/enter"})

    def __init__(
        self, store: AccessStore, settings: Settings, sessions: Sessions, sockets: Sockets, *, local: bool
    ) -> None:
        self._store, self._settings, self._sessions, self._sockets = store, settings, sessions, sockets
        self._users, self._attempts, self._local = Users(store), Attempts(store), local
        self._checking = CapacityLimiter(_AT_ONCE)
        self.app = Router(
            [
                Route("/login", self._show_login, methods=["GET"]),
                Route("/login", self._login, methods=["POST"]),
                Route("/logout", self._logout, methods=["POST"]),
                Route("/enter", self._enter, methods=["GET"]),
            ]
        )

    @staticmethod
    def declare(policy: Policy) -> None:
        """Say who may come to these addresses."""
        policy.declare("/login", PUBLIC, methods=("GET", "POST"))
        policy.declare("/enter", PUBLIC, methods=("GET",))
        policy.declare("/logout", VIEWER, methods=("POST",))

    @property
    def _form_cookie(self) -> str:
        return f"{self._settings.cookie}-form"

    def _set(self, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            name, value, path="/", httponly=True, samesite="strict", secure=self._settings.secure
        )

    def _asking(
        self, request: Request, status: int = 200, *, after: str, name: str = "", trouble: str = ""
    ) -> Response:
        """Show the form; what it must bring back is bound to a cookie."""
        if self._local:
            return HTMLResponse(pages.local_page(trouble), status)
        bound = cookie_of(request.headers, self._form_cookie) or new_secret()
        response = HTMLResponse(pages.login_page(csrf_of(bound), after, name, trouble), status)
        self._set(response, self._form_cookie, bound)
        return response

    async def _show_login(self, request: Request) -> Response:
        visit: Visit = request.scope[SCOPE_KEY]
        after = _inside(request.query_params.get("next", "/"))
        return RedirectResponse(after, 303) if visit.user else self._asking(request, after=after)

    async def _login(self, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=8)
        name, password, after = _text(form, "name"), _text(form, "password"), _inside(_text(form, "next"))
        bound = cookie_of(request.headers, self._form_cookie)
        if self._local or bound is None or not same(_text(form, "csrf"), csrf_of(bound)):
            return self._asking(request, 403, after=after, trouble="The form was too old. Try once more.")
        address = request.scope[ADDRESS_KEY]
        wait = await run_in_threadpool(self._attempts.begin, name, address)
        if wait:
            minutes = math.ceil(wait / 60)
            told = f"Too many attempts. Wait {minutes} minute{'s' if minutes > 1 else ''}, then try again."
            response = self._asking(request, 429, after=after, name=name, trouble=told)
            response.headers["retry-after"] = str(math.ceil(wait))
            return response
        user = await to_thread.run_sync(self._users.check, name, password, limiter=self._checking)
        if user is None:
            return self._asking(request, 401, after=after, name=name, trouble="Name and password do not fit.")
        await run_in_threadpool(self._attempts.succeeded, name, address)
        response = await self._welcome(request, user, after)
        response.delete_cookie(self._form_cookie, path="/", secure=self._settings.secure, httponly=True)
        return response

    async def _welcome(self, request: Request, user: User, after: str) -> Response:
        """Begin a session with a new id; the one that the browser had, if any, ends."""
        before: Visit = request.scope[SCOPE_KEY]
        if before.session:
            await self._end(before.session)
        response = RedirectResponse(after, 303)
        self._set(response, self._settings.cookie, await run_in_threadpool(self._sessions.start, user))
        return response

    async def _enter(self, request: Request) -> Response:
        visit: Visit = request.scope[SCOPE_KEY]
        token = request.query_params.get("token", "")
        if self._local and token and await run_in_threadpool(use_link, self._store, token):
            return await self._welcome(request, LOCAL, "/")
        if visit.user:
            return RedirectResponse("/", 303)  # the link was opened once more, in the same browser
        return self._asking(request, 403, after="/", trouble="This link was used before, or is too old.")

    async def _logout(self, request: Request) -> Response:
        visit: Visit = request.scope[SCOPE_KEY]
        form = await request.form(max_files=0, max_fields=8)
        if visit.user is None or visit.session is None or not same(_text(form, "csrf"), visit.csrf or ""):
            return HTMLResponse(pages.error_page(403), 403)
        if _text(form, "everywhere"):
            ending = await run_in_threadpool(self._sessions.end_all, visit.user.name)
        else:
            ending = [visit.session]
        for session in ending:
            await self._end(session)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self._settings.cookie, path="/", secure=self._settings.secure, httponly=True)
        response.headers["clear-site-data"] = '"cache", "storage"'
        return response

    async def _end(self, session: str) -> None:
        await run_in_threadpool(self._sessions.end, session)
        await self._sockets.hang_up(session)


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _inside(path: str) -> str:
    """Where to go after signing in: a plain path of this studio, or its first page."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain and "\\" not in path else "/"
