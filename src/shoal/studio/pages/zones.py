"""Zones: places, or the levels of a public column, with privacy levels of their own."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import Desk, told
from shoal.studio.pages.frame import NumberField, button, code, code_html, field, named, note, text
from shoal.studio.pages.scene import base_of, map_columns
from shoal.studio.pages.stage import MapView
from shoal.studio.pages.studies import at_study
from shoal.studio.workshop import LEVELS, Study, level_of

# Of a zone that was just drawn: stronger than the usual choice.
_FIRST = "strong"
_PROMISE = (
    "A row in a zone is protected at its zone's level, the rest at the level of the release. A row that moves between zones "
    "is protected by both together; a person with m rows by the sum of the m largest. Borders are published with the release."
)


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/studies/{study}/zones", role=CURATOR)
    def zones(study: str, tour: int = 0) -> None:
        lede = "Give places a level of their own: the streets round a clinic may need more protection than a station."
        with at_study(desk, study, "zones", "Zones", tour, lede) as found:
            if found is not None:
                Zoning(desk, found).show()


class Zoning:
    """Zones as they are drawn or named, with their levels; nothing is kept before it is saved."""

    def __init__(self, desk: Desk, study: Study) -> None:
        self.desk, self.study = desk, study
        kept = study.draft.zones or {}
        self.features: list[dict[str, Any]] = list(kept.get("features", []))
        self.column: str | None = kept.get("column")
        self.named: list[dict[str, Any]] = [
            {"name": name, "epsilon": epsilon} for name, epsilon in kept.get("levels", {}).items()
        ]
        self.map: MapView | None = None

    def show(self) -> None:
        """Lay out the map and the lists."""
        study, box = self.study, self._box()
        with ui.element("div").classes("cols"):
            with ui.element("div").classes("stack"):
                if box is not None:
                    self._draw(box)
                else:
                    note(
                        "This table has no columns of longitude and latitude with bounds: name zones by a column."
                    )
                    self._by_column()
            with ui.element("div").classes("stack"):
                if box is not None:
                    with ui.element("section").classes("card stack").props('aria-label="Zones"'):
                        named("Zones and their levels", "a zone", tag="h2", classes="")
                        self._list()
                        with ui.element("div").classes("row-line"):
                            button("Save zones", self._save, kind="main")
                            button("Remove all", self._clear)
                        self._by_corners()
                note(_PROMISE)
                if box is not None:
                    self._by_column()
        if study.looks:
            note("Real rows are shown: zones are fixed before that. Switch it off on Explore first.", "red")
        level = self.desk.level(study)
        self.code = code(study.as_python(level), study.as_command(level))

    # Drawn on the map.

    def _box(self) -> list[list[float]] | None:
        ends = self.study.bounds() or {}
        columns: list[dict[str, Any]] = []
        for name, pair in ends.items() if isinstance(ends, dict) else ():
            try:
                columns.append({"name": name, "lower": float(pair[0]), "upper": float(pair[1])})
            except (TypeError, ValueError):  # dates have no place on a map
                continue
        places = map_columns(columns)
        if places is None:
            return None
        lon, lat = (columns[i] for i in places)
        return [[lat["lower"], lon["lower"]], [lat["upper"], lon["upper"]]]

    def _draw(self, box: list[list[float]]) -> None:
        with ui.element("div").classes("card view"):
            label = "Map to draw zones on: use the buttons for a polygon or a rectangle."
            base = base_of(self.desk, self.study)
            self.map = MapView("zones", box, label, base, zones=self._collection(), on_zones=self._drawn)
            said = "Borders are public: draw them from public knowledge, before any look at real rows."
            text(said, classes="caption")

    def _by_corners(self) -> None:
        """Let those add a rectangle who do not draw: by keyboard, or from numbers that are known."""
        with ui.element("details").classes("corners"):
            text("Add a rectangle by its corners", tag="summary")
            with ui.element("div").classes("row-line"):
                reach = {"West": 180.0, "South": 90.0, "East": 180.0, "North": 90.0}
                ends = [
                    NumberField(f"{word} end", within=(-most, most), example="10.7", label=word)
                    for word, most in reach.items()
                ]
                button("Add it", told(lambda: self._add_rectangle([end.wanted() for end in ends])))

    def _add_rectangle(self, ends: list[float]) -> None:
        west, south, east, north = ends
        if not (west < east and south < north):
            raise InvalidInput("a rectangle needs west below east and south below north, in degrees")
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        self._drawn({"features": [*self.features, {"type": "Feature", "properties": {}, "geometry": shape}]})

    def _collection(self) -> dict[str, Any]:
        return {"type": "FeatureCollection", "features": self.features}

    def _drawn(self, collection: dict[str, Any]) -> None:
        self.features = collection["features"]
        for i, feature in enumerate(self.features, start=1):
            own = feature.setdefault("properties", {}) or {}
            own.setdefault("name", f"zone {i}")
            own.setdefault("epsilon", level_of(_FIRST).epsilon)
            feature["properties"] = own
        self._show_drawn()
        self._list.refresh()

    def _show_drawn(self) -> None:
        if self.map is not None:
            self.map.show_zones(self._collection())

    @ui.refreshable_method
    def _list(self) -> None:
        if not self.features:
            text("None yet: draw one with the buttons on the map, or give its corners.", classes="soft")
        for i, feature in enumerate(self.features, start=1):
            _line(feature["properties"], f"zone {i}")

    # Named by a public column.

    def _by_column(self) -> None:
        with ui.element("section").classes("card stack").props('aria-label="Zones by a column"'):
            text("By a public column", tag="h2", classes="minor")
            words = "Where a column that everybody may know says the zone, such as a ward: name its values and their levels."
            text(words, classes="soft small")
            columns = {column.name: column.name for column in self.study.schema()}
            with field("Column"):
                ui.select(
                    {"": "none", **columns},
                    value=self.column if self.column in columns else "",
                    on_change=lambda event: setattr(self, "column", event.value or None),
                ).props('outlined dense aria-label="Column of zones"').classes("wide")
            self._values()
            with ui.element("div").classes("row-line"):
                button("Add a value", self._add)
                button("Save values", self._save_values, kind="main")

    @ui.refreshable_method
    def _values(self) -> None:
        for i, own in enumerate(self.named, start=1):
            _line(own, f"value {i}")

    def _add(self) -> None:
        self.named.append({"name": "", "epsilon": level_of(_FIRST).epsilon})
        self._values.refresh()

    # What is kept.

    @told
    def _save(self) -> None:
        self._declare(self._collection() if self.features else None)
        self._show_drawn()

    @told
    def _save_values(self) -> None:
        values = {own["name"].strip(): own["epsilon"] for own in self.named if own["name"].strip()}
        if not self.column or not values:
            raise InvalidInput("no zones are named: choose a column, and name at least one of its values")
        self._declare({"column": self.column, "levels": values, "rest": None})

    @told
    def _clear(self) -> None:
        self._declare(None)
        self.features = []
        self._show_drawn()
        self._list.refresh()

    def _declare(self, zones: dict[str, Any] | None) -> None:
        self.study.declare(zones=zones)
        level = self.desk.level(self.study)
        self.code.set_content(code_html(self.study.as_python(level), self.study.as_command(level)))
        ui.notify(
            "Saved. The release will have them; Explore tries levels without zones, and says so."
            if zones
            else "There are no zones.",
            type="positive",
        )


def _line(own: dict[str, Any], what: str) -> None:
    """Show the name and the level of one zone, to be changed."""
    choices = {level.epsilon: f"{level.name} (ε {level.epsilon:g})" for level in LEVELS}
    choices.setdefault(own["epsilon"], f"ε {own['epsilon']:g}")
    with ui.element("div").classes("row-line"):
        ui.input(value=own["name"], on_change=lambda event: own.update(name=event.value or "")).props(
            f'dense outlined aria-label="Name of {what}"'
        ).style("flex: 1; min-width: 8rem")
        ui.select(
            choices, value=own["epsilon"], on_change=lambda event: own.update(epsilon=event.value)
        ).props(f'dense outlined aria-label="Level of {what}"').style("min-width: 11rem")
