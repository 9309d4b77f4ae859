"""Who may do what in a studio: users, roles, sessions, tokens, and the guard before requests and sockets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.studio.access.roles import CURATOR, PUBLIC, VIEWER, Role, User, Visit
from shoal.studio.access.settings import Settings
from shoal.studio.access.store import AccessStore

if TYPE_CHECKING:
    from shoal.studio.access.assembly import (
        Protected,
        csrf_token,
        current_user,
        current_visit,
        entry_url,
        protect,
        serve,
    )
    from shoal.studio.access.policy import declare, page

__all__ = [
    "CURATOR",
    "PUBLIC",
    "VIEWER",
    "AccessStore",
    "Protected",
    "Role",
    "Settings",
    "User",
    "Visit",
    "csrf_token",
    "current_user",
    "current_visit",
    "declare",
    "entry_url",
    "page",
    "protect",
    "serve",
]

# Loaded when they are used: the command line adds users without a web server.
_LATER = {"declare": "policy", "page": "policy"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER.get(name, 'assembly')}"), name)
