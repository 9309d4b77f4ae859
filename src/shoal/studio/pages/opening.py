"""Open: what a table's columns are, how far they reach, who is protected, and by which budget."""

from __future__ import annotations

import html
from typing import Any

from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import Desk, told
from shoal.studio.pages.frame import (
    NumberField,
    button,
    code,
    code_html,
    named,
    note,
    text,
)
from shoal.studio.pages.laying import BudgetFields
from shoal.studio.pages.scene import base_of
from shoal.studio.pages.stage import Cutoff, MapView
from shoal.studio.pages.studies import at_study
from shoal.studio.workshop import ESTIMATE, ColumnInfo, Study

_REACH = {"longitude": (-180.0, 180.0), "latitude": (-90.0, 90.0)}
# Of a column of words: one of some values that are public.
_CATEGORY = "category"
_KINDS = {"number": "number", "time": "date or time", "boolean": "yes or no", _CATEGORY: "one of some values"}
# Groups that can be asked for on a page.
_MOST_GROUPS = 100
# Bounds that many columns have, by what they mean.
_PRESETS = {
    "an age, 0 to 120": (0, 120),
    "a percentage, 0 to 100": (0, 100),
    "a share, 0 to 1": (0, 1),
    "an hour of the day, 0 to 24": (0, 24),
    "a day of the year, 1 to 366": (1, 366),
}


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/studies/{study}/open", role=CURATOR)
    def opening(study: str, tour: int = 0) -> None:
        lede = "All of this is public: state it from what the columns mean, never from a look at the rows."
        with at_study(desk, study, "open", "Say what the table is", tour, lede) as found:
            if found is not None:
                Form(desk, found).show()


