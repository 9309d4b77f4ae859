"""What every answer tells the browser, and the pages' own scripts marked so that no other may run."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.datastructures import MutableHeaders

from shoal.studio.access.roles import PUBLIC, Role
from shoal.studio.access.settings import Settings

# Where tiles come from if they are switched on.
TILES = "https://tile.openstreetmap.org"
# Where a request carries the nonce of its page.
NONCE_KEY = "shoal.nonce"
# A year, in seconds.
_HSTS = 31_536_000

_ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), geolocation=(), "
    "gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=(), browsing-topics=()",
    "x-robots-tag": "noindex, nofollow",
}


def new_nonce() -> str:
    """Draw what marks the scripts of one page."""
    return secrets.token_urlsafe(16)


def content_policy(settings: Settings, nonce: str | None) -> str:
    """Say what a page may load and run: scripts with the nonce for a page of NiceGUI, none for all else.

    NiceGUI evaluates handlers that its server sends and Vue compiles templates in the browser
    ('unsafe-eval'); Quasar and Leaflet set styles on elements ('unsafe-inline' for styles alone). Scripts in
    markup do not run.
    """
    # Written out for browsers in which 'self' does not include them; an address in brackets is no source.
    named = [origin for origin in sorted(settings.allowed_origins) if "[" not in origin]
    sockets = " ".join(origin.replace("http", "ws", 1) for origin in named)
    tiles = f" {TILES}" if settings.online_tiles else ""
    rules = {
        "default-src": "'none'",
        "img-src": f"'self' data: blob:{tiles}",
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self' data:",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    if nonce is not None:
        rules |= {
            "script-src": f"'self' 'nonce-{nonce}' 'unsafe-eval'",
            "script-src-attr": "'none'",
            "connect-src": f"'self' {sockets}",
            "worker-src": "'self' blob:",
        }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def protect_headers(headers: MutableHeaders, settings: Settings, role: Role | None, nonce: str) -> None:
    """Put the headers of one answer right; `role` is what its address asks for."""
    for name, value in _ALWAYS.items():
        headers[name] = value
    of_nicegui = headers.get("x-nicegui-content") == "page"
    headers["content-security-policy"] = content_policy(settings, nonce if of_nicegui else None)
    if role is not PUBLIC or "cache-control" not in headers:
        headers["cache-control"] = "no-store"
    if settings.secure:
        headers["strict-transport-security"] = f"max-age={_HSTS}"
    for name in ("server", "x-powered-by", "access-control-allow-origin", "access-control-allow-credentials"):
        if name in headers:
            del headers[name]


def mark_scripts(templates: Any) -> None:
    """Let NiceGUI's own template mark its scripts with the nonce; what is put into it is not marked."""
    loader = templates.env.loader
    if getattr(loader, "marks_scripts", False):
        return
    plain: Callable[..., tuple[str, str | None, Callable[[], bool] | None]] = loader.get_source

    def marked(environment: Any, name: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, filename, fresh = plain(environment, name)
        mark = f'<script nonce="{{{{ request.scope.get("{NONCE_KEY}", "") }}}}"'
        return source.replace("<script", mark), filename, fresh

    loader.get_source = marked
    loader.marks_scripts = True
    if templates.env.cache is not None:
        templates.env.cache.clear()
