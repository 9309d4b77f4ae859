"""What all pages share: the frame, the steps, the line that sums up, help beside terms, and code to copy."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.access import csrf_token
from shoal.studio.pages.terms import TERMS

# Where the pages of a study lie, in the order of the work.
_FAILED = "Something went wrong on the server. Nothing more was spent than the ledger says; reload the page."
STEPS = (("open", "Open"), ("explore", "Explore"), ("zones", "Zones"), ("release", "Release"))


@contextmanager
def frame(
    title: str, *, here: str = "", lede: str = "", user: str = "", curator: bool = True
) -> Iterator[None]:
    """Lay out a page: head, navigation, and a place for what is in the block.

    Parameters
    ----------
    title : str
        The heading, also of the tab.
    here : str
        Which link of the navigation leads here.
    lede : str
        A sentence under the heading.
    user : str
        Who is logged in, where there is more than one.
    curator : bool
        Whether the links of a curator are shown.
    """
    ui.on_exception(
        lambda: ui.notify(_FAILED, type="negative", multi_line=True, timeout=0, close_button="Close")
    )
    ui.page_title(f"{title} · Shoal Studio")
    head()
    ui.html('<a class="skip" href="#content">Skip to the content</a>', sanitize=False)
    links = [("/", "Tables"), ("/releases", "Releases"), ("/budget", "Budget"), ("/tour", "Tour")]
    if not curator:
        links = [("/releases", "Releases")]
    nav = "".join(
        f'<a href="{url}"{" aria-current=page" if name == here else ""}>{name}</a>' for url, name in links
    )
    who = _who(user) if user else ""
    ui.html(
        f'<div class="top-in"><a class="brand" href="/"><img src="/assets/fish.svg" alt="">Shoal '
        f'<small>Studio</small></a><nav aria-label="Studio">{nav}</nav>{who}'
        '<button type="button" class="tool" data-theme aria-label="Light or dark">Light / dark</button></div>',
        sanitize=False,
        tag="header",
    ).classes("top")
    with ui.element("div").classes("page").props('id="content" tabindex="-1"'):
        heading(title, lede)
        yield


def _who(user: str) -> str:
    """Say who is signed in, with the way out: a plain form, which works without a script."""
    return (
        f'<details class="who"><summary>{html.escape(user)}</summary><form method="post" action="/logout">'
        f'<input type="hidden" name="csrf" value="{html.escape(csrf_token())}">'
        '<button class="tool">Sign out</button>'
        '<button class="tool" name="everywhere" value="1">Sign out everywhere</button></form></details>'
    )


def head() -> None:
    """Put the style and the script of the studio on a page."""
    ui.add_head_html(
        '<link rel="stylesheet" href="/assets/studio.css"><script defer src="/assets/studio.js"></script>'
    )


def heading(title: str, lede: str = "") -> None:
    """Say what a page is for."""
    ui.html(html.escape(title), sanitize=False, tag="h1")
    if lede:
        ui.html(html.escape(lede), sanitize=False, tag="p").classes("lede")


def text(words: str, *, tag: str = "p", classes: str = "") -> ui.html:
    """Show words as they are: nothing in them is read as HTML."""
    return ui.html(html.escape(words), sanitize=False, tag=tag).classes(classes)


def steps(study: str, now: str, reached: Sequence[str], tour: int = 0) -> None:
    """Show where in the work one is."""
    more = "?tour=1" if tour else ""
    items = []
    for i, (key, name) in enumerate(STEPS, start=1):
        mark = "now" if key == now else "done" if key in reached else "off"
        current = ' aria-current="step"' if key == now else ""
        items.append(
            f'<li><a class="{mark}" href="/studies/{study}/{key}{more}"{current}><b>{i}</b>{name}</a></li>'
        )
    ui.html("".join(items), sanitize=False, tag="ol").classes("steps").props('aria-label="Steps"')


def summary(parts: Sequence[str]) -> ui.html:
    """Sum up the choices in one line."""
    return (
        ui.html(summary_html(parts), sanitize=False, tag="p")
        .classes("sum")
        .props('aria-label="Your choices"')
    )


def summary_html(parts: Sequence[str]) -> str:
    """Return the line's content."""
    first, *rest = (html.escape(part) for part in parts)
    return f"<span><strong>{first}</strong></span>" + "".join(f"<span>{part}</span>" for part in rest)


def why(term: str) -> str:
    """Return a small question mark that explains a term where it stands, as HTML."""
    said = html.escape(TERMS[term])
    return f'<details class="why"><summary aria-label="Help: {html.escape(term)}">?</summary><div>{said}</div></details>'


