"""The budget of a table, as fields: a data set of a ledger, or a new one with its total and whom it protects."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.pages.desk import Desk
from shoal.studio.pages.frame import field, named, note, text
from shoal.studio.workshop import Study

_NEW = "a new budget"


class BudgetFields:
    """Ledger, data set and whom it protects; a new data set is laid down when all of the page holds together.

    Parameters
    ----------
    desk : Desk
        For its ledgers.
    study : Study
        Whose budget.
    """

    def __init__(self, desk: Desk, study: Study) -> None:
        self.desk, self.study, self.draft = desk, study, study.draft
        self.schema = study.schema()

    def show(self) -> None:
        """Lay the fields out."""
        with ui.element("section").classes("card stack").props('aria-label="Budget"'):
            named("Budget", "a data set of a ledger", tag="h2", classes="")
            with field("Ledger", "the ledger"):
                label = "Ledger: a file or an address; empty for the studio's own"
                self._ledger = ui.input(
                    value=self.draft.ledger, placeholder="the studio's own", on_change=self._sets.refresh
                )
                self._ledger.props(f'outlined dense debounce=600 aria-label="{label}"').classes("wide")
            self._sets()
            with field("Price of the one look", "a synopsis"):
                self._look = ui.number(value=self.draft.preview_epsilon, min=0, max=1, step=0.05)
                self._look.props('outlined dense prefix="ε" aria-label="Epsilon of the one look"').classes(
                    "wide"
                )
            note("Nothing is read before a budget is there. A total cannot be raised later.")

    @property
    def ledger(self) -> str:
        """Where the budget lies; empty for the studio's own ledger."""
        return (self._ledger.value or "").strip()

    @property
    def preview_epsilon(self) -> float:
        """What the one look costs."""
        return float(self._look.value or 0)

    @property
    def max_rows(self) -> int:
        """The most rows of one person that are kept."""
        return int(self._max_rows.value or 1) if self._max_rows is not None else 1

    def dataset(self) -> str:
        """Return the data set that is chosen, laid down now if it is new."""
        chosen = str(self._set.value)
        if chosen != _NEW:
            return chosen
        name, total = (self._name.value or "").strip(), self._total.value
        if not name or not total:
            raise InvalidInput("a new budget needs a name and a total epsilon above 0")
        unit: dict[str, Any] = {"unit": self._unit.value} if self._unit.value else {}
        self.desk.studio.create_dataset(name, epsilon=float(total), ledger=self.ledger, **unit)
        # From here on it is there: what else is wrong on the page can be mended without laying it down again.
        self.draft = self.draft.changed({"dataset": name})
        self._sets.refresh()
        return name

    @ui.refreshable_method
    def _sets(self) -> None:
        try:
            known = self.desk.studio.datasets(self.ledger)
        except Exception:  # whatever a driver says of an address that leads nowhere
            known = ()
            note("There is no ledger there that can be read.", "warn")
        chosen = self.draft.dataset if self.draft.dataset in known else _NEW
        with field("Data set"):
            self._set = ui.select([*known, _NEW], value=chosen, on_change=self._terms.refresh)
            self._set.props('outlined dense aria-label="Data set of the ledger"').classes("wide")
        self._terms()

    @ui.refreshable_method
    def _terms(self) -> None:
        if self._set.value != _NEW:
            story = self.desk.studio.budget(self._set.value, self.ledger)
            said = (
                f"{story.left:g} of {story.total:g} {story.currency} is left; it protects {story.protects}."
            )
            text(said, classes="soft small")
            self._most(story.unit is not None)
            return
        with field("Name"):
            name = self.study.title.lower().replace(" ", "-")
            self._name = ui.input(value=name)
            self._name.props('outlined dense aria-label="Name of the data set"').classes("wide")
        with field("Total epsilon of all releases", "epsilon"):
            self._total = ui.number(value=2.0, min=0, step=0.5)
            self._total.props('outlined dense aria-label="Total epsilon"').classes("wide")
        with field("Who is protected", "who is protected"):
            choices = {"": "one row", **{c.name: f"a person, named by {c.name}" for c in self.schema}}
            self._unit = ui.select(
                choices, value="", on_change=lambda event: self._persons.refresh(event.value)
            )
            self._unit.props('outlined dense aria-label="Who is protected"').classes("wide")
        self._persons("")

    @ui.refreshable_method
    def _persons(self, column: str) -> None:
        self._most(bool(column))

    def _most(self, persons: bool) -> None:
        """Ask how many rows a person may have; a row is one row."""
        self._max_rows: ui.number | None = None
        if persons:
            with field("Most rows of one person", "who is protected"):
                self._max_rows = ui.number(value=self.draft.max_rows, min=1, precision=0)
                self._max_rows.props('outlined dense aria-label="Most rows of one person"').classes("wide")
