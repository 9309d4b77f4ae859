"""Which role each address asks for. What is not declared here is refused, whatever routes an app may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar, cast

from starlette.routing import compile_path

from shoal.studio.access.roles import CURATOR, PUBLIC, VIEWER, Role

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declared:
    """One address and the role it asks for."""

    template: str
    role: Role
    # None: all methods.
    methods: frozenset[str] | None
    # A file is sent here, so that the body may be as large as an upload.
    upload: bool
    # The part of the address that names a page of NiceGUI, which must be the visitor's own.
    client: str | None
    pattern: re.Pattern[str]


class Policy:
    """A list of declared addresses; where several fit, the strictest counts, whichever comes first."""

    def __init__(self) -> None:
        self._declared: dict[tuple[str, frozenset[str] | None], Declared] = {}

    def declare(
        self,
        template: str,
        role: Role,
        *,
        methods: tuple[str, ...] | None = None,
        upload: bool = False,
        client: str | None = None,
    ) -> None:
        """Say which role an address asks for. A mount is declared as ``/assets/{path:path}``."""
        kept = None if methods is None else frozenset(methods) | ({"HEAD"} if "GET" in methods else set())
        pattern, _, _ = compile_path(template)
        self._declared[template, kept] = Declared(template, role, kept, upload, client, pattern)

    def find(self, path: str, method: str) -> tuple[Declared, dict[str, str]] | None:
        """Find what is declared of a request, and the parts of its address; None where nothing is."""
        best: tuple[Declared, dict[str, str]] | None = None
        for declared in self._declared.values():
            if declared.methods is not None and method not in declared.methods:
                continue
            if (found := declared.pattern.match(path)) and (best is None or declared.role > best[0].role):
                best = declared, found.groupdict()
        return best

    def covers(self, template: str, method: str) -> bool:
        """Whether a route of an app was declared, by the same words."""
        return any(
            declared.template == template and (declared.methods is None or method in declared.methods)
            for declared in self._declared.values()
        )

    def __iter__(self) -> Iterator[Declared]:
        return iter(self._declared.values())


# Pages are declared where they are written, when their module is imported.
POLICY = Policy()
declare = POLICY.declare

# Code of NiceGUI and of its libraries, the same for everybody and from nobody's table. By its exact version:
# below /_nicegui/auto lie files of ours that a page happens to show, which nobody else gets.
_NICEGUI = f"/_nicegui/{version('nicegui')}"
for _part in (
    "static/{path:path}",
    "libraries/{key:path}",
    "components/{key:path}",
    "resources/{key}/{path:path}",
    "esm/{key}/{path:path}",
):
    declare(f"{_NICEGUI}/{_part}", PUBLIC, methods=("GET",))
declare(f"{_NICEGUI}/dynamic_resources/{{name}}", VIEWER, methods=("GET",))
declare("/favicon.ico", PUBLIC, methods=("GET",))
# Files go to the page that asked for them, of the curator who opened it.
declare(
    "/_nicegui/client/{client_id}/upload/{element}",
    CURATOR,
    methods=("POST",),
    upload=True,
    client="client_id",
)
# Events of pages: who may send which is told in sockets.py.
SOCKET = "/_nicegui_ws/socket.io/"
declare(SOCKET, VIEWER, methods=("WEBSOCKET",))


def page(path: str, *, role: Role, **options: Any) -> Callable[[_Function], _Function]:
    """Declare a page of NiceGUI with its role, in place of ``ui.page``."""
    from nicegui import ui

    declare(path, role, methods=("GET",))
    decorate: Any = ui.page(path, **options)
    return cast("Callable[[_Function], _Function]", decorate)
