"""`shoal studio users`, `tokens` and `link`: who may come into a studio. One that runs notices in seconds."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from shoal.errors import InvalidInput
from shoal.reporting.console import command, say, write_json
from shoal.studio.access.accounts import Users
from shoal.studio.access.roles import CURATOR, LOCAL, VIEWER, Role
from shoal.studio.access.sessions import Sessions, new_link
from shoal.studio.access.store import AccessStore
from shoal.studio.access.tokens import Tokens

_HOME = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    default="~/.shoal/studio",
    show_default=True,
    help="Folder of the studio.",
)
_NAME = click.argument("name")
_ROLE = click.option(
    "--role",
    type=click.Choice([CURATOR.word, VIEWER.word]),
    required=True,
    help="A curator opens, explores and releases; a viewer sees releases alone.",
)
_STDIN = click.option("--password-stdin", is_flag=True, help="Read the password from the standard input.")
_GENERATE = click.option("--generate", is_flag=True, help="Draw a password, and print it once.")
# Bytes of a drawn password: 120 bits.
_DRAWN = 15


@click.group("users")
def users() -> None:
    """Add, list and remove the people of a studio."""


@click.group("tokens")
def tokens() -> None:
    """Make, list and revoke tokens for programs that use a studio's API."""


def _subcommand(
    group: click.Group | None, name: str, *options: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    def make(function: Callable[..., Any]) -> click.Command:
        for option in reversed((*options, _HOME)):
            function = option(function)
        made = command(name)(function)
        if group is not None:
            group.add_command(made)
        return made

    return make


def _store(home: Path) -> AccessStore:
    folder = home.expanduser()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return AccessStore(folder / "access.db")


def _password(name: str, password_stdin: bool, generate: bool) -> str:
    if generate:
        drawn = secrets.token_urlsafe(_DRAWN)
        say(f"password of {name}: {drawn}\nIt is not shown again.")
        return drawn
    if password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InvalidInput("there is no terminal to ask on: give --password-stdin, or --generate")
    return str(click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


@_subcommand(users, "add", _NAME, _ROLE, _STDIN, _GENERATE)
def add(home: Path, name: str, role: str, as_json: bool, **how: bool) -> None:
    """Add NAME, who signs in with a password. With the first one, a studio asks everybody to sign in."""
    made = Users(_store(home)).add(name, Role.parse(role), _password(name, **how))
    if as_json:
        write_json({"name": made.name, "role": made.role.word})
    else:
        say(f"{name} can sign in as a {role}. A studio that is running asks for it from its next start on.")


@_subcommand(users, "list")
def list_users(home: Path, as_json: bool) -> None:
    """List who there is."""
    found = Users(_store(home)).list()
    if as_json:
        write_json([asdict(account) for account in found])
        return
    if not found:
        say("no users: the studio is for one person, on its own machine")
    for account in found:
        signed_in = f"signed in {account.sessions}x" if account.sessions else "not signed in"
        click.echo(f"{account.name:<20} {account.role:<8} since {_day(account.created)}, {signed_in}")


@_subcommand(users, "remove", _NAME)
def remove(home: Path, name: str, as_json: bool) -> None:
    """Remove NAME, and with them their sessions and tokens. What they did stays in the ledger."""
    Users(_store(home)).remove(name)
    if as_json:
        write_json({"removed": name})
    else:
        say(f"{name} is removed and signed out everywhere")


@_subcommand(users, "password", _NAME, _STDIN, _GENERATE)
def password(home: Path, name: str, as_json: bool, **how: bool) -> None:
    """Set another password for NAME; whoever is signed in as NAME is signed out."""
    accounts = Users(_store(home))
    if accounts.find(name) is None:
        raise InvalidInput(f"there is no user {name!r}; `shoal studio users list` shows who there is")
    accounts.set_password(name, _password(name, **how))
    if as_json:
        write_json({"name": name})
    else:
        say(f"{name} has a new password and is signed out everywhere")


@_subcommand(users, "role", _NAME, _ROLE)
def change_role(home: Path, name: str, role: str, as_json: bool) -> None:
    """Give NAME another role; their sessions and tokens end."""
    Users(_store(home)).set_role(name, Role.parse(role))
    if as_json:
        write_json({"name": name, "role": role})
    else:
        say(f"{name} is a {role} now and signed out everywhere")


@_subcommand(users, "logout", _NAME)
def logout(home: Path, name: str, as_json: bool) -> None:
    """Sign NAME out everywhere."""
    ended = len(Sessions(_store(home)).end_all(name))
    if as_json:
        write_json({"name": name, "sessions": ended})
    else:
        say(f"{name}: {ended} session{'' if ended == 1 else 's'} ended")


@_subcommand(
    tokens,
    "create",
    click.option("--user", "name", help="Who acts with it; the one local curator, if there are no users."),
    _ROLE,
    click.option("--days", type=float, default=30.0, show_default=True, help="How long it is good for."),
    click.option("--label", default="", help="What it is for."),
)
def create_token(home: Path, name: str | None, role: str, days: float, label: str, as_json: bool) -> None:
    """Make a token and print it, once."""
    store = _store(home)
    accounts = Users(store)
    if name is None and accounts:
        raise InvalidInput("--user is wanted: a token acts as somebody")
    user = LOCAL if name is None else accounts.find(name)
    if user is None:
        raise InvalidInput(f"there is no user {name!r}; `shoal studio users list` shows who there is")
    made, secret = Tokens(store).create(user, Role.parse(role), days, label)
    if as_json:
        write_json({**asdict(made), "token": secret})
        return
    say(f"token {made.id} of {made.name} as {made.role} until {_day(made.expires)}; it is not shown again:")
    click.echo(secret)


@_subcommand(tokens, "list")
def list_tokens(home: Path, as_json: bool) -> None:
    """List tokens, without what is secret of them."""
    found = Tokens(_store(home)).list()
    if as_json:
        write_json([asdict(token) for token in found])
        return
    if not found:
        say("no tokens")
    for token in found:
        until = f"until {_day(token.expires)}"
        click.echo(f"{token.id}  {token.name:<20} {token.role:<8} {until}  {token.label}".rstrip())


@_subcommand(tokens, "revoke", click.argument("token_id", metavar="ID"))
def revoke(home: Path, token_id: str, as_json: bool) -> None:
    """End the token with this ID (see list) at once."""
    Tokens(_store(home)).revoke(token_id)
    if as_json:
        write_json({"revoked": token_id})
    else:
        say(f"token {token_id} is revoked")


@_subcommand(None, "link")
def link(home: Path, as_json: bool) -> None:
    """Print a new link into a running studio without users: it works once, for an hour."""
    store = _store(home)
    if Users(store):
        raise InvalidInput(
            "this studio has users, who sign in with their passwords; a link is for one without"
        )
    made = new_link(store)
    if as_json:
        write_json({"url": made})
    else:
        click.echo(made)
