"""Questions that are asked of every request before anything else sees it."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope

from shoal.studio.access.settings import Settings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What a proxy tells of a request. It is taken off: nothing behind the guard believes it.
_FORWARDED = (b"x-forwarded-", b"forwarded", b"x-real-ip")


def address_of(scope: Scope, settings: Settings) -> str | None:
    """Where a request comes from; None if it must come through the proxy and did not."""
    peer = scope.get("client")
    address = str(peer[0]) if peer else "unknown"
    if not settings.proxy:
        return address
    if address not in settings.proxy:
        return None
    # The last one is the proxy's own word; those before it, in the same line or in others, are the visitor's.
    told = Headers(scope=scope).getlist("x-forwarded-for")
    return told[-1].rsplit(",", 1)[-1].strip() if told else address


def without_forwarded(scope: Scope) -> Scope:
    """Take off what only a proxy may tell."""
    kept = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(_FORWARDED)]
    return {**scope, "headers": kept, "root_path": ""}


def known_host(headers: Headers, settings: Settings) -> bool:
    """Whether it was asked for by a name of ours: one that an attacker made point here is refused."""
    hosts = headers.getlist("host")
    return len(hosts) == 1 and hosts[0].lower() in settings.allowed_hosts


def own_origin(headers: Headers, settings: Settings, *, socket: bool = False) -> bool:
    """Whether a page of ours sent it: browsers name the origin of sockets and of what changes something."""
    origins = headers.getlist("origin")
    # Browsers hide the origin of a form sent under `no-referrer`, and tell beside it whether it is ours.
    hidden = not origins or origins == ["null"]
    if hidden and not socket:
        return headers.get("sec-fetch-site") == "same-origin"
    return len(origins) == 1 and origins[0] in settings.allowed_origins


def asked_by_another_site(headers: Headers) -> bool:
    """Whether another site's page wants it as a part of itself; going there by a link is no part."""
    site = headers.get("sec-fetch-site", "none")
    return site in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate"
