"""Budget: the story of a ledger, for people."""

from __future__ import annotations

import html
from urllib.parse import quote, urlencode

from nicegui import ui

from shoal.errors import ShoalError
from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import Desk
from shoal.studio.pages.frame import code, frame, named, note, text
from shoal.studio.workshop import BudgetStory


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/budget", role=CURATOR)
    def budget(dataset: str = "", ledger: str = "") -> None:
        lede = "What was laid down, where it went, what is left, and what all of it lets somebody learn."
        with frame("Budget", here="Budget", lede=lede, **desk.who):
            known = _known(desk)
            if not known and not dataset:
                note("There is no budget yet: open a table and lay one down.")
                return
            chosen = (dataset, ledger) if dataset else known[0]
            _choice(known, chosen)
            try:
                story = desk.studio.budget(*chosen)
            except ShoalError as error:
                note(f"{error}", "warn")
                return
            _tell(story)
            _same(desk, story, chosen[1])


def _known(desk: Desk) -> list[tuple[str, str]]:
    """All data sets of the studio's own ledger, and those that studies use elsewhere."""
    own = [(name, "") for name in desk.studio.datasets()]
    used = [(s.draft.dataset, s.draft.ledger) for s in desk.studio.studies() if s.draft.dataset]
    return list(dict.fromkeys([*(pair for pair in used), *own]))


def _choice(known: list[tuple[str, str]], chosen: tuple[str, str]) -> None:
    links = "".join(
        f'<a class="{"now" if pair == chosen else ""}" href="/budget?{urlencode({"dataset": pair[0], "ledger": pair[1]})}"'
        f"{' aria-current=true' if pair == chosen else ''}>{html.escape(pair[0])}</a>"
        for pair in known
    )
    ui.html(links, sanitize=False, tag="nav").classes("pills").props('aria-label="Data sets"')


def _tell(story: BudgetStory) -> None:
    part = 100 * story.spent / story.total if story.total else 0
    with ui.element("div").classes("cols"):
        with ui.element("div").classes("stack"):
            with ui.element("section").classes("card stack").props('aria-label="State"'):
                named(story.dataset, "a data set of a ledger", tag="h2", classes="")
                ui.html(
                    '<div class="row-line spread">'
                    f'<div class="fact lead"><span class="fact-name">Left</span><strong class="fact-value">{_of(story.left, story)}</strong></div>'
                    f'<div class="fact"><span class="fact-name">Spent</span><strong class="fact-value">{_of(story.spent, story)}</strong></div>'
                    f'<div class="fact"><span class="fact-name">Total</span><strong class="fact-value">{_of(story.total, story)}</strong></div></div>'
                    f'<div class="bar" role="img" aria-label="{part:.0f} % is spent"><i style="width:{part:.2f}%"></i></div>',
                    sanitize=False,
                )
                text(f"It protects {story.protects}.", classes="soft small")
            with ui.element("section").classes("card").props('aria-label="Story"'):
                text("What happened", tag="h2")
                if story.fits:
                    ui.html(_timeline(story), sanitize=False, tag="ol").classes("timeline")
                else:
                    text("Nothing yet.", classes="soft")
        with ui.element("div").classes("stack"):
            with ui.element("section").classes("card stack").props('aria-label="Risk"'):
                named("What it means", "the risk", tag="h2", classes="")
                if story.risk_now:
                    text(f"So far: {story.risk_now}.")
                    text(f"If all of it is spent: {story.risk_total}.", classes="soft")
                if story.closed:
                    note(f"Closed: {story.closed}. Nothing more can be spent.", "warn")
            if story.notes:
                with ui.element("section").classes("card stack").props('aria-label="Notes"'):
                    text("What later certificates say", tag="h2")
                    for said in story.notes:
                        note(said, "red" if "looked" in said else "")
            with ui.element("section").classes("card").props('aria-label="Terms"'):
                text("Laid down", tag="h2")
                rows = "".join(
                    f"<tr><th scope=row>{html.escape(name)}</th><td>{html.escape(said)}</td></tr>"
                    for name, _, said in (line.partition(": ") for line in story.sentences)
                )
                ui.html(f"<tbody>{rows}</tbody>", sanitize=False, tag="table").classes("plain")


def _of(value: float, story: BudgetStory) -> str:
    return f"{'ε' if story.currency == 'epsilon' else 'ρ'} {value:.4g}"


def _timeline(story: BudgetStory) -> str:
    items = []
    for fit in story.fits:
        state = '<span class="tag warn">under way</span>' if fit.open else ""
        what = html.escape(fit.what)
        if fit.release:
            what = f'<a href="/releases/{quote(fit.release)}">{what}</a>'
        items.append(
            f"<li><time>{html.escape(fit.time[:16].replace('T', ' '))}</time><span>{what} {state}</span>"
            f"<strong>{fit.spent:.4g}</strong></li>"
        )
    return "".join(items)


def _same(desk: Desk, story: BudgetStory, ledger: str) -> None:
    where = ledger or desk.studio.ledger
    shown = f"shoal budget show {story.dataset} --ledger {where}\nshoal budget history {story.dataset} --ledger {where}\nshoal budget verify {story.dataset} --ledger {where}"
    python = f'from shoal import Accountant\n\nbudget = Accountant.open("{where}", "{story.dataset}")\nprint(budget.spent, budget.left)'
    code(python, shown)
