"""The budget of a table, as fields: a data set of a ledger, or a new one with its total and whom it protects."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.errors import InvalidInput
from shoal.studio.pages.desk import Desk
from shoal.studio.pages.frame import NumberField, field, named, note, text
from shoal.studio.workshop import BudgetStory, Study, risk_sentence

_NEW = "a new budget"
# The greatest numbers that make sense in a field.
_MOST_EPSILON, _MOST_DELTA, _MOST_ROWS = 1000, 0.5, 10**9


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
        self._delta: NumberField | None = None

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
                self._look = NumberField(
                    "Epsilon of the one look",
                    self.draft.preview_epsilon,
                    within=(0, 1),
                    example="0.1",
                    props='prefix="ε"',
                )
                self._look.input.classes("wide")
            note("Nothing is read before a budget is there. A total cannot be raised later.")

    @property
    def ledger(self) -> str:
        """Where the budget lies; empty for the studio's own ledger."""
        return (self._ledger.value or "").strip()

    @property
    def preview_epsilon(self) -> float:
        """What the one look costs."""
        return self._look.wanted()

    @property
    def max_rows(self) -> int:
        """The most rows of one person that are kept."""
        return int(self._max_rows.wanted()) if self._max_rows is not None else 1

    @property
    def delta(self) -> float:
        """The delta of a release; 0 where the data set has none."""
        return self._delta.read() or 0.0 if self._delta is not None else 0.0

    def dataset(self) -> str:
        """Return the data set that is chosen, laid down now if it is new."""
        chosen = str(self._set.value)
        if chosen != _NEW:
            return chosen
        name, total, delta = (self._name.value or "").strip(), self._total.read(), self.delta
        if not name or not total:
            raise InvalidInput("a new budget needs a name and a total epsilon above 0")
        terms: dict[str, Any] = {"unit": self._unit.value} if self._unit.value else {}
        terms |= {"delta": delta} if delta else {}
        most = self.max_rows
        self.desk.studio.create_dataset(name, epsilon=total, ledger=self.ledger, **terms)
        # From here on it is there: what else is wrong on the page can be mended without laying it down again.
        self.draft = self.draft.changed({"dataset": name, "delta": delta, "max_rows": most})
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
            self._known(self.desk.studio.budget(self._set.value, self.ledger))
            return
        with field("Name"):
            name = self.study.title.lower().replace(" ", "-")
            self._name = ui.input(value=name)
            self._name.props('outlined dense aria-label="Name of the data set"').classes("wide")
        with field("Total epsilon of all releases", "epsilon"):
            self._total = NumberField(
                "Total epsilon", 2.0, within=(0, _MOST_EPSILON), example="2", on_change=self._tell_risk
            )
            self._total.input.classes("wide")
        self._delta_field("Delta of all releases", 0.0, on_change=self._tell_risk)
        self._risk = text("", classes="soft small").props("role=status")
        self._tell_risk()
        with field("Who is protected", "who is protected"):
            choices = {"": "one row", **{c.name: f"a person, named by {c.name}" for c in self.schema}}
            self._unit = ui.select(
                choices, value="", on_change=lambda event: self._persons.refresh(event.value)
            )
            self._unit.props('outlined dense aria-label="Who is protected"').classes("wide")
        self._persons("")

    def _known(self, story: BudgetStory) -> None:
        """Say what a data set that is there lays down; what is free to choose in it is asked for."""
        delta = f", delta {story.delta:g}" if story.delta else ""
        said = f"{story.left:g} of {story.total:g} {story.currency}{delta} is left; it protects {story.protects}."
        text(said, classes="soft small")
        self._delta = None
        if story.delta:
            own = self.draft.delta if self._set.value == self.draft.dataset else story.delta
            self._delta_field("Delta of a release", own)
        if story.risk_total:
            text(f"If all of it is spent, {story.risk_total}.", classes="soft small")
        self._most(story.unit is not None)

    def _delta_field(self, words: str, value: float, **how: Any) -> None:
        with field(words, "delta"):
            self._delta = NumberField("Delta", value, within=(0, _MOST_DELTA), example="1e-9", **how)
            self._delta.input.classes("wide")

    def _tell_risk(self) -> None:
        """Say what the total that is written there would let somebody learn, with its delta."""
        try:
            said = f"If all of it is spent, {risk_sentence(self._total.wanted(), self.delta)}."
        except InvalidInput:  # not yet a number: it is told when the page is saved
            said = ""
        self._risk.set_content(said)

    @ui.refreshable_method
    def _persons(self, column: str) -> None:
        self._most(bool(column))

    def _most(self, persons: bool) -> None:
        """Ask how many rows a person may have; a row is one row."""
        self._max_rows: NumberField | None = None
        if persons:
            with field("Most rows of one person", "who is protected"):
                self._max_rows = NumberField(
                    "Most rows of one person",
                    self.draft.max_rows,
                    within=(1, _MOST_ROWS),
                    whole=True,
                    example="5",
                )
                self._max_rows.input.classes("wide")
