"""The first page: tables that are open, and ways to open one."""

from __future__ import annotations

import html
import tempfile
from pathlib import Path
from typing import Any

from nicegui import events, ui

from shoal.errors import InvalidInput
from shoal.studio.access import CURATOR, current_visit, page
from shoal.studio.pages.desk import Desk, aside, tell, told
from shoal.studio.pages.frame import button, frame, note, text
from shoal.studio.pages.stage import Drop
from shoal.studio.workshop import Source, Study

# Public tables that need no download, to rehearse on.
REHEARSALS = (
    ("iris", "Iris: 150 flowers"),
    ("wine", "Wine: 178 bottles"),
    ("digits", "Digits: 1,797 pictures"),
)


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/", role=CURATOR)
    def home() -> None:
        lede = "Open a table, see on made-up rows what each level of privacy would release, choose one, and publish it."
        with frame("Your tables", here="Tables", lede=lede, **desk.who):
            _studies(desk)
            text("Open a table", tag="h2", classes="later")
            with ui.element("div").classes("cols"):
                _by_file(desk)
                _to_try(desk)


def _studies(desk: Desk) -> None:
    studies = desk.studio.studies()
    if not studies:
        note("No table is open yet. The made-up city is a good beginning: it is nobody's.")
        return
    with ui.element("div").classes("cards"):
        for study in studies:
            _tile(desk, study)


def _tile(desk: Desk, study: Study) -> None:
    missing, views = study.draft.missing(), study.views()
    step = "open" if missing else "explore" if not study.releases() else "release"
    state = (
        '<span class="tag warn">to declare</span>'
        if missing
        else '<span class="tag">released</span>'
        if study.releases()
        else '<span class="tag">ready to explore</span>'
        if views
        else '<span class="tag">declared</span>'
    )
    made_up = {"demo": " · made up", "public": " · public table"}.get(study.source.kind, "")
    ui.html(
        f"<h2>{html.escape(study.title)}</h2><p>{html.escape(study.source.name)}{made_up}</p>"
        f"<p>{html.escape(' · '.join(desk.summary(study)[1:4]))}</p><p>{state}</p>",
        sanitize=False,
        tag="a",
    ).classes("card tile").props(f'href="/studies/{study.id}/{step}"')


def _by_file(desk: Desk) -> None:
    def declared() -> dict[str, Any]:
        """Without a line of names, the first line is a row: it is not read, and names are given."""
        if header.value:
            return {}
        given = tuple(name.strip() for name in (names.value or "").split(",") if name.strip())
        return {"header": False, "columns": given, "types": dict.fromkeys(given, "number")}

    def opened(path: str | None = None, source: Source | None = None) -> None:
        visit = current_visit()
        session = visit.session if visit and source is not None else None
        study = desk.studio.open(path, source=source, by=desk.user.name, session=session, **declared())
        try:
            study.schema()
        except Exception:
            study.close()
            raise
        ui.navigate.to(f"/studies/{study.id}/open")

    @told
    def by_path() -> None:
        given = (where.value or "").strip()
        if not given:
            raise InvalidInput("no path is given; name a Parquet, CSV or Arrow file on this machine")
        opened(given)

    @told
    async def sent(event: events.UploadEventArguments) -> None:
        with tempfile.TemporaryDirectory(dir=desk.studio.home / "uploads") as folder:
            copy = Path(folder) / "sent"
            await event.file.save(copy)
            with copy.open("rb") as content:
                source = await aside(desk.studio.upload, event.file.name, content, desk.max_upload)
        opened(source=source)

    def rejected(why: str) -> None:
        limit = f"{desk.max_upload / 2**20:,.0f} MB"
        large = f"the file is larger than {limit}; open it by its path, or start the studio with a larger --max-upload"
        tell(large if why == "large" else "the file could not be sent; try again, or open it by its path")

    with ui.element("div").classes("card stack"):
        text("Your own file", tag="h3")
        with ui.element("div").classes("row-line"):
            where = ui.input(placeholder="/data/trips.parquet").props(
                'outlined dense aria-label="Path of a file"'
            )
            where.style("flex: 1; min-width: 12rem").on("keydown.enter", by_path)
            button("Open", by_path, kind="main")
        text(
            "Parquet, CSV or Arrow. Names and types are read, and no row before there is a budget.",
            classes="soft small",
        )
        header = ui.checkbox("A text file begins with a line of names", value=True)
        names = ui.input(placeholder="lon, lat, fare").props(
            'outlined dense aria-label="Names of all its columns, in order, separated by commas"'
        )
        names.bind_visibility_from(header, "value", backward=lambda on: not on)
        # NiceGUI's own uploader takes the file; its looks are replaced by a label that any keyboard can reach.
        uploader = ui.upload(auto_upload=True, max_file_size=desk.max_upload, on_upload=sent)
        uploader.style("display: none")
        words = f"Parquet, CSV or Arrow, up to {desk.max_upload / 2**20:,.0f} MB"
        Drop(str(uploader.props["url"]), words, desk.max_upload, rejected)
        text(
            "What is sent stays on this machine, and is deleted when your session ends.", classes="soft small"
        )


def _to_try(desk: Desk) -> None:
    @told
    def city() -> None:
        from shoal.studio.workshop.demo import add_city

        study = add_city(desk.studio)
        ui.navigate.to(f"/studies/{study.id}/explore")

    @told
    def rehearse(name: str) -> None:
        study = desk.studio.public(name, by=desk.user.name)
        ui.navigate.to(f"/studies/{study.id}/open")

    with ui.element("div").classes("card stack"):
        text("Something to try on", tag="h3")
        text(
            "Made up or public: nothing here needs protection, so every step can be rehearsed.",
            classes="soft small",
        )
        with ui.element("div").classes("row-line"):
            button("The made-up city", city, kind="main")
            for name, words in REHEARSALS:
                button(words, lambda name=name: rehearse(name))
        ui.html(
            'New here? <a href="/tour">Take the tour</a>: five minutes, on made-up rows.',
            sanitize=False,
            tag="p",
        )
