"""The few plain pages of the door: signing in, being refused. They need no script and load nothing."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

# Where a viewer begins, who may not see the curators' first page.
VIEWERS_HOME = "/releases"
# What is said with a status: never more, whatever went wrong.
_SAID = {
    401: ("Sign in", "This needs someone who is signed in."),
    403: ("Not allowed", "You may not do this, or it did not come from a page of this studio."),
    404: ("Not found", "There is nothing here."),
    413: ("Too large", "This is larger than the studio takes."),
    421: ("Another name", "This studio is not reached by this name."),
    429: ("Too many attempts", "Wait a while before you try again."),
    500: ("Something went wrong", "Nothing more was spent than the ledger says."),
}

# A file, so that it is read as what it is; put into the page, which then loads nothing.
_STYLE = Path(__file__).with_name("door.css").read_text(encoding="utf-8")


def shell(title: str, body: str) -> str:
    """Put a plain page together; `body` is markup."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
        f"{escape(title)} · Shoal Studio</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main>{body}</main></body></html>"
    )


def said(status: int) -> tuple[str, str]:
    """Give the title and the sentence of a status."""
    return _SAID.get(status, ("Not possible", "This cannot be done."))


def problem(status: int, number: str | None = None) -> dict[str, Any]:
    """Say it to programs."""
    told: dict[str, Any] = {"status": status, "detail": said(status)[1]}
    return told | ({"incident": number} if number else {})


def error_page(status: int, number: str | None = None) -> str:
    """Say that it went wrong, and nothing about what."""
    title, text = said(status)
    more = f"<p>The log has its place under <code>{escape(number)}</code>.</p>" if number else ""
    return shell(title, f'<h1>{title}</h1><p>{text}</p>{more}<p><a href="/">To the first page</a></p>')


def login_url(path: str) -> str:
    """Where to sign in, and where to go then."""
    return "/login" if path in ("/", "/login") else f"/login?next={quote(path)}"


def login_page(csrf: str, after: str, name: str = "", trouble: str = "") -> str:
    """Ask for a name and a password."""
    alert = f'<p role="alert">{escape(trouble)}</p>' if trouble else ""
    return shell(
        "Sign in",
        f"<h1>Shoal Studio</h1><p>Private clustering for people who hold other people's data.</p>{alert}"
        '<form method="post" action="/login">'
        f'<input type="hidden" name="csrf" value="{escape(csrf)}">'
        f'<input type="hidden" name="next" value="{escape(after)}">'
        '<label for="name">Name</label>'
        '<input id="name" name="name" autocomplete="username" autocapitalize="none" '
        f'required maxlength="64" value="{escape(name)}"{"" if name else " autofocus"}>'
        '<label for="password">Password</label><input id="password" name="password" type="password" '
        f'autocomplete="current-password" required maxlength="1024"{" autofocus" if name else ""}>'
        "<button>Sign in</button></form>",
    )


def local_page(trouble: str = "") -> str:
    """Say where the link is, in a studio without users."""
    alert = f'<p role="alert">{escape(trouble)}</p>' if trouble else ""
    return shell(
        "Open the printed link",
        f"<h1>Shoal Studio</h1>{alert}<p>This studio is for one person on this machine. "
        "Open the link that it printed when it started; a link works once. Another one:</p>"
        "<p><code>shoal studio link</code></p>",
    )