def named(words: str, term: str, *, tag: str = "span", classes: str = "name") -> ui.html:
    """Show words with a question mark beside them."""
    return ui.html(f"{html.escape(words)} {why(term)}", sanitize=False, tag=tag).classes(classes)


def read_number(
    said: str | None,
    name: str,
    within: tuple[float, float] = (-math.inf, math.inf),
    *,
    whole: bool = False,
    example: str = "0.5",
) -> float | None:
    """Return the number that somebody wrote, or None for nothing; say what is wrong with anything else.

    Parameters
    ----------
    said : str or None
        What was written.
    name, within, whole, example
        As of :class:`NumberField`.

    Examples
    --------
    >>> read_number(" 1e-6 ", "Delta", (0, 1)), read_number("", "Delta")
    (1e-06, None)
    """
    said = (said or "").strip()
    if not said:
        return None
    low, high = within
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or not low <= found <= high or (whole and found % 1):
        kind = "a whole number" if whole else "a number"
        reach = f" from {low:g} to {high:g}" if math.isfinite(high - low) else ""
        raise InvalidInput(f"{name} is {said!r}; give {kind}{reach}, such as {example}")
    return found


class NumberField:
    """A field for a number, which is text: a number field is written anew by the server, and a slow one loses digits.

    Parameters
    ----------
    name : str
        What it asks for, as people and screen readers are told.
    value : float, optional
        What it holds at first; nothing, if not given.
    within : (float, float)
        The least and the greatest number.
    whole : bool
        Whether only whole numbers are numbers here.
    example : str
        What to write, for an error.
    props : str
        More of NiceGUI's properties.
    """

    def __init__(
        self,
        name: str,
        value: float | None = None,
        *,
        within: tuple[float, float] = (-math.inf, math.inf),
        whole: bool = False,
        example: str = "0.5",
        props: str = "",
        **how: Any,
    ) -> None:
        self.name, self.within, self.whole, self.example = name, within, whole, example
        self.input = ui.input(value="" if value is None else f"{value:.12g}", **how)
        keys = "numeric" if whole else "decimal"
        self.input.props(
            f'outlined dense inputmode={keys} aria-label="{html.escape(name, quote=True)}" {props}'
        )

    def read(self) -> float | None:
        """Return the number, or None where the field is empty; say what is wrong with anything else."""
        return read_number(self.input.value, self.name, self.within, whole=self.whole, example=self.example)

    def wanted(self) -> float:
        """Return the number; say so where there is none."""
        found = self.read()
        if found is None:
            raise InvalidInput(f"{self.name} is empty; give a number, such as {self.example}")
        return found


@contextmanager
def field(words: str, term: str | None = None) -> Iterator[None]:
    """Give a field its name, and its question mark."""
    with ui.element("div").classes("field"):
        if term:
            named(words, term)
        else:
            text(words, tag="span", classes="name")
        yield


def code(python: str, command: str, *, opened: bool = False) -> ui.html:
    """Show the same thing as Python and as a command line, to copy."""
    return (
        ui.html(code_html(python, command), sanitize=False, tag="details")
        .classes("card code-card")
        .props("open" if opened else "")
    )


def code_html(python: str, command: str) -> str:
    """Return the content of what `code` shows."""
    parts = [("Command line", command), ("Python", python)]
    blocks = "".join(
        f'<div class="code"><h4>{name}</h4><pre tabindex="0">{html.escape(said)}</pre>'
        f'<button type="button" class="tool" data-copy>Copy</button></div>'
        for name, said in parts
        if said
    )
    return f"<summary>The same as a command line and as Python</summary>{blocks}"


def note(words: str, kind: str = "") -> ui.html:
    """Show a remark that stands out."""
    return ui.html(f"<p>{html.escape(words)}</p>", sanitize=False).classes(f"note {kind}")


def button(words: str, on_click: object = None, *, kind: str = "") -> ui.button:
    """Make a button of the studio."""
    return ui.button(words, on_click=on_click, color=None).props("unelevated no-caps").classes(f"btn {kind}")  # type: ignore[arg-type]


def progress_html(share: float, words: str) -> str:
    """Return a bar of progress."""
    done = round(100 * max(0.0, min(share, 1.0)))
    return (
        f'<div class="progress" role="progressbar" aria-label="{html.escape(words)}" aria-valuenow="{done}" '
        f'aria-valuemin="0" aria-valuemax="100"><i style="width:{done}%"></i></div>'
        f'<p class="soft small" aria-live="polite">{html.escape(words)}</p>'
    )
