"""Put a studio together: pages, assets and addresses, behind the guard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.access import AccessStore, Protected, Settings, protect
from shoal.studio.access.accounts import Users
from shoal.studio.api import PREFIX, create_api
from shoal.studio.pages import Desk, register
from shoal.studio.uploads import forget_ended
from shoal.studio.workshop import Studio

# Seconds for which a page may be out of touch and go on where it was: a lift, a tunnel, a busy machine.
_AWAY = 30.0
# Bytes of a basemap: a city's streets, not a country's.
_BASEMAP_LIMIT = 50 * 2**20


def build(
    studio: Studio,
    settings: Settings,
    store: AccessStore,
    *,
    basemap: Path | None = None,
    access_log: Path | None = None,
) -> Protected:
    """Return the whole application, guarded, ready to be served.

    Parameters
    ----------
    studio : Studio
        What is worked on.
    settings : Settings
        Where and how it is reached.
    store : AccessStore
        Users, sessions and tokens.
    basemap : path, optional
        The holder's own GeoJSON, drawn under every map.
    access_log : path, optional
        Where it is written who asked for what.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    desk = Desk(
        studio,
        basemap=None if basemap is None else read_basemap(basemap),
        online_tiles=settings.online_tiles,
        max_upload=settings.max_upload,
        many=bool(Users(store)),
    )
    register(app, desk)
    app.mount(PREFIX, create_api(studio, max_upload=settings.max_upload))
    studio.recover()
    ui.run_with(
        app,
        title="Shoal Studio",
        favicon=Path(__file__).parent / "pages" / "assets" / "fish.svg",
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=_AWAY,
        storage_secret=None,
        show_welcome_message=False,
    )
    guard = protect(app, store, settings, access_log=access_log)
    guard.sockets.on_sweep.append(lambda: forget_ended(studio, guard.sessions, guard.tokens))
    return guard


def read_basemap(path: Path) -> dict[str, Any]:
    """Read a GeoJSON file that the holder of a table draws under maps.

    Parameters
    ----------
    path : path
        The file.
    """
    try:
        if path.stat().st_size > _BASEMAP_LIMIT:
            raise InvalidInput(
                f"the basemap {path} is larger than {_BASEMAP_LIMIT // 2**20} MB; simplify it first"
            )
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the basemap {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InvalidInput(f"the basemap {path} is no JSON; a GeoJSON file is wanted") from None
    if not isinstance(found, dict) or found.get("type") not in (
        "FeatureCollection",
        "Feature",
        "GeometryCollection",
    ):
        raise InvalidInput(
            f"the basemap {path} is no GeoJSON: its type is to be FeatureCollection or Feature"
        )
    return found
