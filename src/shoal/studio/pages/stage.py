"""The picture of Explore, and the maps of the other pages: drawn in the browser, from JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui
from nicegui.elements.echart import EChart
from nicegui.elements.leaflet import Leaflet

from shoal.studio.pages.frame import why

# NiceGUI puts a library on the page's list of modules when its element is imported; ours draw with them.

_LIBRARIES = (EChart, Leaflet)
_DIST = "dist"


class Stage(ui.element, component="components/stage.js"):
    """Slider, map or plots, layers and figures of all prepared levels.

    Parameters
    ----------
    url : str
        Where the scene comes from, as JSON.
    start : int
        The level to begin with.
    on_level : callable
        Told the number of the level that was chosen, a moment after the slider stood still.
    tiles : str
        Address of online tiles; empty where they are off.
    """

    def __init__(self, url: str, *, start: int, on_level: Callable[[int], Any], tiles: str = "") -> None:
        super().__init__()
        self._props["url"] = url
        self._props["start"] = start
        self._props["tiles"] = tiles
        self._props["resources"] = _leaflet_resources(self)
        self.on("level", lambda event: on_level(int(event.args)))
        for slot, term in {
            "level-help": "a privacy level",
            "error-help": "the expected error",
            "coreset-help": "a coreset",
            "ledger-help": "the ledger",
            "clipped-help": "what bounds cut off",
            "sizes-help": "an interval",
        }.items():
            with self.add_slot(slot):
                ui.html(why(term), sanitize=False, tag="span")

    def show_red(self, centres: list[list[float]] | None) -> None:
        """Show non-private centres on this screen, or take them away."""
        self.run_method("setRed", centres)

    def show_preview(self, level: str, centres: list[list[float]]) -> None:
        """Show a level that was tried on the real rows, on this screen."""
        self.run_method("setPreview", level, centres)

    def reload(self) -> None:
        """Fetch the scene again."""
        self.run_method("load")


def _leaflet_resources(element: ui.element) -> str:
    """Return where Leaflet's own style and pictures are served from."""
    from pathlib import Path

    import nicegui.elements.leaflet.leaflet as module

    element.add_resource(Path(module.__file__).parent / _DIST)
    path: str = element._props["resource-path"]
    return path


class MapView(ui.element, component="components/mapview.js"):
    """A map to draw on or to look at.

    Parameters
    ----------
    mode : {"look", "rectangle", "zones"}
        What may be drawn.
    box : list
        South-west and north-east corner, latitude first: declared, never taken from rows.
    label : str
        For screen readers.
    base : dict
        Basemaps and whose they are, from `scene.base_of`.
    on_box, on_zones : callable, optional
        Told what was drawn.
    **shown
        `zones`, `centres`, `points` to draw.
    """

    def __init__(
        self,
        mode: str,
        box: list[list[float]],
        label: str,
        base: dict[str, Any],
        *,
        on_box: Callable[[list[float]], Any] | None = None,
        on_zones: Callable[[dict[str, Any]], Any] | None = None,
        **shown: Any,
    ) -> None:
        super().__init__()
        self._props.update({"mode": mode, "box": box, "label": label, **base, **shown})
        self._props["resources"] = _leaflet_resources(self)
        if on_box is not None:
            self.on("box", lambda event: on_box(event.args))
        if on_zones is not None:
            self.on("zones", lambda event: on_zones(event.args))

    def show_zones(self, zones: dict[str, Any]) -> None:
        """Draw zones in place of those that are drawn."""
        self.run_method("showZones", zones)


class Cutoff(ui.element, component="components/cutoff.js"):
    """What bounds do, on made-up rows."""


class Drop(ui.element, component="components/drop.js"):
    """A place to drop a file on.

    Parameters
    ----------
    url : str
        Where it is sent.
    words : str
        What may be sent.
    limit : int
        The most bytes.
    on_rejected : callable
        Told why a file was not taken.
    """

    def __init__(self, url: str, words: str, limit: int, on_rejected: Callable[[str], Any]) -> None:
        super().__init__()
        accept = ".parquet,.pq,.csv,.tsv,.arrow,.feather,.ipc,.gz"
        self._props.update({"url": url, "words": words, "limit": limit, "accept": accept})
        self.on("rejected", lambda event: on_rejected(str(event.args)))
