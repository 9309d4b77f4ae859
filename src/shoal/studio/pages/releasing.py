"""Release: the price, what remains, one question, and one spending."""

from __future__ import annotations

import html

from nicegui import ui

from shoal.studio.access import CURATOR, page
from shoal.studio.pages.desk import Desk, aside, told
from shoal.studio.pages.frame import button, code, named, note, progress_html, text
from shoal.studio.pages.studies import at_study
from shoal.studio.workshop import Job, Study

# Seconds between two looks at a job.
_POLL = 0.4


def register(desk: Desk) -> None:
    """Put the page at its address."""

    @page("/studies/{study}/release", role=CURATOR)
    def release(study: str, tour: int = 0) -> None:
        lede = "This is where the budget is spent: once, and for good."
        with at_study(desk, study, "release", "Release", tour, lede) as found:
            if found is not None:
                Releasing(desk, found).show()


class Releasing:
    """The question and its answer. The token is that of the study as it was when the page was opened."""

    def __init__(self, desk: Desk, study: Study) -> None:
        self.desk, self.study = desk, study
        self.token, self.level = study.token, desk.level(study)

    def show(self) -> None:
        """Show the question, or what came of it."""
        if missing := self.study.draft.missing():
            note(f"Before anything is released, declare {'; '.join(missing)}.", "warn")
            ui.html("Declare it", sanitize=False, tag="a").classes("btn main").props(
                f'href="/studies/{self.study.id}/open"'
            )
            return
        with ui.element("div").classes("cols"):
            self.box = ui.element("div").classes("stack")
            with self.box:
                job = self.study.current_job()
                self._question() if job is None else self._under_way(job)
            with ui.element("div").classes("stack"):
                with ui.element("div").classes("card stack"):
                    named("What you will get", "a certificate", tag="h2", classes="")
                    text(
                        "Centres and sizes with intervals, as CSV and GeoJSON; a certificate for your data protection officer; a "
                        "one-page report with the map; a script and a notebook that repeat it; and a page to share, if you like."
                    )
                code(self.study.as_python(self.level), self.study.as_command(self.level))

    def _question(self) -> None:
        price = self.study.price_of(self.level)
        with ui.element("section").classes("card stack").props('aria-label="Price"'):
            named(f"Release at level “{self.level.name}”", "a privacy level", tag="h2", classes="")
            ui.html(
                '<div class="row-line spread">'
                f'<div class="fact lead"><span class="fact-name">Price</span><strong class="fact-value">ε {price.epsilon:g}</strong></div>'
                f'<div class="fact"><span class="fact-name">Left now</span><strong class="fact-value">ε {price.left:.4g}</strong></div>'
                f'<div class="fact"><span class="fact-name">Left after it</span><strong class="fact-value">ε {price.after:.4g}</strong></div></div>'
                f'<div class="bar" aria-hidden="true"><i style="width:{_share(price.total - price.left, price.total)}"></i>'
                f'<i class="next" style="width:{_share(price.epsilon if price.enough else 0, price.total)}"></i></div>'
                f'<p class="soft small">{html.escape(price.sentence[:1].upper() + price.sentence[1:])}.</p>',
                sanitize=False,
            )
            with ui.element("div"):
                named("With all that was released before,", "the risk", tag="span", classes="soft small")
                text(price.risk + ".")
            if self.study.looks or any("looked" in said for said in self._notes()):
                note(
                    "Real rows were looked at: the certificate will say that level, bounds and zones may depend on it.",
                    "warn",
                )
            if self.study.source.kind in ("demo", "public"):
                note("This table is made up or public: a rehearsal, with a budget of its own.")
            self.coreset = ui.checkbox("Release a coreset too (half of the price goes to it)")
            if self.study.draft.zones is not None:
                self.coreset.set_visibility(False)
                text(
                    "With zones there is no coreset: it has one level for the whole table, and would take more from "
                    "a zone than the zone promises.",
                    classes="soft small",
                )
            if not price.enough:
                note(f"This cannot be released. {price.sentence}.", "red")
            self.go = button(f"Release and spend ε {price.epsilon:g}", self._ask, kind="main")
            self.go.style("justify-self: start").set_enabled(price.enough)

    def _notes(self) -> tuple[str, ...]:
        draft = self.study.draft
        return self.desk.studio.budget(draft.dataset, draft.ledger).notes

    async def _ask(self) -> None:
        price = self.study.price_of(self.level)
        with ui.dialog() as dialog, ui.element("div").classes("card stack"):
            text("Spend it?", tag="h2")
            text(f"ε {price.epsilon:g} is spent for good; ε {price.after:.4g} of {price.total:g} remains.")
            with ui.element("div").classes("row-line"):
                sure = button(f"Spend ε {price.epsilon:g}", lambda: dialog.submit(True), kind="main")
                button("Not now", lambda: dialog.submit(False))
            sure.props('data-once="yes"')
        if await dialog:
            await self._release()

    @told
    async def _release(self) -> None:
        self.go.disable()
        coreset, user = bool(self.coreset.value), self.desk.user.name
        try:
            job = await aside(lambda: self.study.release(self.level, self.token, by=user, coreset=coreset))
        finally:
            self.go.enable()
        self.box.clear()
        with self.box:
            self._under_way(job)

    def _under_way(self, job: Job) -> None:
        with ui.element("section").classes("card stack").props('aria-label="Release"') as box:
            self._state(job, box)

    def _state(self, job: Job, box: ui.element) -> None:
        if job.state == "awaiting approval":
            text("Waiting for a second person", tag="h2")
            text(f"{job.by} asked for this release. Nothing is spent before somebody else approves it.")
            if self.desk.user.name != job.by:
                button(
                    "Approve", told(lambda: self._again(job.approve(self.desk.user.name), box)), kind="main"
                ).style("justify-self: start")
            button(
                "Take it back" if self.desk.user.name == job.by else "Refuse",
                told(lambda: self._again(job.refuse(self.desk.user.name), box)),
            )
            return
        if job.state == "done":
            text("Released", tag="h2")
            ui.html("See the release", sanitize=False, tag="a").classes("btn main").props(
                f'href="/releases/{job.result["release"]}"'
            ).style("justify-self: start")
            text("It was spent once; reloading this page spends nothing.", classes="soft small")
            button("Plan another release", self._another).style("justify-self: start")
            return
        if job.over:
            text("Not released", tag="h2")
            note(f"{job.message or job.state}.", "warn")
            if job.state in ("failed", "stopped"):
                button(
                    "Go on from the ledger", told(lambda: self._again(job.resume(), box)), kind="main"
                ).style("justify-self: start")
            button("Begin anew", self._another).style("justify-self: start")
            return
        text("Releasing", tag="h2")
        bar = ui.html(progress_html(job.progress, job.message or "beginning"), sanitize=False)
        text("You may close this page: the fit goes on, and spends once.", classes="soft small")
        button("Stop", lambda: job.stop()).style("justify-self: start")

        async def look() -> None:
            now = await aside(job.refreshed)
            bar.set_content(progress_html(now.progress, now.message or now.state))
            if now.over:
                timer.cancel()
                if now.state == "done":
                    ui.navigate.to(f"/releases/{now.result['release']}")
                else:
                    self._again(now, box)

        timer = ui.timer(_POLL, look)

    def _again(self, job: Job, box: ui.element) -> None:
        box.clear()
        with box:
            self._state(job, box)

    @told
    def _another(self) -> None:
        self.study.another()
        ui.navigate.to(f"/studies/{self.study.id}/explore")


def _share(value: float, total: float) -> str:
    return f"{100 * max(value, 0) / total:.2f}%" if total else "0%"
