"""The public page of a release: plain HTML, without script, for anybody who has its address."""

from __future__ import annotations

import html

from fastapi import FastAPI, HTTPException, Response
from fastapi.responses import HTMLResponse

from shoal.errors import ShoalError
from shoal.studio.access import PUBLIC, declare
from shoal.studio.pages.data import file_of
from shoal.studio.pages.desk import Desk
from shoal.studio.pages.picture import groups_html, picture_of, promised_html
from shoal.studio.workshop import ReleaseRecord
from shoal.studio.workshop.drawing import svg_map

_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
    'content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
    '<link rel="icon" href="/assets/fish.svg"><link rel="stylesheet" href="/assets/studio.css">'
)


def register(app: FastAPI, desk: Desk) -> None:
    """Put the page at its address."""
    declare("/public/{name}", PUBLIC, methods=("GET",))
    declare("/public/{name}/download/{file}", PUBLIC, methods=("GET",))

    @app.get("/public/{name}")
    def public(name: str) -> HTMLResponse:
        try:
            record = desk.studio.shared(name)
        except ShoalError:
            raise HTTPException(404) from None
        return HTMLResponse(public_page(desk, record, name))

    @app.get("/public/{name}/download/{file}")
    def download(name: str, file: str) -> Response:
        return file_of(desk, lambda: desk.studio.shared(name), file)


def public_page(desk: Desk, record: ReleaseRecord, name: str) -> str:
    """Return the page: what was released, what is promised, and what can be downloaded.

    Parameters
    ----------
    desk : Desk
        For the basemap.
    record : ReleaseRecord
        The release.
    name : str
        Under which it is shared.
    """
    picture, title = picture_of(record), html.escape(record.title)
    page = record.page()
    drawn = svg_map(
        page["names"],
        page["bounds"],
        page["centres"],
        page["sizes"],
        centre_errors=page["centre_errors"],
        points=page["points"],
        weights=page["weights"],
        basemap=desk.ground(record.study),
        zones=page["zones"],
        title=f"{record.groups} released groups; the table has the numbers",
    )
    zoned = " Brown: zones with levels of their own." if page["zones"] else ""
    figure = (
        f'<figure class="card view">{drawn}<figcaption class="caption">Blue: released groups, their area by size, with a '
        f"dashed line as far as each may be off. Points: released counts or a coreset.{zoned} Land and borders: Natural Earth.</figcaption></figure>"
    )
    files = "".join(
        f'<li><a href="/public/{html.escape(name)}/download/{html.escape(d.name)}" download>{html.escape(d.label)}</a></li>'
        for d in record.downloads()
    )
    return (
        f'{_HEAD}<title>{title} · Shoal</title></head><body class="public"><header class="top"><div class="top-in">'
        '<span class="brand"><img src="/assets/fish.svg" alt="">Shoal <small>a private release</small></span></div></header>'
        f'<main class="page" id="content"><h1>{title}</h1><p class="lede">{record.groups} groups of a table of people, released '
        f"with differential privacy on {record.created[:10]}: {html.escape(record.level.name)} (ε\N{NO-BREAK SPACE}{record.level.epsilon:g}). "
        f'No row, no label and no exact number is on this page.</p><div class="cols"><div class="stack">{figure}'
        f'<section class="card scroller" tabindex="0" role="region" aria-label="Groups"><h2>Groups</h2>{groups_html(picture)}</section></div>'
        f'<div class="stack"><section class="card"><h2>What is promised</h2>{promised_html(picture)}'
        f'</section><section class="card"><h2>Download</h2><ul class="files">{files}</ul></section></div></div></main></body></html>'
    )
