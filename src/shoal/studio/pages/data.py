"""What pages fetch beside themselves: scenes, basemaps and downloads."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException, Response
from fastapi.responses import JSONResponse

from shoal.errors import ShoalError
from shoal.studio.access import CURATOR, PUBLIC, VIEWER, declare
from shoal.studio.pages.desk import Desk, city
from shoal.studio.pages.scene import scene_of


def register(app: FastAPI, desk: Desk) -> None:
    """Put the addresses into an application, each with the role that it asks for."""
    declare("/studies/{study}/scene.json", CURATOR, methods=("GET",))
    declare("/assets/city.geojson", PUBLIC, methods=("GET",))
    declare("/basemap.geojson", VIEWER, methods=("GET",))
    declare("/releases/{release}/download/{name}", VIEWER, methods=("GET",))

    @app.get("/studies/{study}/scene.json")
    def scene(study: str) -> JSONResponse:
        try:
            found = scene_of(desk, desk.studio.study(study))
        except ShoalError:
            raise HTTPException(404) from None
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

    @app.get("/assets/city.geojson")
    def streets() -> JSONResponse:
        return JSONResponse(city())

    @app.get("/basemap.geojson")
    def basemap() -> JSONResponse:
        if desk.basemap is None:
            raise HTTPException(404)
        return JSONResponse(desk.basemap)

    @app.get("/releases/{release}/download/{name}")
    def download(release: str, name: str) -> Response:
        return file_of(desk, lambda: desk.studio.release(release), name)


def file_of(desk: Desk, record: Any, name: str) -> Response:
    """Answer with a file of a release; 404 where there is none."""
    try:
        found = record()
        kinds = {d.name: d.media_type for d in found.downloads()}
        content = found.download(name, desk.ground(found.study))
    except ShoalError:
        raise HTTPException(404) from None
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, media_type=kinds.get(name, "application/octet-stream"), headers=headers)
