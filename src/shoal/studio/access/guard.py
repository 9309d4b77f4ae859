"""The door: every request and every socket comes here first, and what is not allowed goes no further."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.studio.access import checks, pages
from shoal.studio.access.hashing import hash_of, same
from shoal.studio.access.headers import NONCE_KEY, new_nonce, protect_headers
from shoal.studio.access.logs import AccessLog, incident
from shoal.studio.access.policy import Declared, Policy
from shoal.studio.access.roles import NOBODY, PUBLIC, SCOPE_KEY, Visit
from shoal.studio.access.sessions import Sessions
from shoal.studio.access.settings import MAX_BODY, Settings
from shoal.studio.access.sockets import owns_client
from shoal.studio.access.tokens import Tokens

# Addresses below this are for programs: bearer tokens count, answers are JSON.
API = "/api/"
# What a request of a session that changes something must carry.
CSRF_HEADER = "x-shoal-csrf"
# Where the address of a visitor is kept for the rate limit.
ADDRESS_KEY = "shoal.address"


class _TooLarge(Exception):
    """A body went past its limit as it came in."""


class Guard:
    """An ASGI app around another.

    Parameters
    ----------
    app : ASGI app
        The pages and the API.
    doors : ASGI app
        What answers at the addresses of signing in and out.
    own : frozenset of str
        These addresses.
    """

    def __init__(
        self,
        app: ASGIApp,
        doors: ASGIApp,
        own: frozenset[str],
        *,
        policy: Policy,
        settings: Settings,
        sessions: Sessions,
        tokens: Tokens,
        log: AccessLog,
    ) -> None:
        self.app = app  # by this name NiceGUI finds its own server
        self._doors, self._own = doors, own
        self.policy, self.settings = policy, settings
        self.sessions, self.tokens, self._log = sessions, tokens, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _visit(self, scope: Scope) -> Visit:
        headers = Headers(scope=scope)
        given = headers.get("authorization")
        if given is not None:
            # A token is for the API, and whoever sends one does not also come with a session.
            kind, _, secret = given.partition(" ")
            if kind.lower() != "bearer" or not scope["path"].startswith(API):
                return NOBODY
            user = await run_in_threadpool(self.tokens.find, secret.strip())
            return Visit(user, keeper=hash_of(secret.strip())) if user else NOBODY
        session_id = cookie_of(headers, self.settings.cookie)
        if not session_id:
            return NOBODY
        return await run_in_threadpool(self.sessions.visit, session_id) or NOBODY

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        nonce, method = new_nonce(), scope["method"]
        address = checks.address_of(scope, self.settings)
        scope = checks.without_forwarded(scope)
        found = self.policy.find(scope["path"], method)
        declared = found[0] if found else None
        visit, status = NOBODY, 500
        limit = self.settings.max_upload if declared and declared.upload else MAX_BODY
        body = _Limited(receive, limit, Headers(scope=scope))
        started = False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                headers = MutableHeaders(scope=message)
                protect_headers(headers, self.settings, declared.role if declared else None, nonce)
            await send(message)

        async def answer_of_app(message: Message) -> None:
            if not body.exceeded:  # else it is said here, in whichever way the app took it
                await answer(message)

        try:
            refusal: Response | None = None
            if address is None:
                refusal = self._refuse(scope, 403)
            elif not checks.known_host(Headers(scope=scope), self.settings):
                refusal = self._refuse(scope, 421)
            else:
                visit = await self._visit(scope)
                refusal = self._judge(scope, visit, found, body)
            if refusal is not None:
                await refusal(scope, receive, answer)
                return
            scope[SCOPE_KEY], scope[NONCE_KEY], scope[ADDRESS_KEY] = visit, nonce, address
            target = self._doors if scope["path"] in self._own else self.app
            await target(scope, body, answer_of_app)
        except Exception as error:
            if not body.exceeded:
                number = incident(error)
                if not started:
                    await self._refuse(scope, 500, number)(scope, receive, answer)
        finally:
            if body.exceeded and not started:
                await self._refuse(scope, 413)(scope, receive, answer)
            user = visit.user.name if visit.user else None
            self._log.write(user, method, declared.template if declared else None, status)

    def _judge(
        self, scope: Scope, visit: Visit, found: tuple[Declared, dict[str, str]] | None, body: _Limited
    ) -> Response | None:
        """Say no, or nothing."""
        headers = Headers(scope=scope)
        if found is None or not scope["path"].isprintable():
            return self._refuse(scope, 404 if visit.user else 401)
        declared, named = found
        if not visit.may(declared.role):
            if visit.user and scope["path"] == "/" and scope["method"] == "GET":
                return RedirectResponse(pages.VIEWERS_HOME, 303)
            return self._refuse(scope, 403 if visit.user else 401)
        if declared.client and not owns_client(visit, named[declared.client]):
            return self._refuse(scope, 403)
        by_token = visit.user is not None and visit.session is None
        if not by_token:
            if scope["method"] not in checks.SAFE and not self._meant(scope, visit, declared):
                return self._refuse(scope, 403)
            if declared.role is not PUBLIC and checks.asked_by_another_site(headers):
                return self._refuse(scope, 403)
        if body.announced_too_much:
            return self._refuse(scope, 413)
        return None

    def _meant(self, scope: Scope, visit: Visit, declared: Declared) -> bool:
        """Whether a page of ours sent what would change something, not another site in the visitor's name."""
        headers = Headers(scope=scope)
        if not checks.own_origin(headers, self.settings):
            return False
        if scope["path"] in self._own or declared.client:
            return True  # a form that is checked there; or the number of the visitor's own page, a secret
        return visit.csrf is not None and same(headers.get(CSRF_HEADER, ""), visit.csrf)

    def _refuse(self, scope: Scope, status: int, number: str | None = None) -> Response:
        headers = Headers(scope=scope)
        if scope["path"].startswith(API) or "text/html" not in headers.get("accept", ""):
            more = {"www-authenticate": "Bearer"} if status == 401 else {}
            return JSONResponse(pages.problem(status, number), status, more)
        if status == 401 and scope["method"] in ("GET", "HEAD"):
            return RedirectResponse(pages.login_url(scope["path"]), 303)
        return Response(pages.error_page(status, number), status, media_type="text/html")

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit, status = NOBODY, 403
        address = checks.address_of(scope, self.settings)
        scope = checks.without_forwarded(scope)
        headers = Headers(scope=scope)
        found = self.policy.find(scope["path"], "WEBSOCKET")
        try:
            if (
                address is not None
                and checks.known_host(headers, self.settings)
                and checks.own_origin(headers, self.settings, socket=True)
                # A socket that takes over another's connection by its number is none of ours.
                and not any(part.startswith(b"sid=") for part in scope["query_string"].split(b"&"))
            ):
                visit = await self._visit(scope)
                if found is not None and visit.session is not None and visit.may(found[0].role):
                    scope[SCOPE_KEY], status = visit, 101
        finally:
            user = visit.user.name if visit.user else None
            self._log.write(user, "WEBSOCKET", found[0].template if found else None, status)
        if status != 101:
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        try:
            await self.app(scope, receive, send)
        except Exception as error:
            incident(error)


class _Limited:
    """A body that stops at its limit, as it comes in, whatever length was announced."""

    def __init__(self, receive: Receive, limit: int, headers: Headers) -> None:
        self._receive, self._limit, self._seen = receive, limit, 0
        self.exceeded = False
        announced = headers.get("content-length", "0")
        self.announced_too_much = not announced.isdigit() or int(announced) > limit

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._limit:
            self.exceeded = True
            raise _TooLarge
        return message


def cookie_of(headers: Headers, name: str) -> str | None:
    """Read one cookie; None if it is not there, or there twice."""
    values: list[str] = []
    for line in headers.getlist("cookie"):
        for part in line.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                values.append(value)
    return values[0] if len(values) == 1 else None
