"""A small app of NiceGUI behind the guard, in a process of its own: `small_app.py HOME PORT [settings]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fastapi import FastAPI, Request
from nicegui import app as pages
from nicegui import events, ui

from shoal.studio.access import (
    CURATOR,
    VIEWER,
    AccessStore,
    Settings,
    declare,
    entry_url,
    page,
    protect,
    serve,
)
from shoal.studio.access.assembly import current_user

# What must be seen nowhere: it stands for a cell of a table.
CELL = "cell-73.98112"


def build(home: Path, settings: Settings):
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @page("/", role=VIEWER)
    def first() -> None:
        ui.label(f"hello {current_user().name}")

    @page("/secret", role=CURATOR)
    def secret() -> None:
        def pressed() -> None:
            with (home / "pressed").open("a") as file:
                file.write(f"{current_user().name}\n")

        def typed(event: events.ValueChangeEventArguments) -> None:
            with (home / "typed").open("a") as file:
                file.write(f"{event.value}\n")

        ui.button("press", on_click=pressed)
        ui.input("name", on_change=typed)
        ui.button("fail", on_click=lambda: int(CELL))
        ui.upload(on_upload=lambda event: (home / "uploaded").write_text(event.file.name))

    @page("/boom", role=VIEWER)
    def boom() -> None:
        raise ValueError(CELL)

    @page("/later", role=VIEWER)
    async def later() -> None:
        raise ValueError(CELL)

    @ui.page("/undeclared")
    def undeclared() -> None:
        ui.label(CELL)

    @app.get("/api/v1/numbers")
    def numbers(request: Request) -> dict[str, str]:
        return {"user": current_user(request).name}

    @app.post("/api/v1/numbers")
    async def change(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.get("/api/v1/fails")
    def fails() -> None:
        raise ValueError(CELL)

    @app.get("/api/v1/forgotten")
    def forgotten() -> str:
        return CELL

    declare("/api/v1/numbers", VIEWER, methods=("GET",))
    declare("/api/v1/numbers", CURATOR, methods=("POST",))
    declare("/api/v1/fails", VIEWER, methods=("GET",))
    ui.run_with(app, title="small", show_welcome_message=False)
    pages.config.reconnect_timeout = 1.0
    return protect(app, AccessStore(home / "access.db"), settings, access_log=home / "access.log")


if __name__ == "__main__":
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    given = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    for name in ("tls_cert", "tls_key"):
        if name in given:
            given[name] = Path(given[name])
    for name in ("proxy", "origins"):
        given[name] = tuple(given.get(name, ()))
    guard = build(folder, Settings(port=port, **given))
    print(entry_url(guard), flush=True)
    serve(guard, temporary=folder / "tmp")
