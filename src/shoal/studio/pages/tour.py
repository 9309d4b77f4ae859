"""The guided tour, on made-up rows: what to do on each page, and why."""

from __future__ import annotations

import html

from nicegui import ui

from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import Desk, told
from shoal.studio.pages.frame import button, frame, text
from shoal.studio.workshop import Study

_STEPS = {
    "open": (
        "This is where a table is described. The made-up city is described already: two columns, bounds from a public "
        "map, one row protected, ten groups, a budget of epsilon 10. Nothing here was read off rows. Change the number of "
        "groups if you like, save, and go on.",
        "explore",
    ),
    "explore": (
        "Pay for the one small look, then move the slider. To the left points vanish and blue discs grow: that is the "
        "price of privacy. Find the strongest level whose picture still tells what you need.",
        "zones",
    ),
    "zones": (
        "Some places need more protection, such as the streets round a clinic. Draw one and give it a stronger level, "
        "or go on without: zones are never needed.",
        "release",
    ),
    "release": (
        "Here the budget is spent, once. Read the price and what remains, then release. You get centres, a certificate "
        "and a page to share. The city is made up, so nothing can go wrong.",
        "",
    ),
}


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/tour", role=CURATOR)
    def tour() -> None:
        @told
        def begin() -> None:
            from shoal.studio.workshop.demo import add_city

            ui.navigate.to(f"/studies/{add_city(desk.studio).id}/open?tour=1")

        lede = "Five minutes on a city that nobody lives in: everything works as with your own table, and nothing is at stake."
        with frame("The tour", here="Tour", lede=lede, **desk.who):
            parts = [
                (
                    "Open",
                    "Say what columns mean, how far they reach, who is protected. Nothing is read before a budget is there.",
                ),
                ("Explore", "See what each level would release, on rows made up from one small paid look."),
                ("Zones", "Give places levels of their own, if some need more protection than others."),
                (
                    "Release",
                    "Read the price, agree once, and get centres, sizes, a certificate and a page to share.",
                ),
            ]
            cards = "".join(
                f'<li class="card tile"><h2><span class="tag">{i}</span> {name}</h2><p>{html.escape(said)}</p></li>'
                for i, (name, said) in enumerate(parts, start=1)
            )
            ui.html(cards, sanitize=False, tag="ol").classes("cards bare")
            with ui.element("div").classes("row-line").style("margin-top: 1.2rem"):
                button("Begin the tour", begin, kind="main")
                text("You can leave it at any page.", tag="span", classes="soft")


def guide(study: Study, step: str) -> None:
    """Say what to do on a page, while the tour goes along."""
    said, following = _STEPS[step]
    link = (
        f'<a class="btn" href="/studies/{study.id}/{following}?tour=1">Next: {following.capitalize()}</a>'
        if following
        else ""
    )
    leave = f'<a href="/studies/{study.id}/{step}">Leave the tour</a>'
    ui.html(
        f'<p><strong>Tour.</strong> {html.escape(said)}</p><div class="row-line">{link}{leave}</div>',
        sanitize=False,
        tag="aside",
    ).classes("note tour").props('aria-label="Tour"')
