"""`shoal studio`: the web studio, on this machine unless told otherwise."""

from __future__ import annotations

import shutil
import socket
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from shoal.errors import InvalidInput
from shoal.reporting.console import say, speaks

HOME = Path("~/.shoal/studio")
"""Where a studio is kept, unless told otherwise."""

# name: (where it lives, what it does); loaded when called.
_COMMANDS = {
    "users": ("shoal.cli.studio_access:users", "Add, list and remove people, and set passwords."),
    "tokens": ("shoal.cli.studio_access:tokens", "Make and revoke tokens for the API."),
    "link": ("shoal.cli.studio_access:link", "Print a new link into a studio without users."),
}


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            return None
        _needs_extra()
        module, attribute = _COMMANDS[name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Group, invoke_without_command=True)
@click.option(
    "--demo",
    is_flag=True,
    help="Open with the made-up city; without --home, in a folder that is thrown away.",
)
@click.option(
    "--home", type=click.Path(path_type=Path, file_okay=False), help=f"Folder of the studio; {HOME}."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--basemap", type=click.Path(path_type=Path), help="GeoJSON to draw under every map.")
@click.option(
    "--online-tiles",
    is_flag=True,
    help="Let maps ask OpenStreetMap for tiles, which tells where the data is.",
)
@click.option(
    "--max-upload",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    help="Megabytes of a file that may be sent.",
)
@click.option("--approval", is_flag=True, help="A release waits until a second person approves it.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="Address that people type, behind a proxy or on a wildcard host.",
)
@click.option("--proxy", multiple=True, help="Address of the proxy in front of it.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate for TLS, as PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key, as PEM.")
@click.option(
    "--access-log",
    type=click.Path(path_type=Path),
    help="File for who asked for what, without rows; access.log in its folder.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.pass_context
@speaks
def studio(ctx: click.Context, /, **options: Any) -> None:
    """Explore levels of privacy on a map, choose one, and release it, in a browser."""
    if ctx.invoked_subcommand is None:
        _needs_extra()
        _serve(**options)


def _needs_extra() -> None:
    if find_spec("nicegui") is None or find_spec("argon2") is None:
        raise InvalidInput("the studio needs its extra: pip install 'shoal[studio]'")


def _serve(
    demo: bool,
    home: Path | None,
    host: str,
    port: int,
    basemap: Path | None,
    max_upload: int,
    approval: bool,
    access_log: Path | None,
    no_browser: bool,
    **reached: Any,
) -> None:
    from shoal.studio.access import AccessStore, Settings, entry_url, serve
    from shoal.studio.app import build
    from shoal.studio.workshop import Studio

    settings = Settings(
        host=host, port=port or _free_port(host), max_upload=max_upload * 2**20, approval=approval, **reached
    )
    thrown_away = demo and home is None
    folder = None if thrown_away else (home or HOME).expanduser()
    made = Studio.demo(folder) if demo else Studio(folder or HOME)
    made.memory.set("two_people", approval)
    try:
        store = AccessStore(made.home / "access.db")
        guard = build(
            made, settings, store, basemap=basemap, access_log=access_log or made.home / "access.log"
        )
        url = entry_url(guard)
        say(f"Shoal Studio: {url}")
        say(
            "Stop it with Ctrl-C."
            + (" Its folder is thrown away then." if thrown_away else f" Its folder: {made.home}")
        )
        sys.stderr.flush()
        if not no_browser:
            _open_when_up(host, settings.port, url)
        serve(guard, temporary=made.home / "incoming")
    finally:
        made.close(stop_jobs=thrown_away)
        if thrown_away:
            shutil.rmtree(made.home, ignore_errors=True)


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _open_when_up(host: str, port: int, url: str) -> None:
    """Open a browser as soon as somebody listens."""
    import threading
    import time
    import webbrowser

    def wait() -> None:
        for _ in range(100):
            try:
                socket.create_connection((host, port), timeout=0.2).close()
            except OSError:
                time.sleep(0.1)
            else:
                webbrowser.open(url)
                return

    threading.Thread(target=wait, daemon=True).start()