class Form:
    """The declarations of a study, as fields; nothing is kept before all of it holds together."""

    def __init__(self, desk: Desk, study: Study) -> None:
        self.desk, self.study = desk, study
        self.draft = study.draft
        self.schema = study.schema()
        self.ends: dict[str, tuple[Any, Any]] = {}
        self.taken: dict[str, Any] = {}
        self.kinds: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.rows: dict[str, ui.element] = {}
        self.places: dict[str, str] = {}
        bounds = self.draft.bounds
        self.how = ESTIMATE if bounds == ESTIMATE else "declare"
        self.budget = BudgetFields(desk, study)

    def show(self) -> None:
        """Lay the fields out."""
        with ui.element("div").classes("cols"):
            with ui.element("div").classes("stack"):
                self._columns()
                self._bounds()
                with ui.element("div").classes("card"):
                    named("What bounds do", "the sample", tag="h2", classes="minor")
                    Cutoff()
            with ui.element("div").classes("stack"):
                self.budget.show()
                self._groups()
        with ui.element("div").classes("row-line").style("margin-top: 1.2rem"):
            button("Save and explore", self._save_and_go, kind="main")
            button("Save", self._save)
        self.code = code(self.study.as_python(), self.study.as_command())

    def _columns(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Columns"'):
            named("Columns to group by", "a column", tag="h2", classes="")
            chosen = set(self.draft.columns)
            with ui.element("div").classes("fields"):
                for column in self.schema:
                    self._column(column, column.name in chosen)
            if not self.schema:
                note("The file names no columns.", "warn")

    def _column(self, column: ColumnInfo, on: bool) -> None:
        with ui.element("div").classes("row-line"):
            box = ui.checkbox(column.name, value=on, on_change=self._ends_of)
            box.set_enabled(self.draft.header)  # where no line names columns, all of them are named and used
            self.taken[column.name] = box
            known = {"number", "boolean", "time", "text"}
            words = column.type if column.type in known else "text file"
            ui.html(html.escape(words), sanitize=False, tag="span").classes("tag")
            if column.type not in ("number", "boolean", "time"):
                usual = _CATEGORY if column.name in self.draft.levels else "number"
                kind = ui.select(
                    _KINDS,
                    value=self.draft.types.get(column.name, usual),
                    on_change=lambda: self._kind_of(column.name),
                ).props(f'dense outlined aria-label="Type of {html.escape(column.name, quote=True)}"')
                self.kinds[column.name] = kind

    def _bounds(self) -> None:
        with ui.element("section").classes("card stack").props('aria-label="Bounds"'):
            named("How far values reach", "bounds", tag="h2", classes="")
            ui.radio(
                {"declare": "I state bounds", ESTIMATE: "Estimate them privately"},
                value=self.how,
                on_change=lambda event: self._set_how(event.value),
            ).props("inline")
            price = self.draft.preview_epsilon
            self.estimated = note(
                f"Bounds are found inside the price of the one look (ε {price:g}), and are public from then on. Stated "
                "bounds cost nothing: state them where you know what the column means."
            )
            self.none = text("Choose columns first.", classes="soft")
            self.stated = ui.element("div").style("display: contents")
            self.drawn = ui.element("div").style("display: contents")
        self._ends_of()

    def _set_how(self, how: str) -> None:
        self.how = how
        self._ends_of()

    def _kind_of(self, name: str) -> None:
        """Ask anew how far a column reaches that has become a category, or is one no more."""
        if (name in self.values) != (self.kinds[name].value == _CATEGORY) and name in self.rows:
            self.rows.pop(name).delete()
            self.ends.pop(name, None)
            self.values.pop(name, None)
            self._ends_of()

    def _ends_of(self) -> None:
        """Ask how far the columns reach that are ticked.

        What is there already stays as it is, and is only hidden: on a slow machine somebody writes on meanwhile.
        """
        names = [name for name, box in self.taken.items() if box.value] if self.how != ESTIMATE else []
        self.estimated.set_visibility(self.how == ESTIMATE)
        self.none.set_visibility(not names and self.how != ESTIMATE)
        known = self.draft.bounds if isinstance(self.draft.bounds, dict) else {}
        axes = {column.name: column.axis for column in self.schema}
        for name in names:
            if name not in self.rows:
                before = [other for other in self.taken if other in self.rows or other == name].index(name)
                with self.stated, ui.element("div").classes("row-line ends") as row:
                    text(name, tag="span", classes="end-name")
                    self._reach(name, known.get(name, ("", "")), preset=not axes.get(name))
                row.move(target_index=before)
                self.rows[name] = row
        for name, row in self.rows.items():
            row.set_visibility(name in names)
        places = {axis: name for name in names if (axis := axes.get(name)) and name in self.ends}
        if places != self.places:
            self.places = places
            self.drawn.clear()
            if len(places) == 2:
                with self.drawn:
                    self._rectangle(places)

    def _reach(self, name: str, known: tuple[Any, Any], *, preset: bool) -> None:
        """Ask how far one column reaches: its values, or its ends."""
        quoted = html.escape(name, quote=True)
        if name in self.kinds and self.kinds[name].value == _CATEGORY:
            levels = ", ".join(map(str, self.draft.levels.get(name, ())))
            self.values[name] = ui.input(value=levels, placeholder="red, green, blue").props(
                f'dense outlined aria-label="Values of {quoted}, separated by commas"'
            )
            self.values[name].style("flex: 1; width: auto")
            return
        lowest, highest = (
            ui.input(value=str(end)).props(
                f'dense outlined aria-label="{word} {quoted}" placeholder="{word.lower()}"'
            )
            for word, end in zip(("Lowest", "Highest"), known, strict=True)
        )
        self.ends[name] = (lowest, highest)
        if not preset:
            return

        def put(words: str | None) -> None:
            if words:
                lowest.value, highest.value = (str(end) for end in _PRESETS[words])

        choice = ui.select([*_PRESETS], on_change=lambda event: put(event.value), label="preset")
        choice.props(f'dense outlined options-dense aria-label="Preset for {quoted}"').classes("preset")

    def _rectangle(self, places: dict[str, str]) -> None:
        def put(box: list[float]) -> None:
            west, south, east, north = box
            for axis, low, high in (("longitude", west, east), ("latitude", south, north)):
                lowest, highest = self.ends[places[axis]]
                lowest.value, highest.value = f"{low:.4f}", f"{high:.4f}"

        def world() -> None:
            put([*(_REACH[axis][0] for axis in ("longitude", "latitude")), 180.0, 90.0])

        with ui.element("div").classes("row-line"):
            button("The whole world", world)
            text("or draw a rectangle on the map, from public knowledge", tag="span", classes="soft small")
        corners = [self.ends[places[axis]] for axis in ("latitude", "longitude")]
        try:
            box = [[float(ends[i].value) for ends in corners] for i in (0, 1)]
        except (TypeError, ValueError):  # not all of them are stated yet
            box = [[-60.0, -180.0], [75.0, 180.0]]
        label = "Map to draw a rectangle of bounds on; the fields above take the same numbers."
        MapView("rectangle", box, label, base_of(self.desk, self.study), on_box=put)

    def _groups(self) -> None:
        with ui.element("section").classes("card stack").props('aria-label="Groups"'):
            named("How many groups", "the number of groups", tag="h2", classes="")
            auto = self.draft.k == "auto"
            with ui.element("div").classes("row-line"):
                self.auto = ui.checkbox("let the data say", value=auto)
                self.k = NumberField(
                    "Number of groups",
                    None if auto else float(self.draft.k),
                    within=(1, _MOST_GROUPS),
                    whole=True,
                    example="10",
                    placeholder="10",
                )
                self.k.input.style("width: 7rem")
                self.k.input.bind_enabled_from(self.auto, "value", backward=lambda on: not on)

    @told
    def _save(self) -> bool:
        names = tuple(name for name, box in self.taken.items() if box.value)
        bounds: Any = ESTIMATE
        if self.how != ESTIMATE:
            bounds = {
                name: (_number(low.value), _number(high.value))
                for name, (low, high) in self.ends.items()
                if name in names
            }
            bounds = {name: ends for name, ends in bounds.items() if None not in ends}
        types = {name: kind.value for name, kind in self.kinds.items() if name in names}
        levels = {
            name: _words(self.values[name].value)
            for name, kind in types.items()
            if kind == _CATEGORY and name in self.values
        }
        types = {name: kind for name, kind in types.items() if kind != _CATEGORY}
        k = "auto" if self.auto.value else int(self.k.wanted())
        changes: dict[str, Any] = {
            "columns": names,
            "types": types,
            "levels": levels,
            "bounds": bounds,
            "k": k,
        }
        changes |= {"ledger": self.budget.ledger, "max_rows": self.budget.max_rows}
        changes |= {"preview_epsilon": self.budget.preview_epsilon, "delta": self.budget.delta}
        if not names:
            raise InvalidInput("no column is chosen; choose those to group by")
        self.study.declare(**changes, dataset=self.budget.dataset())
        self.draft = self.study.draft
        self.code.set_content(code_html(self.study.as_python(), self.study.as_command()))
        ui.notify("Saved.", type="positive")
        return True

    def _save_and_go(self) -> None:
        if self._save():
            ui.navigate.to(f"/studies/{self.study.id}/explore")


def _number(value: Any) -> float | str | None:
    said = str(value or "").strip()
    try:
        return float(said)
    except ValueError:
        return said or None


def _words(said: Any) -> list[str]:
    return [word.strip() for word in str(said or "").split(",") if word.strip()]
