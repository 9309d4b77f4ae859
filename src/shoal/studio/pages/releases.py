"""Releases: the history, and each one with its map, its downloads and its public page."""

from __future__ import annotations

import html

from nicegui import ui

from shoal.errors import ShoalError
from shoal.studio.access import CURATOR, VIEWER, page
from shoal.studio.pages.desk import Desk, aside, told
from shoal.studio.pages.frame import button, frame, named, note, text
from shoal.studio.pages.picture import Picture, groups_html, picture_of, promised_html
from shoal.studio.pages.scene import base_of
from shoal.studio.pages.stage import MapView
from shoal.studio.workshop import ReleaseRecord, Study


def register(desk: Desk) -> None:
    """Put the pages at their addresses."""

    @page("/releases", role=VIEWER)
    def releases() -> None:
        curator = desk.user.role is CURATOR
        with frame(
            "Releases", here="Releases", lede="All that was published, with what it cost.", **desk.who
        ):
            if curator:
                _waiting(desk)
            found = desk.studio.releases()
            if not found:
                note("Nothing was released yet.")
                return
            rows = "".join(_row(record) for record in found)
            ui.html(
                '<table class="plain"><thead><tr><th scope="col">Release</th><th scope="col">Level</th><th scope="col">Groups</th>'
                f'<th scope="col">When</th><th scope="col">By</th></tr></thead><tbody>{rows}</tbody></table>',
                sanitize=False,
            ).classes("card scroller").props('tabindex="0" role="region" aria-label="History of releases"')

    @page("/releases/{release}", role=VIEWER)
    async def one(release: str) -> None:
        try:
            record = desk.studio.release(release)
        except ShoalError as error:
            with frame("There is no such release", here="Releases", **desk.who):
                note(f"{error}.", "warn")
            return
        lede = f"Released at level “{record.level.name}” on {record.created[:10]}{_by(desk, record)}."
        with frame(record.title, here="Releases", lede=lede, **desk.who):
            _one(desk, record, await aside(picture_of, record))


def _by(desk: Desk, record: ReleaseRecord) -> str:
    """Say who released it, where there is more than one who could have."""
    approved = f", approved by {record.approved_by}" if record.approved_by else ""
    return f" by {record.by}{approved}" if desk.many else ""


def _row(record: ReleaseRecord) -> str:
    shared = ' <span class="tag">shared</span>' if record.shared else ""
    approved = f", approved by {html.escape(record.approved_by)}" if record.approved_by else ""
    return (
        f'<tr><th scope="row"><a href="/releases/{record.id}">{html.escape(record.title)}</a>{shared}</th>'
        f'<td>{html.escape(record.level.name)} <span class="soft">ε {record.level.epsilon:g}</span></td><td>{record.groups}</td>'
        f"<td>{record.created[:16].replace('T', ' ')}</td><td>{html.escape(record.by)}{approved}</td></tr>"
    )


def _waiting(desk: Desk) -> None:
    for job in desk.studio.jobs():
        if job.kind == "release" and job.state == "awaiting approval":
            title = html.escape(job.request["title"])
            ui.html(
                f"<p>{html.escape(job.by)} asks to release <strong>{title}</strong> at level {html.escape(job.request['level']['name'])}. "
                f'<a href="/studies/{job.study}/release">Look at it</a></p>',
                sanitize=False,
            ).classes("note warn")


def _one(desk: Desk, record: ReleaseRecord, picture: Picture) -> None:
    with ui.element("div").classes("cols"):
        with ui.element("div").classes("stack"):
            if picture.box is not None:
                with ui.element("div").classes("card view"):
                    label = "Map of the released centres; the table has the numbers."
                    MapView(
                        "look",
                        picture.box,
                        label,
                        base_of(desk, _study_of(desk, record)),
                        centres=picture.centres,
                        points=picture.points,
                        zones=picture.zones,
                    )
                    said = "Blue: released centres, their area by size, with discs of their total error. Black: released points."
                    text(said + (" Outlined: zones." if picture.zones else ""), classes="caption")
            with ui.element("section").classes("card").props('aria-label="Groups"'):
                named("Groups", "an interval", tag="h2", classes="")
                ui.html(groups_html(picture), sanitize=False).classes("scroller").props(
                    'tabindex="0" role="region" aria-label="Table of groups"'
                )
        with ui.element("div").classes("stack"):
            _guarantee(picture)
            _downloads(record)
            if desk.user.role is CURATOR:
                _sharing(desk, record)


def _study_of(desk: Desk, record: ReleaseRecord) -> Study | None:
    try:
        return desk.studio.study(record.study)
    except ShoalError:
        return None


def _guarantee(picture: Picture) -> None:
    with ui.element("section").classes("card").props('aria-label="Guarantee"'):
        named("What is promised", "a guarantee", tag="h2", classes="")
        ui.html(promised_html(picture), sanitize=False)


def _downloads(record: ReleaseRecord) -> None:
    with ui.element("section").classes("card").props('aria-label="Downloads"'):
        text("Download", tag="h2")
        items = "".join(
            f'<li><a href="/releases/{record.id}/download/{html.escape(d.name)}" download>{html.escape(d.label)}</a> '
            f'<span class="soft small">{html.escape(d.name)}</span></li>'
            for d in record.downloads()
        )
        ui.html(items, sanitize=False, tag="ul").classes("files")


def _sharing(desk: Desk, record: ReleaseRecord) -> None:
    with ui.element("section").classes("card stack").props('aria-label="Public page"'):
        text("Public page", tag="h2")
        text(
            "A read-only page for anybody who has its address: centres, sizes, certificate; nothing else.",
            classes="soft small",
        )
        if record.shared:
            ui.html(
                f'<a href="/public/{record.shared}" target="_blank">/public/{record.shared}</a>',
                sanitize=False,
                tag="p",
            ).style("overflow-wrap: anywhere")

        @told
        def turn() -> None:
            desk.studio.share(record.id, not record.shared)
            ui.navigate.reload()

        button(
            "Stop sharing" if record.shared else "Share it", turn, kind="" if record.shared else "main"
        ).style("justify-self: start")
