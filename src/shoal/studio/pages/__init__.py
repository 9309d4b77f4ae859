"""The pages of the studio, on top of what it does: each module puts its own at their addresses."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from shoal.studio.pages.desk import ASSETS, Desk

__all__ = ["Desk", "register"]


def register(app: FastAPI, desk: Desk) -> None:
    """Put all pages, their data and their assets into an application.

    Parameters
    ----------
    app : FastAPI
        The application.
    desk : Desk
        What the pages work on.
    """
    from shoal.studio.access import PUBLIC, declare
    from shoal.studio.pages import (
        budget,
        data,
        explore,
        home,
        opening,
        public,
        releases,
        releasing,
        tour,
        zones,
    )

    data.register(app, desk)
    public.register(app, desk)
    parts: tuple[Any, ...] = (home, opening, explore, zones, releasing, releases, budget, tour)
    for part in parts:
        part.register(desk)
    declare("/assets/{path:path}", PUBLIC, methods=("GET",))
    app.mount("/assets", StaticFiles(directory=ASSETS))
